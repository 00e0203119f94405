"""Connections to PostgreSQL: the one place that opens them."""

from __future__ import annotations

import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headwater.core.errors import TransientSourceError
from headwater.core.imports import importing
from headwater.core.secrets import kept_secret, resolved_secret
from headwater.enumerators.postgres.errors import connection_error, server_error
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings

if TYPE_CHECKING:
    import psycopg

PostgresConnection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

APPLICATION: Final = "headwater"
"""The beginning of ``application_name`` of all connections."""

SESSION: Final[Mapping[str, str]] = MappingProxyType(
    {
        # The text of a value is the same in every session, whatever role, database and server have set.
        "datestyle": "ISO",
        "intervalstyle": "postgres",
        "timezone": "UTC",
        "extra_float_digits": "1",
        "bytea_output": "hex",
        "xmloption": "content",
        # A table takes as long as it takes; a server that hangs is noticed by its silence.
        "statement_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
    }
)
"""Settings of each session."""

_KEEPALIVE: Final[Mapping[str, Any]] = MappingProxyType(
    {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
)
"""A host that is gone without a word is noticed after a minute, also while sent bytes are unanswered."""


def connect(
    settings: PostgresSettings, *, application: str = APPLICATION, replication: bool = False
) -> PostgresConnection:
    """Open a connection, in autocommit, with the settings of `SESSION`. Blocks.

    Args:
        settings: of the user.
        application: the name in the server's views; begins with `APPLICATION`.
        replication: whether it speaks the commands of logical replication too.

    Raises:
        SourceError: the server refuses, or its certificate is not to be trusted.
        TransientSourceError: it is away.
        MissingDependencyError: psycopg is not installed.
    """
    with importing("the postgres source", extra="postgres"):
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo = conninfo_to_dict(settings.url)
    except psycopg.Error as error:
        raise connection_error(str(error)) from None
    if settings.username is not None:
        conninfo["user"] = resolved_secret(settings.username, "option 'username'")
    if settings.password is not None:
        conninfo["password"] = kept_secret(settings.password, "option 'password'")
    ours = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    parameters: dict[str, Any] = {
        **_KEEPALIVE,
        "gssencmode": "disable",
        **conninfo,
        "options": " ".join(filter(None, [str(conninfo.get("options") or ""), ours])),
        "client_encoding": "UTF8",
        "application_name": application,
        "connect_timeout": max(1, settings.connect_timeout_ms // 1_000),
    }
    if replication:
        parameters["replication"] = "database"
    try:
        # The text holds the password: an error's chain would show it, so it is cut.
        connection = psycopg.connect(**parameters, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise connection_error(str(error)) from None
    if connection.info.server_version >= _TRANSACTION_TIMEOUT and not replication:
        with mapped_errors("session settings"):
            connection.execute("SET transaction_timeout = 0")
    return connection


_TRANSACTION_TIMEOUT: Final = 170_000
"""The first version that has this setting; an earlier one refuses it."""


class LastingConnection:
    """An ordinary connection that is opened for the first question, and lasts for later ones.

    `get` belongs to the worker thread. `close` may come on another one.

    Args:
        settings: of the user.
    """

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._connection: PostgresConnection | None = None
        self._is_closed = False

    def get(self) -> PostgresConnection:
        """Return the connection, opened where there is none or it was lost. Blocks.

        Raises:
            SourceError: as by `connect`.
            TransientSourceError: `close` was called: the query ends.
        """
        if not self._is_closed and (self._connection is None or self._connection.closed):
            self._connection = connect(self._settings)
        # Behind the assignment: if `close` came while the connection was opened, it may not have seen it.
        if self._is_closed or self._connection is None:
            self.close()
            raise TransientSourceError("the query ends", source=SOURCE)
        return self._connection

    def drop(self) -> None:
        """Close the connection; the next question opens one. Belongs to the worker thread, too."""
        if self._connection is not None:
            self._connection.close()

    def close(self) -> None:
        """Close the connection for good. Idempotent."""
        self._is_closed = True
        self.drop()


def is_readable(descriptor: int, timeout_s: float) -> bool:
    """Whether something comes to a socket in time. Of a process with many files too, as `select` is not."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(timeout_s * 1_000))


@contextmanager
def mapped_errors(what: str, *, split: str | None = None) -> Iterator[None]:
    """Wrap calls of psycopg: its errors come out as errors of headwater.

    Args:
        what: the question, for messages.
        split: that is read.

    Raises:
        SourceError: the server's own error.
    """
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise server_error(error.sqlstate, str(error), what, split=split) from None
