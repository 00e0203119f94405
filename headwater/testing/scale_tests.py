"""What must hold of many splits."""

from __future__ import annotations

from headwater.core.jsons import dumps
from headwater.core.source import Boundedness, Source
from headwater.testing.contracts import keeps
from headwater.testing.engine import MicroBatchEngine, read_batch
from headwater.testing.subject import Subject

_SPLITS = 1_000
_MOST_BYTES_PER_SPLIT = 4_096


class ScaleTests(Subject):
    """A thousand splits are planned, logged and read."""

    def test_a_thousand_splits_fit_into_offsets_and_are_read_once(self) -> None:
        options = self.many_splits(_SPLITS)
        expected = read_batch(self.configure(options))
        with self.stream_options(options) as more:
            engine = MicroBatchEngine(lambda: self.configure(more, Boundedness.CONTINUOUS_UNBOUNDED))
            engine.run()
            largest = max(map(len, engine.offsets))
            each = largest // _SPLITS
            keeps(
                Source.serialize_splits,
                each <= _MOST_BYTES_PER_SPLIT,
                f"is small: an offset has {each} bytes a split, {largest} for {_SPLITS}",
            )
            due = self.count_rows(options, expected)
            keeps(
                Source,
                self.count_rows(options, engine.rows) == due,
                f"each of {len(expected)} rows once; {len(engine.rows)} came",
            )
            logged = dumps(engine.offsets[-1])
            engine.run()
            keeps(
                Source,
                dumps(engine.offsets[-1]) == logged or self.count_rows(options, engine.rows) == due,
                "a run without work reads nothing",
            )
