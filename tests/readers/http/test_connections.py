"""Proxies of the environment, encodings of answers, and connections that are kept."""

from __future__ import annotations

import gc
import gzip
import json
import socket
import zlib
from collections.abc import Iterator

import pytest
import zstandard

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.core.errors import CorruptRecordError
from headwater.core.tls import TlsSettings
from headwater.readers.http.kept_pools import KeptPools
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
    kept = KeptPools(clock)
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
