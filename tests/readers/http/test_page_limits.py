"""A page, however it is sent, takes no more memory and time than its limits allow."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3 import HTTPHeaderDict

from headwater.core.errors import CorruptRecordError
from headwater.readers.http import pages
from headwater.readers.http.codings import decoded
from headwater.readers.http.pages import HttpPage, parse_page
from headwater.readers.http.response import HttpResponse
from headwater.readers.http.settings import PagingSettings
from tests.readers.http.scripted import Scripted, read

MEBIBYTE = 1 << 20
COUNT = 2_500_000
BOMBS: dict[str, tuple[Callable[[], bytes], dict[str, Any]]] = {
    "a list": (lambda: b"[%b0]" % (b"0," * COUNT), {"items_field": ""}),
    "a list in an object": (lambda: b'{"items": [%b0]}' % (b"0," * COUNT), {}),
    "a list in objects": (
        lambda: b'{"a": {"items": [%b0]}}' % (b"0," * COUNT),
        {"items_field": "a.items"},
    ),
    "lines": (lambda: b"0\n" * COUNT, {"page_format": "ndjson"}),
    "fields": (lambda: b'{"items": [], %b}' % b",".join(b'"%d":0' % each for each in range(2_100_000)), {}),
}


def page(body: bytes, **paging: Any) -> HttpPage:
    return parse_page(HttpResponse("http://x/a", 200, HTTPHeaderDict(), body), PagingSettings(**paging))


@pytest.mark.parametrize("name", BOMBS)
def test_a_page_of_very_many_small_parts_is_refused_before_they_take_memory(name: str) -> None:
    make, paging = BOMBS[name]
    body = make()
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecordError, match="more than 2000000 items or values: ask for smaller"):
            page(body, **paging)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(body) + 4 * MEBIBYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("paging", "field"),
    [({"hasMoreField": "more"}, "more"), ({"nextField": "more"}, "more"), ({"childrenField": "more"}, "id")],
)
def test_a_field_of_very_many_values_makes_a_bad_page(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, paging: dict[str, str], field: str
) -> None:
    monkeypatch.setattr(pages, "_MOST_MEMBERS", 50)
    many = [{"more": list(range(99))}]
    server.say("/a", {"items": many if field == "id" else [1], "more": {"a": list(range(99))}})
    with pytest.raises(CorruptRecordError):
        read(f"{server.origin}/a", **paging)


VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from(',[]{}"\\é\n'), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(',{"\\', max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(items=st.lists(VALUES, max_size=9), is_ascii=st.booleans(), is_list=st.booleans())
def test_items_are_counted_and_nothing_inside_of_them(
    items: list[Any], is_ascii: bool, is_list: bool
) -> None:
    text = json.dumps(items if is_list else {"items": items}, ensure_ascii=is_ascii).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "_MOST_MEMBERS", 4)
        try:
            read_items = page(text, items_field="" if is_list else "items").items
        except CorruptRecordError:
            assert len(items) > 4
        else:
            assert len(items) <= 4
            assert [json.loads(bytes(item)) for item in read_items] == items


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_page_beyond_the_users_limit_is_a_bad_page(server: Scripted, is_compressed: bool) -> None:
    large = json.dumps({"items": ["x" * 4_000]}).encode()
    headers = (("Content-Encoding", "gzip"),) if is_compressed else ()
    server.say("/a?page=1", gzip.compress(large) if is_compressed else large, more=headers)
    server.say("/a?page=2", {"items": [2]})
    server.say("/a?page=3", {"items": []})
    options = {"paging": "page", "maxPageBytes": "1000"}
    with pytest.raises(
        CorruptRecordError, match=r"more than 1000 bytes \(option maxPageBytes .*badPages=skip"
    ):
        read(f"{server.origin}/a?page=1", **options)
    assert read(f"{server.origin}/a?page=1", badPages="skip", **options) == [2]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_very_many_streams_behind_each_other_take_time_by_their_bytes(coding: str) -> None:
    # Each end of a stream copies what is behind it.
    import zstandard

    empty = gzip.compress(b"") if coding == "gzip" else zstandard.compress(b"")
    assert decoded(empty * 200_000, coding, 64 * MEBIBYTE, display_url="http://x/a") == b""


@pytest.mark.parametrize(
    ("body", "items"),
    [
        (b'["\\ud800"]', ['"\\u003f"']),
        (b'["\\uDC00x", "\\ud83d\\ude00"]', ['"\\u003fx"', '"\\ud83d\\ude00"']),
        (b'["\\ude00\\ud83d", "\\\\ud800"]', ['"\\u003f\\u003f"', '"\\\\ud800"']),
        (b'[{"\\ud800": "\\ud800\\ud83d\\ude00"}]', ['{"\\u003f": "\\u003f\\ud83d\\ude00"}']),
    ],
)
def test_half_of_a_surrogate_pair_is_the_question_mark_that_spark_reads(
    body: bytes, items: list[str]
) -> None:
    assert [bytes(item).decode() for item in page(body, items_field="").items] == items
