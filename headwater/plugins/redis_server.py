"""Connections of `headwater.plugins.redis`, by redis-py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import headwater as hw

_TIMEOUT_S: Final = 30


def _url(raw: str) -> str:
    parts = urlsplit(raw.strip())
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        raise ValueError("must be redis://host:port/database or rediss://host:port/database")
    if parts.username or parts.password:
        raise ValueError("must hold no user and password: give the options username and password")
    if parts.query:
        raise ValueError("must have no parameters behind ?: there are options for what may be set")
    return raw.strip()


class RedisSettings(hw.options.Spec):
    """How a server is reached."""

    url: str = hw.options.option(
        "url", "`redis://host:port/database`; encrypted: `rediss://`.", parse=_url, kind="text"
    )
    cluster: bool = hw.options.option(
        "cluster", "Whether it is a node of a cluster: each key is read where its slot is.", default=False
    )
    username: str | None = hw.options.option("username", "Whom to connect as.", default=None)
    password: str | None = hw.options.option(
        "password", "`env:NAME`, `file:PATH`, or the password itself.", default=None, is_secret=True
    )
    ca: str | None = hw.options.option(
        "tlsCa",
        "The certificates to trust: a PEM file on every host that connects.",
        default=None,
        shown_default="the system's",
    )

    def __post_init__(self) -> None:
        if self.ca is not None and not self.url.startswith("rediss://"):
            raise self.refusal("ca", "requires rediss:// in option 'url'")


def clients(settings: RedisSettings, key: str | None) -> list[Any]:
    """Return clients of the servers: of the one that has a key, or of all that have some."""
    try:
        import redis
    except ImportError as error:
        raise hw.errors.MissingDependencyError(
            "redis", needed_for="the redis source", extra="redis"
        ) from error
    login: dict[str, Any] = {"socket_timeout": _TIMEOUT_S, "socket_connect_timeout": _TIMEOUT_S}
    if settings.username is not None:
        login["username"] = settings.username
    if settings.password is not None:
        login["password"] = hw.options.kept_secret(settings.password, "option 'password'")
    if settings.ca is not None:
        login["ssl_ca_certs"] = settings.ca
    if not settings.cluster:
        return [_raw(redis.Redis.from_url(settings.url, **login))]
    cluster: Any = redis.RedisCluster.from_url(settings.url, **login)
    nodes = cluster.get_primaries() if key is None else [cluster.get_node_from_key(key)]
    return [_raw(cluster.get_redis_connection(node)) for node in nodes]


def _raw(client: Any) -> Any:
    """Return a client that leaves entries as the server sends them: lists of id and fields."""
    client.set_response_callback("XRANGE", lambda answer, **_: answer)
    return client


@contextmanager
def as_ours(client: Any) -> Iterator[None]:
    """Close a client at the end, and turn its errors into those of headwater."""
    from redis import exceptions

    lost = exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ClusterError, exceptions.AskError
    passing = *lost, exceptions.TryAgainError, exceptions.ReadOnlyError
    try:
        yield
    except exceptions.NoPermissionError as error:
        raise hw.errors.AuthorizationError(
            f"{error}; docs/redis.md names the commands", source="redis"
        ) from error
    except exceptions.RedisError as error:
        text = str(error)
        if isinstance(error, exceptions.AuthenticationError) or text.startswith(("NOAUTH", "WRONGPASS")):
            raise hw.errors.AuthenticationError(
                f"the server refuses the credentials: {text}", source="redis"
            ) from error
        if isinstance(error, passing) and "CERTIFICATE_VERIFY_FAILED" not in text:
            absent = re.match(r"Error -?\d+ connecting to |Timeout connecting to ", text)
            kind = hw.errors.NoConnectionError if absent else hw.TransientSourceError
            raise kind(f"{type(error).__name__}: {text}", source="redis") from error
        raise
    finally:
        client.close()
