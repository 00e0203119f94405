"""Pages of a REST API: the http source's reader, a plain loop with `requests`, and dlt's REST source.

    python -m benchmarks.rest [--pages 1000] [--rounds 5] [--spark]

A server in a process of its own gives out pages of 1,000 items of 200 B as fast as it is asked. What counts
is the processor time of the process that reads, in items a second; dlt is left out where it is not installed.
The loop with `requests` parses each page and keeps nothing; the reader makes Arrow rows; dlt yields what it
extracts, before it normalizes and loads. With ``--spark`` also rows a second of a stream in Spark on two
cores, on which the server runs as well: the time of its one micro-batch.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.queues import Queue
from typing import Any
from urllib.parse import urljoin

import requests

import headwater as hw
from headwater.core.clock import SystemClock
from headwater.core.split import SplitRange
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.http.client import RequestRate
from headwater.readers.http.settings import HttpSettings
from headwater.readers.http.split_reader import HttpSplitReader

_PAGE = 1_000
_ITEM_BYTES = 200
_HEAD = (
    '{"id": 123456789, "name": "a customer", "price": 12.50, "tags": ["a", "b"], '
    '"updated_at": "2024-05-01T12:00:00Z", "text": "'
)
_ITEM = f'{_HEAD}{"x" * (_ITEM_BYTES - len(_HEAD) - 2)}"}}'


def serve(port: Queue[int], pages: int) -> None:
    """Answer any number of connections, with as little work as possible."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port.put(listening.getsockname()[1])
        while True:
            connection, _ = listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_answer, args=(connection, pages), daemon=True).start()


def _answer(connection: socket.socket, pages: int) -> None:
    items = ",".join([_ITEM] * _PAGE)
    while data := connection.recv(65_536):
        path = data.split(b" ", 2)[1].decode()
        number = int(path.rpartition("=")[2]) if "=" in path else 0
        link = f'"/items?page={number + 1}"' if number + 1 < pages else "null"
        body = f'{{"items": [{items}], "next": {link}}}'.encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)


def headwater_reader(url: str) -> int:
    """Read to the end with the reader of the http source, as a task does."""
    reader = HttpSplitReader(HttpSettings(follows_growth=False), SystemClock(), RequestRate(None))
    split = HttpSplit(url)
    reader.handle_splits_changes([SplitRange(split, PagePosition.first_of(split).to_json(), None)])
    rows = 0
    finished = False
    while not finished:
        fetched = reader.fetch()
        rows += sum(record.rows.num_rows for records in fetched.records.values() for record in records)
        finished = bool(fetched.finished)
    reader.close()
    return rows


def requests_loop(url: str) -> int:
    """Read to the end as a script would."""
    rows = 0
    following: str | None = url
    with requests.Session() as session:
        while following is not None:
            page = session.get(following, timeout=30).json()
            rows += len(page["items"])
            link = page["next"]
            following = None if link is None else urljoin(url, link)
    return rows


def dlt_source(url: str) -> int:
    """Read to the end with dlt's REST source."""
    rest_api: Any = importlib.import_module("dlt.sources.rest_api")
    base, _, path = url.rpartition("/")
    paginator = {"type": "json_link", "next_url_path": "next"}
    endpoint = {"path": path, "data_selector": "items", "paginator": paginator}
    source = rest_api.rest_api_source(
        {"client": {"base_url": f"{base}/"}, "resources": [{"name": "items", "endpoint": endpoint}]}
    )
    return sum(1 for _ in source.resources["items"])


def stream_in_spark(url: str) -> float:
    """Return the rows a second of a stream that reads to the end."""
    spark = hw.session("benchmark", master="local[2]")
    with tempfile.TemporaryDirectory() as folder:
        options = {"source": "http", "url": url, "stateLocation": f"{folder}/state", "barrierInterval": "1h"}
        stream = spark.readStream.format("headwater").options(**options).load()
        writer = stream.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        batches = [progress for progress in query.recentProgress if progress.numInputRows]
    rows = sum(progress.numInputRows for progress in batches)
    return rows / sum(progress.durationMs["addBatch"] for progress in batches) * 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    subjects: dict[str, Callable[[str], int]] = {"headwater": headwater_reader, "requests": requests_loop}
    if find_spec("dlt") is not None:
        subjects["dlt"] = dlt_source
    port: Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port, given.pages), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{port.get(timeout=30)}/items"
    measured: dict[str, list[float]] = {name: [] for name in subjects}
    # In turns, so that what else the machine does meets all of them.
    for _ in range(given.rounds):
        for name, subject in subjects.items():
            began = time.process_time()
            rows = subject(url)
            measured[name].append(rows / (time.process_time() - began))
            if rows != given.pages * _PAGE:
                raise SystemExit(f"{name} read {rows} of {given.pages * _PAGE} items")
    rates_in_spark = [stream_in_spark(url) for _ in range(given.rounds)] if given.spark else []
    server.terminate()
    for name, rates in measured.items():
        print(f"{name:10} {statistics.median(rates):>10,.0f} items/s a core (median of {given.rounds})")
    if rates_in_spark:
        print(f"in Spark   {statistics.median(rates_in_spark):>10,.0f} rows/s (median of {given.rounds})")


if __name__ == "__main__":
    main()
