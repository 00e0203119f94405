"""How a PostgreSQL server is reached, as the user says."""

from __future__ import annotations

import re
from typing import Final

from headwater.core.options import WHERE_SECRETS_ARE, Spec, duration_ms, option, text

SOURCE: Final = "postgres"
"""The name of the source, in errors."""

_SCHEMES: Final = ("postgresql://", "postgres://")
_CREDENTIALS: Final = re.compile(r"[a-z]+://[^@/:]*:[^@/]*@")
"""As libpq takes a URL apart: all before the first @, whatever marks a password has."""
_SECRET: Final = re.compile(r"(?:^|[\s?&])(password|sslpassword)\s*=", re.IGNORECASE)
_IN_CONNINFO: Final = re.compile(r"^\s*\w+\s*=")


def _url(raw: str) -> str:
    written = text(raw)
    if written.startswith("jdbc:"):
        raise ValueError(
            f"must be one of libpq, not of JDBC: leave {written.partition('postgresql:')[0]!r} out, and give "
            "user and password as the options username and password"
        )
    is_url = written.startswith(_SCHEMES)
    if not is_url and not _IN_CONNINFO.match(written):
        # The text may be anything, a password too: it is not shown.
        raise ValueError("must be postgresql://host:port/database, or as libpq has it: host=... dbname=...")
    if _CREDENTIALS.match(written) or _SECRET.search(written):
        raise ValueError("must hold no password: give option password, such as env:NAME or file:PATH")
    return written


class PostgresSettings(Spec):
    """How to reach the server. Picklable; opens nothing.

    The rest is libpq's: parameters in the URL (``sslmode``, ``sslrootcert``, ``service``, ``passfile``), and
    its environment variables on each host.
    """

    url: str = option(
        "url",
        "Of the server and the database: `postgresql://host:port/database?sslmode=verify-full`, or as libpq "
        "has it: `host=... dbname=...`. Without a password.",
        parse=_url,
    )
    username: str | None = option(
        "username", f"The role, where the URL has none. {WHERE_SECRETS_ARE}", default=None
    )
    password: str | None = option(
        "password", f"Of the role. {WHERE_SECRETS_ARE}", default=None, is_secret=True
    )
    connect_timeout_ms: int = option(
        "connectTimeout",
        "How long one attempt to connect may take.",
        default=10_000,
        parse=duration_ms,
        shown_default="`10s`",
    )
    read_timeout_ms: int = option(
        "readTimeout",
        "How long the server may be silent while rows are read, before it counts as hung.",
        default=300_000,
        parse=duration_ms,
        shown_default="`5m`",
    )
