"""The enumerator of barrier mode: it exchanges events with the readers."""

from __future__ import annotations

from abc import abstractmethod

from headwater.core.enumerator import SplitEnumerator, SplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.core.split import PositionT, SplitPath, SplitT


class BarrierSplitEnumeratorContext(SplitEnumeratorContext[SplitT, PositionT]):
    """What the coordinator of barrier mode offers an enumerator. Called on the coordinator thread only."""

    @abstractmethod
    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        """Send a small event to the task that reads this split next (FLIP-27 ``sendEventToSourceReader``).

        It travels inside the epoch that is planned after the current `SplitEnumerator.refresh`, so an epoch
        that is read again brings it again. If that epoch does not read the split, the event is dropped: send
        it again in a later refresh.
        """


class BarrierSplitEnumerator(SplitEnumerator[SplitT, PositionT]):
    """Discovers the splits that reading does not find, and takes events of the readers.

    A round of barrier mode is `refresh`, then `snapshot_state` if an epoch is opened.
    """

    def handle_source_event(self, event: JsonValue) -> None:
        """Take an event of a reader (FLIP-27 ``handleSourceEvent``).

        Called when the epoch in which it was sent is complete, before `notify_checkpoint_complete` and
        `refresh`: once, and again after a restart that restores the state from before. So what it changes
        belongs into `snapshot_state`. The default ignores it, which is right where readers send none.
        """
