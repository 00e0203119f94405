"""The options of the HTTP source, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from headwater.connector.barrier.options import BARRIER_OPTIONS
from headwater.connector.formats.row_decoding import row_format_options
from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.sources.http.credential_options import (
    CREDENTIAL_OPTIONS,
    HEADER,
    TOKEN_URL,
    credential_settings,
)
from headwater.connector.sources.http.incremental_options import INCREMENTAL_OPTIONS
from headwater.connector.sources.http.paging_options import (
    PAGE_OPTIONS,
    first_pages,
    paging_settings,
    request_of,
)
from headwater.core.options import Option, duration_ms, integer, names, one_of
from headwater.core.secrets import TlsSettings
from headwater.core.source import Boundedness
from headwater.enumerators.http.origins import origin
from headwater.readers.http.settings import BadPages, HttpSettings, StatusAction

ITEM: Final = "item"
"""The column that a format decodes."""
_LEAST_RATE: Final = 0.001
_ACTIONS: Final = ("read", "fail", "retry", "skip", "finish")


def _rate(raw: str) -> float:
    try:
        rate = float(raw)
    except ValueError:
        rate = 0
    if not _LEAST_RATE <= rate < 1e6:
        raise ValueError(f"must be a number of at least {_LEAST_RATE}, not {raw!r}")
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
REQUESTS_PER_SECOND: Final = Option(
    "requestsPerSecond",
    _rate,
    None,
    "The rate of requests of the query. One task makes all of them, over so many connections as "
    "`parallelism` tasks would have had, but no more than requests fit into an epoch.",
    kind="number",
)
_REQUEST_TIMEOUT: Final = Option(
    "requestTimeout",
    duration_ms,
    30_000,
    "How long a request may take as a whole, with redirects, to the last byte of its answer.",
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
        *PAGE_OPTIONS,
        *INCREMENTAL_OPTIONS,
        _ON_STATUS,
        _BAD_PAGES,
        *CREDENTIAL_OPTIONS,
        REQUESTS_PER_SECOND,
        _REQUEST_TIMEOUT,
        RETRY_DEADLINE,
        CONNECTIONS,
        *TlsSettings.options(),
        *row_format_options(ITEM, "json"),
        *BARRIER_OPTIONS,
    ],
    prefixes=(HEADER,),
    other_words={
        **dict.fromkeys(("address", "endpoint", "host", "server", "uri"), "url"),
        **dict.fromkeys(("header", "headers"), "header.NAME"),
        **dict.fromkeys(("auth", "authorization", "bearer", "token"), "bearerToken"),
        **dict.fromkeys(("data", "json"), "body"),
        "key": "apiKey",
        "pagination": "paging",
        "query": "params",
        "ratelimit": "requestsPerSecond",
        "timeout": "requestTimeout",
        "user": "username",
        **dict.fromkeys(("maxretries", "retries"), "retryDeadline"),
    },
)
"""The table that parses, and that `docs/http.md` shows."""


def http_settings(parsed: ParsedOptions, options: Mapping[str, str], mode: Boundedness) -> HttpSettings:
    """Return how pages are asked for.

    Raises:
        OptionError: options do not go together.
    """
    urls = first_pages(parsed)
    method, body = request_of(parsed)
    token_urls = parsed[TOKEN_URL] or ()
    everywhere = (*urls, *token_urls)
    tls = parsed.of(TlsSettings)
    tls.check_counts(
        encrypted=any(url.startswith("https:") for url in everywhere), hint="https:// in option 'url'"
    )
    return HttpSettings(
        credentials=credential_settings(parsed, options),
        tls=tls,
        origins=tuple(sorted({origin(url) for url in urls})),
        method=method,
        body=body,
        paging=paging_settings(parsed),
        on_status=parsed[_ON_STATUS],
        bad_pages=parsed[_BAD_PAGES],
        timeout_ms=parsed[_REQUEST_TIMEOUT],
        deadline_ms=parsed[RETRY_DEADLINE],
        follows_growth=mode is Boundedness.CONTINUOUS_UNBOUNDED,
    )
