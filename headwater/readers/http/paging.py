"""Where the next page of a list is, and which answers are no end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Protocol, TypeVar

from headwater.core.errors import CorruptRecordError
from headwater.core.redaction import logger_of
from headwater.enumerators.http.origins import absolute, parameter, with_parameters
from headwater.enumerators.http.split import HttpSplit, PageCursor
from headwater.readers.http.pages import HEADER, HttpPage, raw_at, text_at, value_at
from headwater.readers.http.response import HttpResponse
from headwater.readers.http.settings import PagingSettings

log = logger_of(__name__)

_BODY: Final = "body:"
_TARGET: Final = re.compile(r"[\s,]*<([^>]*)>")
_PARAMETER: Final = re.compile(
    r'\s*;\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?', re.DOTALL
)
"""Of a link (RFC 8288, 3): a name, and mostly a value, which is quoted or a token."""


@dataclass(frozen=True)
class PageLink:
    """Where a page is.

    Attributes:
        url: of the page, without secrets.
        cursor: the part of the request's body that changes, None if there is none.
    """

    url: str
    cursor: PageCursor | None = None


@dataclass(frozen=True)
class NextPage:
    """The page after a page.

    Attributes:
        link: the next page; None if this is the last one.
        is_certain: whether there is one. Otherwise it may be empty, and this page the last, which may grow.
    """

    link: PageLink | None
    is_certain: bool = True


def warn_of_absent(first: PageLink, page: HttpPage, paging: PagingSettings) -> None:
    """Say that the first page of a list lacks the field that tells whether there is another one.

    Many APIs leave it out on their last page. But a name that is misspelt looks the same.
    """
    # A field that is true on the last page alone is often left out of all others.
    options = {"hasMoreField": None if paging.flags_last else paging.flag_field}
    if paging.kind == "link" and paging.next_field != PagingSettings.next_field:
        options["nextField"] = paging.next_field
    for option, name in options.items():
        is_field = name is not None and not name.startswith(HEADER)
        if is_field and page.items and raw_at(page.fields, str(name)) is None:
            _warn_once(option, str(name), first.url)


@lru_cache(maxsize=1_000)
def _warn_once(option: str, name: str, url: str) -> None:
    log.warning(
        "the first page of %s has no field %r (option %s): it counts as the last one", url, name, option
    )


@dataclass
class CircleGuard:
    """Notices that pages lead in a circle, of any length, with two of them in mind (Brent's algorithm)."""

    _kept: PageLink | None = None
    _steps: int = 0
    _most: int = field(default=1)

    def passes(self, link: PageLink) -> bool:
        """Take the next page; return whether it leads on."""
        if link == self._kept:
            return False
        self._steps += 1
        if self._steps == self._most:
            self._kept = link
            self._steps = 0
            self._most *= 2
        return True


def next_page(current: PageLink, page: HttpPage, answer: HttpResponse, paging: PagingSettings) -> NextPage:
    """Return the page after a page.

    Raises:
        CorruptRecordError: the link leads nowhere, or is no link, or there should be one.
    """
    has_more = _has_more(page, answer, paging)
    if has_more is False:
        return NextPage(None)
    if paging.kind != "link":
        link = _counted(current, len(page.items), paging) if page.items or has_more else None
        return NextPage(link, is_certain=bool(has_more) or paging.kind == "offset")
    target = _found(page, answer, paging.next_field)
    if target is None:
        link = _header_link(current, answer)
        if has_more and link is None:
            raise CorruptRecordError(
                f"{paging.has_more_field!r} (option hasMoreField) says that there is another page, and "
                f"nothing names it: neither {paging.next_field!r} (option nextField) nor a Link header",
                source="http",
                split=answer.url,
            )
        return NextPage(link)
    where = paging.cursor_param
    if where is None:
        return NextPage(PageLink(_absolute(answer.url, target), current.cursor))
    if where.startswith(_BODY):
        return NextPage(PageLink(current.url, _cursor(page, paging.next_field, target)))
    return NextPage(PageLink(with_parameters(current.url, {where: target})))


def not_counted(url: str) -> CorruptRecordError:
    """Return the error that a page is the one before it once more, and so would be all that follow."""
    return CorruptRecordError(
        "the page has the very items of the one before it: the API does not count by the parameter that "
        "option countParam names, or gives its last page for all that are behind it",
        source="http",
        split=url,
    )


def counted_on(link: PageLink, paging: PagingSettings) -> PageLink | None:
    """Return the page behind one that cannot be read, None if only that page could name it."""
    return _counted(link, 0, paging) if paging.kind == "page" else None


def _counted(link: PageLink, items: int, paging: PagingSettings) -> PageLink:
    name = paging.count_param
    first = "1" if paging.kind == "page" else "0"
    raw = parameter(link.url, name) or first
    if not (raw.isascii() and raw.isdecimal()):
        raise CorruptRecordError(f"parameter {name!r} is no number: {raw!r}", source="http", split=link.url)
    count = int(raw) + (1 if paging.kind == "page" else items)
    return PageLink(with_parameters(link.url, {name: str(count)}))


def _found(page: HttpPage, answer: HttpResponse, where: str) -> str | None:
    if where.startswith(HEADER):
        return answer.headers.get(where.removeprefix(HEADER), "").strip() or None
    return text_at(page.fields, where)


def _cursor(page: HttpPage, where: str, written: str) -> PageCursor:
    """Return a cursor that is a number in the page as one."""
    number = None if where.startswith(HEADER) else value_at(page.fields, where)
    if isinstance(number, float) and str(number) != written:
        # It has more digits than a float.
        return written
    return number if isinstance(number, int | float) else written


def _has_more(page: HttpPage, answer: HttpResponse, paging: PagingSettings) -> bool | None:
    """Return whether a page says that there is another one, None if it does not say.

    An absent field says no where it would be true on such a page, and nothing where it would be false.
    """
    where = paging.flag_field
    if where is None:
        return None
    if where.startswith(HEADER):
        raw: object = answer.headers.get(where.removeprefix(HEADER))
    else:
        raw = value_at(page.fields, where)
    flag = bool(raw) and str(raw).strip().lower() not in {"", "0", "false", "no"}
    if paging.flags_last:
        return None if raw is None else not flag
    return flag


def _header_link(link: PageLink, answer: HttpResponse) -> PageLink | None:
    for line in answer.headers.getlist("link"):
        for target, relation in _links(line):
            if "next" in relation.lower().split():
                return PageLink(_absolute(answer.url, target), link.cursor)
    return None


def _links(line: str) -> Iterator[tuple[str, str]]:
    """Yield the targets of a Link header, each with its relation: the first ``rel`` counts."""
    at = 0
    while link := _TARGET.match(line, at):
        at = link.end()
        relation: str | None = None
        while parameter_of_link := _PARAMETER.match(line, at):
            at = parameter_of_link.end()
            name, quoted, token = parameter_of_link.groups()
            if name.lower() == "rel" and relation is None:
                relation = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
        yield link.group(1), relation or ""


def _absolute(base: str, link: str) -> str:
    try:
        return absolute(base, link)
    except ValueError as error:
        raise CorruptRecordError(
            f"the link to the next page leads nowhere: {error}", source="http", split=base
        ) from error


class OpenPages(Protocol):
    """A split while a task reads it."""

    @property
    def split(self) -> HttpSplit:
        """Which."""

    @property
    def asked(self) -> PageLink:
        """The page to ask for."""

    @property
    def is_new(self) -> bool:
        """Whether nothing of the list was ever read."""

    @property
    def guard(self) -> CircleGuard:
        """Notices pages that lead in a circle."""

    @property
    def is_second_reading(self) -> bool:
        """Whether pages were asked for before, in this epoch: they must be there, and bring the same."""


OpenT = TypeVar("OpenT", bound=OpenPages)
