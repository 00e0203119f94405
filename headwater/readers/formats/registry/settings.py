"""Where a schema registry is, and how to speak to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.core.secrets import TlsSettings


@dataclass(frozen=True, kw_only=True)
class RegistrySettings:
    """Immutable, hashable and picklable: sent to executors, where one client serves all tasks of a process.

    Attributes:
        urls: of the same registry, as ``http://host:8081``; the next one is asked when one is away.
        user_info: ``user:password`` of basic authentication, as `headwater.core.secrets.resolved_secret`
            takes it; None: none.
        token: a bearer token, in the same way; None: none.
        tls: whom to trust.
        timeout_ms: for connecting, and for each read.
        deadline_ms: for how long a task asks again for a schema that it cannot get.
    """

    urls: tuple[str, ...]
    user_info: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    tls: TlsSettings = field(default_factory=TlsSettings, repr=False)
    timeout_ms: int = 10_000
    deadline_ms: int = 120_000
