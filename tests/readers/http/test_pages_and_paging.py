"""Where the next page is, what is no end, and items that pass as the bytes they are."""

from __future__ import annotations

import itertools
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.connector.sources.http.source import HttpSource
from headwater.core.epoch import Barrier, EpochState, SplitStatus
from headwater.core.errors import CorruptRecordError, OptionError
from headwater.core.split import SplitRange
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
from tests.readings import TickingClock


def test_items_pass_as_they_were_sent(server: Scripted) -> None:
    numbers = [b"12345678901234567.89", b"1e400", b'{ "a":1.10,\n "b":"\\ud83d\\ude00" }', b"-0.0", b'"x"']
    server.say("/a", b'{"items": [' + b" , ".join(numbers) + b"]}")
    url = f"{server.origin}/a"
    rows = run(source(url), Barrier(), start(url))[0]
    assert [row[3].encode() for row in rows] == numbers


def test_each_of_several_link_lines_counts(server: Scripted) -> None:
    server.say(
        "/a", [1], more=(("Link", '</p?q=a,b>; rel="prev"'), ("Link", '</b>; title="x, y"; rel="a next"'))
    )
    server.say("/b", [2], more=(("Link", "</c>; rel=next"), ("Link", "</a>; rel=first")))
    server.say("/c", [3], Link='</a>; rel="first"')
    assert read(f"{server.origin}/a", itemsField="") == [1, 2, 3]


class GrowingList:
    """Answers as an API that counts, of which each request may make the list longer."""

    def __init__(self, server: Scripted, paging: str, lengths: list[int], size: int) -> None:
        self.paging = paging
        self.lengths = lengths
        self.size = size
        server.answer = self.answer

    def answer(self, path: str) -> Answer:
        length = self.lengths.pop(0) if len(self.lengths) > 1 else self.lengths[0]
        raw = dict(parse_qsl(urlsplit(path).query)).get(self.paging)
        first = (int(raw or 1) - 1) * self.size if self.paging == "page" else int(raw or 0)
        found = list(range(first, min(first + self.size, length)))
        return 200, [], json.dumps({"items": found}).encode()


@pytest.mark.parametrize("paging", ["page", "offset"])
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_counted_pages_of_a_list_that_grows_come_once_and_again_the_same(
    paging: str, data: st.DataObject
) -> None:
    grown = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=12))
    lengths = list(itertools.accumulate(grown))
    with scripted_server() as server:
        growing = GrowingList(server, paging, list(lengths), data.draw(st.integers(1, 5)))
        made = source(f"{server.origin}/a", paging=paging)
        begin: SplitRange[Any, Any] = start(f"{server.origin}/a")
        seen: list[Any] = []
        epochs = []
        for _ in range(40):
            fully_grown = len(growing.lengths) == 1
            rows, state = run(made, Barrier(rows=data.draw(st.integers(1, 20))), begin)
            epochs.append((begin, rows, state))
            seen += [int(row[3]) for row in rows]
            begin = SplitRange(state.progress[0].split, state.progress[0].position, None)
            if fully_grown and not rows:
                break
        assert seen == list(range(lengths[-1]))
        for first, rows, state in epochs:
            if rows:
                assert [row[2:] for row in run(made, Barrier(), first, stop_at=state)[0]] == [
                    row[2:] for row in rows
                ]


class ShortEpochs:
    """A stream whose epochs end after one turn: an API takes longer for a page than they last."""

    def __init__(self, made: HttpSource) -> None:
        self.source = made
        self.begin: SplitRange[Any, Any] = start(made.urls[0])
        self.epochs: list[tuple[SplitRange[Any, Any], list[Any], EpochState]] = []

    @property
    def seen(self) -> list[int]:
        return [int(row[3]) for _, rows, _ in self.epochs for row in rows]

    def read(self, epochs: int) -> None:
        for _ in range(epochs):
            rows, state = run(self.source, Barrier(duration_ms=1), self.begin, clock=TickingClock())
            self.epochs.append((self.begin, rows, state))
            self.begin = SplitRange(state.progress[0].split, state.progress[0].position, None)

    def read_again(self) -> None:
        for begin, rows, state in self.epochs:
            assert run(self.source, Barrier(), begin, stop_at=state)[0] == rows


@pytest.mark.parametrize("paging", ["page", "offset"])
def test_a_list_gets_on_though_each_epoch_ends_after_its_first_turn(server: Scripted, paging: str) -> None:
    GrowingList(server, paging, [20], 2)
    stream = ShortEpochs(source(f"{server.origin}/a", paging=paging))
    stream.read(12)
    assert stream.seen == list(range(20))
    # Ten pages, and not each again and again: it is known which ones are complete.
    assert len(server.asked) <= 16
    stream.read_again()


@pytest.mark.parametrize(
    ("told", "options"),
    [
        ("Link", {}),
        ("next", {"nextField": "next"}),
        ("X-Next", {"nextField": "header:X-Next", "cursorParam": "after"}),
        ("cursor", {"nextField": "cursor", "cursorParam": "after"}),
        ("cursor", {"nextField": "cursor", "cursorParam": "body:page.after", "method": "POST", "body": "{}"}),
        ("cursor", {"nextField": "cursor", "cursorParam": "after", "hasMoreField": "more"}),
    ],
)
def test_every_way_to_the_next_page_goes_on_where_an_epoch_ended(
    server: Scripted, told: str, options: dict[str, str]
) -> None:
    def answer(path: str) -> Answer:
        asked = dict(parse_qsl(urlsplit(path).query))
        in_body = json.loads(server.bodies[-1] or b"{}").get("page", {})
        at = int(in_body.get("after") or asked.get("after") or 0)
        page = {"items": [at, at + 1], "more": at < 8}
        after = f"/a?after={at + 2}"
        ways = {"Link": f'<{after}>; rel="next"', "next": after, "X-Next": str(at + 2), "cursor": str(at + 2)}
        following = {told: ways[told]} if at < 8 else {}
        in_headers = told in {"Link", "X-Next"}
        body = json.dumps(page if in_headers else page | following).encode()
        return 200, [*following.items()] if in_headers else [], body

    server.answer = answer
    stream = ShortEpochs(source(f"{server.origin}/a", **options))
    stream.read(7)
    assert [len(rows) for _, rows, _ in stream.epochs][:5] == [2] * 5
    assert stream.seen == list(range(10))
    stream.read_again()


def test_a_list_gets_on_over_bad_pages_though_each_epoch_ends_after_its_first_turn(server: Scripted) -> None:
    growing = GrowingList(server, "page", [12], 2)
    bad = {f"/a?page={number}" for number in (3, 4)}
    server.answer = lambda path: (200, [], b"<html>") if path in bad else growing.answer(path)
    stream = ShortEpochs(source(f"{server.origin}/a", paging="page", badPages="skip"))
    stream.read(10)
    assert stream.seen == [0, 1, 2, 3, 8, 9, 10, 11]
    stream.read_again()


@pytest.mark.parametrize("options", [{"paging": "page"}, {"paging": "offset"}, {"hasMoreField": "more"}])
@pytest.mark.parametrize("first", [0, 4])
def test_an_api_that_does_not_count_by_the_parameter_is_an_error_and_not_the_same_rows_for_ever(
    server: Scripted, options: dict[str, str], first: int
) -> None:
    """Or one that gives its last page for all that are behind it."""
    counted = {"paging": "page", **options}
    growing = GrowingList(server, counted["paging"], [6], 2)

    def answer(path: str) -> Answer:
        found = json.loads(growing.answer(path)[2])["items"]
        items = [item for item in found if item < first] or [first, first + 1]
        return 200, [], json.dumps({"items": items, "more": True}).encode()

    server.answer = answer
    stream = ShortEpochs(source(f"{server.origin}/a", **counted))
    with pytest.raises(CorruptRecordError, match=r"the very items of the one before it.*countParam"):
        stream.read(10)
    assert stream.seen == list(range(first + 2))


def test_has_more_tells_the_end_though_a_cursor_is_always_there(server: Scripted) -> None:
    server.say("/a", {"items": [1], "cursor": "c1", "has_more": True})
    server.say("/a?after=c1", {"items": [2], "cursor": "c2", "has_more": False})
    options = {"nextField": "cursor", "cursorParam": "after", "hasMoreField": "has_more"}
    assert read(f"{server.origin}/a", **options) == [1, 2]
    assert server.paths == ["/a", "/a?after=c1"]


@pytest.mark.parametrize("last", [{"end": True}, {"end": True, "next": "/b"}])
def test_a_flag_may_be_true_on_the_last_page_alone(server: Scripted, last: dict[str, Any]) -> None:
    server.say("/a", {"items": [1], "next": "/a2"})
    server.say("/a2", {"items": [2], "next": "/a3", "end": False})
    server.say("/a3", {"items": [3], **last})
    assert read(f"{server.origin}/a", hasMoreField="!end") == [1, 2, 3]
    assert server.paths == ["/a", "/a2", "/a3"]


def test_a_header_may_be_true_on_the_last_of_counted_pages(server: Scripted) -> None:
    server.say("/a", {"items": [1]}, X_End="false")
    server.say("/a?page=2", {"items": [2]}, X_End="TRUE")
    assert read(f"{server.origin}/a", paging="page", hasMoreField="!header:x-end") == [1, 2]
    assert server.paths == ["/a", "/a?page=2"]


def test_a_page_that_says_there_is_more_and_does_not_say_where_is_an_error(server: Scripted) -> None:
    server.say("/a", {"items": [1], "cursor": "c1", "more": True})
    with pytest.raises(CorruptRecordError, match="says that there is another page, and nothing names it"):
        read(f"{server.origin}/a", hasMoreField="more", cursorParam="after")


def test_an_api_that_has_no_page_behind_the_last_one_may_say_so_by_its_status(server: Scripted) -> None:
    server.say("/a", {"items": [1]})
    server.say("/a?page=2", {"detail": "Invalid page."}, status=404)
    assert read(f"{server.origin}/a", paging="page", onStatus="404=finish") == [1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hasMoreField": "hasmore"}, "no field 'hasmore' (option hasMoreField)"),
        ({"paging": "page", "hasMoreField": "hasmore"}, "no field 'hasmore' (option hasMoreField)"),
        ({"nextField": "meta.nxt"}, "no field 'meta.nxt' (option nextField)"),
        ({"nextField": "meta.next"}, None),
        ({}, None),
    ],
)
def test_a_first_page_that_lacks_what_tells_of_another_one_is_named_in_the_log_once(
    server: Scripted, options: dict[str, str], named: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    server.say("/a", {"items": [1], "has_more": True, "meta": {"next": None}})
    for _ in range(2):
        assert items(batch_source(f"{server.origin}/a", **options)) == [1]
    assert caplog.text.count("it counts as the last one") == (named is not None)
    assert (named or "") in caplog.text


def test_a_cursor_that_is_always_there_ends_a_turn_where_nothing_comes_and_loses_nothing(
    server: Scripted,
) -> None:
    for number in range(40):
        server.say(f"/a?c={number}", {"items": [number] if number < 3 else [], "next": str(number + 1)})
    made = source(f"{server.origin}/a?c=0", cursorParam="c")
    rows, state = run(made, Barrier(), start(f"{server.origin}/a?c=0"))
    assert len(rows) == 3
    assert len(server.asked) == 13
    assert state.progress[0].status is SplitStatus.CAUGHT_UP
    server.answers["/a?c=13"] = [(200, [], b'{"items": [13]}')]
    more, _ = run(made, Barrier(), SplitRange(state.progress[0].split, state.progress[0].position, None))
    assert [row[3] for row in more] == ["13"]


def test_an_empty_page_that_names_itself_is_the_last_one(server: Scripted) -> None:
    server.say("/a", {"items": [1], "next": "/b"})
    server.say("/b", {"items": [], "next": "/b"})
    assert items(batch_source(f"{server.origin}/a")) == [1]


def test_pages_that_lead_in_a_circle_are_an_error(server: Scripted) -> None:
    for number in range(7):
        server.say(f"/{number}", {"items": [number], "next": f"/{(number + 1) % 7 or 2}"})
    with pytest.raises(CorruptRecordError, match="lead in a circle"):
        items(batch_source(f"{server.origin}/0"))
    assert len(server.asked) < 40


def test_a_cursor_may_be_in_a_header_or_a_number_and_go_into_the_body(server: Scripted) -> None:
    server.say("/h", [1], X_Next="c 1")
    server.say("/h?after=c+1", [2])
    assert read(f"{server.origin}/h", itemsField="", nextField="header:X-Next", cursorParam="after") == [1, 2]
    server.say("/q", b'{"data": {"list": [1], "end": 12345678901234567890}}')
    server.say("/q", {"data": {"list": [2], "end": None}})
    body = {"query": "{...}", "variables": {"first": 1}}
    found = read(
        f"{server.origin}/q",
        method="POST",
        body=json.dumps(body),
        itemsField="data.list",
        nextField="data.end",
        cursorParam="body:variables.after",
    )
    assert found == [1, 2]
    asked = [json.loads(body) for body in server.bodies if body]
    assert asked[0] == body
    assert asked[1]["variables"] == {"first": 1, "after": 12345678901234567890}


def test_lines_names_with_dots_null_and_no_content(server: Scripted) -> None:
    server.say("/lines", b'{"a": 1}\n{"a": 2}\n', Link="</none>; rel=next")
    server.say("/none", status=204)
    assert read(f"{server.origin}/lines", pageFormat="ndjson") == [{"a": 1}, {"a": 2}]
    server.say("/odata", {"value": [1], "@odata.nextLink": "/odata2"})
    server.say("/odata2", {"value": None})
    assert read(f"{server.origin}/odata", itemsField="value", nextField="@odata.nextLink") == [1]


def test_children_are_found_by_a_template(server: Scripted) -> None:
    server.say("/orders", {"items": [{"id": "a/b"}, {"no": 1}, {"id": 7}]})
    server.say("/orders/a%2Fb/lines", {"items": ["x"]})
    server.say("/orders/7/lines", {"items": ["y"]})
    made = source(f"{server.origin}/orders", childrenUrl=f"{server.origin}/orders/{{id}}/lines")
    # Items of children name no lists: they have no id.
    rows, _ = run(made, Barrier(), start(f"{server.origin}/orders"))
    assert sorted(row[3] for row in rows if "{" not in row[3]) == ['"x"', '"y"']


def test_parameters_stand_in_the_url_and_other_encodings_are_read(server: Scripted) -> None:
    server.say("/a?pageSize=2", '{"items": ["Zoë"]}'.encode("latin-1"), Content_Type="x/y; charset=latin-1")
    assert read(f"{server.origin}/a", params='{"pageSize": 2}') == ["Zoë"]


@pytest.mark.parametrize(
    ("options", "pages"),
    [
        (
            {"nextField": "t", "cursorParam": "t"},
            [{"items": [1], "t": "a"}, {"t": "b"}, {"items": [2], "t": ""}],
        ),
        ({"nextField": "t", "cursorParam": "t"}, [{"t": "a"}, {"t": "b", "errors": []}, {"items": [1, 2]}]),
        ({"nextField": "t", "cursorParam": "t"}, [{"items": [1, 2], "t": "a"}, {"t": ""}]),
        (
            {"nextField": "m.t", "cursorParam": "t", "itemsField": "m.items"},
            [{"m": {"items": [1, 2], "t": "a"}}, {"m": {"t": None}}],
        ),
        ({"hasMoreField": "more", "paging": "page"}, [{"more": True}, {"items": [1, 2], "more": False}]),
        ({"hasMoreField": "more", "paging": "page"}, [{"items": [1, 2], "more": True}, {"more": False}]),
        ({"paging": "page"}, [{"items": [1, 2]}, {}]),
        ({"paging": "offset"}, [{"items": [1, 2]}, {}]),
    ],
)
def test_an_empty_list_that_is_left_out_is_an_empty_page_and_nothing_behind_it_is_lost(
    server: Scripted, options: dict[str, str], pages: list[Any]
) -> None:
    answers = iter(pages)
    server.answer = lambda _: (200, [], json.dumps(next(answers)).encode())
    assert read(f"{server.origin}/a", **options) == [1, 2]


def test_an_empty_list_may_be_left_out_where_a_header_leads_on(server: Scripted) -> None:
    server.say("/a", {}, Link='</b>; rel="next"')
    server.say("/b", {"items": [1]})
    server.say("/c", {}, X_Next="/b")
    assert read(f"{server.origin}/a") == [1]
    assert read(f"{server.origin}/c", nextField="header:X-Next") == [1]


@pytest.mark.parametrize(
    "page", [{"t": "a", "data": [1]}, {"message": "later"}, {}, {"m": {"rows": [1]}, "t": "a"}]
)
def test_a_page_without_a_mark_or_with_another_list_is_not_taken_for_an_empty_one(
    server: Scripted, page: Any
) -> None:
    server.say("/a", page)
    items = "m.items" if "m" in page else "items"
    with pytest.raises(CorruptRecordError, match="no list of items"):
        read(f"{server.origin}/a", nextField="t", cursorParam="t", itemsField=items)


@pytest.mark.parametrize(
    "charset", ["utf8mb4", "undefined", "punycode", "idna", "rot13", "hex", "unicode_escape", "", '"', "UTF8"]
)
def test_what_is_no_encoding_of_the_web_is_utf_8(server: Scripted, charset: str) -> None:
    server.say("/a", '{"items": ["Zoë"]}'.encode(), Content_Type=f"application/json; charset={charset}")
    assert read(f"{server.origin}/a") == ["Zoë"]


@pytest.mark.parametrize(
    "charset", ["utf-16", "utf-32-le", "windows-1252", "iso-8859-15", "ibm850", "macroman"]
)
def test_encodings_of_the_web_are_read(server: Scripted, charset: str) -> None:
    server.say("/a", '{"items": ["Zoë"]}'.encode(charset), Content_Type=f"text/json; charset={charset}")
    assert read(f"{server.origin}/a") == ["Zoë"]


def test_a_page_whose_items_are_elsewhere_or_that_is_no_json_says_what_it_is(server: Scripted) -> None:
    server.say("/list", [1])
    server.say("/data", {"data": [1], "count": 1, "meta": {}})
    server.say("/html", b"<html>", Content_Type="text/html; charset=utf-8")
    for path, said in (
        ("/list", "the response is a JSON array, not an object with 'items': set itemsField=''"),
        ("/data", "no list of items at itemsField 'items': there is no such field, and lists at: data;"),
        ("/html", r"the page is not JSON \(Content-Type text/html; charset=utf-8\)"),
    ):
        with pytest.raises(CorruptRecordError, match=said):
            read(f"{server.origin}{path}")


@pytest.mark.parametrize(
    "body",
    [
        b'{"items": [1], "next": {"a": 1}}',
        b'{"items": [1], "next": "\\ud800"}',
        b'{"items": [1], "next": "http://[x/"}',
        b'{"items": [1], "next": ["/a"]}',
        b"[" * 100_000,
        b'{"items": ' + b"[" * 100_000,
        b'{"items": ["\xff"]}',
        b'{"items": {}}',
        b"<html>",
        b"",
    ],
)
def test_what_is_no_page_is_one_clear_error(server: Scripted, body: Any) -> None:
    server.say("/a", body)
    with pytest.raises(CorruptRecordError, match=r"badPages=skip or column lets a query go on.*split http"):
        read(f"{server.origin}/a")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('</p2>; title="go to \\"rel=prev\\""; rel="next"', True),
        ('</p2>; title="x; rel=prev"; rel=next', True),
        ('</p0>; rel="prev", </p2>; rel="next"', True),
        ('</p0>; title="a, <b>; rel=next"; rel="prev" , </p2>;rel=next', True),
        ("</p2>;rel = Next ; type=text/html", True),
        ('</p2>; rel="last next"', True),
        ("</p2>; rel=next; rel=prev", True),
        ("</p2>; rel=prev; rel=next", False),
        ('</p2>; title="rel=next"; rel=prev', False),
        ("</p2>; xrel=next", False),
        ('</p2>; rel="nexts"', False),
        ("</p2>", False),
        ("garbage; rel=next", False),
    ],
)
def test_link_headers_are_read_by_their_grammar(server: Scripted, header: str, expected: bool) -> None:
    server.say("/a", {"items": [1]}, Link=header)
    server.say("/p2", {"items": [2]})
    assert read(f"{server.origin}/a") == ([1, 2] if expected else [1])


@pytest.mark.parametrize("cursor", [10, "10", 12345678901234567890123, 1.5, "x"])
def test_a_cursor_goes_back_into_the_body_as_the_page_has_it(server: Scripted, cursor: Any) -> None:
    server.say("/a", {"items": [1], "c": cursor})
    server.say("/a", {"items": [2], "c": f"{cursor}y" if isinstance(cursor, str) else 1 + cursor})
    server.say("/a", {"items": [3]})
    options = {"nextField": "c", "cursorParam": "body:variables.after", "method": "POST"}
    body = {"q": "é", "variables": None}
    assert read(f"{server.origin}/a", **options, body=json.dumps(body)) == [1, 2, 3]
    sent = [json.loads(asked)["variables"] for asked in server.bodies]
    assert sent[:2] == [None, {"after": cursor}]
    assert type(sent[2]["after"]) is type(cursor)


def test_a_page_that_is_to_be_seen_elsewhere_is_got_from_there(server: Scripted) -> None:
    server.say("/a", b"", status=303, Location="/b")
    server.say("/b", {"items": [1]})
    assert read(f"{server.origin}/a", method="POST", body="{}") == [1]
    assert server.methods == ["POST", "GET"]
    assert server.bodies == [b"{}", b""]


def test_a_parameter_with_several_values_comes_several_times(server: Scripted) -> None:
    server.say("/a?expand=a&expand=b+c&n=1", {"items": [1]})
    assert read(f"{server.origin}/a", params='{"expand": ["a", "b c"], "n": 1}') == [1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"paging": "page", "countParam": "body:page"}, "'countParam': must be a parameter of the query"),
        (
            {"method": "POST", "body": '{"a": "x"}', "cursorParam": "body:a.b", "nextField": "n"},
            "'cursorParam': leads through 'a', which is not an object",
        ),
        ({"params": '{"a": ["env:X"]}'}, "'params'.* without secrets"),
        ({"params": '{"a": [["x"]]}'}, "'params'.* a list of texts"),
    ],
)
def test_places_that_no_request_has_are_refused_before_anything_is_asked(
    options: dict[str, str], words: str
) -> None:
    with pytest.raises(OptionError, match=words):
        source("http://127.0.0.1:9/a", **options)
