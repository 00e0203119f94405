"""What readers tell the enumerator (`EpochRecord.events`) arrives once each, also after crashes."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any

from headwater.connector.sources.configured import ConfiguredSource
from headwater.core.enumerator import BarrierSplitEnumerator
from headwater.core.jsons import JsonValue
from headwater.core.source import Boundedness
from headwater.testing.contracts import keeps
from headwater.testing.engine import MicroBatchEngine, Step
from headwater.testing.subject import Subject


class EventTests(Subject):
    """The enumerator knows the same, however epochs are cut and wherever a query crashes.

    For sources in barrier mode whose readers send events, beside `SourceTests`.
    """

    def told(self, state: JsonValue) -> object:
        """Return what the events have told the enumerator, of its state: the same for equal worlds."""
        raise unittest.SkipTest(
            f"{type(self).__name__} has no method told: that events arrive once each is not tested"
        )

    def test_events_arrive_once_each_however_epochs_are_cut_and_queries_crash(self) -> None:
        expected = self._told_after(None, {})
        for step in (None, *Step):
            told = self._told_after(step, {"barrierRows": "1", "parallelism": "1"})
            keeps(
                BarrierSplitEnumerator.handle_source_event,
                told == expected,
                "events arrive once each, in order, and what they change is in snapshot_state; after small "
                f"epochs{f' and crashes when {step.value}' if step else ''} the enumerator knows {told!r}, "
                f"not {expected!r}",
            )

    def _told_after(self, crash: Step | None, more: Mapping[str, str]) -> object:
        """Read a new world, with a crash in each of the first epochs; return what the enumerator knows."""
        states: list[JsonValue] = []
        with self.stream_options({**self.options(), **more}) as options:

            def configure() -> ConfiguredSource:
                configured = self.configure(options, Boundedness.CONTINUOUS_UNBOUNDED)
                watch_states(configured.source, states)
                return configured

            engine = MicroBatchEngine(configure)
            if crash is not None:
                for _ in range(3):
                    engine.run(crash_after=crash, in_batch=len(engine.offsets))
            engine.run()
        return self.told(states[-1])


def watch_states(source: Any, states: list[JsonValue]) -> None:
    """Note the state of each enumerator of a source when it is closed: the last call, on its thread."""

    def watched(make: Any) -> Any:
        def made(*args: Any) -> Any:
            enumerator = make(*args)
            close = enumerator.close

            def noted() -> None:
                states.append(enumerator.snapshot_state())
                close()

            enumerator.close = noted
            return enumerator

        return made

    for name in ("create_enumerator", "restore_enumerator"):
        # Sources are frozen, and this one is the test's own.
        object.__setattr__(source, name, watched(getattr(source, name)))
