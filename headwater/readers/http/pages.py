"""What is in a page: its items, the link to the next page, and links to lists that its items name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.readers.http import exact_json
from headwater.readers.http.client import HttpResponse
from headwater.readers.http.settings import HttpSettings

_FIELDS: list[pa.Field[Any]] = [
    pa.field("resource", pa.string()),
    pa.field("page", pa.int64()),
    pa.field("row", pa.int64()),
    pa.field("item", pa.string()),
]
HTTP_SCHEMA = pa.schema(_FIELDS)

_OVERLOADED: Final = frozenset({429, 503})
_NEXT_LINK: Final = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?', re.IGNORECASE)


@dataclass(frozen=True)
class HttpPage:
    """One page, decoded.

    Attributes:
        items: in order.
        next_url: of the next page, or None.
    """

    items: list[Any]
    next_url: str | None

    def rows(self, resource: str, number: int, start: int, stop: int) -> pa.RecordBatch:
        """Return items ``start`` to ``stop`` as rows; each item as compact JSON."""
        texts = [exact_json.dumps(item) for item in self.items[start:stop]]
        count = len(texts)
        return pa.RecordBatch.from_pydict(
            {
                "resource": [resource] * count,
                "page": [number] * count,
                "row": list(range(start, start + count)),
                "item": texts,
            },
            schema=HTTP_SCHEMA,
        )

    def links(self, row: int, children_field: str, base_url: str) -> list[str]:
        """Return the URLs of the lists that an item names, each once, in order."""
        named = _at(self.items[row], children_field)
        links = named if isinstance(named, list) else [named]
        urls = [urljoin(base_url, link).replace(" ", "%20") for link in links if isinstance(link, str)]
        return list(dict.fromkeys(urls))


def parse_page(answer: HttpResponse, settings: HttpSettings) -> HttpPage:
    """Decode a page.

    Raises:
        CorruptRecordError: it is not JSON, or has no list where the items should be.
    """
    try:
        body = exact_json.loads(answer.body)
    except ValueError as error:
        raise CorruptRecordError(f"the page is not JSON: {error}", source="http", split=answer.url) from error
    items = _at(body, settings.items_field)
    if not isinstance(items, list):
        raise CorruptRecordError(
            f"the page has no list at itemsField {settings.items_field!r} but {type(items).__name__}",
            source="http",
            split=answer.url,
        )
    return HttpPage(items, _next_url(body, answer, settings))


def retry_after_ms(answer: HttpResponse, now: datetime) -> int | None:
    """Return how long an overloaded server asks to be left alone; None if it does not."""
    if answer.status not in _OVERLOADED:
        return None
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
    if not link:
        named = _NEXT_LINK.search(answer.headers.get("link", ""))
        return urljoin(answer.url, named.group(1)) if named else None
    if settings.cursor_param is None:
        return urljoin(answer.url, str(link))
    return _with_parameter(answer.url, settings.cursor_param, str(link))


def _with_parameter(url: str, name: str, value: str) -> str:
    parts = urlsplit(url)
    others = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != name]
    return urlunsplit(parts._replace(query=urlencode([*others, (name, value)])))


def _at(value: Any, names: str) -> Any:
    """Return what is at a dotted name, None if nothing is."""
    for name in filter(None, names.split(".")):
        value = value.get(name) if isinstance(value, dict) else None
    return value
