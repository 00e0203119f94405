"""A chain of sources: history from files, then the stream from Kafka; crashes after every step."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import DataLossError, OffsetError, OptionError, SourceError
from headwater.core.source import Boundedness
from headwater.testing import MemorySystem
from headwater.testing.engine import MicroBatchEngine, Step, read_batch
from local_kafka import LocalKafka

BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
BEGIN_MS = int(BEGIN.timestamp() * 1000)
SECOND_MS = 1_000
PARTITIONS = 2
STREAM = Boundedness.CONTINUOUS_UNBOUNDED


@dataclass
class History:
    """Parquet files of orders, each moved into its folder whole."""

    folder: Path
    _files: int = field(default=0, init=False)

    def add(self, rows: Iterable[tuple[int, int]], *, mtime_s: int = 1_700_000_000) -> Path:
        """Add a file with rows of a number and a time in ms since BEGIN."""
        table = pa.table(
            [
                pa.array([number for number, _ in rows], pa.int64()),
                pa.array(
                    [BEGIN + timedelta(milliseconds=at_ms) for _, at_ms in rows], pa.timestamp("us", "UTC")
                ),
            ],
            ["number", "at"],
        )
        return self.put(table, mtime_s)

    def put(self, table: pa.Table, mtime_s: int = 1_700_000_000, **settings: Any) -> Path:
        self._files += 1
        path = self.folder / f"{self._files:03}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, **settings)
        os.utime(path, (mtime_s, mtime_s))
        return path


def produce(kafka: LocalKafka, topic: str, rows: Iterable[tuple[int, int]]) -> None:
    """Produce orders, each with its own time as the record's."""
    rows = list(rows)
    for partition in range(PARTITIONS):
        own = [(number, at_ms) for number, at_ms in rows if number % PARTITIONS == partition]
        values = [
            json.dumps({"number": number, "at": (BEGIN + timedelta(milliseconds=at_ms)).isoformat()}).encode()
            for number, at_ms in own
        ]
        kafka.produce(
            topic, values, timestamps_ms=[BEGIN_MS + at_ms for _, at_ms in own], partition=partition
        )


@dataclass
class Chain:
    """A chain of files and a topic, with what belongs into its options."""

    topic: str
    history: History
    servers: str = "localhost:1"

    def options(self, **changed: str | None) -> dict[str, str]:
        """Return the options; those that are None are left out. ``__`` stands for a dot."""
        options = {
            "sources": "history,live",
            "history.source": "files",
            "history.format": "parquet",
            "history.path": str(self.history.folder),
            "live.source": "kafka",
            "live.kafka.bootstrap.servers": self.servers,
            "live.subscribe": self.topic,
            "live.valueformat": "json",
            "live.valueschema": "number long, at timestamp",
            "live.columns": "value.*",
            "live.timezone": "UTC",
        }
        given = {name.replace("__", ".").lower(): value for name, value in changed.items()}
        return {name: value for name, value in (options | given).items() if value is not None}

    def engine(self, **options: str | None) -> MicroBatchEngine:
        return MicroBatchEngine(lambda: self.configured(STREAM, **options))

    def read(self, **options: str | None) -> list[dict[str, Any]]:
        return read_batch(self.configured(Boundedness.BOUNDED, **options))

    def configured(self, boundedness: Boundedness, **options: str | None) -> ConfiguredSource:
        made = source_factory("hybrid")(self.options(**options), boundedness)
        return made.with_schema(made.schema(), given=False)


@pytest.fixture
def chain(kafka: LocalKafka, topic: str, tmp_path: Path) -> Chain:
    # The times are fixed ones: seven days later the broker would delete such records at once.
    kafka.create_topic(topic, PARTITIONS, {"retention.ms": "-1"})
    return Chain(topic, History(tmp_path / "history"), kafka.bootstrap_servers)


def numbers(rows: Iterable[dict[str, Any]]) -> list[int]:
    return sorted(row["number"] for row in rows)


def seam_at(at_ms: int) -> dict[str, str]:
    moment = BEGIN + timedelta(milliseconds=at_ms)
    return {"seamColumn": "at", "seamTime": moment.isoformat(), "seamDisorder": "1m"}


def out_of_order(rng: random.Random, rows: int, most_s: int = 20) -> list[tuple[int, int]]:
    """A row a second, each up to so much early or late."""
    most_ms = most_s * SECOND_MS
    return [
        (number, 60_000 + number * SECOND_MS + rng.randrange(-most_ms, most_ms)) for number in range(rows)
    ]


class TestByTime:
    def test_each_row_comes_once_though_both_sides_have_rows_of_the_other_in_any_order(
        self, chain: Chain, kafka: LocalKafka, rng: random.Random
    ) -> None:
        rows = out_of_order(rng, 120)
        for at in range(0, 90, 30):
            chain.history.add(rows[at : at + 30])
        produce(kafka, chain.topic, rows[20:])
        options = seam_at(60_000 + 55 * SECOND_MS)
        engine = chain.engine(**options, maxRowsPerTrigger="25")
        assert not engine.run()
        assert numbers(engine.rows) == list(range(120))
        assert numbers(chain.read(**options)) == [*range(120)]
        produce(kafka, chain.topic, [(120, 200_000), (121, 1_000)])
        assert not engine.run()
        assert numbers(engine.rows) == list(range(121)), "121 is before the seam: the history's"

    @pytest.mark.parametrize("step", Step)
    def test_nothing_is_lost_or_doubled_wherever_the_driver_dies(
        self, chain: Chain, kafka: LocalKafka, step: Step, rng: random.Random
    ) -> None:
        rows = out_of_order(rng, 40, most_s=5)
        chain.history.add(rows[:15])
        chain.history.add(rows[15:30])
        produce(kafka, chain.topic, rows[10:])
        crashes = 0
        for batch in range(12):
            engine = chain.engine(
                **seam_at(60_000 + 20 * SECOND_MS), history__maxFilesPerTrigger="1", maxRowsPerTrigger="12"
            )
            crashes += engine.run(crash_after=step, in_batch=batch)
            while engine.run():
                pass
            assert numbers(engine.rows) == list(range(40)), f"after a crash in batch {batch}"
        assert crashes >= 4, "the seam lies between the second and the third batch"

    @pytest.mark.parametrize(
        "limits",
        [
            {"live__maxOffsetsPerTrigger": "8"},
            {"targetBatchDuration": "1h", "triggerInterval": "0s", "maxRowsPerTrigger": "8"},
        ],
    )
    def test_behind_the_seam_partitions_are_aligned_by_event_time(
        self, chain: Chain, kafka: LocalKafka, limits: dict[str, str]
    ) -> None:
        chain.history.add([(number, number * SECOND_MS) for number in range(60)])
        # One partition is forty seconds ahead of the other one.
        late = [(number, (60 + number) * SECOND_MS) for number in range(60, 100, 2)]
        early = [(number, (100 + number) * SECOND_MS) for number in range(61, 101, 2)]
        produce(kafka, chain.topic, [*late, *early])
        engine = chain.engine(**seam_at(60 * SECOND_MS), **limits, live__maxEventTimeSkew="10s")
        assert not engine.run()
        assert numbers(engine.rows) == list(range(101))[:60] + sorted(number for number, _ in [*late, *early])
        first_live = [row["number"] for row in engine.sink[1]]
        assert first_live
        assert all(number % 2 == 0 for number in first_live), "the other partition waits"

    def test_a_limit_of_one_topic_is_kept_behind_the_seam(self, chain: Chain, kafka: LocalKafka) -> None:
        chain.history.add([(0, 0)])
        produce(kafka, chain.topic, [(number, number * SECOND_MS) for number in range(1, 21)])
        engine = chain.engine(**seam_at(SECOND_MS), live__maxOffsetsPerTrigger=f'{{"{chain.topic}": 6}}')
        assert not engine.run()
        assert numbers(engine.rows) == list(range(21))
        assert [len(batch) for batch in engine.sink.values()] == [1, 6, 6, 6, 2]

    def test_a_row_without_a_time_is_an_error(self, chain: Chain) -> None:
        times = pa.array([None], pa.timestamp("us", "UTC"))
        chain.history.put(pa.table([pa.array([1], pa.int64()), times], ["number", "at"]))
        with pytest.raises(SourceError, match="1 rows have no 'at', so the seam cannot decide"):
            chain.engine(**seam_at(0)).run()

    def test_retention_that_has_removed_the_seam_is_an_error(self, chain: Chain, kafka: LocalKafka) -> None:
        chain.history.add([(0, 0)])
        produce(kafka, chain.topic, [(number, 60_000 + number * SECOND_MS) for number in range(20)])
        kafka.delete_records(chain.topic, {0: 5})
        message = (
            rf"the time of the seam from topic '{chain.topic}', partition 0, whose log begins at offset 5"
        )
        with pytest.raises(DataLossError, match=message):
            chain.engine(**seam_at(62_000)).run()
        # The record before the first one is older than what is read: nothing of it is missing.
        engine = chain.engine(**{**seam_at(73_500), "seamDisorder": "1s"})
        assert not engine.run()
        assert numbers(engine.rows) == [0, *range(14, 20)]


class TestByPosition:
    def positions(self, rows: Iterable[int], partition: int, *, first: int = 0) -> pa.Table:
        """Return rows as a copy of a topic has them."""
        offsets = list(range(first, first + len(list(rows))))
        return pa.table(
            {
                "number": pa.array(rows, pa.int64()),
                "partition": pa.array([partition] * len(offsets), pa.int32()),
                "offset": pa.array(offsets, pa.int64()),
            }
        )

    def options(self, chain: Chain, seam: str, **changed: str) -> dict[str, str | None]:
        return {
            "seamOffsets": seam,
            "live__valueSchema": "number long",
            "live__columns": "value.*,partition,offset",
            **changed,
        }

    def copied(self, chain: Chain, kafka: LocalKafka) -> None:
        """Each partition has 10 records; the first 6 of 0 and the first 4 of 1 are in the history."""
        produce(kafka, chain.topic, [(number, number) for number in range(20)])
        for start in (0, 3):
            chain.history.put(self.positions(range(2 * start, 2 * start + 6, 2), 0, first=start))
        chain.history.put(self.positions(range(1, 9, 2), 1))

    @pytest.mark.parametrize("step", [None, Step.PLANNED, Step.LOGGED, Step.WRITTEN])
    def test_the_footers_of_parquet_tell_where_the_log_begins(
        self, chain: Chain, kafka: LocalKafka, step: Step | None
    ) -> None:
        self.copied(chain, kafka)
        for batch in range(5):
            engine = chain.engine(**self.options(chain, "end", history__maxFilesPerTrigger="1"))
            engine.run(crash_after=step, in_batch=batch)
            while engine.run():
                pass
            assert numbers(engine.rows) == list(range(20))
        rows = chain.read(**self.options(chain, "end"))
        assert numbers(rows) == list(range(20))

    def test_positions_as_json_leave_out_what_the_history_has_beyond_them(
        self, chain: Chain, kafka: LocalKafka
    ) -> None:
        self.copied(chain, kafka)
        seam = json.dumps({chain.topic: {"0": 4, "1": 4}})
        engine = chain.engine(**self.options(chain, seam))
        assert not engine.run()
        assert numbers(engine.rows) == list(range(20))

    def test_a_partition_without_history_is_read_whole_and_one_that_the_seam_does_not_name_is_refused(
        self, chain: Chain, kafka: LocalKafka
    ) -> None:
        produce(kafka, chain.topic, [(number, number) for number in range(20)])
        chain.history.put(self.positions(range(0, 6, 2), 0))
        engine = chain.engine(**self.options(chain, "end"))
        assert not engine.run()
        assert numbers(engine.rows) == list(range(20))
        with pytest.raises(OptionError, match=r"option 'seamOffsets': names partitions that .* do not exist"):
            chain.engine(**self.options(chain, json.dumps({chain.topic: {"0": 3, "7": 0}}))).run()
        chain.history.put(self.positions([1], 1))
        with pytest.raises(SourceError, match="partition 1 is on neither side"):
            chain.engine(**self.options(chain, json.dumps({chain.topic: {"0": 3}}))).run()

    def test_a_row_of_the_history_that_does_not_say_its_place_is_an_error(self, chain: Chain) -> None:
        table = self.positions([1, 2], 0)
        nulls = pa.array([0, None], pa.int64())
        chain.history.put(table.set_column(2, "offset", nulls))
        with pytest.raises(SourceError, match="1 rows have no 'offset', so the seam cannot decide"):
            chain.engine(**self.options(chain, json.dumps({chain.topic: {"0": 5, "1": 0}}))).run()
        with pytest.raises(OptionError, match="option 'seamOffsets': names several topics, and the rows of"):
            chain.engine(**self.options(chain, json.dumps({chain.topic: {"0": 5}, "b": {"0": 1}}))).run()

    def test_retention_that_has_removed_the_seam_is_an_error(self, chain: Chain, kafka: LocalKafka) -> None:
        self.copied(chain, kafka)
        kafka.delete_records(chain.topic, {0: 7})
        with pytest.raises(DataLossError, match=r"the seam at offset 6 .*whose log begins at offset 7"):
            chain.engine(**self.options(chain, "end")).run()

    @pytest.mark.parametrize(
        ("table", "settings", "message"),
        [
            ({"partition": [0, 1], "offset": [1, 2]}, {}, "has several values of the column 'partition'"),
            (
                {"partition": [0], "offset": [1]},
                {"write_statistics": False},
                "has no statistics of the column",
            ),
            ({"partition": [0, None], "offset": [1, 2]}, {}, "has rows without 'partition'"),
        ],
    )
    def test_files_that_do_not_tell_it_are_refused(
        self, chain: Chain, table: dict[str, Any], settings: dict[str, Any], message: str
    ) -> None:
        columns = {
            "number": pa.array([1] * len(table["offset"]), pa.int64()),
            "partition": pa.array(table["partition"], pa.int32()),
            "offset": pa.array(table["offset"], pa.int64()),
        }
        chain.history.put(pa.table(columns), **settings)
        with pytest.raises(SourceError, match=message):
            chain.engine(**self.options(chain, "end")).run()

    def test_files_of_another_format_do_not_tell_it(self, tmp_path: Path) -> None:
        given = {"format": "json", "path": str(tmp_path)}
        source: Any = source_factory("files")(given, Boundedness.BOUNDED).source
        with pytest.raises(OptionError, match="'seamOffsets': files of json do not tell where the next"):
            source.end_positions([])


class TestAChangedChain:
    @pytest.mark.parametrize(
        "changed",
        [
            {"seamTime": "2026-11-20T00:00:40Z"},
            {"sources": "live,history", "seamColumn": None, "seamTime": None, "seamDisorder": None},
            {"sources": "history,again,live", "again__source": "files", "again__path": "/tmp"},
        ],
    )
    @pytest.mark.parametrize("step", [Step.LOGGED, Step.COMMITTED])
    @pytest.mark.parametrize("batch", [0, 1])
    def test_is_refused_also_for_a_batch_that_is_read_again(
        self, chain: Chain, kafka: LocalKafka, changed: dict[str, str | None], step: Step, batch: int
    ) -> None:
        rows = [(number, 60_000 + number * SECOND_MS) for number in range(20)]
        chain.history.add(rows)
        produce(kafka, chain.topic, rows)
        engine = chain.engine(**seam_at(60_000))
        assert engine.run(crash_after=step, in_batch=batch)
        options = {**seam_at(60_000), "again__format": "parquet", **changed}
        if "again__source" not in options:
            del options["again__format"]
        other = chain.engine(**options)
        other.__dict__.update({**engine.__dict__, "_configure": other.__dict__["_configure"]})
        with pytest.raises(
            OffsetError, match=r"the query began with the chain .*seamOffsets that it began with"
        ):
            other.run()


class TestFixedHistory:
    def test_files_that_come_later_are_reported_once_and_not_read(
        self, chain: Chain, kafka: LocalKafka, caplog: pytest.LogCaptureFixture
    ) -> None:
        chain.history.add([(0, 0)])
        chain.history.add([(1, 1)])
        engine = chain.engine(**seam_at(50_000), history__maxFilesPerTrigger="1")
        assert engine.run(crash_after=Step.COMMITTED, in_batch=0)
        chain.history.add([(2, 2)], mtime_s=1_800_000_000)
        produce(kafka, chain.topic, [(3, 60_000)])
        assert not engine.run()
        assert numbers(engine.rows) == [0, 1, 3]
        assert "1 files came after the first listing" in caplog.text
        assert json.loads(engine.offsets[-1])["losses"]["splits"] == 1
        caplog.clear()
        assert not engine.run()
        assert "came after" not in caplog.text

    @pytest.mark.parametrize("change", ["deleted", "rewritten", "put in"])
    def test_a_history_that_changes_while_it_is_read_is_an_error(self, chain: Chain, change: str) -> None:
        chain.history.add([(0, 0)])
        second = chain.history.add([(1, 1)])
        engine = chain.engine(**seam_at(50_000), history__maxFilesPerTrigger="1")
        assert engine.run(crash_after=Step.COMMITTED, in_batch=0)
        if change == "deleted":
            second.unlink()
        elif change == "rewritten":
            second.write_bytes(second.read_bytes() + b" ")
            os.utime(second, (1_700_000_000, 1_700_000_000))
        else:
            chain.history.add([(2, 2)])
        with pytest.raises(
            DataLossError, match="the files that the query began with are not there as they were"
        ):
            engine.run()

    def test_its_state_is_small_however_many_files_wait(self, chain: Chain) -> None:
        for number in range(300):
            chain.history.add([(number, number)])
        engine = chain.engine(**seam_at(50_000), history__maxFilesPerTrigger="3")
        assert engine.run(crash_after=Step.COMMITTED, in_batch=1)
        state = json.loads(engine.offsets[-1])["state"]
        assert len(json.dumps(state)) < 1_000


class TestLongerChains:
    @pytest.mark.parametrize("seam", ["time", "end"])
    def test_three_parts_are_read_one_after_the_other(
        self, chain: Chain, kafka: LocalKafka, tmp_path: Path, seam: str
    ) -> None:
        """Two folders, the second of which goes on where the first ends, and the topic."""
        recent = History(tmp_path / "recent")
        produce(kafka, chain.topic, [(number, 60_000 + number * SECOND_MS) for number in range(40)])
        for history, first, last in ((chain.history, 0, 10), (recent, 10, 24)):
            for partition in range(PARTITIONS):
                rows = range(first + partition, last, PARTITIONS)
                times = [BEGIN + timedelta(milliseconds=60_000 + number * SECOND_MS) for number in rows]
                offsets = [number // PARTITIONS for number in rows]
                columns = {
                    "number": pa.array(rows, pa.int64()),
                    "at": pa.array(times, pa.timestamp("us", "UTC")),
                    "partition": pa.array([partition] * len(rows), pa.int32()),
                    "offset": pa.array(offsets, pa.int64()),
                }
                history.put(pa.table(columns))
        options: dict[str, str | None] = {
            "sources": "history,recent,live",
            "recent__source": "files",
            "recent__format": "parquet",
            "recent__path": str(recent.folder),
            "live__columns": "value.*,partition,offset",
            **({"seamOffsets": "end"} if seam == "end" else seam_at(60_000 + 20 * SECOND_MS)),
        }
        for batch in range(6):
            engine = chain.engine(**options)
            engine.run(crash_after=Step.WRITTEN, in_batch=batch)
            while engine.run():
                pass
            assert numbers(engine.rows) == list(range(40))
        assert numbers(chain.read(**options)) == list(range(40))

    @pytest.mark.parametrize("step", [Step.PLANNED, Step.LOGGED, Step.WRITTEN])
    def test_parts_with_positions_end_with_what_is_there_at_first(self, step: Step) -> None:
        options = {"sources": "first,second"}
        systems = {"first": MemorySystem(), "second": MemorySystem()}
        for name, system in systems.items():
            options |= {f"{name}.source": "tests.simple_sources:LogSource", f"{name}.system": system.name}
        systems["first"].append("a", range(5))
        systems["second"].append("b", range(4))
        engine = MicroBatchEngine.of("hybrid", {**options, "maxrowspertrigger": "2"})
        crashes = 0
        for batch in range(4):
            crashes += engine.run(crash_after=step, in_batch=batch)
            if batch:
                # Before that nothing may be logged, so that the next look is the first one.
                systems["first"].append("a", [100 + batch])
        while engine.run():
            pass
        assert crashes == 4
        rows = [(row["log"], row["number"]) for row in engine.rows]
        assert sorted(rows) == [
            *(("a", number) for number in range(5)),
            *(("b", number) for number in range(4)),
        ]

    def test_one_run_with_available_now_reads_all_parts(self) -> None:
        """The heads of a part are those of the run's first look at the part."""
        options = {"sources": "first,second,third"}
        systems = [MemorySystem() for _ in range(3)]
        for name, system in zip(options["sources"].split(","), systems, strict=True):
            options |= {f"{name}.source": "tests.simple_sources:LogSource", f"{name}.system": system.name}
            system.append("log", range(5))
        engine = MicroBatchEngine.of("hybrid", {**options, "maxrowspertrigger": "2"})
        assert not engine.run()
        assert [row["number"] for row in engine.rows] == [*range(5)] * 3
        assert not engine.run()
        assert len(engine.rows) == 15


def refused(options: dict[str, str], boundedness: Boundedness | None = None) -> str:
    with pytest.raises(OptionError) as raised:
        source_factory("hybrid")(options, boundedness)
    return str(raised.value)


class TestOptions:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"sources": None}, "option 'sources': is required"),
            ({"sources": "history"}, "option 'sources': must be two or more different names"),
            ({"sources": "a.b,live"}, "option 'sources': must be two or more different names"),
            ({"history__source": None}, "option 'history.source': is required: the source of part 'history'"),
            (
                {"history__source": "file"},
                "option 'history.source': no source is called 'file'; did you mean 'files'",
            ),
            ({"history__pth": "/x"}, "option 'history.pth': is not an option"),
            ({"histry__path": "/x"}, "option 'histry.path': 'histry' is no part: option 'sources' names"),
            ({"live__subscribe": None}, "option 'live."),
            ({"live__startingOffsets": "earliest"}, "option 'live.startingOffsets': contradicts seamTime"),
            ({"seamColumn": None}, "option 'seamColumn': is required"),
            ({"seamTime": None}, "option 'seamTime': is required"),
            ({"seamTime": "yesterday"}, "option 'seamTime': must be a time such as"),
            ({"seamOffsets": "end"}, "option 'seamOffsets': a seam is by time or by position, not both"),
            ({"seamColumn": None, "seamTime": None}, "option 'seamTime': is required, with seamColumn"),
            (
                {"seamColumn": None, "seamTime": None, "seamOffsets": '{"a": 5}'},
                "option 'seamOffsets': must be end, or JSON such as",
            ),
            (
                {"live__maxOffsetsPerTrigger": "5", "maxRowsPerTrigger": "5"},
                "option 'live.source': part 'live' has a limit of its own",
            ),
            ({"live__maxEventTimeSkew": "1m"}, "option 'live.maxEventTimeSkew': needs a limit for a batch"),
            (
                {"live__minOffsetsPerTrigger": "5"},
                "option 'live.minOffsetsPerTrigger': a batch is planned for all parts: give minRows",
            ),
            ({"history__parallelism": "5"}, "option 'history.parallelism': a batch is planned for all parts"),
            (
                {"seamColumn": None, "seamTime": None, "seamOffsets": "end"},
                "option 'seamDisorder': requires option 'seamTime'",
            ),
            ({"targetBatchDuration": "10s"}, "option 'targetBatchDuration': needs option 'checkpointLocat"),
            (
                {"live__targetBatchDuration": "10s"},
                "option 'live.targetBatchDuration': a batch is planned for all parts: give targetBatchDur",
            ),
            (
                {"history__checkpointLocation": "/c"},
                "option 'history.checkpointLocation': a batch is planned for all parts: give checkpointLoc",
            ),
            ({"live__source": "http", "live__url": "http://x"}, "option 'live."),
            ({"live__source": "hybrid"}, "option 'live."),
        ],
    )
    def test_a_slip_is_refused_by_the_name_that_the_user_wrote(
        self, changed: dict[str, str | None], message: str, tmp_path: Path
    ) -> None:
        chain = Chain("orders", History(tmp_path))
        options = chain.options(**{**seam_at(0), **changed})
        assert message in refused(options, STREAM)

    def test_a_source_of_barrier_mode_is_refused_with_the_reason(self, tmp_path: Path) -> None:
        chain = Chain("orders", History(tmp_path))
        options = {
            key: value for key, value in chain.options(**seam_at(0)).items() if not key.startswith("live.")
        }
        options |= {"live.source": "http", "live.url": "http://x", "live.statelocation": str(tmp_path)}
        assert "'http' is in barrier mode: where it ends is known only when it is read" in refused(
            options, STREAM
        )

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            (
                {"live__valueSchema": "number string, at timestamp"},
                "'history' has number bigint, at timestamp; 'live' has number string, at timestamp",
            ),
            ({"live__columns": "value.*,offset"}, "'live' has number bigint, at timestamp, offset bigint"),
            ({"live__valueSchema": "at timestamp, number long"}, "'live' has at timestamp, number bigint"),
            ({"seamColumn": "number"}, "option 'seamColumn': 'number' is no column of the type timestamp"),
        ],
    )
    def test_parts_with_other_columns_are_refused_with_both_shown(
        self, chain: Chain, changed: dict[str, str | None], message: str
    ) -> None:
        chain.history.add([(0, 0)])
        assert message in refused(chain.options(**{**seam_at(0), **changed}))
