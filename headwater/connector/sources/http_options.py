"""The options of the HTTP source, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from headwater.connector.barrier.options import BARRIER_OPTIONS
from headwater.connector.formats.row_decoding import row_format_options
from headwater.connector.options import (
    WHERE_SECRETS_ARE,
    Option,
    OptionTable,
    ParsedOptions,
    duration_ms,
    integer,
    json_object,
    names,
    one_of,
    text,
)
from headwater.connector.tls_options import TLS_OPTIONS, tls_settings
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.readers.http.settings import (
    BadPages,
    CredentialSettings,
    HttpSettings,
    Method,
    Paging,
    PagingSettings,
    StatusAction,
)
from headwater.readers.http.urls import origin, with_parameters

HEADER: Final = "header."
ITEM: Final = "item"
"""The column that a format decodes."""
_SECRET: Final = ("env:", "file:")
_ACTIONS: Final = ("read", "fail", "retry", "skip", "finish")


def _urls(raw: str) -> tuple[str, ...]:
    found = names(raw)
    for url in found:
        try:
            origin(url)
        except ValueError as error:
            raise ValueError(f"must be http:// or https:// URLs with commas between them: {error}") from error
        if urlsplit(url).username is not None:
            raise ValueError("must hold no user and password: give the options username and password")
    return found


def _rate(raw: str) -> float:
    try:
        rate = float(raw)
    except ValueError:
        rate = 0
    if not 0 < rate < 1e6:
        raise ValueError(f"must be a number above 0, not {raw!r}")
    return rate


def _statuses(raw: str) -> Mapping[str, StatusAction]:
    found: dict[str, StatusAction] = {}
    for pair in names(raw):
        status, _, action = (part.strip().lower() for part in pair.partition("="))
        is_status = len(status) == 3 and status[0] in "12345" and (status[1:] == "xx" or status.isdecimal())
        if not is_status or action not in _ACTIONS:
            raise ValueError(f"must be such as 404=skip,5xx=retry with {', '.join(_ACTIONS)}, not {pair!r}")
        found[status] = cast("StatusAction", action)
    return found


def _params(raw: str) -> Mapping[str, str]:
    return {name: _written(value) for name, value in json_object(raw).items()}


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _key_place(raw: str) -> tuple[str, str]:
    kind, colon, name = raw.strip().partition(":")
    if kind not in {"header", "query"} or not colon or not name:
        raise ValueError(f"must be header:NAME or query:NAME, not {raw!r}")
    return kind, name


URL: Final = Option(
    "url", _urls, None, "Required: the first page of a list; several with commas between them."
)
_NO_PARAMS: Final[Mapping[str, str]] = {}
_PARAMS: Final = Option(
    "params",
    _params,
    _NO_PARAMS,
    'JSON: parameters for the query of `url`, such as `{"limit": 100, "key": "env:KEY"}`. One whose value '
    "is `env:NAME` or `file:PATH` is a secret: it goes with each request, and stands in no URL that is kept.",
    shown_default="",
)
_METHOD: Final[Option[Method]] = Option(
    "method", one_of("GET", "POST"), "GET", "How pages are asked for: `POST` for search APIs and GraphQL."
)
_BODY: Final = Option("body", text, None, "What each request carries, as JSON.")
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
_CHILDREN_FIELD: Final = Option(
    "childrenField",
    text,
    None,
    "Where an item has links to lists of its own, which are read to their end: a URL or several.",
)
_CHILDREN_URL: Final = Option(
    "childrenUrl",
    text,
    None,
    "The list of each item, with fields of the item in braces: `https://api.example.com/orders/{id}/lines`.",
)
_NO_STATUSES: Final[Mapping[str, StatusAction]] = {}
_ON_STATUS: Final = Option(
    "onStatus",
    _statuses,
    _NO_STATUSES,
    "What a status means, such as `404=skip,410=finish,5xx=retry`: `read` the page, `fail`, `retry`, `skip` "
    "the page, `finish` the list.",
    shown_default="see [errors](#errors)",
)
_BAD_PAGES: Final[Option[BadPages]] = Option(
    "badPages",
    one_of("fail", "skip", "column"),
    "fail",
    "What becomes of a page that cannot be read: the query fails, the page is left out, or it is a row of "
    "its own with the reason in the column `bad_page`.",
)
_BEARER: Final = Option("bearerToken", text, None, f"A token. {WHERE_SECRETS_ARE}")
_USERNAME: Final = Option("username", text, None, f"Of basic authentication. {WHERE_SECRETS_ARE}")
_PASSWORD: Final = Option("password", text, None, f"Of that user. {WHERE_SECRETS_ARE}")
_API_KEY: Final = Option("apiKey", text, None, f"A key. {WHERE_SECRETS_ARE}")
_API_KEY_IN: Final = Option(
    "apiKeyIn",
    _key_place,
    ("header", "X-API-Key"),
    "Where the key goes: `header:NAME` or `query:NAME`.",
    shown_default="`header:X-API-Key`",
)
_TOKEN_URL: Final = Option(
    "oauthTokenUrl",
    _urls,
    None,
    "Where tokens are got (OAuth 2, client credentials); a new one when a request is refused with 401.",
)
_CLIENT_ID: Final = Option("oauthClientId", text, None, f"For `oauthTokenUrl`. {WHERE_SECRETS_ARE}")
_CLIENT_SECRET: Final = Option("oauthClientSecret", text, None, f"For `oauthTokenUrl`. {WHERE_SECRETS_ARE}")
_SCOPE: Final = Option("oauthScope", text, None, "For `oauthTokenUrl`.")
REQUESTS_PER_SECOND: Final = Option(
    "requestsPerSecond", _rate, None, "The rate of requests, of all tasks together."
)
_REQUEST_TIMEOUT: Final = Option(
    "requestTimeout",
    duration_ms,
    30_000,
    "How long a request may take as a whole, to the last byte of its answer.",
    shown_default="`30s`",
)
RETRY_DEADLINE: Final = Option(
    "retryDeadline",
    duration_ms,
    120_000,
    "How long to go on asking a server that is away or failing: then the query ends. Running time without "
    "progress of a list, over all micro-batches.",
    shown_default="`2m`",
)
CONNECTIONS: Final = Option("connections", integer(1), 1, "How many lists a task reads at once.")

HTTP_OPTIONS: Final = OptionTable(
    [
        URL,
        _PARAMS,
        _METHOD,
        _BODY,
        _ITEMS_FIELD,
        _PAGE_FORMAT,
        _PAGING,
        _NEXT_FIELD,
        _CURSOR_PARAM,
        _COUNT_PARAM,
        _HAS_MORE_FIELD,
        _CHILDREN_FIELD,
        _CHILDREN_URL,
        _ON_STATUS,
        _BAD_PAGES,
        _BEARER,
        _USERNAME,
        _PASSWORD,
        _API_KEY,
        _API_KEY_IN,
        _TOKEN_URL,
        _CLIENT_ID,
        _CLIENT_SECRET,
        _SCOPE,
        REQUESTS_PER_SECOND,
        _REQUEST_TIMEOUT,
        RETRY_DEADLINE,
        CONNECTIONS,
        *TLS_OPTIONS,
        *row_format_options(ITEM, "json"),
        *BARRIER_OPTIONS,
    ],
    prefixes=(HEADER,),
)
"""The table that parses, and that `docs/http.md` shows."""


def first_pages(parsed: ParsedOptions) -> tuple[str, ...]:
    """Return the URLs of the first pages, with the parameters that are no secrets."""
    urls = parsed.require(URL, ": the first page of a list")
    plain = {name: value for name, value in parsed[_PARAMS].items() if not value.startswith(_SECRET)}
    return tuple(with_parameters(url, plain) for url in urls)


def http_settings(parsed: ParsedOptions, options: Mapping[str, str], mode: Boundedness) -> HttpSettings:
    """Return how pages are asked for.

    Raises:
        OptionError: options do not go together.
    """
    urls = first_pages(parsed)
    token_urls = parsed[_TOKEN_URL] or ()
    everywhere = (*urls, *token_urls)
    return HttpSettings(
        credentials=_credentials(parsed, options),
        tls=tls_settings(
            parsed,
            encrypted=any(url.startswith("https:") for url in everywhere),
            hint="https:// in option 'url'",
        ),
        origins=tuple(sorted({origin(url) for url in urls})),
        method=parsed[_METHOD],
        body=_body(parsed),
        paging=_paging(parsed),
        on_status=parsed[_ON_STATUS],
        bad_pages=parsed[_BAD_PAGES],
        timeout_ms=parsed[_REQUEST_TIMEOUT],
        deadline_ms=parsed[RETRY_DEADLINE],
        follows_growth=mode is Boundedness.CONTINUOUS_UNBOUNDED,
    )


def _paging(parsed: ParsedOptions) -> PagingSettings:
    kind = parsed[_PAGING]
    if kind == "link" and parsed[_COUNT_PARAM] is not None:
        raise OptionError("counts only with option paging=page or offset", option=_COUNT_PARAM.name)
    return PagingSettings(
        items_field=parsed[_ITEMS_FIELD],
        is_lines=parsed[_PAGE_FORMAT] == "ndjson",
        kind=kind,
        next_field=parsed[_NEXT_FIELD],
        cursor_param=parsed[_CURSOR_PARAM],
        count_param=parsed[_COUNT_PARAM] or kind,
        has_more_field=parsed[_HAS_MORE_FIELD],
        children_field=parsed[_CHILDREN_FIELD],
        children_url=parsed[_CHILDREN_URL],
    )


def _body(parsed: ParsedOptions) -> str | None:
    body = parsed[_BODY]
    if body is None:
        if (parsed[_CURSOR_PARAM] or "").startswith("body:"):
            raise OptionError("is required for a cursor in it", option=_BODY.name)
        return None
    if parsed[_METHOD] == "GET":
        raise OptionError("counts only with option method=POST", option=_BODY.name)
    try:
        is_object = isinstance(json.loads(body), dict)
    except ValueError as error:
        raise OptionError(f"must be JSON: {error}", option=_BODY.name) from error
    if not is_object:
        raise OptionError("must be a JSON object", option=_BODY.name)
    return body


def _credentials(parsed: ParsedOptions, options: Mapping[str, str]) -> CredentialSettings:
    headers = {key[len(HEADER) :]: value for key, value in options.items() if key.lower().startswith(HEADER)}
    parameters = {name: value for name, value in parsed[_PARAMS].items() if value.startswith(_SECRET)}
    api_key = parsed[_API_KEY]
    if api_key is not None:
        place, key_name = parsed[_API_KEY_IN]
        (headers if place == "header" else parameters)[key_name] = api_key
    values = {
        _BEARER.name: parsed[_BEARER],
        _USERNAME.name: parsed[_USERNAME],
        _TOKEN_URL.name: parsed[_TOKEN_URL],
    }
    ways = [name for name, value in values.items() if value is not None]
    if len(ways) > 1:
        raise OptionError(f"does not go with option {ways[1]!r}", option=ways[0])
    token_urls = parsed[_TOKEN_URL]
    if token_urls is not None:
        for option in (_CLIENT_ID, _CLIENT_SECRET):
            parsed.require(option, f" with option {_TOKEN_URL.name!r}")
    return CredentialSettings(
        headers=headers,
        parameters=parameters,
        bearer=parsed[_BEARER],
        user=parsed[_USERNAME],
        password=parsed[_PASSWORD],
        token_url=token_urls[0] if token_urls else None,
        client_id=parsed[_CLIENT_ID],
        client_secret=parsed[_CLIENT_SECRET],
        scope=parsed[_SCOPE],
    )
