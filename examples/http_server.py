"""A small REST API: items in linked pages, every hundredth with comments of its own.

    python examples/http_server.py [--items 1000000] [--page 1000] [--port 8420] [--grow 0]

``GET /items?from=0`` answers ``{"items": [...], "next": "/items?from=1000"}``; the last page has no ``next``.
With ``--grow`` so many items are added each second. ``GET /items/100/comments`` is a list of three. With
``--busy N`` every Nth request is answered with 429 and ``Retry-After: 0``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

COMMENTS = 3


class Api(ThreadingHTTPServer):
    """The items are numbers: nothing is kept but how many there are."""

    daemon_threads = True

    def __init__(self, port: int, items: int, page: int, *, grow_per_s: int = 0, busy_every: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.items = items
        self.page = page
        self.grow_per_s = grow_per_s
        self.busy_every = busy_every
        self.began = time.monotonic()
        self.requests = itertools.count(1)

    @property
    def url(self) -> str:
        """The first page."""
        return f"http://127.0.0.1:{self.server_address[1]}/items"

    def count(self) -> int:
        """Return how many items there are now."""
        return self.items + int((time.monotonic() - self.began) * self.grow_per_s)

    def answer(self, path: str, first: int) -> dict[str, object] | None:
        """Return a page, None if there is no such list."""
        parts = path.strip("/").split("/")
        if parts == ["items"]:
            count = self.count()
            last = min(first + self.page, count)
            items = [item(number) for number in range(first, last)]
            is_last = last - first < self.page or last >= count
            return {"items": items, "next": None if is_last else f"/items?from={last}"}
        if len(parts) == 3 and parts[2] == "comments" and parts[1].isdecimal():
            comments = [{"item": int(parts[1]), "comment": number} for number in range(COMMENTS)]
            return {"items": comments, "next": None}
        return None


def item(number: int) -> dict[str, object]:
    """Return one item; every hundredth names a list of its own."""
    made: dict[str, object] = {"id": number, "name": f"item {number}"}
    if number % 100 == 0:
        made["comments"] = f"/items/{number}/comments"
    return made


class Handler(BaseHTTPRequestHandler):
    """Keeps connections open, and answers in one piece."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Api

    def do_GET(self) -> None:
        request = next(self.server.requests)
        if self.server.busy_every and request % self.server.busy_every == 0:
            self._send(429, b"busy", {"Retry-After": "0"})
            return
        parts = urlsplit(self.path)
        first = int(parse_qs(parts.query).get("from", ["0"])[0])
        page = self.server.answer(parts.path, first)
        status = 404 if page is None else 200
        self._send(status, json.dumps(page).encode(), {"Content-Type": "application/json"})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def serving(api: Api) -> threading.Thread:
    """Serve on a thread until ``api.shutdown()``."""
    thread = threading.Thread(target=api.serve_forever, args=(0.05,), name="http-server", daemon=True)
    thread.start()
    return thread


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8420)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--page", type=int, default=1_000)
    parser.add_argument("--grow", type=int, default=0)
    parser.add_argument("--busy", type=int, default=0)
    given = parser.parse_args()
    api = Api(given.port, given.items, given.page, grow_per_s=given.grow, busy_every=given.busy)
    print(f"serving {api.url}", flush=True)
    api.serve_forever()


if __name__ == "__main__":
    main()
