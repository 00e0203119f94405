"""The source itself: messages of persistent sessions, staged before they are acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecordEmitter
from headwater.core.decoding import Decoding
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.imports import importing
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.mqtt.enumerator import MqttSplitEnumerator
from headwater.enumerators.mqtt.sessions import MqttSessions, MqttSessionSplit, SubscriptionNote
from headwater.readers.mqtt.settings import MQTT_SCHEMA, MqttSettings
from headwater.readers.runtime.staging.staged_source import StagedSource

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.runtime.staging.staged_client import StagedClient


@dataclass(frozen=True, kw_only=True)
class MqttSource(StagedSource[MqttSessionSplit]):
    """Sessions as splits, segments of their logs as records, messages as rows.

    Attributes:
        sessions: as the options describe them.
        settings: of the connections of a session that follows the options.
        decoding: of the payloads; None: they are bytes.
    """

    name: ClassVar[str] = "mqtt"

    sessions: MqttSessions
    settings: MqttSettings
    decoding: Decoding | None

    @property
    def delivery_columns(self) -> frozenset[str]:
        return frozenset({"retained", "received"})

    def schema(self) -> pa.Schema:
        return MQTT_SCHEMA if self.decoding is None else self.decoding.schema(MQTT_SCHEMA)

    @property
    def logged_schema(self) -> JsonValue:
        return None if self.decoding is None else self.decoding.logged_schema

    @property
    def reads(self) -> str:
        return ", ".join(self.sessions.topics)

    @property
    def time_column(self) -> str | None:
        """The time at which a message was received; its own time, if it has one, is in its payload."""
        received = MQTT_SCHEMA.field("received")
        return received.name if received in list(self.schema()) else None

    @property
    def takes_other_schemas(self) -> bool:
        return self.decoding is not None and self.decoding.takes_other_schemas

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[MqttSessionSplit, int]
    ) -> BarrierSplitEnumerator[MqttSessionSplit, int]:
        return MqttSplitEnumerator(context, self.sessions, self.note)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[MqttSessionSplit, int],
        checkpoint: Checkpoint[MqttSessionSplit, int],
    ) -> BarrierSplitEnumerator[MqttSessionSplit, int]:
        return MqttSplitEnumerator(context, self.sessions, self.note, checkpoint.state)

    def create_reader(self) -> BarrierSplitReader[MqttSessionSplit, int]:
        with importing("the mqtt source", extra="mqtt"):
            import headwater.readers.mqtt.client  # noqa: F401 - told at once, not with the first split
        return super().create_reader()

    def create_emitter(self) -> RecordEmitter[EpochRecord, MqttSessionSplit, int]:
        if self.decoding is None:
            return EpochRecordEmitter()
        return self.decoding.create_emitter(MQTT_SCHEMA, source=self.name)

    def serialize_splits(self, splits: Iterable[MqttSessionSplit]) -> JsonValue:
        """Return the filters of each session, and which of them leave."""
        return {
            split.client_id: {"topics": list(split.topics), **({"leaving": True} if split.is_leaving else {})}
            for split in splits
        }

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, MqttSessionSplit]:
        return {path: self._session(path[0], definitions) for path in paths}

    def _session(self, client_id: str, definitions: JsonValue) -> MqttSessionSplit:
        # Earlier versions wrote nothing.
        if definitions is None:
            return self.sessions.logged(client_id)
        written = cast("dict[str, Any]", definitions)[client_id]
        return MqttSessionSplit(client_id, tuple(written["topics"]), written.get("leaving", False))

    def queue(self, split: MqttSessionSplit) -> str:
        return self._queue(split.client_id)

    def create_client(self, split: MqttSessionSplit) -> StagedClient[Any]:
        return self.clients(split)()

    def clients(self, split: MqttSessionSplit) -> Callable[[], StagedClient[Any]]:
        """Return what makes connections. They note in the state location to what a session is subscribed."""
        with importing("the mqtt source", extra="mqtt"):
            from headwater.readers.mqtt.client import MqttClients
        settings = replace(self.settings, topics=split.topics, is_leaving=split.is_leaving)
        return MqttClients(settings, self.note(split.client_id))

    @property
    def segment_rows(self) -> int:
        return self.settings.in_flight

    @property
    def remembered_keys(self) -> int:
        return 0 if self.settings.key is None else super().remembered_keys

    @property
    def remedy(self) -> str:
        client_id = self.sessions.client_id
        return (
            f"Option 'clientId' ({client_id!r}) is for one query alone: stop any other client that connects "
            "with it, or give one of the queries another 'clientId', with a new checkpointLocation."
        )

    def note(self, client_id: str) -> SubscriptionNote:
        """Return the note of a session; in a batch read one in memory, which ends with the task."""
        return SubscriptionNote(self.store or MemoryStateStore(), self._queue(client_id), self.folder)

    def _queue(self, client_id: str) -> str:
        return f"mqtt://{self.settings.host}:{self.settings.port}/{client_id}"
