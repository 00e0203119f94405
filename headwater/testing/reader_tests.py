"""What every split reader and its emitter promise (`headwater.core.reader`, `headwater.core.emitter`)."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.core.abilities import EndsAtRecords
from headwater.core.barrier_reader import BarrierSplitReader
from headwater.core.barrier_source import BarrierSource
from headwater.core.emitter import RecordEmitter
from headwater.core.planned_source import PlannedSource
from headwater.core.reader import SplitReader
from headwater.core.source import Source
from headwater.core.split import SplitRange
from headwater.testing.contracts import keeps
from headwater.testing.driving import read_range, with_patience
from headwater.testing.engine import count_rows
from headwater.testing.subject import Subject

if TYPE_CHECKING:
    from headwater.connector.sources.simple import BarrierSimpleSource, PlannedSimpleSource

_END_S = 2
"""How long a thread may take to end."""


class ReaderTests(Subject):
    """A range is read whole, again and again, from any position.

    A reader ends when it is told to, and leaves nothing behind.
    """

    def test_reading_a_range_again_brings_the_same_rows(self) -> None:
        with self.readable() as configured:
            span = self.some_range(configured)
            first = read_range(configured.source, span)
            again = read_range(configured.source, span)
            keeps(SplitReader.fetch, first.rows, f"returns records; there are none in {span}")
            keeps(
                Source.create_reader,
                first.rows == again.rows,
                f"a second reader of {span} brought other rows: {_difference(first.rows, again.rows)}",
            )
            keeps(
                RecordEmitter.emit,
                first.positions == again.positions,
                f"the positions of a second reading of {span} are others",
            )

    def test_a_range_that_is_read_in_pieces_brings_the_same_rows(self) -> None:
        with self.readable() as configured:
            source = configured.source
            span = self.some_range(configured)
            whole = read_range(source, span).rows
            if isinstance(source, PlannedSource):
                for count in (2, 3):
                    cut = source.cut(span, count)
                    keeps(
                        PlannedSource.cut,
                        (cut[0].start, cut[-1].stop) == (span.start, span.stop),
                        f"keeps the ends of {span}: {cut}",
                    )
                    keeps(
                        PlannedSource.cut,
                        count_rows([row for part in cut for row in read_range(source, part).rows])
                        == count_rows(whole),
                        f"leaves all rows of {span}, each once, in {cut}",
                    )
                return
            for records in range(1, len(read_range(source, span).positions)):
                begun = read_range(source, span, records)
                rest = read_range(source, SplitRange(span.split, begun.positions[-1][0], None)).rows
                keeps(
                    BarrierSource,
                    begun.rows + rest == whole,
                    f"a reading that goes on at {begun.positions[-1][0]!r} of {span.split.split_id} differs",
                )

    def test_a_second_reading_stops_where_the_first_one_did(self) -> None:
        with self.readable() as configured:
            source = configured.source
            span = self.some_range(configured)
            if isinstance(source, PlannedSource):
                return  # the pieces of a range that is cut are that
            for position, rows in read_range(source, span).positions[:3]:
                first = read_range(source, span).rows[:rows]
                again = read_range(source, SplitRange(span.split, span.start, position)).rows
                keeps(
                    SplitReader.handle_splits_changes,
                    again == first,
                    f"up to {position!r} of {span.split.split_id} there are {rows} rows, not {len(again)}",
                )

    def test_a_split_ends_at_the_record_that_says_so(self) -> None:
        # It loads pyspark, which a test of a reader alone does without.
        from headwater.connector.sources.simple import BarrierSimpleSource, PlannedSimpleSource

        with self.readable() as configured:
            source = configured.source
            if not isinstance(source, PlannedSimpleSource | BarrierSimpleSource) or source.decoding:
                return
            user = source.user
            if not isinstance(user, EndsAtRecords):
                return
            endless = replace(source, settings=replace(source.settings, ends_at_records=False))
            ends = 0
            for span in self.ranges(configured):
                rows = read_range(endless, span).rows
                says = _ends_of(user, rows, source)
                keeps(
                    EndsAtRecords.is_end,
                    says == [end for row in rows for end in _ends_of(user, [row], source)],
                    f"says of each row of {span.split.split_id} the same, whatever rows are beside it",
                )
                count = says.index(True) if True in says else len(rows)
                ends += count < len(rows)
                keeps(
                    EndsAtRecords.is_end,
                    read_range(source, span).rows == rows[:count],
                    f"ends {span.split.split_id} behind {count} rows: these come, and no others",
                )
            assert ends, "options() must make a split with a record of which is_end says that it is the end"

    def test_an_empty_range_is_finished_without_rows(self) -> None:
        with self.readable() as configured:
            span = self.some_range(configured)
            position = (
                span.start
                if isinstance(configured.source, PlannedSource)
                else read_range(configured.source, span).positions[0][0]
            )
            reading = read_range(configured.source, SplitRange(span.split, position, position))
            keeps(
                SplitReader.handle_splits_changes,
                not reading.rows,
                f"an empty range at {position!r} of {span.split.split_id} brought {len(reading.rows)} rows",
            )

    def test_a_wake_up_ends_a_fetch_and_loses_nothing(self) -> None:
        with self.readable() as configured:
            source = configured.source
            span = self.some_range(configured)
            whole = count_rows(read_range(source, span).rows)

            class Woken:
                """A source whose readers are woken before every fetch but the later ones."""

                schema = staticmethod(source.schema)
                create_emitter = staticmethod(source.create_emitter)

                @staticmethod
                def create_reader() -> SplitReader[Any, Any, Any]:
                    return _wake_before_fetch(source.create_reader())

            readings: list[Any] = []
            woken: Any = Woken()  # as much of a source as is needed
            with_patience(lambda: readings.append(read_range(woken, span)), SplitReader.wake_up, "the fetch")
            keeps(
                SplitReader.wake_up,
                readings and count_rows(readings[0].rows) == whole,
                "nothing fetched may get lost by a wake-up",
            )

    def test_a_reader_that_is_closed_leaves_no_thread(self) -> None:
        with self.readable() as configured:
            running = set(threading.enumerate())
            span = self.some_range(configured)  # reads to the end
            for fetches in (0, 1):
                with closing(configured.source.create_reader()) as reader:
                    reader.handle_splits_changes([span])
                    for _ in range(fetches):
                        reader.fetch()
                threads = [
                    thread.name for thread in set(threading.enumerate()) - running if _still_there(thread)
                ]
                keeps(
                    SplitReader.close,
                    not threads,
                    f"releases everything; after {fetches} fetches the threads {threads} are left",
                )

    def test_a_split_that_is_removed_is_not_spoken_of(self) -> None:
        with self.readable() as configured:
            if not isinstance(configured.source, BarrierSource):
                return
            span = self.some_range(configured)
            with closing(configured.source.create_reader()) as reader:
                reader.handle_splits_changes([span])
                reader.handle_splits_removal([span.split.path])
                reader.wake_up()
                fetched = reader.fetch()
                spoken = {*fetched.records, *fetched.finished}
                keeps(
                    BarrierSplitReader.handle_splits_removal,
                    not spoken,
                    f"later fetches give nothing of {span.split.split_id}",
                )


def _ends_of(
    user: EndsAtRecords, rows: list[dict[str, Any]], source: PlannedSimpleSource | BarrierSimpleSource
) -> list[bool]:
    """Return which rows a source says are the end of their split; none of no rows."""
    answer: Any = user.is_end(pa.RecordBatch.from_pylist(rows, source.schema())) if rows else []
    return list(map(bool, answer.to_pylist() if isinstance(answer, pa.Array) else answer))


def _wake_before_fetch(reader: SplitReader[Any, Any, Any]) -> SplitReader[Any, Any, Any]:
    fetch = reader.fetch
    wakes = iter(range(3))

    def woken() -> Any:
        if next(wakes, None) is not None:
            reader.wake_up()
        return fetch()

    reader.fetch = woken  # type: ignore[method-assign]
    return reader


def _still_there(thread: threading.Thread) -> bool:
    thread.join(_END_S)
    return thread.is_alive()


def _difference(first: list[dict[str, Any]], again: list[dict[str, Any]]) -> str:
    lost = count_rows(first) - count_rows(again)
    new = count_rows(again) - count_rows(first)
    return f"{lost.total()} are missing, {new.total()} are new" if lost or new else "the order is another one"
