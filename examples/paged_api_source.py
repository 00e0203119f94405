"""A paged HTTP API, with the standard library.

``python examples/paged_api_source.py`` starts a server, reads its items, and reads on when it has more.
"""

from __future__ import annotations

import json
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
from pyspark.sql import SparkSession

import headwater as hw


class PagedApi(hw.SimpleSource):
    """One collection, in barrier mode.

    A position is the number of the next item: a page that has grown is read on from there.
    """

    name = "paged-api"
    schema = pa.schema((("item", pa.string()),))
    OPTIONS = (
        hw.options.Option(
            "url",
            hw.options.text,
            None,
            "The collection; `?from=N` asks for the page that begins with item N.",
            required=True,
        ),
        hw.options.Option(
            "timeout",
            hw.options.duration_ms,
            30_000,
            "How long to wait for an answer.",
            shown_default="`30s`",
        ),
    )

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("items")]

    def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
        while items := self.page(position)["items"]:
            position += len(items)
            yield hw.Page([(json.dumps(item, sort_keys=True),) for item in items], position)

    def page(self, first: int) -> dict[str, list[object]]:
        url = f"{self.options['url']}?from={first}"
        try:
            with urllib.request.urlopen(url, timeout=self.options["timeout"] / 1000) as answer:
                found: dict[str, list[object]] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            with error:
                kind = (
                    hw.TransientSourceError
                    if error.code in {429, 500, 502, 503, 504}
                    else hw.errors.SourceError
                )
                raise kind(
                    f"the server answers {error.code}", source=self.name, split="items", position=first
                ) from error
        except urllib.error.URLError as error:
            raise hw.TransientSourceError(
                f"the server is away: {error.reason}", source=self.name, split="items", position=first
            ) from error


class Items(BaseHTTPRequestHandler):
    """Pages of a list that may grow."""

    items: ClassVar[list[dict[str, int]]] = []

    def do_GET(self) -> None:
        first = int(parse_qs(urlsplit(self.path).query)["from"][0])
        body = json.dumps({"items": self.items[first : first + 100]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextmanager
def serving() -> Iterator[str]:
    """Serve `Items` and yield the collection's URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Items) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/items"
        server.shutdown()


def main(spark: SparkSession) -> None:
    folder = tempfile.mkdtemp()
    hw.register(spark, PagedApi)
    with serving() as url:
        for first in (0, 250):
            Items.items += [{"id": number} for number in range(first, first + 250)]
            items = (
                spark.readStream.format("paged-api")
                .option("url", url)
                .option("stateLocation", f"{folder}/state")
                .load()
            )
            writer = items.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
            writer.trigger(availableNow=True).start(f"{folder}/rows").awaitTermination()
            print(f"{spark.read.parquet(f'{folder}/rows').count()} items")


if __name__ == "__main__":
    main(hw.session("paged_api_source", master="local[2]", conf={"spark.log.level": "ERROR"}))
