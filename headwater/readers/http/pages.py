"""The content of a page: its items, as bytes, and links to lists that items name."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec
import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.http.origins import absolute
from headwater.readers.http.response import HttpResponse
from headwater.readers.http.settings import PagingSettings

_FIELDS: list[pa.Field[Any]] = [
    pa.field("resource", pa.string()),
    pa.field("page", pa.int64()),
    pa.field("row", pa.int64()),
    pa.field("item", pa.string()),
]
HTTP_SCHEMA = pa.schema(_FIELDS)
BAD_PAGE: Final = "bad_page"
"""The column that says why a page was left out, with badPages=column."""

_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])
_LINES: Final = msgspec.json.Decoder(msgspec.Raw)
_VALUE: Final = msgspec.json.Decoder()
_PLACE: Final = re.compile(r"\{([^{}]+)\}")
_EMPTY: Final = frozenset({b"null", b"false", b'""'})
_NO_ERROR: Final = _EMPTY | {b"[]", b"{}", b"0"}
_SHOWN_ERROR: Final = 500
HEADER: Final = "header:"
"""How the name of a field begins that is a header."""
_CHARSETS: Final = (
    *("ascii", "utf-8", "utf-16", "utf-32", "iso8859", "cp1", "cp8", "koi8", "mac"),
    *("shift_jis", "euc", "iso2022", "gb", "hz", "big5", "johab"),
)
"""How Python's names of the encodings begin that are read: those of the WHATWG's standard, and some more."""
_BOM: Final = b"\xef\xbb\xbf"
_MOST_MEMBERS: Final = 2_000_000
"""An item, a field or a link takes some 170 bytes beside its text, however short that is."""
_NO_MARKS: Final = bytes(set(range(256)) - set(b'"[]{},'))
_INNERMOST: Final = re.compile(rb'\{,*\}|\[,*\]|"[^"]*"')
"""Of a text of marks alone: lists and objects without others in them, and strings."""
_BRACKET: Final = re.compile(rb"[\[\]{}]")
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Of a surrogate pair, of half of one as a group, or of another character."""

Fields = Mapping[str, msgspec.Raw]
MembersT = TypeVar("MembersT")


class PageSaysError(CorruptRecordError):
    """A page says that it is an error: its server may want to be left alone."""


@dataclass(frozen=True)
class HttpPage:
    """One page, cut into its items.

    Attributes:
        items: in order, each as it was sent.
        fields: of the page's JSON; none if that is no object.
    """

    items: list[msgspec.Raw]
    fields: Fields

    def rows(self, resource: str, number: int, indices: Sequence[int], first_row: int) -> pa.RecordBatch:
        """Return some items as rows.

        Args:
            resource: the URL of the list.
            number: of the page.
            indices: the rows.
            first_row: that of the first item.
        """
        count = len(indices)
        columns: list[pa.Array[Any]] = [
            pa.repeat(pa.scalar(resource, pa.string()), count),
            pa.repeat(pa.scalar(number, pa.int64()), count),
            pa.array(indices, pa.int64()),
            pa.array([bytes(self.items[row - first_row]) for row in indices], pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=HTTP_SCHEMA)

    @property
    def digest(self) -> str:
        """Tells its items from those of every other page."""
        return hashlib.blake2b(b"\n".join(map(bytes, self.items)), digest_size=8).hexdigest()

    def links(self, index: int, paging: PagingSettings, base_url: str) -> list[str]:
        """Return the URLs of the lists that an item names, each once, in order.

        Raises:
            CorruptRecordError: a link leads nowhere.
        """
        fields = fields_of(self.items[index])
        links = []
        if paging.children_field is not None:
            links = value_at(fields, paging.children_field)
            links = links if isinstance(links, list) else [links]
        if paging.children_url is not None:
            links = [*links, _filled(paging.children_url, fields)]
        try:
            urls = [absolute(base_url, link) for link in links if isinstance(link, str)]
        except ValueError as error:
            raise CorruptRecordError(f"item {index}: {error}", source="http", split=base_url) from error
        return list(dict.fromkeys(urls))


def parse_page(answer: HttpResponse, paging: PagingSettings) -> HttpPage:
    """Cut a page into its items.

    An object without the list of items is an empty page if it tells of the next one, and has no other list.

    Raises:
        CorruptRecordError: it is not JSON, says that it is an error, or has no list where the items should
            be.
    """
    if answer.status == 204:
        return HttpPage([], {})
    try:
        body = _with_whole_pairs(_utf8(answer))
        if paging.is_lines:
            _check_members(body.count(b"\n"))
            return HttpPage(_LINES.decode_lines(body), {})
        if not paging.items_field:
            return HttpPage(_members(_LIST, body), {})
        if body.lstrip().startswith(b"["):
            raise CorruptRecordError(
                f"the response is a JSON array, not an object with {paging.items_field!r}: set itemsField=''",
                source="http",
                split=answer.url,
            )
        fields = _members(_OBJECT, body)
        _check_error(fields, paging.error_field)
        if raw_at(fields, paging.items_field) is None and _is_empty(fields, answer, paging):
            return HttpPage([], fields)
        return HttpPage(_items(fields, paging.items_field), fields)
    except (msgspec.MsgspecError, ValueError, LookupError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError):
            where = f" at itemsField {paging.items_field!r}" if paging.items_field else ""
            reason = f"has no list of items{where}"
        else:
            reason = f"is not JSON (Content-Type {answer.headers.get('content-type', 'not said')})"
        raise CorruptRecordError(f"the page {reason}: {error}", source="http", split=answer.url) from None


def raw_at(fields: Fields, name: str) -> msgspec.Raw | None:
    """Return the JSON at a name with dots, None if nothing is there. A field may have dots of its own."""
    if name in fields:
        return fields[name]
    first, dot, rest = name.partition(".")
    return raw_at(fields_of(fields[first]), rest) if dot and first in fields else None


def value_at(fields: Fields, name: str) -> Any:
    """Return the value at a name with dots, None if there is none.

    Raises:
        CorruptRecordError: that cannot be read.
    """
    raw = raw_at(fields, name)
    if raw is None:
        return None
    try:
        _check_members(bytes(raw).count(b","))
        return _VALUE.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CorruptRecordError(f"field {name!r} cannot be read: {error}", source="http") from None


def text_at(fields: Fields, name: str) -> str | None:
    """Return the text or number at a name with dots; None if nothing is there, or null, false or empty.

    Raises:
        CorruptRecordError: it is something else.
    """
    raw = raw_at(fields, name)
    if raw is None or bytes(raw) in _EMPTY:
        return None
    text = bytes(raw).decode()
    # A number as it is written: it may have more digits than a float.
    value = text if text[0] in "-0123456789" else value_at(fields, name)
    if not isinstance(value, str):
        raise CorruptRecordError(f"field {name!r} is neither text nor a number: {text[:100]}", source="http")
    return value


def fields_of(raw: msgspec.Raw) -> Fields:
    """Return the fields of an object, none if it is something else.

    Raises:
        CorruptRecordError: it has more than fit into memory.
    """
    try:
        fields = _members(_OBJECT, bytes(raw))
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return fields


def bad_page_rows(resource: str, pages: list[tuple[int, str]]) -> pa.RecordBatch:
    """Return a row for each page that was left out, as `with_bad_page` makes the schema."""
    return pa.RecordBatch.from_pydict(
        {
            "resource": [resource] * len(pages),
            "page": [number for number, _ in pages],
            "row": [None] * len(pages),
            "item": [None] * len(pages),
            BAD_PAGE: [reason for _, reason in pages],
        },
        schema=with_bad_page(HTTP_SCHEMA),
    )


def with_no_reason(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of pages that were read, as `with_bad_page` makes the schema."""
    columns = [*rows.columns, pa.nulls(rows.num_rows, pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=with_bad_page(rows.schema))


def with_bad_page(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the column that says why a page was left out."""
    return schema.append(pa.field(BAD_PAGE, pa.string()))


def _check_error(fields: Fields, name: str | None) -> None:
    raw = None if name is None else raw_at(fields, name)
    if raw is not None and bytes(raw) not in _NO_ERROR:
        text = bytes(raw)[:_SHOWN_ERROR].decode(errors="replace")
        raise PageSaysError(f"the page says at errorField {name!r}: {text}", source="http")


def _is_empty(fields: Fields, answer: HttpResponse, paging: PagingSettings) -> bool:
    """Whether a page without its list has no items: many servers leave an empty list out (proto3, omitempty).

    It has the field about the next page, though that may say that there is none; or it is a counted page, and
    empty as a whole. A page with a list elsewhere may be one whose itemsField is misspelt.
    """
    if paging.kind != "link" and not fields:
        return True
    outer = raw_at(fields, paging.items_field.rpartition(".")[0])
    beside = {} if outer is None else fields_of(outer)
    lists = [bytes(value) for value in (*fields.values(), *beside.values()) if bytes(value).startswith(b"[")]
    if any(text != b"[]" for text in lists):
        return False
    marks = [paging.flag_field, paging.next_field if paging.kind == "link" else None]
    return "rel=" in answer.headers.get("link", "") or any(
        _has(mark, fields, answer) for mark in marks if mark is not None
    )


def _has(name: str, fields: Fields, answer: HttpResponse) -> bool:
    """Whether a page has a field, be it null or empty, or a header."""
    if name.startswith(HEADER):
        return name.removeprefix(HEADER) in answer.headers
    return raw_at(fields, name) is not None


def _items(fields: Fields, name: str) -> list[msgspec.Raw]:
    raw = raw_at(fields, name)
    if raw is None:
        lists = ", ".join(name for name, value in fields.items() if bytes(value).startswith(b"["))
        raise msgspec.ValidationError(f"there is no such field, and lists at: {lists or 'none'}")
    return [] if bytes(raw) == b"null" else _members(_LIST, bytes(raw))


def _members(decoder: msgspec.json.Decoder[MembersT], raw: bytes) -> MembersT:
    """Return the items of a list, or the fields of an object.

    Raises:
        CorruptRecordError: there are more than fit into memory.
    """
    # Few texts have so many commas at all.
    if raw.count(b",") >= _MOST_MEMBERS:
        _check_members(_outer_commas(raw))
    return decoder.decode(raw)


def _with_whole_pairs(body: bytes) -> bytes:
    """Return JSON in which half of a surrogate pair is a question mark.

    It is valid JSON, and what Spark's parser makes of it; msgspec takes the page for one that is cut short.
    """
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(lambda match: b"\\u003f" if match[1] else match[0], body)


def _outer_commas(raw: bytes) -> int:
    """Return how many commas are between the members of a list or an object, and not inside of one."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = raw.translate(None, _NO_MARKS).replace(b'""', b"").replace(b"{}", b"").replace(b"[]", b"")[1:]
    inner = len(marks) + 1
    while marks.count(b",") >= _MOST_MEMBERS and len(marks) < inner:
        inner = len(marks)
        marks = _INNERMOST.sub(b"", marks)
    # What breaks off is no JSON: it is read up to there.
    end = _BRACKET.search(marks)
    return marks.count(b",", 0, end.start() if end else len(marks))


def _check_members(separators: int) -> None:
    if separators >= _MOST_MEMBERS:
        raise CorruptRecordError(
            f"the page has more than {_MOST_MEMBERS} items or values: ask for smaller pages", source="http"
        )


def _utf8(answer: HttpResponse) -> bytes:
    """Return the body as UTF-8, however it is encoded. The decoder leaves the encoding of texts unchecked."""
    kind = answer.headers.get("content-type", "").lower()
    charset = _charset(kind.partition("charset=")[2].partition(";")[0].strip(" \"'"))
    body = answer.body.removeprefix(_BOM)
    text = body.decode(charset)
    return body if charset == "utf-8" else text.encode()


def _charset(name: str) -> str:
    """Return Python's name of an encoding of the web; UTF-8, as JSON is (RFC 8259), for an unknown one.

    Python knows more by such names: encodings of host names, whose time grows with the square of the size.
    """
    try:
        charset = codecs.lookup(name).name
    except LookupError:
        return "utf-8"
    return charset if charset.startswith(_CHARSETS) else "utf-8"


def _filled(template: str, fields: Fields) -> str | None:
    """Return a URL with fields of an item in it, None if the item lacks one."""
    values = {name: text_at(fields, name) for name in _PLACE.findall(template)}
    if None in values.values():
        return None
    return _PLACE.sub(lambda match: quote(str(values[match.group(1)]), safe=""), template)
