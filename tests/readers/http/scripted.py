"""A server that answers each path with what a test says, and lists that are read from it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headwater.connector.sources.http.options import configure_http
from headwater.connector.sources.http.source import HttpSource
from headwater.core.epoch import Barrier, EpochState
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.http.client import POOLS
from headwater.readers.http.credentials import TOKENS
from tests.readings import epoch_task, read_task

Answer = tuple[int, list[tuple[str, str]], bytes]


class Scripted(ThreadingHTTPServer):
    """The answers to one path come in their order, and the last one again and again.

    Attributes:
        asked: paths and headers, in order.
        bodies: of the requests.
        methods: of the requests.
        clients: the connections over which it was asked, by the client's port.
        lacks: so many bytes are cut from the end of each answer.
        stalls: whether it says no more in the middle of an answer, until the client goes away.
        answer: what it answers; a test may replace it.
        now: its clock, in the header Date; None: it does not say.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ScriptedHandler)
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        self.methods: list[str] = []
        self.clients: dict[int, socket.socket] = {}
        self.lacks = 0
        self.stalls = False
        self.answer: Callable[[str], Answer] = self._said
        self.now: Callable[[], float] | None = time.time

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def say(
        self,
        path: str,
        body: Any = None,
        status: int = 200,
        more: tuple[tuple[str, str], ...] = (),
        **headers: str,
    ) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.answers.setdefault(path, []).append((status, [*named, *more], raw))

    def _said(self, path: str) -> Answer:
        answers = self.answers[path]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


class ScriptedHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: Scripted

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.server.clients[self.client_address[1]] = self.connection
        self.server.methods.append(self.command)
        length = int(self.headers.get("Content-Length") or 0)
        self.server.bodies.append(self.rfile.read(length))
        status, headers, body = self.server.answer(self.path)
        self.send_response_only(status)
        if self.server.now is not None and "Date" not in dict(headers):
            self.send_header("Date", self.date_time_string(int(self.server.now())))
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.stalls:
            self.wfile.flush()
            self.rfile.read(1)
            self.close_connection = True
            return
        if status != 204:
            self.wfile.write(body[: len(body) - self.server.lacks])
        if self.server.lacks:
            self.close_connection = True

    do_POST = do_GET  # noqa: N815 - the base class finds it by this name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@contextmanager
def scripted_server() -> Iterator[Scripted]:
    made = Scripted()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    # A server of a later test may have the same port.
    TOKENS.clear()
    POOLS.clear()
    made.shutdown()
    made.server_close()
    thread.join()


def serve_as(monkeypatch: pytest.MonkeyPatch, host: str, server: ThreadingHTTPServer) -> None:
    """Lead every connection to a host to a server on this machine: stored checkpoints name the host."""
    look_up = socket.getaddrinfo

    def getaddrinfo(name: str, port: int, *more: Any) -> list[Any]:
        at = server.server_address if name == host else (name, port)
        return look_up(str(at[0]), int(at[1]), *more)

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)


def source(url: str, **options: str) -> HttpSource:
    """Return the source of a stream."""
    return _configured({"url": url, "stateLocation": "/state", **options}, Boundedness.CONTINUOUS_UNBOUNDED)


def batch_source(url: str, **options: str) -> HttpSource:
    """Return the source of a batch read."""
    return _configured({"url": url, **options}, Boundedness.BOUNDED)


def _configured(options: dict[str, str], mode: Boundedness) -> HttpSource:
    made = configure_http(options, mode).source
    assert isinstance(made, HttpSource)
    return made


def start(url: str) -> SplitRange[HttpSplit, Any]:
    return SplitRange(HttpSplit(url), PagePosition(0, 0, url).to_json(), None)


def run(
    source: HttpSource, barrier: Barrier, *starts: SplitRange[Any, Any], **context: Any
) -> tuple[list[Any], EpochState]:
    """Read an epoch, or read it again up to the state ``stop_at``."""
    reader = read_task(source, epoch_task(starts, barrier), **context)
    rows = [tuple(row.values()) for batch in reader for row in batch.to_pylist()]
    return rows, reader.state()


def read(url: str, **options: str) -> list[Any]:
    """Return the items of a list, decoded."""
    return items(source(url, **options))


def items(source: HttpSource) -> list[Any]:
    """Return the items of the first list of a source, decoded."""
    return [json.loads(row[3]) for row in run(source, Barrier(), start(source.urls[0]))[0]]
