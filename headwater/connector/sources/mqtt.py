"""The MQTT source: messages of persistent sessions, staged before they are acknowledged."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple
from urllib.parse import urlsplit

from headwater.connector.barrier.options import BARRIER_OPTIONS, epoch_settings
from headwater.connector.formats.row_decoding import row_decoding, row_format_options
from headwater.connector.options import (
    WHERE_SECRETS_ARE,
    Option,
    OptionTable,
    ParsedOptions,
    duration_ms,
    integer,
    names,
    text,
)
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.tls_options import TLS_OPTIONS, tls_settings
from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecordEmitter
from headwater.core.barrier_source import BarrierSource
from headwater.core.decoding import Decoding
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.imports import importing
from headwater.core.jsons import JsonValue
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import Split, SplitPath
from headwater.core.state_store import MemoryStateStore, StateStore
from headwater.enumerators.mqtt.enumerator import MqttSessionSplit, MqttSplitEnumerator
from headwater.readers.mqtt.settings import MQTT_SCHEMA, MqttSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.runtime.staging.receiver_link import ReceiverLink
    from headwater.readers.runtime.staging.staging import Staging

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
_PAYLOAD: Final = "payload"
"""The column that a format decodes."""
_LEAST_REMEMBERED: Final = 2_000
"""So many keys of messages are remembered at least, to tell a second delivery from the first."""
_REMEMBERED_WINDOWS: Final = 8
"""And the keys of so many windows of unacknowledged messages.

One would not do: what a broker sends again after a broken connection does not always count for its window.
"""
_MOST_IN_FLIGHT: Final = 65_535
"""MQTT 5 writes Receive Maximum in two bytes."""
_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}


class _Broker(NamedTuple):
    host: str
    port: int
    tls: bool


def _broker(raw: str) -> _Broker:
    parts = urlsplit(raw.strip())
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"must be mqtt://host:port or mqtts://host:port, not {raw!r}")
    return _Broker(parts.hostname, parts.port or _PORTS[parts.scheme], parts.scheme == "mqtts")


def _key(raw: str) -> tuple[str, str]:
    kind, colon, name = raw.strip().partition(":")
    if kind not in {"payload", "property"} or not colon or not name:
        raise ValueError(
            f"must be payload:<field of the JSON payload> or property:<name of a user property>, not {raw!r}"
        )
    return kind, name


_BROKER: Final = Option("broker", _broker, None, "Required: `mqtt://host:port` or `mqtts://host:port`.")
_TOPICS: Final = Option(
    "topics", names, None, "Required: topic filters with commas between them, `+` and `#` included."
)
_CLIENT_ID: Final = Option(
    "clientId",
    text,
    None,
    "Required for a stream: names its session at the broker, for this query alone.",
    only=_STREAM,
)
_SESSIONS: Final = Option(
    "sessions",
    integer(1),
    1,
    "So many sessions share the messages (`$share`), a task for each; nothing keeps an order then.",
)
_MESSAGE_KEY: Final = Option(
    "messageKey",
    _key,
    None,
    "What tells a second delivery from the first: `payload:<field>` of a JSON payload, names with dots "
    "between them, or `property:<name>`. Without it the guarantee is at least once.",
    shown_default="at least once",
)
_USERNAME: Final = Option("username", text, None, f"For the broker. {WHERE_SECRETS_ARE}")
_PASSWORD: Final = Option("password", text, None, f"For the broker. {WHERE_SECRETS_ARE}")
_IDLE_TIMEOUT: Final = Option(
    "idleTimeout",
    duration_ms,
    500,
    "A session that brings nothing for so long is caught up.",
    shown_default="`500ms`",
)
_MAX_IN_FLIGHT: Final = Option(
    "maxInFlight",
    integer(1),
    5_000,
    "The most messages that the broker sends before the first one is acknowledged, and of one segment.",
)
_RETRY_DEADLINE: Final = Option(
    "retryDeadline",
    duration_ms,
    120_000,
    "For how long a broker that is away is asked again, before the query fails.",
    shown_default="`2m`",
)
_RECEIVER_IDLE_TIMEOUT: Final = Option(
    "receiverIdleTimeout",
    duration_ms,
    600_000,
    "How long a receiver stays connected when no task asks for what it received: longer than the trigger's "
    "interval and than a restart of the query.",
    shown_default="`10m`",
)
_QUICK: Final = {"barrierInterval": (250, "`250ms`"), "pollInterval": (1_000, "`1s`")}
"""Messages are received between epochs too: an epoch need not wait for them, and to look costs little."""


def _quick(option: Option[Any]) -> Option[Any]:
    default, shown = _QUICK.get(option.name, (option.default, option.shown_default))
    return replace(option, default=default, shown_default=shown)


MQTT_OPTIONS: Final = OptionTable(
    [
        _BROKER,
        _TOPICS,
        _CLIENT_ID,
        _SESSIONS,
        _MESSAGE_KEY,
        _USERNAME,
        _PASSWORD,
        *TLS_OPTIONS,
        _IDLE_TIMEOUT,
        _RETRY_DEADLINE,
        _RECEIVER_IDLE_TIMEOUT,
        _MAX_IN_FLIGHT,
        *row_format_options(_PAYLOAD),
        *(_quick(option) for option in BARRIER_OPTIONS),
    ]
)
"""The table that parses, and that `docs/mqtt.md` shows."""


@dataclass(frozen=True, kw_only=True)
class MqttSource(BarrierSource[MqttSessionSplit, int]):
    """Sessions as splits, segments of their logs as records, messages as rows.

    Attributes:
        client_ids: of the sessions.
        settings: of the connections.
        store: the state location; in a batch read one of the task's own, in memory.
        idle_ms: a session that brings nothing for so long is caught up.
        mode: a batch or a stream.
        decoding: of the payloads; None: they are bytes.
        backoff: for how long a broker that is away is asked again.
        receiver_idle_ms: a receiver that no task has asked for so long ends.
        folder: of the query, in the state location.
    """

    name: ClassVar[str] = "mqtt"

    client_ids: tuple[str, ...]
    settings: MqttSettings
    store: StateStore | None
    idle_ms: int
    mode: Boundedness
    decoding: Decoding | None
    backoff: Backoff
    receiver_idle_ms: int
    folder: str = ""

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    @property
    def is_staged(self) -> bool:
        return True

    @property
    def delivery_columns(self) -> frozenset[str]:
        return frozenset({"retained", "received"})

    def schema(self) -> pa.Schema:
        return MQTT_SCHEMA if self.decoding is None else self.decoding.schema(MQTT_SCHEMA)

    @property
    def logged_schema(self) -> JsonValue:
        return None if self.decoding is None else self.decoding.logged_schema

    @property
    def takes_other_schemas(self) -> bool:
        return self.decoding is not None and self.decoding.takes_other_schemas

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[MqttSessionSplit, int]
    ) -> BarrierSplitEnumerator[MqttSessionSplit, int]:
        return MqttSplitEnumerator(context, self.client_ids)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[MqttSessionSplit, int],
        checkpoint: Checkpoint[MqttSessionSplit, int],
    ) -> BarrierSplitEnumerator[MqttSessionSplit, int]:
        """Everything that counts is in the positions."""
        return self.create_enumerator(context)

    def create_reader(self) -> BarrierSplitReader[MqttSessionSplit, int]:
        with importing("the mqtt source", extra="mqtt"):
            from headwater.readers.mqtt.client import MqttClients
        from headwater.readers.runtime.staging.receiver import ReceiverTask
        from headwater.readers.runtime.staging.receiver_link import HostReceiverLink, OwnReceiverLink
        from headwater.readers.runtime.staging.staged_split_reader import StagedSplitReader

        staging = self.staging(self.folder)

        def link(split: Split) -> ReceiverLink:
            client = MqttClients(self.settings)
            queue = f"mqtt://{self.settings.host}:{self.settings.port}/{split.split_id}"
            task = ReceiverTask(queue, staging, split, client, self.backoff, self.receiver_idle_ms)
            # What a batch read receives lies in the task's memory, and nobody reads it later.
            return OwnReceiverLink(task) if self.store is None else HostReceiverLink(task)

        return StagedSplitReader(staging, link)

    def create_emitter(self) -> RecordEmitter[EpochRecord, MqttSessionSplit, int]:
        if self.decoding is None:
            return EpochRecordEmitter()
        return self.decoding.create_emitter(MQTT_SCHEMA, source=self.name)

    def serialize_splits(self, splits: Iterable[MqttSessionSplit]) -> JsonValue:
        """Nothing: a split's path says all."""
        return None

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, MqttSessionSplit]:
        return {path: MqttSessionSplit(path[0]) for path in paths}

    def is_before(self, position: int, other: int) -> bool:
        return position < other

    def for_query(self, folder: str) -> MqttSource:
        return replace(self, folder=folder)

    def release_before(self, folder: str, positions: Mapping[SplitPath, int]) -> None:
        from headwater.readers.runtime.partitions.segment_log import release_logs

        staging = self.staging(folder)
        release_logs((staging.log(path, "driver"), position) for path, position in positions.items())

    def forget_splits(self, folder: str, paths: Collection[SplitPath]) -> None:
        staging = self.staging(folder)
        for path in paths:
            staging.log(path, "driver").delete()
            staging.store.delete_folder(staging.keys_folder(path))

    def staging(self, folder: str) -> Staging:
        """Return where and how a query's messages are staged."""
        from headwater.readers.runtime.staging.staging import Staging

        remembered = max(_LEAST_REMEMBERED, _REMEMBERED_WINDOWS * self.settings.in_flight)
        return Staging(
            self.store or MemoryStateStore(),
            folder,
            self.idle_ms,
            self.settings.in_flight,
            remembered if self.settings.key is not None else 0,
        )


def configure_mqtt(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredBarrierSource:
    """Make the MQTT source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        StateLocationError: ``stateLocation`` has no atomic put-if-absent.
    """
    parsed = MQTT_OPTIONS.parse(options, boundedness)
    broker = parsed.require(_BROKER)
    topics = parsed.require(_TOPICS)
    client_id = _client_id(parsed, boundedness)
    client_ids: tuple[str, ...] = (client_id,)
    sessions = parsed[_SESSIONS]
    if sessions > 1:
        client_ids = tuple(f"{client_id}-{number}" for number in range(sessions))
        topics = tuple(f"$share/{client_id}/{topic}" for topic in topics)
    epochs = epoch_settings(parsed, boundedness, source="mqtt")
    tls = tls_settings(parsed, encrypted=broker.tls, hint="mqtts://")
    backoff = Backoff(deadline_ms=parsed[_RETRY_DEADLINE])
    source = MqttSource(
        client_ids=client_ids,
        settings=MqttSettings(
            host=broker.host,
            port=broker.port,
            tls=tls if broker.tls else None,
            username=parsed[_USERNAME],
            password=parsed[_PASSWORD],
            topics=topics,
            is_persistent=boundedness is _STREAM,
            key=parsed[_MESSAGE_KEY],
            in_flight=min(parsed[_MAX_IN_FLIGHT], _MOST_IN_FLIGHT),
        ),
        store=epochs.store,
        idle_ms=parsed[_IDLE_TIMEOUT],
        mode=boundedness or Boundedness.BOUNDED,
        decoding=row_decoding(parsed, _PAYLOAD),
        backoff=backoff,
        receiver_idle_ms=parsed[_RECEIVER_IDLE_TIMEOUT],
    )
    return ConfiguredBarrierSource(source=source, epochs=epochs, backoff=backoff)


def _client_id(parsed: ParsedOptions, boundedness: Boundedness | None) -> str:
    if boundedness is _STREAM:
        return parsed.require(
            _CLIENT_ID,
            " for a stream: it names the session in which the broker keeps what was not taken yet",
        )
    # A batch read leaves no session behind: any name will do that no other client has.
    return parsed[_CLIENT_ID] or f"headwater-{secrets.token_hex(8)}"
