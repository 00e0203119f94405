"""The source itself: messages of persistent sessions, staged before they are acknowledged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

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
from headwater.enumerators.mqtt.enumerator import MqttSplitEnumerator
from headwater.enumerators.mqtt.sessions import MqttSessions, MqttSessionSplit, SubscriptionNote
from headwater.readers.mqtt.settings import MQTT_SCHEMA, MqttSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.runtime.staging.receiver_link import ReceiverLink
    from headwater.readers.runtime.staging.staging import Staging

_LEAST_REMEMBERED: Final = 2_000
"""So many keys of messages are remembered at least, to tell a second delivery from the first."""
_REMEMBERED_WINDOWS: Final = 8
"""And the keys of so many windows of unacknowledged messages.

One would not do: messages that a broker sends again do not always count for its window.
"""


@dataclass(frozen=True, kw_only=True)
class MqttSource(BarrierSource[MqttSessionSplit, int]):
    """Sessions as splits, segments of their logs as records, messages as rows.

    Attributes:
        sessions: as the options describe them.
        settings: of the connections of a session that follows the options.
        store: the state location; in a batch read one of the task's own, in memory.
        idle_ms: a session that brings nothing for so long is caught up.
        mode: a batch or a stream.
        decoding: of the payloads; None: they are bytes.
        backoff: for how long a broker that is away is asked again.
        receiver_idle_ms: a receiver that no task has asked for so long ends.
        folder: of the query, in the state location.
    """

    name: ClassVar[str] = "mqtt"

    sessions: MqttSessions
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
    def time_column(self) -> str | None:
        """The time at which a message was received: what it says of its own time is in its payload."""
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
            from headwater.readers.mqtt.client import MqttClients
        from headwater.readers.runtime.staging.receiver_link import HostReceiverLink, OwnReceiverLink
        from headwater.readers.runtime.staging.receiver_task import ReceiverTask
        from headwater.readers.runtime.staging.staged_split_reader import StagedSplitReader

        staging = self.staging(self.folder)

        def link(split: Split) -> ReceiverLink:
            assert isinstance(split, MqttSessionSplit)
            settings = replace(self.settings, topics=split.topics, is_leaving=split.is_leaving)
            client = MqttClients(settings, self.note(split.client_id))
            queue = self.queue(split.client_id)
            idle_ms = self.receiver_idle_ms
            task = ReceiverTask(queue, staging, split, client, self.backoff, idle_ms, self.remedy)
            # A batch read keeps its messages in the task's memory: nothing reads them later.
            return OwnReceiverLink(task) if self.store is None else HostReceiverLink(task)

        return StagedSplitReader(staging, link)

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

    def queue(self, client_id: str) -> str:
        """Return the name of a session among those of all brokers."""
        return f"mqtt://{self.settings.host}:{self.settings.port}/{client_id}"

    @property
    def remedy(self) -> str:
        """The way out where another client takes a session too."""
        client_id = self.sessions.client_id
        return (
            f"Option 'clientId' ({client_id!r}) is for one query alone: stop any other client that connects "
            "with it, or give one of the queries another 'clientId', with a new checkpointLocation."
        )

    def note(self, client_id: str) -> SubscriptionNote:
        """Return the note of a session; in a batch read one in memory, which ends with the task."""
        return SubscriptionNote(self.store or MemoryStateStore(), self.queue(client_id), self.folder)

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
