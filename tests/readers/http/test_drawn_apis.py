"""However an API writes its pages and goes on from one to the next, each item comes once."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import brotli
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.readers.http.scripted import Answer, Scripted, read, scripted_server

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
CHARSETS = {
    "": "utf-8",
    "; charset=utf-8": "utf-8",
    '; charset="UTF8"; q=1': "utf-8",
    "; charset=utf8mb4": "utf-8",
    "; charset=undefined": "utf-8",
    "; charset=UTF-16": "utf-16",
    ";CHARSET=iso-8859-1": "iso-8859-1",
}
RELATIONS = [
    "; rel=next",
    '; rel="next"',
    '; title="go to \\"rel=prev\\"" ; REL=next',
    '; rel="last next"; type="a,b;c"',
    ';rel=NEXT, </other?rel=next>; rel="prev"',
]
ITEMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(max_codepoint=255), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
LINKS = ["/a?at={at}", "?at={at}", "{origin}/a?at={at}"]
NO_ITEMS: list[dict[str, Any]] = [{"items": []}, {"items": None}, {}]
WAYS: dict[str, dict[str, str]] = {
    "link header": {},
    "url in the body": {"nextField": "meta.next"},
    "text cursor": {"nextField": "meta.next", "cursorParam": "after"},
    "number cursor": {"nextField": "meta.next", "cursorParam": "after"},
    "cursor in a header": {"nextField": "header:X-Next", "cursorParam": "after"},
    "cursor in the request's body": {
        "nextField": "meta.next",
        "cursorParam": "body:variables.after",
        "method": "POST",
        "body": '{"variables": null}',
    },
    "pages": {"paging": "page"},
    "offsets": {"paging": "offset", "countParam": "skip"},
    "pages with a flag": {"paging": "page", "hasMoreField": "more"},
    "cursor with a flag of the last": {
        "nextField": "meta.next",
        "cursorParam": "after",
        "hasMoreField": "!end",
    },
}


class DrawnApi:
    """Answers each page as it was drawn: first, it may be, broken off, or with a redirect."""

    def __init__(self, server: Scripted, way: str, pages: list[list[Any]], data: st.DataObject) -> None:
        self._server = server
        self._way = way
        self._pages = pages
        self._starts = [sum(map(len, pages[:at])) for at in range(len(pages))]
        # Here, on the test's thread: the server answers on others.
        draw = data.draw
        self._coding = draw(st.sampled_from(sorted(CODINGS)))
        self._charset = draw(st.sampled_from(sorted(CHARSETS)))
        self._relation = draw(st.sampled_from(RELATIONS))
        self._broken = draw(st.sets(st.integers(0, 5), max_size=2))
        self._redirected = draw(st.sets(st.integers(0, 5), max_size=2))
        self._no_items = draw(st.sampled_from(NO_ITEMS))
        self._link = draw(st.sampled_from(LINKS))
        server.answer = self.answer

    def answer(self, path: str) -> Answer:
        parts = urlsplit(path)
        at = self._asked(parse_qs(parts.query))
        if at in self._redirected and parts.path == "/a":
            return 307, [("Location", f"/moved?{parts.query}")], b""
        headers, fields = self._page(at)
        text = json.dumps(fields, ensure_ascii=self._charset == ";CHARSET=iso-8859-1")
        body = CODINGS[self._coding](text.encode(CHARSETS[self._charset]))
        headers += [("Content-Type", f"application/json{self._charset}")]
        headers += [("Content-Encoding", self._coding)] if self._coding else []
        if at in self._broken:
            self._broken.discard(at)
            self._server.lacks = max(1, len(body) // 2)
        else:
            self._server.lacks = 0
        return 200, headers, body

    def _asked(self, query: dict[str, list[str]]) -> int:
        if self._way == "offsets":
            offset = int(query.get("skip", ["0"])[0])
            return self._starts.index(offset) if offset in self._starts else len(self._pages)
        if self._way.startswith("pages"):
            return int(query.get("page", ["1"])[0]) - 1
        if self._way == "cursor in the request's body":
            return int((json.loads(self._server.bodies[-1])["variables"] or {}).get("after", 0))
        return int(query.get("after", query.get("at", ["0"]))[0])

    def _page(self, at: int) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        items = self._pages[at] if at < len(self._pages) else []
        fields: dict[str, Any] = {"items": items} if items else dict(self._no_items)
        is_last = at >= len(self._pages) - 1
        headers: list[tuple[str, str]] = []
        if self._way == "link header":
            # An empty page without its list says by the header that there is another one, or has the list.
            if is_last:
                fields.setdefault("items", [])
            else:
                headers.append(("Link", f"</a?at={at + 1}>{self._relation}"))
        elif self._way == "cursor in a header":
            fields.setdefault("items", [])
            headers += [] if is_last else [("X-Next", str(at + 1))]
        elif self._way == "pages with a flag":
            fields["more"] = not is_last
        elif not self._way.startswith(("pages", "offsets")):
            fields["meta"] = {"next": None if is_last else self._next(at + 1)}
            if self._way == "cursor with a flag of the last" and is_last:
                # The cursor is always there.
                fields |= {"meta": {"next": f"{at + 1}"}, "end": True}
        return headers, fields

    def _next(self, at: int) -> Any:
        if self._way == "url in the body":
            return self._link.format(origin=self._server.origin, at=at)
        return at if self._way in ("number cursor", "cursor in the request's body") else str(at)


@given(data=st.data(), way=st.sampled_from(sorted(WAYS)))
@settings(max_examples=60, deadline=None)
def test_each_item_of_a_drawn_api_comes_once_and_in_order(data: st.DataObject, way: str) -> None:
    # Counted pages end with an empty one, and a page like the one before is an error there.
    is_counted = way.startswith(("pages", "offsets"))
    numbers = iter(range(1_000))
    pages = [
        [[next(numbers), item] for item in page]
        for page in data.draw(
            st.lists(st.lists(ITEMS, min_size=int(is_counted), max_size=3), min_size=1, max_size=5)
        )
    ]
    with scripted_server() as server:
        DrawnApi(server, way, pages, data)
        assert read(f"{server.origin}/a", **WAYS[way]) == [item for page in pages for item in page]
