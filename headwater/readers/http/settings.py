"""How the lists of a REST API are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from headwater.core.options import (
    Spec,
    duration_ms,
    integer,
    names,
    one_of,
    option,
    text,
)
from headwater.core.secrets import TlsSettings
from headwater.enumerators.http.origins import origin
from headwater.readers.http.credential_settings import CredentialSettings

StatusAction: TypeAlias = Literal["read", "fail", "retry", "skip", "finish"]
"""What a status means: a page, an error, ask again, leave the page out, the list ends here."""
TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of a server that may answer later."""
Method: TypeAlias = Literal["GET", "POST"]
Paging: TypeAlias = Literal["link", "page", "offset"]
BadPages: TypeAlias = Literal["fail", "skip", "column"]
_ACTIONS: Final = ("read", "fail", "retry", "skip", "finish")


def _template(raw: str) -> str:
    template = text(raw)
    if not re.search(r"\{[^{}]+\}", template):
        raise ValueError(f"must have a field of the item in braces, such as /orders/{{id}}, not {raw!r}")
    return template


def _hosts(raw: str) -> tuple[str, ...]:
    hosts = tuple(host.lower() for host in names(raw))
    for host in hosts:
        if "/" in host or "*" in host.removeprefix("*."):
            raise ValueError(f"must be hosts, such as api.example.com or *.example.com, not {host!r}")
    return hosts


def _flag(raw: str) -> str:
    flag = text(raw)
    if not flag.removeprefix("!").strip():
        raise ValueError("must name a field, such as has_more or !end_of_stream")
    return flag


def _statuses(raw: str) -> Mapping[str, StatusAction]:
    actions: dict[str, StatusAction] = {}
    for pair in names(raw):
        status, _, action = (part.strip().lower() for part in pair.partition("="))
        is_status = len(status) == 3 and status[0] in "12345" and (status[1:] == "xx" or status.isdecimal())
        if not is_status or action not in _ACTIONS:
            raise ValueError(f"must be such as 404=skip,5xx=retry with {', '.join(_ACTIONS)}, not {pair!r}")
        actions[status] = cast("StatusAction", action)
    return actions


class PagingSettings(Spec):
    """The content of a page, and where the next one is. Names have dots between them."""

    items_field: str = option(
        "itemsField",
        "Where a page's JSON has its list of items, names with dots between them; empty: the page is the "
        "list.",
        default="items",
        parse=str.strip,
    )
    page_format: Literal["json", "ndjson"] = option(
        "pageFormat",
        "How a page is written; `ndjson`: a line for each item.",
        default="json",
        parse=one_of("json", "ndjson"),
    )
    kind: Paging = option(
        "paging",
        "How the next page is asked for: by the link or cursor in `nextField`; or by `countParam`, which "
        "counts pages, or items.",
        default="link",
        parse=one_of("link", "page", "offset"),
    )
    next_field: str = option(
        "nextField",
        "Where a page has the link to the next page, or its cursor: absent, null or empty on the last. "
        "`header:NAME` is a header. A `Link` header with `rel=next` does too.",
        default="next",
    )
    cursor_param: str | None = option(
        "cursorParam",
        "The query parameter that takes the cursor, if `nextField` holds no URL; `body:NAME` is a field of "
        "`body`, names with dots between them.",
        default=None,
        shown_default="a URL",
    )
    counter: str | None = option(
        "countParam",
        "The query parameter that counts. Without it in `url` counting begins with page 1 and offset 0.",
        default=None,
        shown_default="`page`, `offset`",
    )
    has_more_field: str | None = option(
        "hasMoreField",
        "Where a page says whether there is another one, as `true` or `false`; `header:NAME` is a header. "
        "`!NAME` says the opposite, such as `!end_of_stream`: that it is the last one.",
        default=None,
        parse=_flag,
    )
    error_field: str | None = option(
        "errorField",
        "Where a page says that it is an error, whatever its status, such as `errors` in GraphQL: one that "
        "has anything there cannot be read.",
        default=None,
    )
    children_field: str | None = option(
        "childrenField",
        "Where an item has links to lists of its own, which are read to their end: a URL or several.",
        default=None,
    )
    children_url: str | None = option(
        "childrenUrl",
        "The list of each item, with fields of the item in braces: "
        "`https://api.example.com/orders/{id}/lines`.",
        default=None,
        parse=_template,
    )

    def __post_init__(self) -> None:
        """Refuse options that do not go together.

        Raises:
            OptionError: there are such.
        """
        is_linked = self.kind == "link"
        if is_linked and self.counter is not None:
            raise self.refusal("counter", "requires option paging=page or offset")
        if (self.counter or "").startswith("body:"):
            raise self.refusal("counter", "must be a parameter of the query: a body has none that counts")
        next_field = None if self.next_field == self.OPTIONS["next_field"].default else self.next_field
        for name, value in (("next_field", next_field), ("cursor_param", self.cursor_param)):
            if not is_linked and value is not None:
                raise self.refusal(name, "requires option paging=link")
        # Without fields the first page of such lists would be the last one.
        is_list = self.is_lines or not self.items_field
        named = {
            "next_field": next_field,
            "has_more_field": self.flag_field,
            "error_field": self.error_field,
        }
        for name, value in named.items():
            if is_list and value is not None and not value.startswith("header:"):
                raise self.refusal(name, "names a field, and such a page has none: use header:NAME")

    @property
    def is_lines(self) -> bool:
        """Whether a page is JSON lines, an item each."""
        return self.page_format == "ndjson"

    @property
    def flag_field(self) -> str | None:
        """The field or header of `has_more_field`, whichever of the two it says."""
        return None if self.has_more_field is None else self.has_more_field.removeprefix("!")

    @property
    def flags_last(self) -> bool:
        """Whether that field is true on the last page."""
        return self.has_more_field is not None and self.has_more_field.startswith("!")

    @property
    def count_param(self) -> str:
        """The query parameter with the number of the page, or of items before it."""
        return self.counter or self.kind

    @property
    def has_children(self) -> bool:
        """Whether items may name lists."""
        return self.children_field is not None or self.children_url is not None


class HttpSettings(Spec):
    """How pages are asked for, and what is in them. Picklable; opens nothing.

    Attributes:
        credentials: sent to ``origins`` only.
        tls: whom to trust. The certificate of this client is shown to ``origins`` only.
        origins: of the URLs that the user named: scheme, host and port.
        paging: what is in a page.
        follows_growth: whether a list that the user named goes on behind its last page; a batch read ends
            there.
    """

    credentials: CredentialSettings = field(default_factory=CredentialSettings, repr=False)
    tls: TlsSettings = field(default_factory=TlsSettings, repr=False)
    origins: tuple[str, ...] = ()
    method: Method = option(
        "method",
        "How pages are asked for: `POST` for search APIs and GraphQL.",
        default="GET",
        parse=one_of("GET", "POST"),
        after="params",
    )
    body: str | None = option(
        "body",
        "What each request carries, as JSON.",
        default=None,
        is_secret=True,
        kind="json",
        after="method",
    )
    paging: PagingSettings = field(default_factory=PagingSettings)
    on_status: Mapping[str, StatusAction] = option(
        "onStatus",
        "What a status means, such as `404=skip,410=finish,5xx=retry`: `read` the page, `fail`, `retry`, "
        "`skip` the page, `finish` the list.",
        default={},
        parse=_statuses,
        shown_default="see [errors](#errors)",
    )
    bad_pages: BadPages = option(
        "badPages",
        "What becomes of a page that cannot be read: the query fails, the page is left out, or it is a row "
        "of its own with the reason in the column `bad_page`.",
        default="fail",
        parse=one_of("fail", "skip", "column"),
    )
    allowed_hosts: tuple[str, ...] = option(
        "allowedHosts",
        "The hosts to which links and redirects may lead, beside those of `url`: names or addresses with "
        "commas between them, `*.example.com` for all below one. Credentials go to the hosts of `url` alone.",
        default=(),
        parse=_hosts,
        shown_default="any",
        kind="names",
        after="badPages",
    )
    most_bytes: int = option(
        "maxPageBytes",
        "A page that is larger, as it is sent or when it is decompressed, cannot be read (`badPages`). Nor "
        "can one of 2,000,000 items. A task needs about four times as much for each of its connections.",
        default=256 << 20,
        parse=integer(1, 2_000_000_000),
        shown_default="`268435456`",
        after="allowedHosts",
    )
    timeout_ms: int = option(
        "requestTimeout",
        "How long a request may take as a whole, with redirects, to the last byte of its answer.",
        default=30_000,
        parse=duration_ms,
        shown_default="`30s`",
        after="requestsPerSecond",
    )
    deadline_ms: int = option(
        "retryDeadline",
        "How long to go on asking a server that is away or failing: then the query ends. Running time "
        "without progress of a list, over all micro-batches.",
        default=120_000,
        parse=duration_ms,
        shown_default="`2m`",
        after="requestTimeout",
    )
    follows_growth: bool = True

    def may_ask(self, url: str) -> bool:
        """Whether a link or a redirect may lead to a URL."""
        host = (urlsplit(url).hostname or "").lower()
        return (
            not self.allowed_hosts
            or origin(url) in self.origins
            or host in self.allowed_hosts
            or any(host.endswith(each.removeprefix("*")) for each in self.allowed_hosts if each[0] == "*")
        )

    def __post_init__(self) -> None:
        """Refuse a body that is none, or that no request carries.

        Raises:
            OptionError: options do not go together.
        """
        if self.body is None:
            if (self.paging.cursor_param or "").startswith("body:"):
                raise self.refusal("body", "is required for a cursor in it")
            return
        if self.method == "GET":
            raise self.refusal("body", "requires option method=POST")
        try:
            body = json.loads(self.body)
        except ValueError as error:
            raise self.refusal("body", f"must be JSON: {error}") from error
        if not isinstance(body, dict):
            raise self.refusal("body", "must be a JSON object")
        self._check_cursor_place(body)

    def _check_cursor_place(self, body: dict[str, Any]) -> None:
        """Refuse a field for the cursor that would lie in something else than an object."""
        place = self.paging.cursor_param or ""
        if not place.startswith("body:"):
            return
        at: Any = body
        for name in place.removeprefix("body:").split(".")[:-1]:
            at = at.get(name)
            if at is None:
                return
            if not isinstance(at, dict):
                raise self.paging.refusal(
                    "cursor_param", f"leads through {name!r}, which is not an object in the body"
                )
