"""How the lists of a REST API are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.core.tls import TlsSettings


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """How pages are asked for, and what is in them. Picklable; opens nothing.

    Attributes:
        headers: of the user, sent with each request to ``hosts``; their values as
            `headwater.core.secrets.resolved_secret` takes them. Never shown.
        tls: whom to trust. The certificate of this client is shown to ``hosts`` only.
        hosts: of the URLs that the user named, with their ports.
        items_field: where in a page's JSON the list of items is, names with dots between them; empty: the
            page is the list.
        next_field: where the link to the next page is, or its cursor; absent, null or empty on the last one.
            A page without it may have a Link header instead.
        cursor_param: the query parameter that takes a cursor; None if ``next_field`` holds URLs.
        children_field: where in an item the links to further lists are: a URL or several; None if there are
            none.
        requests_per_s: the most requests that one reader may make; None for no limit.
        timeout_ms: how long to wait for an answer.
        deadline_ms: how long to go on asking a server that is away or overloaded.
        follows_growth: whether a list that the user named goes on behind its last page; a batch read ends
            there.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: TlsSettings = field(default_factory=TlsSettings, repr=False)
    hosts: tuple[str, ...] = ()
    items_field: str = "items"
    next_field: str = "next"
    cursor_param: str | None = None
    children_field: str | None = None
    requests_per_s: float | None = None
    timeout_ms: int = 30_000
    deadline_ms: int = 120_000
    follows_growth: bool = True
