"""Errors of libpq and the server as errors of headwater. The only place that knows their codes and texts."""

from __future__ import annotations

from typing import Final, NamedTuple

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.enumerators.postgres.settings import SOURCE

_TRANSIENT_CLASSES: Final = ("08", "40", "53", "57")
"""The connection, a conflict of transactions, too few resources, an operator who intervenes."""
_LASTING: Final = frozenset({"57014", "57P04", "53100"})
"""Among these: a query that was cancelled, a database that was dropped, a disk that is full."""

_NEEDS_REPLICATION: Final = "have the permission granted: ALTER ROLE <role> REPLICATION"

_BY_CODE: Final[dict[str, tuple[type[SourceError], str]]] = {
    "28P01": (AuthenticationError, "check the options username and password"),
    "28000": (AuthenticationError, "check option username, and the server's pg_hba.conf"),
    "3D000": (UnknownSplitError, "check the database in option url"),
    "42501": (AuthorizationError, "have the permission granted: GRANT SELECT ON <table> TO <role>"),
    "22023": (SourceError, "check option table: a name as SQL has it"),
    "42602": (SourceError, "check option table: a name as SQL has it"),
    "42P01": (UnknownSplitError, "check option table"),
    "42703": (UnknownSplitError, "the table's columns have changed: load() it again"),
    "57014": (SourceError, "raise statement_timeout of the role, or ask who cancelled the query"),
    "57P04": (SourceError, "check the database in option url"),
    "53100": (SourceError, "make room on the server's disk"),
}
"""Remedies, by SQLSTATE."""


class _Said(NamedTuple):
    """A text of libpq where no connection comes about, in English: it gives no SQLSTATE then.

    Attributes:
        texts: any of them.
        kind: of error.
        remedy: for people.
    """

    texts: tuple[str, ...]
    kind: type[SourceError]
    remedy: str


_SAID: Final = (
    _Said(
        ("the database system is ", "too many connections for "),
        TransientSourceError,
        "the server starts, stops or recovers, or has as many connections as it takes: it is asked again",
    ),
    _Said(
        ("permission denied for database",),
        AuthorizationError,
        "have the permission granted: GRANT CONNECT ON DATABASE <database> TO <role>",
    ),
    _Said(
        ("permission denied to start WAL sender", "replication role to start walsender"),
        AuthorizationError,
        _NEEDS_REPLICATION,
    ),
    _Said(
        ("password authentication failed", "no password supplied", "SCRAM", "authentication failed"),
        AuthenticationError,
        "check the options username and password",
    ),
    _Said(
        ("no pg_hba.conf entry", "is not permitted to log in", 'role "'),
        AuthenticationError,
        "check option username, and that pg_hba.conf of the server lets this host in with this sslmode",
    ),
    _Said(
        ("certificate has expired", "certificate verify failed", "certificate is not yet valid"),
        AuthenticationError,
        "renew the server's certificate if it has expired, or name its authority: sslrootcert in option url",
    ),
    _Said(
        ("does not match host name", "root certificate file", "certificate revoked"),
        AuthenticationError,
        "check sslmode and sslrootcert in option url: the file must be on every host that connects",
    ),
    _Said(
        ("alert certificate", "alert unknown ca", "certificate required", "valid client certificate"),
        AuthenticationError,
        "name a certificate that the server accepts, by sslcert and sslkey in option url",
    ),
    _Said(
        ("does not support SSL", "SSL error: wrong version"),
        SourceError,
        "turn TLS on at the server, or choose another sslmode in option url",
    ),
    _Said(('database "',), UnknownSplitError, "check the database in option url"),
    _Said(
        ("unsupported startup parameter",),
        SourceError,
        "a connection pooler answers there: give the address of the server itself in option url",
    ),
    _Said(
        ("could not translate host name", "Name or service not known"),
        TransientSourceError,
        "check the host in option url",
    ),
    _Said(
        ("invalid connection option", "invalid sslmode", "invalid URI", 'missing "="', "invalid integer"),
        SourceError,
        "check option url",
    ),
)
"""The first that fits counts."""


def server_error(sqlstate: str | None, message: str, what: str, *, split: str | None = None) -> SourceError:
    """Return the error for a refusal of a server.

    Args:
        sqlstate: the code; None if the connection was lost.
        message: of the server.
        what: the question, for the message.
        split: that was read.
    """
    text = " ".join(message.split())
    code = sqlstate or "08006"
    entry = _BY_CODE.get(code)
    if entry is not None:
        kind, remedy = entry
        if "replication slots" in text and kind is AuthorizationError:
            remedy = _NEEDS_REPLICATION
        return kind(f"{what}: {text} (SQLSTATE {code}); {remedy}", source=SOURCE, split=split)
    if code[:2] in _TRANSIENT_CLASSES and code not in _LASTING:
        return TransientSourceError(f"{what}: {text} (SQLSTATE {code})", source=SOURCE, split=split)
    return SourceError(f"{what}: {text} (SQLSTATE {code})", source=SOURCE, split=split)


def connection_error(message: str) -> SourceError:
    """Return the error for a connection that did not come about."""
    detail = " ".join(message.split())
    for each in _SAID:
        if any(text in detail for text in each.texts):
            return each.kind(f"no connection: {detail}; {each.remedy}", source=SOURCE)
    return TransientSourceError(f"no connection: {detail}; check option url, and the server", source=SOURCE)
