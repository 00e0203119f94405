"""The settings of the client, by the user's ``kafka.*`` options.

They are checked once, on the driver. The result is pickled and sent to each process that opens a connection.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from headwater.core.errors import OptionError, nearest
from headwater.core.redaction import logger_of
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.properties import PROPERTIES
from headwater.enumerators.kafka.client.property_kinds import (
    Ignored,
    Mapped,
    Refused,
    UnfitValueError,
)
from headwater.enumerators.kafka.client.sasl_config import OF_CLOUDS, SaslConfig, sasl_config
from headwater.enumerators.kafka.client.tls import TlsConfig, check_stores, tls_config

log = logger_of(__name__)
_PREFIX = "kafka."
_SECURITY = ("sasl.", "security.", "ssl.")
"""Where a value that does not fit may be a secret in the wrong place: it is not shown."""

_SALT = os.urandom(16)
_logged: set[str] = set()
_logged_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The settings of all connections of one source.

    Immutable, hashable, picklable; its repr shows no secret.

    The attributes are Kafka's properties of the same names (``docs/kafka-properties.md``), with ``_`` for
    ``.``. Times are in milliseconds, sizes in bytes. A buffer of -1 is left to the operating system.

    Attributes:
        tls: how to encrypt, None if ``security.protocol`` does not say so.
        sasl: how to log in, None if ``security.protocol`` does not say so.
    """

    bootstrap_servers: tuple[BrokerAddress, ...]
    tls: TlsConfig | None = None
    sasl: SaslConfig | None = None
    security_protocol: str = "PLAINTEXT"
    client_id: str = "headwater"
    client_rack: str = ""
    isolation_level: str = "read_uncommitted"
    check_crcs: bool = True
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 4_194_304
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    socket_connection_setup_timeout_ms: int = 10_000
    connections_max_idle_ms: int = 540_000
    metadata_max_age_ms: int = 300_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    receive_buffer_bytes: int = -1
    send_buffer_bytes: int = -1

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ClientConfig:
        """Check all options that begin with ``kafka.``, and ignore the others.

        Opens nothing. Logs each ignored property once in the life of the process.

        Raises:
            OptionError: a property is unknown (the nearest is named), refused, malformed, or clashes with
                another. Names the option.
        """
        properties = {
            key.lower().removeprefix(_PREFIX): value
            for key, value in options.items()
            if key.lower().startswith(_PREFIX)
        }
        check_stores(properties)
        _check_names(properties)
        values = {
            name: _value(name, treatment, properties.get(name))
            for name, treatment in PROPERTIES.items()
            if isinstance(treatment, Mapped)
        }
        if values["bootstrap.servers"] is None:
            raise OptionError("is required: host:port,host:port", option="kafka.bootstrap.servers")
        protocol = values["security.protocol"]
        logs_in = protocol.startswith("SASL") or values["sasl.mechanism"] in OF_CLOUDS
        simple = {
            attribute.name: values[name]
            for attribute in fields(cls)
            if (name := attribute.name.replace("_", ".")) in values
        }
        return cls(
            **simple,
            tls=tls_config(values, properties) if protocol.endswith("SSL") else None,
            sasl=sasl_config(values, protocol) if logs_in else None,
        )

    @property
    def read_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out."""
        return self.isolation_level == "read_committed"

    @property
    def credentials_key(self) -> bytes:
        """A digest of the settings by which connections to one broker are interchangeable.

        For the keys of caches within one process. The salt is different in each process, so that the digest
        tells nothing of the secrets in it.
        """
        secrets = [astuple(part) for part in (self.tls, self.sasl) if part]
        parts = (self.security_protocol, self.client_id, self.receive_buffer_bytes, self.send_buffer_bytes)
        return hashlib.blake2b(repr((parts, secrets)).encode(), key=_SALT, digest_size=16).digest()


def _check_names(properties: Mapping[str, str]) -> None:
    for name in properties:
        treatment = PROPERTIES.get(name)
        if treatment is None:
            near = nearest(name, PROPERTIES)
            hint = f"did you mean kafka.{near}?" if near else "docs/kafka-properties.md lists them all"
            raise OptionError(
                f"is no property of Kafka's consumer or admin client; {hint}", option=_PREFIX + name
            )
        if isinstance(treatment, Refused):
            raise OptionError(f"is refused: {treatment.note}", option=_PREFIX + name)
        if isinstance(treatment, Ignored):
            _log_once(name, treatment)


def _log_once(name: str, treatment: Ignored) -> None:
    # Several queries may start at once in one driver, each on a thread of its own. The lock lets one of them
    # log; writing the log needs no lock.
    with _logged_lock:
        if name in _logged:
            return
        _logged.add(name)
    log.warning("option kafka.%s has no effect: %s", name, treatment.note)


def _value(name: str, treatment: Mapped, text: str | None) -> Any:
    try:
        return treatment.value_of(text)
    except ValueError as error:
        note = f" ({treatment.note})" if treatment.note else ""
        message = str(error)
        if isinstance(error, UnfitValueError) and name.startswith(_SECURITY):
            message = f"the value that is given {error.reason}"
        raise OptionError(f"{message}{note}", option=_PREFIX + name) from None
