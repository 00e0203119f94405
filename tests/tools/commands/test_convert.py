"""``headwater checkpoint convert``: what it writes, what it refuses, and what a user reads."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec.registry import _registry

from headwater.connector.planned.offsets import PlannedOffsetCodec
from headwater.connector.sources.kafka.split_serializer import KafkaSplitSerializer
from headwater.tools.commands import checkpoint_folder
from headwater.tools.commands.main import main
from headwater.tools.commands.spark_checkpoint import SparkCheckpoint, checksum_file
from tests.patience import PATIENCE_S
from tests.s3_server import S3Server

SAMPLES = Path(__file__).parent / "spark_checkpoints"
EACH_SPARK = pytest.mark.parametrize("spark", ["spark-4.2.0", "spark-4.3.0"])
HEADWATER = {
    "positions": {"orders": {"0": 10, "1": 10}},
    "source": "kafka",
    "splits": {"orders": None},
    "version": PlannedOffsetCodec(KafkaSplitSerializer()).genesis()["version"],
}
SPARK = '{"orders":{"0":10,"1":10}}'

Copy = Callable[..., Path]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A copy of a checkpoint that Spark wrote.

    Of the query ``one`` (layout v1, one source), ``two`` or ``named`` (layout v2, two sources).
    """

    def copying(query: str = "one", spark: str = "spark-4.3.0") -> Path:
        return Path(shutil.copytree(SAMPLES / spark / query, tmp_path / "checkpoint"))

    return copying


def convert(path: Path | str, to: str, *more: str) -> int:
    return main(["checkpoint", "convert", str(path), "--to", to, *more])


def logged(checkpoint: Path, batch_id: int, source: int = 0) -> str:
    return (checkpoint / "offsets" / str(batch_id)).read_text().split("\n")[2 + source]


def log(checkpoint: Path, batch_id: int, *offsets: Any, committed: bool = True) -> None:
    """Write a batch as Spark does, in layout v1."""
    entry = "\n".join(
        ["v1", "{}", *(value if isinstance(value, str) else json.dumps(value) for value in offsets)]
    )
    for folder, text in [("offsets", entry), ("commits", "v1\n{}")][: 1 + committed]:
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
        (checkpoint / folder / str(batch_id)).write_text(text)
        (checkpoint / folder / f".{batch_id}.crc").write_bytes(checksum_file(text.encode()))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@EACH_SPARK
def test_the_last_two_offsets_of_one_source_go_there_and_back(
    spark: str, copy: Copy, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = copy(spark=spark)
    before = content(checkpoint)
    assert convert(checkpoint, "headwater") == 0
    said = capsys.readouterr().out
    assert "batch 2, source 0, to headwater: the positions of 2 partitions" in said
    assert 'start the query with format("headwater").option("source", "kafka")' in said
    assert json.loads(logged(checkpoint, 2)) == HEADWATER
    assert json.loads(logged(checkpoint, 1))["positions"] == {"orders": {"0": 8, "1": 8}}
    assert logged(checkpoint, 0) == '{"orders":{"0":4,"1":4}}'
    assert convert(checkpoint, "spark-kafka") == 0
    assert 'start the query with format("kafka")' in capsys.readouterr().out
    shutil.rmtree(checkpoint / "headwater-backup")
    assert content(checkpoint) == before


@pytest.mark.parametrize(
    ("query", "spark"), [("two", "spark-4.2.0"), ("two", "spark-4.3.0"), ("named", "spark-4.3.0")]
)
def test_of_several_sources_the_chosen_ones_are_converted(
    query: str, spark: str, copy: Copy, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = copy(query, spark)
    names = {"two": ("0", "1"), "named": ("orders_in", "returns_in")}[query]
    assert convert(checkpoint, "headwater") == 1
    said = capsys.readouterr().err
    assert f"{names[0]} (spark-kafka)" in said
    assert f"--source {names[0]}" in said
    assert f"--source {names[1]}" in said
    assert not (checkpoint / "headwater-backup").exists()
    assert convert(checkpoint, "headwater", "--source", names[1]) == 0
    version, metadata, *lines = (checkpoint / "offsets" / "2").read_text().split("\n")
    was = (SAMPLES / spark / query / "offsets" / "2").read_text().split("\n")
    assert [version, metadata] == was[:2]
    offsets = dict(line.split(":", 1) for line in lines)
    assert offsets[names[0]] == SPARK
    assert json.loads(offsets[names[1]]) == {
        **HEADWATER,
        "positions": {"returns": {"0": 10, "1": 10}},
        "splits": {"returns": None},
    }
    # The other one is the only one left.
    assert convert(checkpoint, "headwater") == 0
    assert convert(checkpoint, "spark-kafka", "--source", names[0], "--source", names[1]) == 0
    assert sorted((checkpoint / "offsets" / "2").read_text().split("\n")[2:]) == sorted(was[2:])


def test_the_checksum_file_fits_and_none_is_made_where_there_was_none(copy: Copy) -> None:
    checkpoint = copy()
    (checkpoint / "offsets" / ".1.crc").unlink()
    assert convert(checkpoint, "headwater") == 0
    written = (checkpoint / "offsets" / "2").read_bytes()
    assert (checkpoint / "offsets" / ".2.crc").read_bytes() == checksum_file(written)
    assert not (checkpoint / "offsets" / ".1.crc").exists()


def test_the_backup_undoes_it_with_the_command_that_is_printed(
    copy: Copy, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = copy()
    before = content(checkpoint)
    assert convert(checkpoint, "headwater") == 0
    command = capsys.readouterr().out.split("to go back: ")[1].strip()
    subprocess.run(command, shell=True, check=True, timeout=PATIENCE_S)
    shutil.rmtree(checkpoint / "headwater-backup")
    assert content(checkpoint) == before


def test_a_second_run_finds_nothing_to_do(copy: Copy, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = copy()
    assert convert(checkpoint, "headwater") == 0
    before = content(checkpoint)
    assert convert(checkpoint, "headwater") == 0
    assert "nothing to do: batch 2 is in the form of headwater already" in capsys.readouterr().out
    assert content(checkpoint) == before


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(
    copy: Copy, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = copy()
    before = content(checkpoint)
    assert convert(checkpoint, "headwater", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "batch 2, source 0, to headwater: the positions of 2 partitions" in said
    assert "nothing was written" in said
    assert content(checkpoint) == before


@pytest.mark.parametrize("version", [1, HEADWATER["version"]])
def test_offsets_of_each_version_of_headwater_go_to_spark(version: int, tmp_path: Path) -> None:
    full = {
        **HEADWATER,
        "version": version,
        "positions": {"b": {"10": 7, "9": 8}, "a": {"0": 1}},
        "splits": {"a": "5nhXWqzYQlaLqVKmQZcaTA", "b": None},
        "starts": {"a": {"0": 0}},
        "state": {"row_bytes": {"a": 100}},
    }
    log(tmp_path, 0, full)
    assert convert(tmp_path, "spark-kafka") == 0
    assert logged(tmp_path, 0) == '{"a":{"0":1},"b":{"9":8,"10":7}}'


def test_positions_out_of_sight_need_a_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = {"returns": {"3": {"position": 77, "since_ms": 1_795_000_000_000, "split": {"returns": None}}}}
    losses = {"rows": 20, "at_least_rows": 3, "ranges": []}
    log(tmp_path, 0, {**HEADWATER, "kept": kept, "losses": losses})
    assert convert(tmp_path, "spark-kafka") == 1
    assert "out of sight: returns-3. With --kept include" in capsys.readouterr().err
    assert convert(tmp_path, "spark-kafka", "--kept", "include", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "with those out of sight: returns-3" in said
    assert "the count of lost records (23) stays in the backup" in said
    assert convert(tmp_path, "spark-kafka", "--kept", "include") == 0
    assert json.loads(logged(tmp_path, 0)) == {"orders": {"0": 10, "1": 10}, "returns": {"3": 77}}
    log(tmp_path, 0, {**HEADWATER, "kept": kept})
    assert convert(tmp_path, "spark-kafka", "--kept", "drop") == 0
    assert json.loads(logged(tmp_path, 0)) == {"orders": {"0": 10, "1": 10}}


def test_a_pending_batch_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path, 0, SPARK)
    log(tmp_path, 1, SPARK, committed=False)
    before = content(tmp_path)
    assert convert(tmp_path, "headwater") == 1
    said = capsys.readouterr().err
    assert "batch 1 is pending: its offset is logged, and it is not committed" in said
    assert 'Start the query once more with format("kafka")' in said
    assert 'or start it with format("headwater").option("source", "kafka") as it is' in said
    assert convert(tmp_path, "spark-kafka") == 1
    said = capsys.readouterr().err
    assert 'Start the query once more with format("headwater")' in said
    assert "as it is" not in said
    assert content(tmp_path) == before


def test_the_first_batch_pending_is_refused_without_the_advice_to_take_it_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(tmp_path, 0, SPARK, committed=False)
    assert convert(tmp_path, "headwater") == 1
    said = capsys.readouterr().err
    assert "batch 0 is pending" in said
    assert "as it is" not in said


def test_a_log_with_gaps_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(SAMPLES / "spark-4.3.0" / "async", checkpoint)
    assert convert(checkpoint, "headwater") == 1
    assert "asyncProgressTrackingCheckpointIntervalMs=0" in capsys.readouterr().err
    assert not (checkpoint / "headwater-backup").exists()


def test_logs_that_do_not_fit_each_other_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(tmp_path, 0, SPARK)
    log(tmp_path, 1, SPARK)
    (tmp_path / "offsets" / "1").unlink()
    assert convert(tmp_path, "headwater") == 1
    assert "batch 1 is committed, and the offset log ends at batch 0" in capsys.readouterr().err


def test_other_sources_are_refused_with_what_they_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(tmp_path, 0, {"logOffset": 3}, {"source": "files", "version": 1}, "-")
    assert convert(tmp_path, "headwater") == 1
    said = capsys.readouterr().err
    assert "no source of this query is headwater's Kafka source or Spark's" in said
    assert '{"logOffset": 3}; {"source": "files", "version": 1}' in said
    assert convert(tmp_path, "headwater", "--source", "0") == 1
    assert "source 0 is neither headwater's Kafka source nor Spark's: it logged {\"logOffset\": 3}" in (
        capsys.readouterr().err
    )
    assert convert(tmp_path, "headwater", "--source", "9") == 1
    assert "there is no source '9'; this query has 0 (another source)" in capsys.readouterr().err


def test_one_kafka_source_beside_others_needs_no_name(tmp_path: Path) -> None:
    log(tmp_path, 0, {"logOffset": 3}, SPARK, "-")
    assert convert(tmp_path, "headwater") == 0
    assert logged(tmp_path, 0, 0) == '{"logOffset": 3}'
    assert json.loads(logged(tmp_path, 0, 1)) == HEADWATER
    assert logged(tmp_path, 0, 2) == "-"


def test_an_offset_of_a_later_headwater_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(tmp_path, 0, {**HEADWATER, "version": 99})
    assert convert(tmp_path, "spark-kafka") == 1
    assert "version 99" in capsys.readouterr().err


def test_an_entry_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path, 0, SPARK)
    (tmp_path / "offsets" / "0").write_bytes(b"\xff")
    assert convert(tmp_path, "headwater") == 1
    assert "offsets/0 'utf-8' codec" in capsys.readouterr().err
    (tmp_path / "offsets" / "0").write_text("v7\n{}\n-")
    assert convert(tmp_path, "headwater") == 1
    assert "offsets/0 has the layout v7" in capsys.readouterr().err


def test_a_wrong_path_says_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path / "queries" / "orders", 0, SPARK)
    (tmp_path / "empty" / "offsets").mkdir(parents=True)
    for path, said in (
        (tmp_path / "nowhere", "no checkpoint is here (a checkpoint has a folder offsets)"),
        (
            tmp_path / "queries",
            "holds checkpoints, and is not one itself: give one of orders in it",
        ),
        (tmp_path / "queries" / "orders" / "offsets", "one of the logs inside of a checkpoint"),
        (tmp_path / "empty", "the offset log is empty"),
        (tmp_path / "queries" / "orders" / "offsets" / "0", "no checkpoint is here"),
        ("hdfs://host/checkpoint", "files on hdfs:// cannot be replaced from here in one step"),
    ):
        assert convert(path, "headwater") == 1
        assert said in capsys.readouterr().err


def test_a_local_path_may_be_written_as_hadoop_does(tmp_path: Path) -> None:
    log(tmp_path, 0, SPARK)
    assert convert(f"file:{tmp_path}", "headwater") == 0
    assert convert(f"file://{tmp_path}", "spark-kafka") == 0
    assert logged(tmp_path, 0) == SPARK


def test_a_folder_that_may_not_be_read_or_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log(tmp_path, 0, SPARK)

    def refuse(path: Path, mode: str = "r", **_: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    # Tests may run as root, whom no permission stops.
    monkeypatch.setattr(Path, "open", refuse)
    assert convert(tmp_path, "headwater") == 1
    assert "no permission; run this as the user who runs the query" in capsys.readouterr().err


def test_a_failure_while_writing_says_how_to_go_on_and_back(
    copy: Copy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = copy()
    before = content(checkpoint)
    write = checkpoint_folder.LocalFolder.write

    def failing(folder: checkpoint_folder.LocalFolder, name: str, data: bytes) -> None:
        if name == "offsets/2":
            raise checkpoint_folder.FolderError("offsets/2: No space left on device")
        write(folder, name, data)

    monkeypatch.setattr(checkpoint_folder.LocalFolder, "write", failing)
    assert convert(checkpoint, "headwater") == 1
    said = capsys.readouterr().err
    assert "No space left on device; start this command again, which goes on where it stopped" in said
    monkeypatch.undo()
    subprocess.run(said.split("to go back: ")[1].strip(), shell=True, check=True, timeout=PATIENCE_S)
    shutil.rmtree(checkpoint / "headwater-backup")
    assert content(checkpoint) == before


def test_a_query_that_goes_on_meanwhile_is_noticed_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log(tmp_path, 0, SPARK)
    back_up = SparkCheckpoint.back_up

    def slowly(checkpoint: SparkCheckpoint, batch_ids: list[int]) -> str:
        log(tmp_path, 1, SPARK)
        return back_up(checkpoint, batch_ids)

    monkeypatch.setattr(SparkCheckpoint, "back_up", slowly)
    assert convert(tmp_path, "headwater") == 1
    assert "the query has gone on meanwhile: stop it first" in capsys.readouterr().err
    assert logged(tmp_path, 0) == SPARK


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["checkpoint"], "the following arguments are required: COMMAND"),
        (["checkpoint", "convert"], "the following arguments are required: PATH, --to"),
        (["checkpoint", "convert", "x"], "the following arguments are required: --to"),
        (["checkpoint", "convert", "x", "--to", "kafka"], "invalid choice: 'kafka'"),
        (["checkpoint", "convert", "x", "--to", "headwater", "--storage-options", "{"], "not JSON"),
        (
            ["checkpoint", "convert", "x", "--to", "headwater", "--storage-options", "3"],
            "must be a JSON object",
        ),
    ],
)
def test_a_wrong_command_line_says_what_is_missing(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_help_says_what_is_kept_and_when_no_conversion_is_needed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["checkpoint", "convert", "--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "State, watermark, commits and the sink's log stay. Stop the query first." in said
    assert "headwater takes its checkpoints as they are" in said


def test_an_object_store(copy: Copy, capsys: pytest.CaptureFixture[str]) -> None:
    import s3fs

    checkpoint = copy()
    with S3Server() as server:
        fs = s3fs.S3FileSystem(**server.storage_options)
        for name, data in content(checkpoint).items():
            fs.pipe_file(f"state/query/{name}", data)
        options = ("--storage-options", json.dumps(server.storage_options))
        assert convert("s3a://state/query", "headwater", *options) == 0
        entry = fs.cat_file("state/query/offsets/2")
        assert json.loads(entry.decode().split("\n")[2]) == HEADWATER
        # Who copies the folder to a local disk finds the checksum file that belongs to it.
        assert fs.cat_file("state/query/offsets/.2.crc") == checksum_file(entry)
        assert "copy all objects of s3a://state/query/headwater-backup/" in capsys.readouterr().out
        assert convert("s3a://state/query", "spark-kafka", *options) == 0
        assert fs.cat_file("state/query/offsets/2") == (checkpoint / "offsets" / "2").read_bytes()
        assert convert("s3a://state/nothing", "headwater", *options) == 1
        assert "no checkpoint is here" in capsys.readouterr().err


def test_an_object_store_without_its_library_or_with_wrong_options_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert convert("s3://bucket/x", "headwater", "--storage-options", '{"no_such_option": 1}') == 1
    assert "--storage-options" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    monkeypatch.delitem(_registry, "gs", raising=False)  # another test may have opened one
    assert convert("gs://bucket/x", "headwater") == 1
    assert "gs:// needs gcsfs: pip install gcsfs" in capsys.readouterr().err
