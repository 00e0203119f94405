"""Pages of a real server: every item once, lists found, polite, and the same again when read again."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from examples.http_server import Api, serving
from headwater.connector.sources.http.options import configure_http
from headwater.connector.sources.http.source import HttpSource
from headwater.core.clock import ManualClock, SystemClock
from headwater.core.epoch import Barrier, SplitStatus
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    CorruptRecordError,
    DataLossError,
    DeadlineError,
    NoConnectionError,
    OptionError,
    SourceError,
    UnknownSplitError,
)
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.http.split import ROOT, HttpSplit, PagePosition
from headwater.readers.http.client import RequestRate
from headwater.readers.http.settings import HttpSettings
from headwater.readers.http.split_reader import HttpSplitReader
from local_kafka_tls import TlsFiles, make_certificates
from tests.patience import PATIENCE_S
from tests.readers.http.scripted import Scripted, ScriptedHandler, batch_source, read, run, source, start


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api(0, items=250, page=20)
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


def one_fetch(url: str, clock: ManualClock | None = None, **settings: Any) -> Any:
    reader = HttpSplitReader(HttpSettings(**settings), clock or ManualClock(), RequestRate(None))
    reader.handle_splits_changes([start(url)])
    try:
        return reader.fetch()
    finally:
        reader.close()


def test_all_items_come_once_and_those_of_the_lists_that_they_name(api: Api) -> None:
    items = read(api.url, childrenField="comments")
    assert sorted(item["id"] for item in items if "id" in item) == list(range(250))
    assert sorted((item["item"], item["comment"]) for item in items if "comment" in item) == [
        (at, c) for at in (0, 100, 200) for c in range(3)
    ]


def test_rows_say_where_they_come_from(api: Api) -> None:
    rows = run(source(api.url), Barrier(), start(api.url))[0]
    assert rows[21][:3] == (api.url, 1, 1)
    assert json.loads(rows[21][3]) == {"id": 21, "name": "item 21"}


def test_an_epoch_ends_at_the_barrier_and_the_next_one_goes_on(api: Api) -> None:
    made = source(api.url, childrenField="comments")
    starts: list[SplitRange[Any, Any]] = [start(api.url)]
    seen: list[Any] = []
    for _ in range(30):
        rows, state = run(made, Barrier(rows=40), *starts)
        again, _ = run(made, Barrier(rows=40), *starts, stop_at=state)
        assert sorted(again) == sorted(rows)
        seen += rows
        left = [entry for entry in state.progress if entry.status is SplitStatus.MORE]
        starts = [SplitRange(entry.split, entry.position, None) for entry in left]
        starts += [SplitRange(entry.split, entry.start, None) for entry in state.found]
        if not starts:
            break
    assert len(seen) == len(set(seen)) == 259


def test_a_resource_that_grows_is_caught_up_and_goes_on_in_the_middle_of_its_last_page(api: Api) -> None:
    made = source(api.url)
    first, state = run(made, Barrier(), start(api.url))
    assert [(entry.status, entry.not_before_ms) for entry in state.progress] == [
        (SplitStatus.CAUGHT_UP, None)
    ]
    api.items = 275
    second, after = run(
        made, Barrier(), SplitRange(state.progress[0].split, state.progress[0].position, None)
    )
    assert [json.loads(row[3])["id"] for row in first + second] == list(range(275))
    assert made.is_before(state.progress[0].position, after.progress[0].position)
    assert not made.is_before(after.progress[0].position, state.progress[0].position)
    again, _ = run(made, Barrier(), start(api.url), stop_at=state)
    assert again == first


def test_in_a_batch_a_resource_ends_with_its_last_page(api: Api) -> None:
    made = configure_http({"url": api.url}, Boundedness.BOUNDED).source
    assert isinstance(made, HttpSource)
    assert [entry.status for entry in run(made, Barrier(), start(api.url))[1].progress] == [
        SplitStatus.FINISHED
    ]


def test_a_server_that_is_busy_is_asked_again(api: Api) -> None:
    api.busy_every = 3
    assert [item["id"] for item in read(api.url)] == list(range(250))


def test_several_connections_read_several_lists(api: Api) -> None:
    assert len(read(api.url, childrenField="comments", connections="3")) == 259


def test_cursors_nested_fields_and_gzip(server: Scripted) -> None:
    server.say("/a?size=2", {"data": {"list": [1, 2]}, "page": {"cursor": "x y"}})
    server.say(
        "/a?size=2&after=x+y",
        gzip.compress(json.dumps({"data": {"list": [3]}, "page": {"cursor": ""}}).encode()),
        Content_Encoding="gzip",
    )
    found = read(
        f"{server.origin}/a?size=2", itemsField="data.list", nextField="page.cursor", cursorParam="after"
    )
    assert found == [1, 2, 3]


def test_numbers_come_with_the_digits_that_the_page_has(server: Scripted) -> None:
    numbers = ["12345678901234567890.12", "1.10", "1e400", "-0", "9" * 5_000, "-1E-5"]
    item = '{"a":{"\u00e9\\n":[' + ",".join(numbers) + ',[],{},true,null,"1.10"]},"b":1}'
    server.say("/a", f'{{"items": [{item}, 1.10], "next": 2.50}}'.encode())
    server.say("/a?after=2.50", {"items": []})
    found, _ = run(
        source(f"{server.origin}/a", nextField="next", cursorParam="after"),
        Barrier(),
        start(f"{server.origin}/a"),
    )
    assert [row[3] for row in found] == [item, "1.10"]


def test_a_link_header_leads_to_the_next_page_and_a_bare_list_is_a_page(server: Scripted) -> None:
    server.say("/a", [1, 2], Link='</b>; rel="next", </a>; rel="first"')
    server.say("/b", [3])
    assert read(f"{server.origin}/a", itemsField="") == [1, 2, 3]


def test_a_list_that_two_items_name_is_read_for_each_of_them(server: Scripted) -> None:
    server.say("/a", {"items": [{"more": "/b"}, {"more": ["/b", "/b", "/c d"]}]})
    server.say("/b", {"items": ["b"]})
    server.say("/c%20d", {"items": ["c"]})
    made = source(f"{server.origin}/a", childrenField="more")
    rows, state = run(made, Barrier(rows=1), start(f"{server.origin}/a"))
    assert sorted(
        json.loads(row[3])
        for row in run(made, Barrier(), start(f"{server.origin}/a"))[0]
        if "more" not in row[3]
    ) == ["b", "b", "c"]
    paths = [found.split.path for found in state.found]
    assert list(made.deserialize_splits(paths, None).values()) == [found.split for found in state.found]
    assert paths[0] == (f"0.0 of {server.origin}/a", f"{server.origin}/b")
    assert len(rows) == 2


def test_a_list_that_names_itself_or_one_above_it_is_noticed_and_not_read_for_ever(
    server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    server.say("/a", {"items": [{"more": "/a"}, {"more": "/b"}]})
    server.say("/b", {"items": [{"more": "/a"}, {"more": "/b"}, {"more": "/c"}]})
    server.say("/c", {"items": [{"more": ["/b", "/a", "/d"]}]})
    server.say("/d", {"items": ["d"]})
    made = source(f"{server.origin}/a", childrenField="more")
    rows, state = run(made, Barrier(), start(f"{server.origin}/a"))
    assert len(rows) == 2 + 3 + 1 + 1
    assert [str(event).partition(": ")[2] for event in state.events] == [
        f"{count} items name this list itself, or one in which it was found; it is not read again from there"
        for count in (1, 2, 2)
    ]
    assert caplog.text.count("left out a list") == 3


def test_headers_go_to_the_users_own_hosts_only(server: Scripted) -> None:
    elsewhere = f"http://localhost:{server.server_address[1]}"
    server.say("/a", {"items": [1], "next": f"{elsewhere}/b"})
    server.say("/b", None, status=302, Location=f"{server.origin}/c")
    server.say("/c", {"items": [2]})
    read(f"{server.origin}/a", **{"header.Authorization": "Bearer secret"})
    assert [(path, headers.get("authorization")) for path, headers in server.asked] == [
        ("/a", "Bearer secret"),
        ("/b", None),
        ("/c", "Bearer secret"),
    ]
    assert "secret" not in repr(source(f"{server.origin}/a", **{"header.Authorization": "Bearer secret"}))


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (401, {}, AuthenticationError, r"HTTP 401.*header\.Authorization"),
        (403, {}, AuthorizationError, "HTTP 403"),
        (404, {}, UnknownSplitError, "HTTP 404"),
        (400, {}, SourceError, "HTTP 400"),
        (200, b"<html>", CorruptRecordError, "not JSON"),
        (200, {"data": []}, CorruptRecordError, "no list of items at itemsField 'items'"),
        (200, {"items": [1], "next": "/a"}, CorruptRecordError, "names itself"),
        (200, {"items": [1], "next": "file:///etc/passwd"}, CorruptRecordError, "no http:// or https:// URL"),
    ],
)
def test_what_cannot_be_read_is_an_error(
    server: Scripted, status: int, body: Any, error: type[Exception], message: str
) -> None:
    server.say("/a", body, status=status)
    with pytest.raises(error, match=message):
        read(f"{server.origin}/a")


def test_a_short_retry_after_pauses_the_list_and_a_long_one_ends_its_epoch(server: Scripted) -> None:
    server.say("/a", {}, status=429, Retry_After="3")
    short = one_fetch(f"{server.origin}/a")
    assert (short.caught_up, short.paused) == ({}, {(ROOT, f"{server.origin}/a"): 3_000})
    server.say("/b", {}, status=503, Retry_After="3600")
    assert one_fetch(f"{server.origin}/b").caught_up == {(ROOT, f"{server.origin}/b"): 3_600_000}


def test_a_batch_waits_however_long_the_server_says(server: Scripted) -> None:
    server.say("/a", {}, status=429, Retry_After="3600")
    reader = HttpSplitReader(HttpSettings(follows_growth=False), ManualClock(), RequestRate(None))
    reader.handle_splits_changes([start(f"{server.origin}/a")])
    assert reader.fetch().paused == {(ROOT, f"{server.origin}/a"): 3_600_000}
    reader.close()


def test_while_one_list_is_paused_the_others_are_read(server: Scripted) -> None:
    server.say("/a", {}, status=429, Retry_After="1")
    server.say("/a", {"items": [1]})
    server.say("/b", {"items": [2], "next": "/b2"})
    server.say("/b2", {"items": [3]})
    made = source(f"{server.origin}/a")
    rows, state = run(made, Barrier(), start(f"{server.origin}/a"), start(f"{server.origin}/b"))
    assert [row[3] for row in rows] == ["2", "3", "1"]
    assert [path for path, _ in server.asked] == ["/a", "/b", "/b2", "/a"]
    assert all(progress.not_before_ms is None for progress in state.progress)


def test_a_pause_that_outlasts_the_epoch_is_kept_in_the_next(server: Scripted) -> None:
    server.say("/a", {}, status=429, Retry_After="5")
    server.say("/b", {"items": [2], "next": "/b"})
    made = source(f"{server.origin}/a", hasMoreField="more")
    server.say("/b", {"items": [2], "next": "/b2", "more": True})
    _, state = run(made, Barrier(rows=1), start(f"{server.origin}/a"), start(f"{server.origin}/b"))
    [paused] = [progress for progress in state.progress if progress.split.path[1].endswith("/a")]
    assert paused.status is SplitStatus.MORE
    assert 0 < (paused.not_before_ms or 0) <= 5_000


@pytest.mark.parametrize("tasks", [1, 3, 16])
def test_the_rate_is_that_of_the_query_however_many_tasks_there_are(tasks: int) -> None:
    made = 0
    for number in range(tasks):
        rate = RequestRate(40, number=number, tasks=tasks)
        now_ms = 0.0
        while (now_ms := rate.take(now_ms)) <= 10_000:
            made += 1
    assert 360 <= made <= 400


def test_one_task_makes_all_requests_of_a_rate_and_a_batch_does_not_wait_for_its_first_one() -> None:
    given = {"url": "http://x/", "stateLocation": "/state", "parallelism": "8", "connections": "2"}
    stream = {**given, "barrierInterval": "10s"}
    for rate, connections in (("100", 16), ("0.5", 5), ("0.001", 1)):
        made = configure_http({**stream, "requestsPerSecond": rate}, Boundedness.CONTINUOUS_UNBOUNDED)
        assert made.epochs.parallelism == 1
        assert made.source.fetcher_threads == connections
    assert configure_http(stream, Boundedness.CONTINUOUS_UNBOUNDED).epochs.parallelism == 8
    batch = batch_source("http://x/", requestsPerSecond="0.1").for_task(0, 2)
    assert batch.rate is not None
    assert [batch.rate.take(0) for _ in range(2)] == [0, 20_000]
    with pytest.raises(OptionError, match=r"must be a number of at least 0\.001, not '1e-9'"):
        source("http://x/", requestsPerSecond="1e-9")


def test_the_connections_of_a_task_share_its_part_of_the_rate() -> None:
    # Of a query that had no rate when the epoch was planned, and so several tasks.
    made = source("http://x/", requestsPerSecond="4", connections="3").for_task(1, 2)
    assert made.rate is not None
    assert [made.rate.take(0) for _ in range(3)] == [500, 1_000, 1_500]


def test_requests_keep_their_distance(server: Scripted) -> None:
    clock = ManualClock()
    for number in range(4):
        server.say(f"/{number}", {"items": [number], "next": f"/{number + 1}"})
    reader = HttpSplitReader(HttpSettings(), clock, RequestRate(4))
    reader.handle_splits_changes([start(f"{server.origin}/0")])
    for _ in range(4):
        reader.fetch()
    assert clock.monotonic_ms() == 1_000
    reader.close()


def test_a_server_that_fails_is_asked_no_faster_than_the_rate(server: Scripted) -> None:
    clock = ManualClock()
    server.say("/a", {}, status=500)
    reader = HttpSplitReader(HttpSettings(), clock, RequestRate(1))
    reader.handle_splits_changes([start(f"{server.origin}/a")])
    for _ in range(3):
        reader.fetch()
    assert clock.monotonic_ms() == 3_000
    reader.close()


def test_a_failing_server_is_asked_until_the_deadline(server: Scripted) -> None:
    clock = ManualClock()
    server.say("/a", {}, status=500)
    reader = HttpSplitReader(HttpSettings(deadline_ms=10_000), clock, RequestRate(None))
    reader.handle_splits_changes([start(f"{server.origin}/a")])

    def ask_again() -> None:
        [pause_ms] = reader.fetch().paused.values()
        clock.advance(pause_ms)

    with pytest.raises(DeadlineError, match=r"no answer after \d+ attempts in \d+ ms: HTTP 500"):
        list(iter(ask_again, "never"))
    assert 7_000 < clock.monotonic_ms() <= 10_000
    reader.close()


@pytest.mark.parametrize("is_new", [True, False])
def test_a_server_that_has_never_answered_is_not_waited_for_as_one_that_has(is_new: bool) -> None:
    clock = ManualClock()
    url = "http://127.0.0.1:1/a"
    reader = HttpSplitReader(HttpSettings(deadline_ms=120_000), clock, RequestRate(None))
    at = PagePosition.first_of(HttpSplit(url)) if is_new else PagePosition(1, 0, url)
    reader.handle_splits_changes([SplitRange(HttpSplit(url), at.to_json(), None)])

    def ask_again() -> None:
        records = reader.fetch()
        [failure] = records.failed.values()
        assert isinstance(failure, NoConnectionError)
        assert failure.is_first is is_new, "for epochs that are shorter than the wait"
        [pause_ms] = records.paused.values()
        clock.advance(pause_ms)

    with pytest.raises(DeadlineError) as error:
        list(iter(ask_again, "never"))
    assert ("nothing has ever answered there" in str(error.value)) is is_new
    assert clock.monotonic_ms() < 8_000 if is_new else clock.monotonic_ms() > 110_000
    reader.close()


def test_a_server_that_is_not_there_is_asked_again(server: Scripted) -> None:
    assert one_fetch("http://127.0.0.1:1/items").records == {}


def test_a_page_that_lost_items_is_an_error() -> None:
    made = Api(0, items=10, page=20)
    serving(made)
    state = run(source(made.url), Barrier(), start(made.url))[1]
    made.items = 5
    with pytest.raises(DataLossError, match="has 5 items, and had at least 10"):
        run(
            source(made.url), Barrier(), SplitRange(state.progress[0].split, state.progress[0].position, None)
        )
    made.shutdown()
    made.server_close()


def test_a_wake_up_ends_a_request_that_hangs_and_nothing_is_lost() -> None:
    asked = threading.Event()
    go = threading.Event()

    class Hanging(ScriptedHandler):
        def do_GET(self) -> None:  # noqa: N802 - the base class finds it by this name
            asked.set()
            go.wait(PATIENCE_S)

    hanging = ThreadingHTTPServer(("127.0.0.1", 0), Hanging)
    hanging.daemon_threads = True
    threading.Thread(target=hanging.serve_forever, args=(0.01,), daemon=True).start()
    reader = HttpSplitReader(HttpSettings(), SystemClock(), RequestRate(None))
    reader.handle_splits_changes([start(f"http://127.0.0.1:{hanging.server_address[1]}/a")])

    def wake() -> None:
        asked.wait(PATIENCE_S)
        reader.wake_up()

    waker = threading.Thread(target=wake)
    waker.start()
    assert not reader.fetch().records
    waker.join()
    go.set()
    reader.close()
    hanging.shutdown()
    hanging.server_close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option 'url': is required"),
        ({"url": "ftp://x"}, "must be http:// or https:// URLs"),
        ({"url": "http://x", "requestsPerSecond": "0"}, "must be a number of at least 0.001"),
        ({"url": "http://x", "urll": "y"}, "did you mean 'url'"),
        ({"url": "http://x"}, r"option 'stateLocation': is required: where a stream of source 'http' ends"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        configure_http(options, Boundedness.CONTINUOUS_UNBOUNDED)


class Greeter(BaseHTTPRequestHandler):
    """Answers with the token that it was asked with."""

    timeout = 30

    def do_GET(self) -> None:
        body = json.dumps({"items": [{"token": self.headers["Authorization"]}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        pass


@contextmanager
def serving_tls(files: TlsFiles) -> Iterator[str]:
    """Serve to clients that have a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files.ca))
    context.load_cert_chain(files.server)
    context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), Greeter) as server:
        server.daemon_threads = False
        # Shaken hands in the thread of each connection: that of the server goes on.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"https://localhost:{server.server_address[1]}/"
        server.shutdown()


def test_whom_to_trust_and_who_this_client_is_are_files_or_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make_certificates(tmp_path)
    monkeypatch.setenv("API_TOKEN", "Bearer t0ken")
    monkeypatch.setenv("API_KEY", files.client_key.read_text())
    tls = {"tlsCa": str(files.ca), "tlsCertificate": str(files.client_cert), "tlsKey": "env:API_KEY"}
    with serving_tls(files) as url:
        assert read(url, **tls, **{"header.Authorization": "env:API_TOKEN"}) == [{"token": "Bearer t0ken"}]
        # The server's alert may get lost with the connection.
        with suppress(AuthenticationError):
            answer = one_fetch(url, tls=source(url, **tls).settings.tls)
            assert not answer.records, "this client shows its certificate to the hosts that were named"
        with pytest.raises(SourceError, match="option 'tlsCa': /not/there cannot be read on this host"):
            read(url, tlsCa="/not/there")
        with pytest.raises(
            SourceError, match=r"'header.Authorization': the environment variable NOBODY is not"
        ):
            read(url, **tls, **{"header.Authorization": "env:NOBODY"})
    with pytest.raises(OptionError, match="'tlsCa': requires https:// in option 'url'"):
        source("http://localhost/", tlsCa="/ca")
