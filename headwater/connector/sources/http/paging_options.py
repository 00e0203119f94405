"""The options that say what pages are: where they are, what is in them, and where the next one is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, json_object, names, one_of, text
from headwater.core.secrets import is_elsewhere
from headwater.core.source import Boundedness
from headwater.enumerators.http.origins import origin
from headwater.readers.http.settings import Method, Paging, PagingSettings
from headwater.readers.http.urls import with_parameters


def urls(raw: str) -> tuple[str, ...]:
    """Parse URLs with commas between them.

    Raises:
        ValueError: one of them is not a URL, or holds a user.
    """
    found = names(raw)
    for url in found:
        try:
            origin(url)
        except ValueError as error:
            raise ValueError(f"must be http:// or https:// URLs with commas between them: {error}") from error
        if urlsplit(url).username is not None:
            raise ValueError("must hold no user and password: give the options username and password")
    return found


def _params(raw: str) -> Mapping[str, str | tuple[str, ...]]:
    parameters: dict[str, str | tuple[str, ...]] = {}
    for name, value in json_object(raw).items():
        if isinstance(value, list):
            several = tuple(as_written(each) for each in value)
            if any(isinstance(each, list | dict) for each in value) or any(map(is_elsewhere, several)):
                raise ValueError(f"value of {name!r} must be a list of texts and numbers, without secrets")
            parameters[name] = several
        else:
            parameters[name] = as_written(value)
    return parameters


def _template(raw: str) -> str:
    template = text(raw)
    if not re.search(r"\{[^{}]+\}", template):
        raise ValueError(f"must have a field of the item in braces, such as /orders/{{id}}, not {raw!r}")
    return template


def as_written(value: Any) -> str:
    """Return a value of JSON as it stands in a query or a form."""
    return value if isinstance(value, str) else json.dumps(value)


URL: Final = Option(
    "url",
    urls,
    None,
    "Required: the first page of a list; several with commas between them.",
    kind="names",
    needed_in=tuple(Boundedness),
)
_NO_PARAMS: Final[Mapping[str, str | tuple[str, ...]]] = {}
PARAMS: Final = Option(
    "params",
    _params,
    _NO_PARAMS,
    'JSON: parameters for the query of `url`, such as `{"limit": 100, "key": "env:KEY"}`. One whose value '
    "is `env:NAME` or `file:PATH` is a secret: it goes with each request, and stands in no URL that is kept. "
    "A list is one parameter for each of its values.",
    shown_default="",
    kind="json",
)
_METHOD: Final[Option[Method]] = Option(
    "method", one_of("GET", "POST"), "GET", "How pages are asked for: `POST` for search APIs and GraphQL."
)
_BODY: Final = Option(
    "body",
    text,
    None,
    "What each request carries, as JSON.",
    kind="json",
)
_ITEMS_FIELD: Final = Option(
    "itemsField",
    str.strip,
    "items",
    "Where a page's JSON has its list of items, names with dots between them; empty: the page is the list.",
)
_PAGE_FORMAT: Final = Option(
    "pageFormat", one_of("json", "ndjson"), "json", "How a page is written; `ndjson`: a line for each item."
)
_PAGING: Final[Option[Paging]] = Option(
    "paging",
    one_of("link", "page", "offset"),
    "link",
    "How the next page is asked for: by the link or cursor in `nextField`; or by `countParam`, which counts "
    "pages, or items.",
)
_NEXT_FIELD: Final = Option(
    "nextField",
    text,
    "next",
    "Where a page has the link to the next page, or its cursor: absent, null or empty on the last. "
    "`header:NAME` is a header. A `Link` header with `rel=next` does too.",
)
_CURSOR_PARAM: Final = Option(
    "cursorParam",
    text,
    None,
    "The query parameter that takes the cursor, if `nextField` holds no URL; `body:NAME` is a field of "
    "`body`, names with dots between them.",
    shown_default="a URL",
)
_COUNT_PARAM: Final = Option(
    "countParam",
    text,
    None,
    "The query parameter that counts. Without it in `url` counting begins with page 1 and offset 0.",
    shown_default="`page`, `offset`",
)
_HAS_MORE_FIELD: Final = Option(
    "hasMoreField",
    text,
    None,
    "Where a page says whether there is another one, as `true` or `false`; `header:NAME` is a header.",
)
_ERROR_FIELD: Final = Option(
    "errorField",
    text,
    None,
    "Where a page says that it is an error, whatever its status, such as `errors` in GraphQL: one that has "
    "anything there cannot be read.",
)
_CHILDREN_FIELD: Final = Option(
    "childrenField",
    text,
    None,
    "Where an item has links to lists of its own, which are read to their end: a URL or several.",
)
_CHILDREN_URL: Final = Option(
    "childrenUrl",
    _template,
    None,
    "The list of each item, with fields of the item in braces: `https://api.example.com/orders/{id}/lines`.",
)
PAGE_OPTIONS: Final = (
    URL,
    PARAMS,
    _METHOD,
    _BODY,
    _ITEMS_FIELD,
    _PAGE_FORMAT,
    _PAGING,
    _NEXT_FIELD,
    _CURSOR_PARAM,
    _COUNT_PARAM,
    _HAS_MORE_FIELD,
    _ERROR_FIELD,
    _CHILDREN_FIELD,
    _CHILDREN_URL,
)


def first_pages(parsed: ParsedOptions) -> tuple[str, ...]:
    """Return the URLs of the first pages, with the parameters that are no secrets."""
    pages = parsed.require(URL, ": the first page of a list")
    plain = {
        name: value
        for name, value in parsed[PARAMS].items()
        if isinstance(value, tuple) or not is_elsewhere(value)
    }
    return tuple(with_parameters(url, plain) for url in pages)


def paging_settings(parsed: ParsedOptions) -> PagingSettings:
    """Return what is in a page, and where the next one is.

    Raises:
        OptionError: options do not go together.
    """
    kind = parsed[_PAGING]
    if kind == "link" and parsed[_COUNT_PARAM] is not None:
        raise OptionError("requires option paging=page or offset", option=_COUNT_PARAM.name)
    if (parsed[_COUNT_PARAM] or "").startswith("body:"):
        raise OptionError(
            "must be a parameter of the query: a body has none that counts", option=_COUNT_PARAM.name
        )
    named = {_NEXT_FIELD.name: _next_field(parsed), _CURSOR_PARAM.name: parsed[_CURSOR_PARAM]}
    for name, value in named.items():
        if kind != "link" and value is not None:
            raise OptionError("requires option paging=link", option=name)
    _check_fields(parsed)
    return PagingSettings(
        items_field=parsed[_ITEMS_FIELD],
        is_lines=parsed[_PAGE_FORMAT] == "ndjson",
        kind=kind,
        next_field=parsed[_NEXT_FIELD],
        cursor_param=parsed[_CURSOR_PARAM],
        count_param=parsed[_COUNT_PARAM] or kind,
        has_more_field=parsed[_HAS_MORE_FIELD],
        error_field=parsed[_ERROR_FIELD],
        children_field=parsed[_CHILDREN_FIELD],
        children_url=parsed[_CHILDREN_URL],
    )


def _check_fields(parsed: ParsedOptions) -> None:
    """Refuse fields of a page that is a list: without them the first page would be the last one."""
    is_list = parsed[_PAGE_FORMAT] == "ndjson" or not parsed[_ITEMS_FIELD]
    named = {
        _NEXT_FIELD.name: _next_field(parsed),
        _HAS_MORE_FIELD.name: parsed[_HAS_MORE_FIELD],
        _ERROR_FIELD.name: parsed[_ERROR_FIELD],
    }
    for option, name in named.items():
        if is_list and name is not None and not name.startswith("header:"):
            raise OptionError("names a field, and such a page has none: use header:NAME", option=option)


def _next_field(parsed: ParsedOptions) -> str | None:
    name = parsed[_NEXT_FIELD]
    return None if name == _NEXT_FIELD.default else name


def names_children(parsed: ParsedOptions) -> bool:
    """Whether items name lists of their own."""
    return parsed[_CHILDREN_FIELD] is not None or parsed[_CHILDREN_URL] is not None


def request_of(parsed: ParsedOptions) -> tuple[Method, str | None]:
    """Return method and body of each request.

    Raises:
        OptionError: options do not go together.
    """
    method = parsed[_METHOD]
    body = parsed[_BODY]
    if body is None:
        if (parsed[_CURSOR_PARAM] or "").startswith("body:"):
            raise OptionError("is required for a cursor in it", option=_BODY.name)
        return method, None
    if method == "GET":
        raise OptionError("requires option method=POST", option=_BODY.name)
    try:
        is_object = isinstance(json.loads(body), dict)
    except ValueError as error:
        raise OptionError(f"must be JSON: {error}", option=_BODY.name) from error
    if not is_object:
        raise OptionError("must be a JSON object", option=_BODY.name)
    _check_cursor_place(json.loads(body), parsed[_CURSOR_PARAM] or "")
    return method, body


def _check_cursor_place(body: Any, where: str) -> None:
    """Refuse a field for the cursor that would lie in something else than an object."""
    if not where.startswith("body:"):
        return
    at = body
    for name in where.removeprefix("body:").split(".")[:-1]:
        at = at.get(name)
        if at is None:
            return
        if not isinstance(at, dict):
            raise OptionError(
                f"leads through {name!r}, which is not an object in the body", option=_CURSOR_PARAM.name
            )
