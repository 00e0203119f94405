"""What a server says when it does not give a page, and what becomes of the page."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urllib3 import HTTPHeaderDict

from headwater.connector.sources.http.source import HttpSource, IncrementalHttpSource
from headwater.core.clock import ManualClock, SystemClock
from headwater.core.epoch import Barrier, SplitStatus
from headwater.core.errors import (
    CorruptRecordError,
    DataLossError,
    DeadlineError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.split import SplitRange
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.http.split import ROOT, HttpSplit, LogPosition, PagePosition
from headwater.readers.http.client import HttpClient, RequestRate
from headwater.readers.http.credential_settings import CredentialSettings, OAuthSettings
from headwater.readers.http.incremental.incremental_reader import IncrementalReader
from headwater.readers.http.paged_split_reader import PagedSplitReader
from headwater.readers.http.response import HttpResponse, action_of, wait_ms
from headwater.readers.http.settings import HttpSettings
from headwater.readers.http.split_reader import HttpSplitReader
from tests.readers.http.scripted import (
    Answer,
    Scripted,
    batch_source,
    items,
    read,
    run,
    scripted_server,
    source,
    start,
)


def _reasons(rows: list[Any]) -> list[str]:
    return [row[4] for row in rows if row[4] is not None]


@pytest.mark.parametrize("bad_pages", ["skip", "column"])
def test_a_child_that_cannot_be_read_is_left_out_and_again_when_the_epoch_is_read_again(
    server: Scripted, bad_pages: str
) -> None:
    server.say("/a", {"items": [{"more": "/gone"}, {"more": "/html"}, {"more": "/good"}]})
    server.say("/gone", {"why": "deleted"}, status=404)
    server.say("/html", b"<html>")
    server.say("/good", {"items": [1]})
    begin = start(f"{server.origin}/a")
    made = source(f"{server.origin}/a", childrenField="more", onStatus="404=skip", badPages=bad_pages)
    rows, state = run(made, Barrier(), begin)
    assert sorted(row[3] for row in rows if row[3] and "more" not in row[3]) == ["1"]
    assert len(state.events) == 2
    assert any(f"{server.origin}/gone: HTTP 404" in str(event) for event in state.events)
    if bad_pages == "column":
        assert sorted(_reasons(rows)) == sorted(map(str, state.events))
    # All is well now: what was left out stays out, so that both readings bring the same.
    server.answers["/gone"] = server.answers["/html"] = [(200, [], b'{"items": [2]}')]
    again, _ = run(made, Barrier(), begin, stop_at=state)
    assert sorted(map(str, again)) == sorted(map(str, rows))
    left = [entry for entry in state.progress if entry.split.path[0] != ROOT]
    assert {entry.status for entry in left} == {SplitStatus.CAUGHT_UP}
    asked = len(server.asked)
    _, closed = run(made, Barrier(), *(SplitRange(entry.split, entry.position, None) for entry in left))
    assert {entry.status for entry in closed.progress} == {SplitStatus.FINISHED}
    assert len(server.asked) == asked


def test_counted_pages_go_on_behind_one_that_cannot_be_read(server: Scripted) -> None:
    server.say("/a", {"items": [1, 2]})
    server.say("/a?page=2", b"<html>")
    server.say("/a?page=3", {"items": [5]})
    server.say("/a?page=4", {"items": []})
    begin = start(f"{server.origin}/a")
    made = source(f"{server.origin}/a", paging="page", badPages="column")
    rows, state = run(made, Barrier(), begin)
    assert [(row[1], row[3], row[4] is None) for row in rows] == [
        (0, "1", True),
        (0, "2", True),
        (1, None, False),
        (2, "5", True),
    ]
    server.answers["/a?page=2"] = [(200, [], b'{"items": [3, 4]}')]
    assert run(made, Barrier(), begin, stop_at=state)[0] == rows


def test_a_named_list_whose_page_cannot_be_read_goes_on_when_it_can(server: Scripted) -> None:
    server.say("/a", {"items": [1], "next": "/b"})
    server.say("/b", b"<html>")
    made = source(f"{server.origin}/a", badPages="skip")
    rows, state = run(made, Barrier(), start(f"{server.origin}/a"))
    assert [entry.status for entry in state.progress] == [SplitStatus.CAUGHT_UP]
    server.answers["/b"] = [(200, [], b'{"items": [2]}')]
    more, _ = run(made, Barrier(), SplitRange(state.progress[0].split, state.progress[0].position, None))
    assert [row[3] for row in rows + more] == ["1", "2"]


@pytest.mark.parametrize(
    ("paging", "later"), [("page", "/a?page=2"), ("link", "/a")], ids=["counted pages", "links"]
)
def test_a_page_that_has_lost_items_is_left_out_where_the_user_says_so(
    server: Scripted, caplog: pytest.LogCaptureFixture, paging: str, later: str
) -> None:
    given = {"paging": "page"} if paging == "page" else {}
    server.say("/a", {"items": [1, 2, 3]})
    for number in (2, 3):
        server.say(f"/a?page={number}", {"items": []})
    made = source(f"{server.origin}/a", **given)
    [progress] = run(made, Barrier(), start(f"{server.origin}/a"))[1].progress
    begin = SplitRange(progress.split, progress.position, None)
    server.answers["/a"] = [(200, [], b'{"items": [1, 3]}')]
    with pytest.raises(DataLossError, match=r"had at least 3 before; option badPages=skip or column lets"):
        run(made, Barrier(), begin)
    made = source(f"{server.origin}/a", badPages="skip", **given)
    assert run(made, Barrier(), begin)[0] == []
    assert f"left out a page: {server.origin}/a: the page has 2 items, and had at least 3" in caplog.text
    grown = [1, 2, 3, 4] if paging == "link" else [4]
    server.answers[later] = [(200, [], json.dumps({"items": grown}).encode())]
    rows, state = run(made, Barrier(), begin)
    assert [row[3] for row in rows] == ["4"]
    assert run(made, Barrier(), begin, stop_at=state)[0] == rows
    # What was read is read again, or it is an error.
    server.answers[later] = [(200, [], b'{"items": []}')]
    with pytest.raises(DataLossError, match=r"has 0 items, and had|ends earlier than the first time"):
        run(made, Barrier(), begin, stop_at=state)


def test_a_status_may_be_asked_again(server: Scripted) -> None:
    server.say("/a", {}, status=403)
    server.say("/a", {"items": [1]})
    assert read(f"{server.origin}/a", onStatus="403=retry") == [1]
    assert server.paths == ["/a", "/a"]


def test_a_status_may_end_a_list_and_the_error_says_how(server: Scripted) -> None:
    server.say("/a", {"items": [1], "next": "/b"})
    server.say("/b", {}, status=410)
    assert items(batch_source(f"{server.origin}/a", onStatus="4xx=finish")) == [1]
    with pytest.raises(UnknownSplitError, match="onStatus='410=skip'"):
        read(f"{server.origin}/a")


_NOON = "Wed, 01 May 2024 12:00:00 GMT"


def _answer(status: int, **headers: str) -> HttpResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse("http://x", status, HTTPHeaderDict(named), b"")


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        (_answer(429, Retry_After="3"), 3_000),
        (_answer(403, Retry_After="60"), 60_000),
        (_answer(403, Retry_After="1.5"), 1_500),
        (_answer(503, Retry_After=".0001"), 1),
        (_answer(429, Retry_After="9" * 400), 86_400_000),
        (_answer(503, Retry_After="Wed, 01 May 2024 12:00:30 GMT", Date=_NOON), 30_000),
        (_answer(503, Retry_After="Wed, 01 May 2019 12:00:30 GMT"), 0),
        (_answer(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="1714564830", Date=_NOON), 30_000),
        (_answer(429, RateLimit_Remaining="0", RateLimit_Reset="7"), 7_000),
        (_answer(403, X_RateLimit_Remaining="5", X_RateLimit_Reset="1714564830"), None),
        (_answer(429, Retry_After="soon"), None),
    ],
)  # fmt: skip
def test_how_long_a_server_asks_to_be_left_alone_by_its_own_clock(
    answer: HttpResponse, wait: int | None
) -> None:
    assert wait_ms(answer) == wait
    is_retried = wait is not None or answer.status == 429
    assert action_of(answer, HttpSettings()) == ("retry" if is_retried else "fail")


def test_a_rate_limit_while_an_epoch_is_read_again_is_waited_for(server: Scripted) -> None:
    server.say("/a", {}, status=429, Retry_After="60")
    server.say("/a", {"items": [1]})
    begin = start(f"{server.origin}/a")
    stop = PagePosition(0, 1, f"{server.origin}/a").to_json()
    reader = HttpSplitReader(HttpSettings(origins=(server.origin,)), ManualClock(), RequestRate(None))
    reader.handle_splits_changes([SplitRange(begin.split, begin.start, stop)])
    limited = reader.fetch()
    assert (limited.caught_up, limited.paused) == ({}, {begin.split.path: 60_000})
    assert reader.fetch().records
    reader.close()


def test_a_server_that_may_be_asked_again_at_once_is_asked_later_and_later_until_the_deadline(
    server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    server.say("/a", {}, status=429, Retry_After="0")
    server.say("/a", {}, status=403, X_RateLimit_Remaining="0", X_RateLimit_Reset="1700000000")
    reader = HttpSplitReader(HttpSettings(deadline_ms=100), ManualClock(), RequestRate(None))
    begin = start(f"{server.origin}/a")
    reader.handle_splits_changes([begin])
    waits = []
    for _ in range(2):
        refused = reader.fetch()
        assert begin.split.path in refused.failed
        waits.append(refused.paused[begin.split.path])
    assert 0 < 1.5 * waits[0] < waits[1]
    with pytest.raises(DeadlineError):
        reader.fetch()
    reader.close()
    assert "asking again" in caplog.text


def test_a_server_that_wants_to_be_left_alone_is_named_in_the_log(
    server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    server.say("/a", {}, status=429, Retry_After="3")
    reader = HttpSplitReader(HttpSettings(), ManualClock(), RequestRate(None))
    reader.handle_splits_changes([start(f"{server.origin}/a")])
    limited = [reader.fetch() for _ in range(2)]
    reader.close()
    assert [found.events for found in limited] == [({"leaveAlone": server.origin, "forMs": 3_000},)] * 2
    assert caplog.text.count(f"{server.origin} asks to be left alone for 3000 ms") == 1


def test_a_page_that_says_that_it_is_an_error_is_none_whatever_its_status(server: Scripted) -> None:
    options = {"itemsField": "data.list", "nextField": "data.next", "errorField": "errors"}
    server.say("/a", {"data": {"list": [1], "next": "/b"}, "errors": []})
    server.say("/b", {"data": {"list": None}, "errors": [{"message": "time is up"}]})
    with pytest.raises(CorruptRecordError, match=r"the page says at errorField 'errors': .*time is up"):
        read(f"{server.origin}/a", **options)
    server.answers["/b"] = []
    server.say("/b", {"errors": ["limit"]}, X_RateLimit_Remaining="0", X_RateLimit_Reset="60")
    made = batch_source(f"{server.origin}/b", **options)
    reader = HttpSplitReader(made.settings, ManualClock(), RequestRate(None))
    begin = start(made.urls[0])
    reader.handle_splits_changes([begin])
    assert reader.fetch().paused == {begin.split.path: 60_000}
    reader.close()


@pytest.mark.parametrize(
    "beginning",
    [
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        # Its end is that of the connection, which the time-out ends too.
        b"HTTP/1.0 200 OK\r\n\r\n1\n2\n",
    ],
)
def test_a_request_ends_in_time_and_no_part_of_an_answer_is_a_whole_one(beginning: bytes) -> None:
    def drip(connection: socket.socket, ended: threading.Event) -> None:
        with connection:
            connection.recv(65_536)
            connection.sendall(beginning)
            while not ended.wait(0.02):
                try:
                    connection.sendall(b"H")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()
        dripping = threading.Thread(target=lambda: drip(listening.accept()[0], ended), daemon=True)
        dripping.start()
        client = HttpClient(HttpSettings(timeout_ms=200))
        with pytest.raises(TransientSourceError, match="no answer within 200 ms"):
            client.ask(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        client.close()
        ended.set()
        dripping.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_connection_that_is_refused_is_not_told_as_one_that_took_too_long(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    client = HttpClient(HttpSettings())
    with pytest.raises(TransientSourceError, match=r"no answer: (NewConnection|NameResolution)Error"):
        client.ask(f"http://{host}:{port}/")
    client.close()


def test_redirects_and_a_token_are_part_of_the_time_that_a_request_may_take(server: Scripted) -> None:
    def slow(path: str) -> Answer:
        threading.Event().wait(0.2)
        if path == "/token":
            return 200, [], b'{"access_token": "one"}'
        return 302, [("Location", f"{path}a")], b""

    server.answer = slow
    oauth = OAuthSettings(url=f"{server.origin}/token", client_id="me", client_secret="s3cret")
    credentials = CredentialSettings(oauth=oauth)
    client = HttpClient(HttpSettings(timeout_ms=500, credentials=credentials, origins=(server.origin,)))
    with pytest.raises(TransientSourceError, match="no answer within 500 ms"):
        client.ask(f"{server.origin}/a")
    client.close()
    assert len(server.paths) <= 3


def test_a_wake_up_that_comes_with_an_answer_costs_no_turn(server: Scripted) -> None:
    server.say("/a", {"items": [1], "next": "/b"})
    server.say("/b", {"items": [2]})
    reader = HttpSplitReader(HttpSettings(), SystemClock(), RequestRate(None))
    reader.handle_splits_changes([start(f"{server.origin}/a")])

    def answer_and_wake(path: str) -> Answer:
        reader.wake_up()
        return 500, [], b""

    said = server.answer
    server.answer = answer_and_wake
    assert not reader.fetch().records
    server.answer = said
    assert reader.fetch().records
    reader.close()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["items", "a", "é"]), inner),
    max_leaves=8,
)
_BODIES = st.one_of(
    _JSON.map(lambda value: json.dumps(value).encode()),
    st.builds(lambda found, to: json.dumps({"items": found, "next": to}).encode(), st.lists(_JSON), _JSON),
    st.binary(max_size=40),
)
_TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
_HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["Link", "Location", "Retry-After", "Content-Type", "Content-Encoding", "Date"]),
        st.sampled_from(["gzip", "br", "zstd", "</a>; rel=next", "0", "text/x; charset=klingon"]) | _TEXTS,
    ),
    max_size=3,
)


def _reader(made: HttpSource) -> PagedSplitReader[Any]:
    """Return the reader of a source, with a clock that waits for nothing."""
    if not isinstance(made, IncrementalHttpSource):
        return HttpSplitReader(made.settings, ManualClock(), RequestRate(None))
    return IncrementalReader(
        made.settings,
        made.incremental,
        clock=ManualClock(),
        rate=RequestRate(None),
        store=MemoryStateStore(),
        query="query",
    )


_WAYS: list[dict[str, str]] = [
    {},
    {"paging": "page", "hasMoreField": "a"},
    {"cursorParam": "after", "nextField": "header:Link", "pageFormat": "ndjson"},
    {"incrementalField": "a", "incrementalParam": "since", "keyField": "é", "incrementalType": "number"},
    {"incrementalField": "a", "incrementalParam": "since", "keyField": "a"},
]


@pytest.mark.parametrize("way", _WAYS)
@given(
    answer=st.tuples(
        st.sampled_from([200, 200, 200, 204, 206, 301, 304, 400, 403, 404, 429, 500]), _HEADERS, _BODIES
    ),
    lacks=st.sampled_from([0, 0, 0, 5]),
    stalls=st.sampled_from([*[False] * 9, True]),
    bad_pages=st.sampled_from(["fail", "skip", "column"]),
)
@settings(max_examples=100, deadline=None)
def test_any_answer_is_rows_or_one_clear_error_in_time(
    fuzzed: Scripted, way: dict[str, str], *, answer: Answer, lacks: int, stalls: bool, bad_pages: str
) -> None:
    fuzzed.answer = lambda _: answer
    fuzzed.lacks = lacks
    fuzzed.stalls = stalls
    timeout = "50ms" if stalls else "5s"
    made = batch_source(
        f"{fuzzed.origin}/a", badPages=bad_pages, onStatus="4xx=skip", requestTimeout=timeout, **way
    )
    reader = _reader(made)
    begin = LogPosition().to_json() if way.get("incrementalField") else start(f"{fuzzed.origin}/a").start
    reader.handle_splits_changes([SplitRange(HttpSplit(f"{fuzzed.origin}/a"), begin, None)])
    # Where one hangs, so does this test: the server says no more until the client goes away.
    try:
        for _ in range(3):
            reader.fetch()
    except SourceError as error:
        assert "http" in str(error)  # noqa: PT017 - rows are as good
    finally:
        reader.close()


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Scripted]:
    with scripted_server() as made:
        yield made


@pytest.mark.parametrize("way", ["link", "redirect", "child"])
def test_links_lead_to_no_host_but_those_that_the_user_allows(server: Scripted, way: str) -> None:
    there = server.origin.replace("127.0.0.1", "localhost")
    if way == "redirect":
        server.say("/a", b"", status=302, Location=f"{there}/b")
    else:
        server.say(
            "/a",
            {"items": [{"lines": f"{there}/b"}]} if way == "child" else {"items": [1], "next": f"{there}/b"},
        )
    server.say("/b", {"items": [2]})
    options = {"childrenField": "lines"} if way == "child" else {}
    with pytest.raises(
        SourceError, match=r"leads to http://localhost:\d+, which option allowedHosts does not"
    ):
        run(
            source(f"{server.origin}/a", allowedHosts="api.example.com,*.example.org", **options),
            Barrier(),
            start(f"{server.origin}/a"),
        )
    for allowed in ("LOCALHOST", "*.example.org,localhost"):
        rows, _ = run(
            source(f"{server.origin}/a", allowedHosts=allowed, **options),
            Barrier(),
            start(f"{server.origin}/a"),
        )
        assert rows[-1][3] == "2"


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [("a.example.org", True), ("a.b.example.org", True), ("example.org", False), ("badexample.org", False)],
)
def test_a_star_allows_the_hosts_below_a_name(host: str, is_allowed: bool) -> None:
    assert (
        source("http://x/a", allowedHosts="*.example.org").settings.may_ask(f"https://{host}/b") is is_allowed
    )
