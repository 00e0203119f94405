"""Takes messages out of a queue into a segment log: durable first, acknowledged then."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, cast

import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.core.outside import outside
from headwater.core.redaction import logger_of
from headwater.core.split import Split
from headwater.readers.runtime.partitions.segment_log import SegmentLog
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient
from headwater.readers.runtime.staging.staging import KEY_COLUMN, KeyWindows, RecentKeys, Staging, segment

_LOOK_BACK: Final = 64
"""How many segments before the end are read first for their keys; each further step reads twice as many."""

log = logger_of(__name__)


class Stager:
    """The writer of one split's log. Belongs to one thread, but for `wake_up`.

    Life: `take_over` once -> any number of connections, each `connect`, `poll` and `stage` in turns,
    `disconnect`; the last one may end with `retire_if_drained`.

    That no message is lost or staged twice holds in this order of steps:

    1. The log is taken over before the connection is made. From then on an older writer's segments find their
       number taken.
    2. The connection takes the queue away from an older one (`StagedClient.open`): messages that an older
       writer acknowledges now count for nothing.
    3. Then the log is looked at once more. Where another writer has taken over meanwhile, this one ends
       before it has changed, staged or acknowledged anything over this connection. Where none has, each later
       one connects after this one, and takes the queue away from it.

    So a segment needs one write, and no look at the log: a writer whose number was taken and released again
    in the meantime has lost its connection long since.

    A queue belongs to one query. The state location says to which: the last one that took it over. A receiver
    of another query, which may stay for a while on some other host, ends when it sees that.

    Args:
        staging: where, and how much at a time.
        queue: names the queue, whichever query reads it.
        split: the queue, in this query.
        client: makes a connection that is not open yet.
        remedy: the remedy where another query reads the queue too.
    """

    def __init__(
        self,
        staging: Staging,
        queue: str,
        split: Split,
        client: Callable[[], StagedClient[Any]],
        remedy: str,
    ) -> None:
        self._staging = staging
        self._queue = queue
        self._owner = f"receivers/{hashlib.sha256(queue.encode()).hexdigest()[:24]}"
        self._split = split
        self._make_client = client
        self._remedy = remedy
        self._client: StagedClient[Any] | None = None
        self._log: SegmentLog = staging.log(split.path, secrets.token_hex(8))
        self._windows = KeyWindows(staging.store, staging.keys_folder(split.path))
        self._known = RecentKeys(staging.remembered_keys)
        self._kept_window = 0
        self.end = 0

    def take_over(self) -> None:
        """Become the log's writer, and learn the keys of its last messages.

        Raises:
            StateLocationError: the store cannot be reached.
        """
        self._staging.store.put(self._owner, self._staging.folder.encode())
        self.end = self._log.take_over()
        if self._staging.remembered_keys:
            self._known.add(self._last_keys())

    def check(self) -> None:
        """Return if no other writer has taken over.

        Raises:
            FencedError: another one of this query has.
            SourceError: one of another query has.
        """
        self._log.check()
        if self._staging.store.get(self._owner) != self._staging.folder.encode():
            raise SourceError(
                f"another query has begun to read {self._queue}. {self._remedy}",
                split=self._split.split_id,
            )

    def connect(self) -> None:
        """Open a connection.

        Raises:
            FencedError: another writer of this query has taken over.
            SourceError: one of another query has; or the outside refuses.
        """
        # A window that is kept while nobody is connected has all keys: nothing comes meanwhile.
        self.keep_window()
        with self._outside("create_client"):
            self._client = self._make_client()
        with self._outside("open"):
            self._client.open(self._split)
        self.check()
        has_staged = self._has_staged()
        with self._outside("loss"):
            loss = self._client.loss(has_staged=has_staged)
        if loss is not None:
            log.warning("%s", loss.loss)
            self._append(loss.rows, [], loss.loss)
        with self._outside("begin"):
            self._client.begin()

    def disconnect(self) -> None:
        """Close the connection, if there is one. Messages that were not acknowledged come again."""
        client = self._client
        self._client = None
        if client is not None:
            try:
                with self._outside("close"):
                    client.close()
            except SourceError as error:
                # Why the connection ends is known, and more than this.
                log.warning("%s", error)

    def retire_if_drained(self) -> bool:
        """Delete the queue and disconnect, if it will never deliver anything again; return whether it is so.

        Raises:
            TransientSourceError: the connection is lost.
        """
        assert self._client is not None
        with self._outside("is_drained"):
            is_drained = self._client.is_drained()
        if is_drained:
            client = self._client
            self._client = None
            with self._outside("retire"):
                client.retire()
        return is_drained

    def wake_up(self) -> None:
        """Make a blocked `poll` return soon. Any thread may call this."""
        client = self._client
        if client is not None:
            client.wake_up()

    def poll(self, timeout_ms: int) -> Delivery[Any] | None:
        """Return the next delivery; None if nothing came in time, or after `wake_up`.

        Raises:
            TransientSourceError: the connection is lost.
        """
        assert self._client is not None
        with self._outside("poll"):
            return self._client.poll(timeout_ms, self._staging.segment_rows)

    def stage(self, delivery: Delivery[Any]) -> None:
        """Make the new messages of a delivery durable, then acknowledge all of it.

        Raises:
            FencedError: another writer has taken over.
        """
        assert self._client is not None
        fresh = self._known.first_deliveries(delivery.keys)
        if fresh:
            rows = delivery.rows
            keys = list(delivery.keys)
            if len(fresh) < len(keys):
                rows = rows.take(pa.array(fresh, pa.int64()))
                keys = [keys[at] for at in fresh]
            # In this order: what is acknowledged is durable, and what is known is durable.
            self._append(rows, keys)
            self._known.add(keys)
        with self._outside("acknowledge"):
            self._client.acknowledge(delivery.tokens)

    def keep_window(self) -> None:
        """Store the keys of the last messages, unless they are stored.

        Called once an epoch: the segments whose keys are not in a stored window are then not released yet.
        """
        if self._staging.remembered_keys and self._kept_window < self.end:
            self._windows.keep(self.end, self._known.in_order())
            self._kept_window = self.end

    def _outside(self, method: str) -> AbstractContextManager[None]:
        """Wrap a call of the client, which a user may have written."""
        return outside(f"StagedClient.{method}", source=self._queue, split=self._split.split_id)

    def _append(self, rows: pa.RecordBatch, keys: list[bytes | None], loss: str | None = None) -> None:
        self.end = self._log.append([segment(rows, keys, loss)]) + 1

    def _has_staged(self) -> bool:
        """Whether the log has a segment, or had one that was released."""
        begin = self._log.begin()
        return begin > 0 or any(True for _ in self._log.view_after(begin, self.end).segments())

    def _last_keys(self) -> list[bytes | None]:
        """Return the keys of as many messages before the end as are remembered or more, or of all there are.

        Among them are all messages that are staged and of whose acknowledgement the outside does not know.
        """
        first, window = self._windows.last()
        self._kept_window = first
        begin = self._log.begin()
        if first:
            return [*window, *self._keys_between(max(first, begin), self.end)]
        # A log of the time before windows were kept, or a new one.
        keys: list[bytes | None] = []
        end = self.end
        step = _LOOK_BACK
        while end > begin and len(keys) < self._staging.remembered_keys:
            first = max(begin, end - step)
            keys = self._keys_between(first, end) + keys
            end = first
            step *= 2
        return keys

    def _keys_between(self, first: int, stop: int) -> list[bytes | None]:
        return [
            key
            for batch in self._log.view_after(first, stop).batches()
            for key in cast("list[bytes | None]", batch.column(KEY_COLUMN).to_pylist())
        ]
