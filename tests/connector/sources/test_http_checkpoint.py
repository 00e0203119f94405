"""A checkpoint of an earlier version goes on: it names the lists that were found in another way.

``http_checkpoint`` holds what that version left when it was killed: the offset log, the items of the batches
that were committed, and the state location. The last epoch was logged and read, and its batch was not
committed. Its manifests hold lists that were found, one in a list that was found itself, and rows in flight.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from headwater.connector.sources.http.options import configure_http
from headwater.core.source import Boundedness
from headwater.testing import MicroBatchEngine
from tests.readers.http.scripted import serve_as

SAMPLE = Path(__file__).parent / "http_checkpoint"
HOST = "api.example"
ROOT = f"http://{HOST}/items"
LENGTHS = (12, 4, 2)
"""How many items a list has: the named one, one that it names, and one that that one names."""
PAGE = 3
READ_IN_LAST_EPOCH = 11


class Lists(BaseHTTPRequestHandler):
    """Each third item of the named list names a list, and one item of that names another one."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        first = int(parse_qs(parts.query).get("from", ["0"])[0])
        depth = parts.path.count("/lines")
        last = min(first + PAGE, LENGTHS[depth])
        items = [item(parts.path, number) for number in range(first, last)]
        more = f"{parts.path}?from={last}" if last < LENGTHS[depth] else None
        body = json.dumps({"items": items, "next": more}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def item(path: str, number: int) -> dict[str, str]:
    names_a_list = (number % 3 == 0, number == 1, False)[path.count("/lines")]
    made = {"id": f"{path}/{number}"}
    return {**made, "lines": f"{path}/{number}/lines"} if names_a_list else made


def everything(path: str = "/items") -> list[dict[str, str]]:
    items = [item(path, number) for number in range(LENGTHS[path.count("/lines")])]
    return items + [found for one in items if "lines" in one for found in everything(one["lines"])]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve the host that the checkpoint names on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lists)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    serve_as(monkeypatch, HOST, server)
    yield
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_checkpoint_of_an_earlier_version_goes_on_in_the_middle_of_an_epoch(
    api: None, tmp_path: Path
) -> None:
    shutil.copytree(SAMPLE / "state", tmp_path / "state")
    options = {
        "url": ROOT,
        "childrenField": "lines",
        "barrierRows": "4",
        "parallelism": "2",
        "stateLocation": f"{tmp_path}/state",
    }
    engine = MicroBatchEngine(lambda: configure_http(options, Boundedness.CONTINUOUS_UNBOUNDED))
    engine.offsets = (SAMPLE / "offsets.jsonl").read_text().splitlines()
    logged = len(engine.offsets)
    committed = [json.loads(line) for line in (SAMPLE / "rows.jsonl").read_text().splitlines()]
    assert not engine.run()
    assert len(engine.sink[logged - 1]) == READ_IN_LAST_EPOCH
    items = [json.loads(row["item"]) for row in engine.rows]
    assert sorted(one["id"] for one in committed + items) == sorted(one["id"] for one in everything())
    starts = json.loads(engine.offsets[logged])["starts"]
    assert set(starts) == {"root", f"0.1 of http://{HOST}/items/9/lines in 3.0 of {ROOT}", f"3.0 of {ROOT}"}
