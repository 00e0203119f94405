"""How `headwater.plugins.rabbitmq` reaches brokers."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

import headwater as hw

_SCHEMES: Final = {"rabbitmq-stream": 5552, "rabbitmq-stream+tls": 5551}


class Server(NamedTuple):
    """An address."""

    host: str
    port: int
    is_encrypted: bool

    @property
    def shown(self) -> str:
        """How people write it."""
        return f"{self.host}:{self.port}"


def _servers(raw: str) -> tuple[Server, ...]:
    return tuple(_server(each) for each in hw.options.names(raw))


def _server(raw: str) -> Server:
    parts = urlsplit(raw)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise ValueError("must be rabbitmq-stream://host:5552, or rabbitmq-stream+tls://host:5551")
    if "@" in parts.netloc:
        raise ValueError("must hold no user: give username and password")
    if parts.path.strip("/") or parts.query:
        raise ValueError("must end with the port: the virtual host is the option virtualHost")
    return Server(parts.hostname, parts.port or _SCHEMES[parts.scheme], parts.scheme.endswith("tls"))


class RabbitSettings(hw.options.Spec):
    """How brokers are reached."""

    servers: tuple[Server, ...] = hw.options.option(
        "servers",
        "Brokers to begin with, with commas between them: `rabbitmq-stream://host:5552`, or "
        "`rabbitmq-stream+tls://host:5551`.",
        parse=_servers,
        kind="names",
    )
    username: str = hw.options.option("username", "Whom to connect as.", default="guest")
    password: str = hw.options.option(
        "password", "`env:NAME`, `file:PATH`, or the password itself.", default="guest", is_secret=True
    )
    virtual_host: str = hw.options.option("virtualHost", "The virtual host of the streams.", default="/")
    behind_balancer: bool = hw.options.option(
        "loadBalancer",
        "Whether brokers are reached through `servers` only: connections are made there until one is with "
        "the broker that is wanted. Else each broker is reached at the address that it advertises.",
        default=False,
    )

    def __post_init__(self) -> None:
        if len({each.is_encrypted for each in self.servers}) > 1:
            raise self.refusal("servers", "all are encrypted, or none")
