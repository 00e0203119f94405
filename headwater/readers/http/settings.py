"""How the lists of a REST API are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from headwater.core.secrets import TlsSettings

StatusAction: TypeAlias = Literal["read", "fail", "retry", "skip", "finish"]
"""What a status means: a page, an error, ask again, leave the page out, the list ends here."""
TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of a server that may answer later."""
Method: TypeAlias = Literal["GET", "POST"]
Paging: TypeAlias = Literal["link", "page", "offset"]
BadPages: TypeAlias = Literal["fail", "skip", "column"]


@dataclass(frozen=True, kw_only=True)
class PagingSettings:
    """What is in a page, and where the next one is. Names have dots between them.

    Attributes:
        items_field: where a page's JSON has its items; empty: the page is the list.
        is_lines: whether a page is JSON lines, an item each.
        kind: ``link``: pages name the next one by its URL or a cursor; ``page``, ``offset``: it is counted.
        next_field: where the link or cursor is; ``header:NAME`` is a header. Absent, null or empty on the
            last page. A page without it may have a Link header instead.
        cursor_param: the query parameter that takes a cursor, ``body:NAME`` for a field of the body; None if
            ``next_field`` holds URLs.
        count_param: the query parameter with the number of the page, or of items before it.
        has_more_field: where it stands whether there is another page; None: pages do not say.
        error_field: where a page says that it is an error, whatever its status; None: it does not.
        children_field: where an item has links to further lists: a URL or several; None if there are none.
        children_url: of an item's list, with fields of the item in braces; None if there is none.
    """

    items_field: str = "items"
    is_lines: bool = False
    kind: Paging = "link"
    next_field: str = "next"
    cursor_param: str | None = None
    count_param: str = ""
    has_more_field: str | None = None
    error_field: str | None = None
    children_field: str | None = None
    children_url: str | None = None

    @property
    def has_children(self) -> bool:
        """Whether items may name lists."""
        return self.children_field is not None or self.children_url is not None


@dataclass(frozen=True, kw_only=True)
class OAuthSettings:
    """How a token is got with client credentials. Hashable: what names the token among those that are kept.

    The values of ``client_id``, ``client_secret`` and ``parameters`` may be as
    `headwater.core.secrets.resolved_secret` takes them.

    Attributes:
        url: of the token.
        client_id: who asks.
        client_secret: of the client.
        scope: what is asked for; None if the server does not want one.
        parameters: what the server wants beside these; one name may come several times.
        in_header: whether id and secret are a header of basic authentication, and not in the body.
    """

    url: str
    client_id: str
    client_secret: str
    scope: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    in_header: bool = False


@dataclass(frozen=True, kw_only=True)
class CredentialSettings:
    """Who asks. Every value may be as `headwater.core.secrets.resolved_secret` takes it. Never shown.

    Attributes:
        headers: sent with each request.
        parameters: added to the query of each request. They are in no URL that is kept or shown.
        bearer: a token.
        user: of basic authentication.
        password: of that user.
        oauth: how a token is got; None if none is.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    bearer: str | None = None
    user: str | None = None
    password: str | None = None
    oauth: OAuthSettings | None = None


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """How pages are asked for, and what is in them. Picklable; opens nothing.

    Attributes:
        credentials: sent to ``origins`` only.
        tls: whom to trust. The certificate of this client is shown to ``origins`` only.
        origins: of the URLs that the user named: scheme, host and port.
        method: of each request.
        body: of each request; None if it has none.
        paging: what is in a page.
        on_status: what a status means, by its number or class (``5xx``), where the user says so.
        bad_pages: what becomes of a page that cannot be read.
        timeout_ms: how long a request may take as a whole.
        deadline_ms: how long to go on asking a server that is away or overloaded.
        follows_growth: whether a list that the user named goes on behind its last page; a batch read ends
            there.
    """

    credentials: CredentialSettings = field(default_factory=CredentialSettings, repr=False)
    tls: TlsSettings = field(default_factory=TlsSettings, repr=False)
    origins: tuple[str, ...] = ()
    method: Method = "GET"
    body: str | None = field(default=None, repr=False)
    paging: PagingSettings = field(default_factory=PagingSettings)
    on_status: Mapping[str, StatusAction] = field(default_factory=dict)
    bad_pages: BadPages = "fail"
    timeout_ms: int = 30_000
    deadline_ms: int = 120_000
    follows_growth: bool = True
