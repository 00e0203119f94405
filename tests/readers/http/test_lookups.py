"""Names of hosts: a resolver that hangs, knows nothing, or knows addresses at which nobody answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headwater.core.errors import TransientSourceError
from headwater.readers.http.client import HttpClient
from headwater.readers.http.lookups import LOOKUPS, Lookups
from headwater.readers.http.settings import HttpSettings
from tests.patience import PATIENCE_S
from tests.readers.http.scripted import Scripted

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
