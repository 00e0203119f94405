"""Events of readers (`EpochRecord.events`) arrive at the enumerator once each, also after crashes."""

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
            events = self._told_after(step, {"barrierRows": "1", "parallelism": "1"})
            keeps(
                BarrierSplitEnumerator.handle_source_event,
                events == expected,
                "events arrive once each, in order, and what they change is in snapshot_state; after small "
                f"epochs{f' and crashes when {step.value}' if step else ''} the enumerator knows {events!r}, "
                f"not {expected!r}",
            )

    def _told_after(self, crash: Step | None, more: Mapping[str, str]) -> object:
        """Read a new world, with a crash in each of the first epochs; return what the enumerator knows."""
        with self.stream_options({**self.options(), **more}) as options:
            state, _ = read_with_crashes(self, options, crash)
        return self.told(state)


def read_with_crashes(
    subject: Subject, options: Mapping[str, str], crash: Step | None
) -> tuple[JsonValue, int]:
    """Read a stream to its end, with a crash in each of the first three batches.

    Returns:
        The last state of the enumerator, and how many rows came.
    """
    states: list[JsonValue] = []

    def configure() -> ConfiguredSource:
        configured = subject.configure(options, Boundedness.CONTINUOUS_UNBOUNDED)
        _watch_states(configured.source, states)
        return configured

    engine = MicroBatchEngine(configure)
    if crash is not None:
        for _ in range(3):
            engine.run(crash_after=crash, in_batch=len(engine.offsets))
    engine.run()
    return states[-1], len(engine.rows)


def _watch_states(source: Any, states: list[JsonValue]) -> None:
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
