"""Proxies of the environment, encodings of answers, and connections that are kept."""

from __future__ import annotations

import gc
import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.core.errors import CorruptRecordError, TransientSourceError
from headwater.core.secrets import TlsSettings
from headwater.readers.connections import LOOKUPS, Lookups
from headwater.readers.http.client import HttpClient, IdlePools
from headwater.readers.http.settings import HttpSettings
from tests.patience import PATIENCE_S
from tests.readers.http.scripted import Scripted, read, run, scripted_server, source, start


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with scripted_server() as made:
        yield made


def test_the_proxy_of_the_environment_is_asked_but_for_hosts_that_need_none(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.say("http://api.example/a", {"items": [1], "next": f"{server.origin}/b"})
    server.say("/b", {"items": [2]})
    proxy = server.origin.replace("http://", "http://me:s3cret@")
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert read("http://api.example/a") == [1, 2]
    assert server.paths == ["http://api.example/a", "/b"]
    assert ["proxy-authorization" in headers for _, headers in server.asked] == [True, False]


BODY = json.dumps({"items": [1, "é"]}).encode()
BY_BROTLI = bytes.fromhex("8b0b807b226974656d73223a205b312c20225c7530306539225d7d03")


@pytest.mark.parametrize(
    ("encoding", "encoded"),
    [
        ("gzip", gzip.compress(BODY)),
        ("deflate", zlib.compress(BODY)),
        ("br", BY_BROTLI),
        ("zstd", zstandard.compress(BODY)),
    ],
    ids=["gzip", "deflate", "br", "zstd"],
)
def test_answers_may_be_encoded(server: Scripted, encoding: str, encoded: bytes) -> None:
    server.say("/a", encoded, Content_Encoding=encoding)
    assert read(f"{server.origin}/a") == [1, "é"]
    assert encoding in server.asked[0][1]["accept-encoding"]


def test_an_answer_that_cannot_be_decompressed_is_a_bad_page_and_leaves_no_connection_open(
    server: Scripted,
) -> None:
    server.say("/a", {"items": [{"more": "/b"}]})
    server.say("/b", b"no gzip", Content_Encoding="gzip")
    with pytest.raises(CorruptRecordError, match="the page cannot be decompressed; option badPages="):
        read(f"{server.origin}/b")
    made = source(f"{server.origin}/a", childrenField="more", badPages="skip")
    rows, state = run(made, Barrier(), start(made.urls[0]))
    assert [row[2] for row in rows] == [0]
    assert state.events == (f"{server.origin}/b: the page cannot be decompressed: ",)
    # What is open still is closed here, with a warning, which is an error.
    gc.collect()


def test_a_connection_is_kept_from_one_micro_batch_to_the_next(server: Scripted) -> None:
    server.say("/a", {"items": [1]})
    for _ in range(3):
        assert read(f"{server.origin}/a") == [1]
    assert len(server.clients) == 1
    # One that the server has closed meanwhile is made again.
    for connection in server.clients.values():
        connection.shutdown(socket.SHUT_RDWR)
    assert read(f"{server.origin}/a") == [1]
    assert len(server.clients) == 2


def test_pools_are_lent_to_one_and_for_a_minute_only() -> None:
    clock = ManualClock()
    kept = IdlePools(clock)
    here, elsewhere = TlsSettings(), TlsSettings(ca="/ca")
    pools = kept.borrow(here)
    other = kept.borrow(here)
    assert pools is not other
    kept.give_back(pools)
    assert kept.borrow(elsewhere) is not pools
    clock.advance(59_999)
    assert kept.borrow(here) is pools
    clock.advance(1)
    kept.give_back(other)
    kept.give_back(pools)
    assert kept.borrow(here) not in (pools, other)


Resolve = Callable[[Callable[[str, int], list[Any]]], list[str]]
HOST = "api.example"


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolve]:
    """Put a function in place of the system's resolver; return the hosts that it is asked for."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    asked: list[str] = []

    def by(function: Callable[[str, int], list[Any]]) -> list[str]:
        def getaddrinfo(host: str, port: int, *more: Any) -> list[Any]:
            asked.append(host)
            return function(host, port)

        monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
        return asked

    yield by
    LOOKUPS.clear()


def at(*ports: int) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]


class Hanging:
    """A resolver that answers when it may, and not before."""

    def __init__(self, port: int) -> None:
        self.may_answer = threading.Event()
        self.is_asked = threading.Event()
        self._port = port

    def __call__(self, host: str, port: int) -> list[Any]:
        self.is_asked.set()
        assert self.may_answer.wait(PATIENCE_S)
        return at(self._port)


def test_a_look_up_that_hangs_ends_with_its_request_and_is_not_begun_again(
    server: Scripted, resolve: Resolve
) -> None:
    server.say("/a", {"items": []})
    hanging = Hanging(server.server_address[1])
    asked = resolve(hanging)
    client = HttpClient(HttpSettings(timeout_ms=30))
    for _ in range(3):
        with pytest.raises(TransientSourceError, match=r"within 30 ms: .*the look-up of the name api\.exam"):
            client.ask(f"http://{HOST}/a")
    client.close()
    assert asked == [HOST]
    patient = HttpClient(HttpSettings(timeout_ms=PATIENCE_S * 1_000))
    hanging.may_answer.set()
    assert patient.ask(f"http://{HOST}/a").status == 200
    patient.close()


def test_a_request_that_waits_for_a_look_up_is_interrupted(server: Scripted, resolve: Resolve) -> None:
    hanging = Hanging(server.server_address[1])
    resolve(hanging)
    client = HttpClient(HttpSettings(timeout_ms=PATIENCE_S * 1_000))
    said: list[str] = []

    def ask() -> None:
        with pytest.raises(TransientSourceError) as error:
            client.ask(f"https://{HOST}/a")
        said.append(str(error.value))

    thread = threading.Thread(target=ask)
    thread.start()
    assert hanging.is_asked.wait(PATIENCE_S)
    client.interrupt()
    thread.join(PATIENCE_S)
    assert HOST in said[0]
    hanging.may_answer.set()
    client.close()


def test_a_host_that_nobody_knows_is_worth_another_try(resolve: Resolve) -> None:
    def unknown(host: str, port: int) -> list[Any]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    asked = resolve(unknown)
    client = HttpClient(HttpSettings())
    for _ in range(2):
        with pytest.raises(TransientSourceError, match=r"api\.example.*Temporary failure in name resolution"):
            client.ask(f"http://{HOST}/a")
    client.close()
    assert asked == [HOST, HOST]


def test_every_address_of_a_host_is_tried(server: Scripted, resolve: Resolve) -> None:
    server.say("/a", {"items": []})
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        closed = nobody.getsockname()[1]
        resolve(lambda *_: at(closed, server.server_address[1]))
        client = HttpClient(HttpSettings())
        assert client.ask(f"http://{HOST}/a").status == 200
        client.close()
        resolve(lambda *_: at(closed))
        client = HttpClient(HttpSettings())
        with pytest.raises(TransientSourceError, match=r"no connection to other\.example: .*refused"):
            client.ask("http://other.example/a")
        client.close()


def test_a_process_that_cannot_start_a_thread_looks_up_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = Lookups()
    start = threading.Thread.start

    def full(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", full)
    with pytest.raises(RuntimeError):
        lookups.begin("127.0.0.1", 1)
    monkeypatch.setattr("threading.Thread.start", start)
    assert lookups.begin("127.0.0.1", 1).result(PATIENCE_S)[0][4] == ("127.0.0.1", 1)
