"""What is in a page: items, the link to the next one, and links to sub-resources."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import pyarrow as pa

from headwater.core.epoch import FoundSplit
from headwater.core.errors import CorruptRecordError
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.http.client import HttpResponse
from headwater.readers.http.settings import HttpSettings

__all__ = ["HTTP_SCHEMA", "Page", "parse_page", "retry_after_ms"]

_FIELDS: list[pa.Field[Any]] = [
    pa.field("resource", pa.string()),
    pa.field("page", pa.int64()),
    pa.field("row", pa.int64()),
    pa.field("item", pa.string()),
]
HTTP_SCHEMA = pa.schema(_FIELDS)

_NEXT_LINK = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?', re.IGNORECASE)


@dataclass(frozen=True)
class Page:
    """One page, decoded: its items, and the URL of the next page or None."""

    items: list[Any]
    next_url: str | None

    def rows(self, resource: str, number: int, start: int, stop: int) -> pa.RecordBatch:
        """Return items ``start`` to ``stop`` as rows; each item as compact JSON."""
        texts = [
            json.dumps(item, separators=(",", ":"), ensure_ascii=False) for item in self.items[start:stop]
        ]
        count = len(texts)
        columns: list[pa.Array[Any]] = [
            pa.array([resource] * count, pa.string()),
            pa.array([number] * count, pa.int64()),
            pa.array(range(start, start + count), pa.int64()),
            pa.array(texts, pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=HTTP_SCHEMA)

    def found(
        self, settings: HttpSettings, split: HttpSplit, at: PagePosition, stop: int
    ) -> tuple[FoundSplit, ...]:
        """Return the sub-resources that the items from a position to before row ``stop`` of its page name.

        Of one item, each once.
        """
        if settings.children_field is None:
            return ()
        found = []
        for row in range(at.row, stop):
            named = _at(self.items[row], settings.children_field)
            links = dict.fromkeys(
                link for link in (named if isinstance(named, list) else [named]) if isinstance(link, str)
            )
            children = [split.found(urljoin(at.url, link), at.page, row) for link in links]
            found += [FoundSplit(child, PagePosition(0, 0, child.url).to_json()) for child in children]
        return tuple(found)


def parse_page(answer: HttpResponse, settings: HttpSettings) -> Page:
    """Decode a page.

    Raises:
        CorruptRecordError: it is not JSON, or has no list where the items should be.
    """
    try:
        body = json.loads(answer.body)
    except ValueError as error:
        raise CorruptRecordError(f"the page is not JSON: {error}", source="http", split=answer.url) from error
    items = _at(body, settings.items_field)
    if not isinstance(items, list):
        raise CorruptRecordError(
            f"the page has no list at itemsField {settings.items_field!r} but {type(items).__name__}",
            source="http",
            split=answer.url,
        )
    return Page(items, _next_url(body, answer, settings))


def retry_after_ms(answer: HttpResponse, now: datetime) -> int | None:
    """Return how long the server asks to be left alone, None if it does not say."""
    raw = answer.headers.get("retry-after", "").strip()
    if raw.isdecimal():
        return int(raw) * 1000
    try:
        moment = parsedate_to_datetime(raw)
    except ValueError:
        return None
    return max(0, int((moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds() * 1000))


def _next_url(body: Any, answer: HttpResponse, settings: HttpSettings) -> str | None:
    link = _at(body, settings.next_field)
    if link in {None, "", False}:
        named = _NEXT_LINK.search(answer.headers.get("link", ""))
        return urljoin(answer.url, named.group(1)) if named else None
    if settings.cursor_param is None:
        return urljoin(answer.url, str(link))
    parts = urlsplit(answer.url)
    query = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name != settings.cursor_param
    ]
    return urlunsplit(parts._replace(query=urlencode([*query, (settings.cursor_param, str(link))])))


def _at(value: Any, names: str) -> Any:
    """Return what is at a dotted name, None if nothing is."""
    for name in filter(None, names.split(".")):
        value = value.get(name) if isinstance(value, dict) else None
    return value
