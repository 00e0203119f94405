"""The progress of fetching one partition, and answers of its brokers that would mean loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headwater.core.split import SplitRange
from headwater.enumerators.kafka.split import KafkaPartitionSplit, OpenRange


@dataclass(slots=True, eq=False)
class Cursor:
    """The state of one partition of a task. Used on the split reader's thread, changed by its methods only.

    Attributes:
        split: the partition.
        position: the next offset to fetch. It is ahead of the rows that were emitted.
        stop: the first offset not to read.
        max_bytes: how much to ask for; grows when a batch does not fit.
        open: the range as it was planned, while its open ends are not bound; None otherwise. ``position`` and
            ``stop`` mean nothing until then.
        broker: the node that serves it; None if that has to be found out.
        replica_until_ms: while the nearest replica serves it instead of the leader (KIP-392), until when;
            None for the leader.
        end: how far it could be read according to the last answer; -1 before the first one.
    """

    split: KafkaPartitionSplit
    position: int
    stop: int
    max_bytes: int
    open: OpenRange | None = None
    broker: int | None = field(default=None, init=False)
    replica_until_ms: int | None = field(default=None, init=False)
    end: int = field(default=-1, init=False)
    _doubt: str | None = field(default=None, init=False)
    _believed_at_ms: int = field(default=0, init=False)

    @property
    def is_done(self) -> bool:
        """Whether all of the range has been fetched."""
        return self.open is None and self.position >= self.stop

    @property
    def is_at_leader(self) -> bool:
        """Whether the leader serves it, no replica."""
        return self.replica_until_ms is None

    def bind(self, bound: SplitRange[KafkaPartitionSplit, int]) -> None:
        """Take the ends that were left open."""
        self.split = bound.split
        self.position = bound.start
        self.stop = bound.stop
        self.open = None
        self.trust()

    def move_to(self, broker: int, replica_until_ms: int | None) -> None:
        """Be served by this node from now on."""
        self.broker = broker
        self.replica_until_ms = replica_until_ms

    def lose_broker(self) -> None:
        """Ask the leader next, which has to be found out. The answer of the last broker is still doubted."""
        self.broker = None

    def answered(self, end: int) -> None:
        """Note how far the partition can be read."""
        self.end = end

    def advance(self, position: int) -> None:
        """Go on at a later offset: with it, no doubt is left."""
        self.position = position
        self.trust()

    def skip_to_stop(self) -> None:
        """Read no more."""
        self.advance(self.stop)

    def cut_off(self, stop: int) -> None:
        """End the range earlier than planned."""
        self.stop = stop

    def ask_for(self, max_bytes: int) -> None:
        """Ask for so many bytes from the next request on."""
        self.max_bytes = max_bytes

    def doubt(self, reason: str, believed_at_ms: Callable[[], int]) -> int:
        """Return when an answer that would mean loss is believed, if the brokers repeat it until then.

        Args:
            reason: the content of the answer. Another one begins another doubt.
            believed_at_ms: returns when a doubt that begins now will be believed.
        """
        if self._doubt != reason:
            self._doubt = reason
            self._believed_at_ms = believed_at_ms()
        return self._believed_at_ms

    def trust(self) -> None:
        """Forget the doubt: it proved wrong, or its broker is asked no more."""
        self._doubt = None
