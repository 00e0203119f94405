"""``headwater checkpoint rewind | skip``: what comes again, what is left out, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.tools.commands import checkpoint_edits
from headwater.tools.commands.main import main
from local_kafka import LocalKafka
from tests.patience import PATIENCE_S
from tests.s3_server import S3Server
from tests.tools.commands.test_checkpoint_views import planned, written

SAMPLES = Path(__file__).parent / "spark_checkpoints"
SOURCES = {"headwater": {"source": "kafka"}, "kafka": {}}


def edit(*arguments: object) -> int:
    return main(["checkpoint", *map(str, arguments)])


def logged(checkpoint: Path, batch_id: int) -> dict[str, object]:
    entry: dict[str, object] = json.loads((checkpoint / "offsets" / str(batch_id)).read_text().split("\n")[2])
    return entry


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def query(tmp_path: Path) -> Path:
    """Three batches of headwater's Kafka, all committed; the split ``b-0`` was found in the last one."""
    return written(
        tmp_path / "q",
        planned({"a": {"0": 10}}, starts={"a": {"0": 0}}),
        planned({"a": {"0": 20}}),
        planned({"a": {"0": 30}, "b": {"0": 7}}, starts={"b": {"0": 5}}),
        committed=3,
    )


class Run:
    """A stream that writes each batch into a folder of its own, two records at a time."""

    def __init__(self, spark: SparkSession, kafka: LocalKafka, topic: str, folder: Path, form: str) -> None:
        self.checkpoint = folder / "checkpoint"
        self._out = folder / "out"
        self._spark = spark
        self._frame = (
            spark.readStream.format(form)
            .options(**SOURCES[form], subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="2")
            .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        )

    def __call__(self) -> list[int]:
        """Read what there is; return the offsets of all rows so far, sorted."""
        query = (
            self._frame.load()
            .writeStream.format("parquet")
            .option("path", str(self._out))
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(PATIENCE_S)
        rows: DataFrame = self._spark.read.parquet(str(self._out))
        return sorted(row.offset for row in rows.select("offset").collect())


@pytest.mark.parametrize("form", SOURCES)
def test_real_queries_go_back_and_forward(
    form: str, spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    """Into Spark's file sink, which remembers the ids of batches: what comes again has new ones."""
    kafka.create_topic(topic)
    kafka.produce(topic, [b"%d" % number for number in range(6)])
    run = Run(spark, kafka, topic, tmp_path, form)
    assert run() == [0, 1, 2, 3, 4, 5]
    assert edit("rewind", run.checkpoint, "--to-batch", 1, "--yes") == 0
    assert run() == [0, 1, 2, 3, 4, 4, 5, 5]
    kafka.produce(topic, [b"6", b"7", b"8"])
    assert edit("skip", run.checkpoint, "--split", f"{topic}-0", "--to", 8, "--yes") == 0
    assert run() == [0, 1, 2, 3, 4, 4, 5, 5, 8]


def test_without_yes_it_says_what_it_would_do_and_writes_nothing(
    query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(query)
    assert edit("rewind", query, "--to-batch", 1) == 0
    said = capsys.readouterr().out
    assert [line.split() for line in said.splitlines()[3:5]] == [
        ["a-0", "30", "20"],
        ["b-0", "7", "new", "again"],
    ]
    assert "the next start, batch 3, reads again what batches 2 to 2 have read" in said
    assert "the sink does not go back" in said
    assert "watermark" in said
    assert said.endswith("nothing was written: stop the query, and say --yes\n")
    assert edit("skip", query, "--split", "a-0", "--to", 31) == 0
    assert "a-0 goes on at 31: 1 positions from 30 on are left out" in capsys.readouterr().out
    assert content(query) == before


def test_a_rewind_makes_the_last_two_batches_end_where_the_earlier_one_did(query: Path) -> None:
    assert edit("rewind", query, "--to-batch", 0, "--yes") == 0
    assert [logged(query, batch)["positions"] for batch in range(3)] == [{"a": {"0": 10}}] * 3
    assert ["starts" in logged(query, batch) for batch in range(3)] == [True, False, False]


@pytest.fixture
def ending(tmp_path: Path) -> Path:
    """Two batches with ``stopAtRecord``; whether a record ended a partition in them is not known yet."""
    condition = {"condition": {"key": "end"}}
    return written(
        tmp_path / "ending",
        planned(
            {"a": {"0": 10, "1": 4}}, starts={"a": {"0": 3}}, ends={**condition, "since": {"a": {"1": 2}}}
        ),
        planned({"a": {"0": 20, "1": 4}}, ends={**condition, "since": {"a": {"0": 10}}}),
        committed=2,
    )


def test_a_rewind_says_where_the_batch_began_in_which_a_record_may_have_ended_a_split(ending: Path) -> None:
    assert edit("rewind", ending, "--to-batch", 0, "--yes") == 0
    assert logged(ending, 1)["ends"] == {"condition": {"key": "end"}, "since": {"a": {"0": 3, "1": 2}}}
    assert "starts" not in logged(ending, 1)


@pytest.mark.parametrize(
    "arguments",
    [("skip", "--split", "a-0", "--to", 25, "--yes"), ("convert", "--to", "spark-kafka")],
    ids=["skip", "convert"],
)
def test_positions_that_a_record_may_move_back_are_not_changed_by_hand(
    ending: Path, arguments: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(ending)
    command, *options = arguments
    assert edit(command, ending, *options) == 1
    assert "stopAtRecord" in capsys.readouterr().err
    assert content(ending) == before


def test_the_copy_undoes_it_with_the_command_that_is_printed(
    query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(query)
    assert edit("skip", query, "--split", "a-0", "--to", 31, "--yes") == 0
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("to go back: ").split()
    assert command[:2] == ["cp", "-a"]
    shutil.copytree(command[2], command[3], dirs_exist_ok=True)
    after = content(query)
    assert {name: after[name] for name in before} == before


def test_a_checkpoint_in_an_object_store_is_shown_and_changed_as_one_on_a_disk(
    query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import s3fs

    def said(*arguments: object) -> str:
        assert edit(*arguments) == 0
        return capsys.readouterr().out

    with S3Server() as server:
        fs = s3fs.S3FileSystem(**server.storage_options)
        for name, data in content(query).items():
            fs.pipe_file(f"state/query/{name[len(str(query)) + 1 :]}", data)
        url = "s3://state/query"
        given = ("--storage-options", json.dumps(server.storage_options))
        for line in ("show", "positions", "diff 0 2"):
            name, *more = line.split()
            assert said(name, url, *more, *given).replace(url, str(query)) == said(name, query, *more)
        for line in ("skip --split a-0 --to 31", "rewind --to-batch 0"):
            name, *more = line.split()
            copied = said(name, url, *more, "--yes", *given)
            assert "copy all objects of s3://state/query/headwater-backup/" in copied
            said(name, query, *more, "--yes")
        for batch in range(3):
            entry = fs.cat_file(f"state/query/offsets/{batch}").decode()
            assert json.loads(entry.split("\n")[2]) == logged(query, batch)


def test_a_bad_record_in_a_pending_batch_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = written(tmp_path / "q", planned({"a": {"0": 10}}), planned({"a": {"0": 20}}), committed=1)
    assert edit("skip", query, "--split", "a-0", "--to", 21, "--yes") == 1
    assert "batch 1 is pending, and will be read again as it is logged: to 20" in capsys.readouterr().err
    assert edit("skip", query, "--split", "a-0", "--to", 15, "--yes") == 0
    assert [logged(query, batch)["positions"] for batch in (0, 1)] == [{"a": {"0": 15}}, {"a": {"0": 20}}]


def test_a_bad_record_in_the_first_batch_is_left_out(tmp_path: Path) -> None:
    query = written(tmp_path / "q", planned({"a": {"0": 10}}, starts={"a": {"0": 2}}))
    assert edit("skip", query, "--split", "a-0", "--to", 5, "--yes") == 0
    assert (logged(query, 0)["starts"], logged(query, 0)["positions"]) == ({"a": {"0": 5}}, {"a": {"0": 10}})


def test_a_split_that_is_out_of_sight_may_skip(tmp_path: Path) -> None:
    kept = {"b": {"0": {"position": 7, "since_ms": 1, "split": {"id": "x"}}}}
    query = written(tmp_path / "q", planned({"a": {"0": 10}}, kept=kept), committed=1)
    assert edit("skip", query, "--split", "b-0", "--to", 9, "--yes") == 0
    assert logged(query, 0)["kept"] == {"b": {"0": {"position": 9, "since_ms": 1, "split": {"id": "x"}}}}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["rewind", "--to-batch", 2], "batch 2 is the last one: there is nothing behind it"),
        (["rewind", "--to-batch", -1], "begin a query with a new checkpoint, and startingOffsets=earliest"),
        (["skip", "--split", "a-0", "--to", 51, "--broker", "b:9092"], "a-0 ends at 50: skip to there"),
        (["skip", "--split", "b-0", "--to", 51, "--broker", "b:9092"], "b:9092 has no partition b-0"),
        (["rewind", "--to-batch", 9], "the offset log has no batch 9, but 0 to 2"),
        (["skip", "--split", "a-0", "--to", 30], "a-0 is at 30 already, and --to must lie behind it"),
        (["skip", "--split", "a-1", "--to", 30], "source 0 has no split 'a-1', but a-0, b-0"),
        (["skip", "--split", "a-0", "--to", 40, "--source", "x"], "there is no source 'x': this query has 0"),
    ],
)
def test_slips_are_told(
    arguments: list[object],
    why: str,
    query: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoint_edits, "kafka_ends", lambda *_: {"a-0": 50})
    before = content(query)
    assert edit(arguments[0], query, *arguments[1:], "--yes") == 1
    assert why in capsys.readouterr().err
    assert content(query) == before


def test_a_skip_of_whose_end_nothing_is_known_says_so(
    query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert edit("skip", query, "--split", "a-0", "--to", 40) == 0
    assert "whether a-0 has a record 40 is not known: give --broker to look" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        (
            {"source": "files", "version": 2, "positions": {"f": 5}},
            "which ones were read is kept at its stateLocation",
        ),
        ({"source": "http", "version": 1, "epoch": 7}, "in barrier mode: its positions lie in manifests"),
        ({"topics": 5}, "neither headwater's nor Spark's Kafka"),
        ("-", "source 0 has no offset yet"),
    ],
)
@pytest.mark.parametrize("arguments", [["rewind", "--to-batch", 0], ["skip", "--split", "f", "--to", 9]])
def test_sources_that_keep_more_than_positions_are_refused(
    arguments: list[object],
    offset: dict[str, object] | str,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = written(tmp_path / "q", offset, offset, committed=2)
    assert edit(arguments[0], query, *arguments[1:], "--yes") == 1
    assert why in capsys.readouterr().err


def test_positions_that_are_no_numbers_cannot_be_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offset = {"source": "mine", "version": 2, "positions": {"a": "x5"}}
    query = written(tmp_path / "q", offset, committed=1)
    assert edit("skip", query, "--split", "a", "--to", 9, "--yes") == 1
    assert "a is at 'x5', which is no number" in capsys.readouterr().err


def test_of_several_sources_one_must_be_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    query = Path(shutil.copytree(SAMPLES / "spark-4.3.0" / "two", tmp_path / "q"))
    assert edit("skip", query, "--split", "a-0", "--to", 99) == 1
    assert "say which source, with --source: this query has 0, 1" in capsys.readouterr().err


def test_a_pending_batch_must_be_done_before_a_rewind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = written(tmp_path / "q", planned({"a": {"0": 10}}), planned({"a": {"0": 20}}), committed=1)
    assert edit("rewind", query, "--to-batch", 0, "--yes") == 1
    assert "batch 1 is pending" in capsys.readouterr().err


def test_the_first_pending_batch_of_sparks_own_source_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = written(tmp_path / "q", {"a": {"0": 10}})
    assert edit("skip", query, "--split", "a-0", "--to", 5, "--yes") == 1
    assert "Spark's Kafka source does not log where a-0 begins" in capsys.readouterr().err
