"""The files source as a query sees it: offsets, batches and restarts, without Spark."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from enumerators.files import seen
from headwater_core.errors import CorruptRecordError, DataLossError, OffsetError, OptionError, SourceError, StateLocationError, UnknownSplitError
from tests.connector.files_queries import Query, batch, batch_and_tasks

VALUE = pa.schema([pa.field("value", pa.string())])
NOW_S = 1_800_000_000
Drop = Callable[..., Path]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step waits for a whole new listing, however slow the machine is."""
    monkeypatch.setattr("enumerators.files.enumerator._PATIENCE_MS", 60_000)
    monkeypatch.setattr("enumerators.files.discovery._SHORT_MS", 60_000)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def drop(inbox: Path, tmp_path: Path) -> Drop:
    """Move a whole file into the inbox, with a modification time in seconds."""

    def dropping(name: str, at_s: float, text: str | None = None) -> Path:
        (tmp_path / "aside").write_text(text if text is not None else f"{name}\n")
        os.utime(tmp_path / "aside", (at_s, at_s))
        target = inbox / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return (tmp_path / "aside").rename(target)

    return dropping


def text(inbox: Path, **options: Any) -> Query:
    return Query(VALUE, format="text", path=str(inbox), **options)


def values(rows: pa.Table | None) -> list[str]:
    assert rows is not None
    return [str(value) for value in rows.column("value").to_pylist()]


# Batches, and what goes into them


def test_each_file_is_read_once_and_idle_triggers_log_nothing(inbox: Path, drop: Drop) -> None:
    with text(inbox) as query:
        assert values(query.step()) == []
        drop("a", NOW_S)
        assert values(query.step()) == ["a"]
        assert [query.step() for _ in range(3)] == [None] * 3
        query.restart()
        assert query.step() is None
        drop("b", NOW_S)
        assert values(query.step()) == ["b"]
        query.restart()
        assert values(query.replay()) == ["b"]
        assert query.step() is None


def test_limits_of_a_batch_count_but_not_under_once(inbox: Path, drop: Drop) -> None:
    for number in range(5):
        drop(str(number), NOW_S + number, "x" * 10)
    with text(inbox, maxFilesPerTrigger="2") as query:
        assert [len(values(query.step())) for _ in range(3)] == [2, 2, 1]
    with text(inbox, maxBytesPerTrigger="35") as query:
        assert [len(values(query.step())) for _ in range(2)] == [3, 2]
    with text(inbox, maxFilesPerTrigger="2") as query:
        assert len(values(query.step(limited=False))) == 5


def test_the_oldest_come_first_or_the_newest(inbox: Path, drop: Drop) -> None:
    for name, at_s in {"b": 2, "c": 3, "a": 1}.items():
        drop(name, NOW_S + at_s)
    for latest_first, expected in (("false", "abc"), ("true", "cba")):
        with text(inbox, maxFilesPerTrigger="1", latestFirst=latest_first) as query:
            assert [values(query.step()) for _ in range(3)] == [[name] for name in expected]


def test_available_now_ends_at_what_was_there_when_it_began(inbox: Path, drop: Drop) -> None:
    for name in "abc":
        drop(name, NOW_S)
    with text(inbox, maxFilesPerTrigger="2", available_now=True) as query:
        assert values(query.step()) == ["a", "b"]
        drop("d", NOW_S)
        assert values(query.step()) == ["c"]
        assert query.step() is None
        query.restart(available_now=True)
        assert values(query.step()) == ["d"]


def test_a_plan_that_would_not_fit_into_the_offset_is_cut(inbox: Path, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connector.files._MOST_PLAN_BYTES", 1_000)
    for number in range(20):
        drop(f"{number:03}", NOW_S)
    with text(inbox, available_now=True) as query:
        found: list[str] = []
        while (rows := query.step(limited=False)) is not None:
            found += values(rows)
            assert len(json.dumps(query.log[-1])) < 3_000
    assert found == [f"{number:03}" for number in range(20)]


def test_a_file_that_is_still_being_written_waits(inbox: Path, drop: Drop) -> None:
    drop("old", 1_000_000)
    (inbox / "young").write_text("half a li")
    with text(inbox, minFileAge="1h") as query:
        assert values(query.step()) == ["old"]
        assert query.step() is None
        os.utime(inbox / "young", (2_000_000, 2_000_000))
        assert values(query.step()) == ["half a li"]


# What is remembered


def test_late_files_inside_the_window_are_read_and_those_outside_are_reported(
    inbox: Path, drop: Drop, rng: random.Random, caplog: pytest.LogCaptureFixture
) -> None:
    times = list(range(0, 100, 2))
    rng.shuffle(times)
    with text(inbox, maxFileAge="1000s") as query:
        found = values(query.step())
        for number, at_s in enumerate(times):
            drop(f"f{number}", NOW_S - 50_000_000 + at_s)
            found += values(query.step())
        assert sorted(found) == sorted(f"f{number}" for number in range(len(times)))
        drop("late", NOW_S - 50_000_000 - 10_000)
        assert query.step() is None
    assert "1 files arrived too late and are not read" in caplog.text
    assert "/late" in caplog.text


def test_with_more_names_than_fit_the_window_is_the_last_files(inbox: Path, drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "INLINE_FILES", 10)
    with text(inbox) as query:
        query.step()
        for number in range(50):
            drop(f"f{number}", NOW_S - 40_000_000 + number)
            assert values(query.step()) == [f"f{number}"]
        drop("late", NOW_S - 40_000_000 + 45)
        assert values(query.step()) == ["late"]
        assert len(str(query.log[-1]["state"])) < 1_000
        query.restart()
        assert query.step() is None


def test_a_burst_of_equal_times_is_refused_or_kept_at_the_state_location(
    inbox: Path, drop: Drop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "INLINE_FILES", 10)
    for number in range(25):
        drop(f"f{number:02}", NOW_S)
    with text(inbox, available_now=True) as query, pytest.raises(SourceError, match=r"same modification time.*stateLocation"):
        query.step()
    with text(inbox, maxFilesPerTrigger="7", available_now=True, stateLocation=str(tmp_path / "state")) as query:
        assert [len(values(query.step())) for _ in range(4)] == [7, 7, 7, 4]
        elsewhere: list[dict[str, Any]] = [{}, {"stateLocation": str(tmp_path / "elsewhere")}]
        for options in elsewhere:
            query.restart(available_now=True, **options)
            if not options:
                assert query.step() is None
        with pytest.raises(OffsetError, match="stateLocation"):
            query.step()
        query.options.pop("stateLocation")
        query.restart()
        with pytest.raises(OptionError, match="stateLocation"):
            query.step()


def test_latest_first_is_refused_if_the_backlog_is_longer_than_what_can_be_remembered(
    inbox: Path, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "INLINE_FILES", 10)
    for number in range(11):
        drop(f"f{number:02}", NOW_S + number)
    with text(inbox, latestFirst="true") as query, pytest.raises(OptionError, match="11 files wait, and only 10"):
        query.step()
    (inbox / "f00").unlink()
    with text(inbox, latestFirst="true", maxFilesPerTrigger="3") as query:
        assert [values(query.step())[0] for _ in range(4)] == ["f10", "f07", "f04", "f01"]
        for number in range(20, 40):
            drop(f"f{number}", NOW_S + number)
            drop(f"g{number}", NOW_S + number)
            assert len(values(query.step())) == 2


def test_a_changed_file_is_an_error_or_ignored_or_read_again(inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture) -> None:
    for on_change in ("error", "ignore", "read"):
        drop("a", NOW_S)
        with text(inbox, onChange=on_change) as query:
            assert values(query.step()) == ["a"]
            drop("a", NOW_S + 1, "new\n")
            if on_change == "error":
                with pytest.raises(SourceError, match=r"changed after it was read.*in/a"):
                    query.step()
            elif on_change == "ignore":
                assert query.step() is None
                assert "what came later is not read" in caplog.text
            else:
                assert values(query.step()) == ["new"]
                assert query.step() is None


def test_a_file_that_vanished_or_changed_under_a_planned_batch(inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture) -> None:
    drop("a", NOW_S)
    drop("b", NOW_S)
    with text(inbox) as query:
        query.step()
        (inbox / "a").unlink()
        with pytest.raises(DataLossError, match=r"vanished.*ignoreMissingFiles.*in/a"):
            query.replay()
        query.restart(ignoreMissingFiles="true")
        assert values(query.replay()) == ["b"]
        assert "skipped" in caplog.text
        drop("b", NOW_S, "longer\n")
        assert values(query.replay()) == []
        query.restart(ignoreMissingFiles="false", onChange="ignore")
        drop("a", NOW_S)
        with pytest.raises(DataLossError, match=r"not what was planned.*ignoreMissingFiles"):
            query.replay()


# What becomes of files that are read


def test_only_committed_files_are_deleted(inbox: Path, drop: Drop) -> None:
    with text(inbox, cleanSource="delete", maxFilesPerTrigger="1", available_now=True) as query:
        drop("a", NOW_S)
        drop("b", NOW_S)
        assert values(query.step()) == ["a"]
        assert len(list(inbox.iterdir())) == 2, "planned and read, but who knows whether committed"
        query.restart(available_now=True)
        assert values(query.replay()) == ["a"]
        assert values(query.step()) == ["b"]
        assert query.step() is None
        assert list(inbox.iterdir()) == []


def test_a_file_that_changed_since_it_was_read_is_not_deleted(inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture) -> None:
    with text(inbox, cleanSource="delete", onChange="ignore", available_now=True) as query:
        drop("a", NOW_S)
        query.step()
        drop("a", NOW_S + 1, "new\n")
        assert query.step() is None
    assert (inbox / "a").read_text() == "new\n"
    assert "changed since it was read; it stays" in caplog.text


def test_committed_files_are_archived_below_their_whole_path(inbox: Path, drop: Drop, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    with text(inbox, cleanSource="archive", sourceArchiveDir=str(archive), available_now=True) as query:
        drop("k=1/a", NOW_S)
        query.step()
        query.step()
    assert (archive / str(inbox).lstrip("/") / "k=1" / "a").read_text() == "k=1/a\n"
    assert not (inbox / "k=1" / "a").exists()


# Columns


def test_folders_are_columns_and_so_is_what_is_known_of_the_file(inbox: Path, drop: Drop) -> None:
    drop("year=2024/name=a%20b/x.csv", NOW_S, "1\n")
    drop("year=2025/name=__HIVE_DEFAULT_PARTITION__/x.csv", NOW_S, "2\n")
    rows = batch(format="csv", path=str(inbox), inferSchema="true", includeMetadata="true", columns="_c0,year,name,_metadata")
    assert sorted(zip(*(rows.column(at).to_pylist() for at in range(3)), strict=True)) == [(1, 2024, "a b"), (2, 2025, None)]
    about: Any = rows.column("_metadata").to_pylist()[0]
    assert about["file_path"] == f"file://{inbox}/year={rows.column('year')[0]}/name=a%20b/x.csv"
    assert (about["file_name"], about["file_size"], about["file_block_start"], about["file_block_length"]) == ("x.csv", 2, 0, 2)
    assert int(about["file_modification_time"].timestamp()) == NOW_S
    assert batch(format="csv", path=str(inbox), recursiveFileLookup="true").column_names == ["_c0"]
    wrong = pa.schema([pa.field("n", pa.int64()), pa.field("name", pa.int32())])
    with pytest.raises(CorruptRecordError, match="name=a%20b is no int32"):
        batch(wrong, format="csv", path=f"{inbox}/year=2024")


def test_several_paths_patterns_and_name_filters(inbox: Path, drop: Drop) -> None:
    for name in ("a/x.txt", "b/y.txt", "c/z.log"):
        drop(name, NOW_S)
    assert sorted(values(batch(format="text", path=json.dumps([f"{inbox}/a", f"{inbox}/c"])))) == ["a/x.txt", "c/z.log"]
    assert values(batch(format="text", paths=json.dumps([f"{inbox}/{{b,d}}/*.txt"]))) == ["b/y.txt"]
    assert values(batch(format="text", path=f"{inbox}/*", pathGlobFilter="*.log")) == ["c/z.log"]
    assert values(batch(format="text", path=f"file:{inbox}/a/x.txt")) == ["a/x.txt"]
    assert values(batch(format="text", path=str(inbox), recursiveFileLookup="true", modifiedBefore="1999-01-01T00:00:00")) == []
    with pytest.raises(UnknownSplitError, match="no such file"):
        batch(VALUE, format="text", path=f"{inbox}/nowhere")


def test_an_inferred_schema_is_kept_in_the_offset(inbox: Path, drop: Drop) -> None:
    drop("a.json", NOW_S, '{"x":1}\n')
    with Query(format="json", path=str(inbox)) as query:
        query.step()
        drop("b.json", NOW_S - 1, '{"x":"text","y":2}\n')
        query.restart()
        with pytest.raises(OptionError, match=r"began with the inferred schema `x` bigint; .* now is `x` string, `y` bigint"):
            query.step()
        query.restart(pa.schema([pa.field("x", pa.int64())]))
        assert query.step().to_pylist() == [{"x": None}]  # type: ignore[union-attr]


def test_other_paths_after_a_restart_are_warned_of(inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture) -> None:
    drop("a", NOW_S)
    drop("sub/b", NOW_S)
    with text(inbox) as query:
        assert values(query.step()) == ["a"]
        query.restart()
        assert query.step() is None
        assert caplog.text == ""
        query.restart(recursiveFileLookup="true")
        assert values(query.step()) == ["sub/b"]
        assert "other paths are read than before the restart" in caplog.text


def test_no_file_to_infer_from_asks_for_a_schema(inbox: Path) -> None:
    with pytest.raises(SourceError, match=r"give one with .schema"):
        batch(format="json", path=str(inbox))
    assert batch(format="text", path=str(inbox)).num_rows == 0


def test_columnar_files_that_do_not_fit_are_an_error_that_names_file_and_column(inbox: Path) -> None:
    pq.write_table(pa.table({"n": ["x"], "S": ["y"]}), inbox / "f.parquet")
    with pytest.raises(CorruptRecordError, match=r"'n' is string in this file and int64 in the schema.*f\.parquet"):
        batch(pa.schema([pa.field("n", pa.int64())]), format="parquet", path=str(inbox))
    rows = batch(pa.schema([pa.field("s", pa.string())]).append(pa.field("gone", pa.int32())), format="parquet", path=str(inbox))
    assert rows.to_pylist() == [{"s": "y", "gone": None}]
    (inbox / "f.parquet").write_text("no parquet at all")
    with pytest.raises(CorruptRecordError, match=r"no parquet file.*f\.parquet"):
        batch(pa.schema([pa.field("n", pa.int64())]), format="parquet", path=str(inbox))


# Tasks


@pytest.mark.parametrize("kind", ["parquet", "feather", "orc", "avro", "csv", "json", "text"])
def test_a_large_file_is_read_by_several_tasks_each_row_once(kind: str, inbox: Path) -> None:
    table = pa.table({"value": [f"row {number}" for number in range(3_000)]})
    write_rows(kind, inbox / "f", table)
    rows, tasks = batch_and_tasks(None if kind != "csv" else VALUE, format=kind, path=str(inbox), minPartitions="5")
    assert sorted(values(rows)) == sorted(values(table))
    assert len(tasks) == (1 if kind == "avro" else 5)
    assert batch(VALUE, format=kind, path=str(inbox), columns="value").num_rows == 3_000


@pytest.mark.parametrize("kind", ["parquet", "feather", "orc", "avro", "csv", "json", "text"])
def test_a_folder_may_be_all_that_is_wanted(kind: str, inbox: Path) -> None:
    folder = inbox / "day=7"
    folder.mkdir()
    write_rows(kind, folder / "f", pa.table({"value": [f"row {number}" for number in range(30)]}))
    assert batch(format=kind, path=str(inbox), columns="day").to_pylist() == [{"day": 7}] * 30


def test_text_is_one_column(inbox: Path, drop: Drop) -> None:
    drop("a", NOW_S)
    with pytest.raises(CorruptRecordError, match="one column, the schema has a, b"):
        batch(pa.schema([pa.field("a", pa.string()), pa.field("b", pa.string())]), format="text", path=str(inbox))


def test_small_files_are_packed_into_few_tasks_and_compressed_ones_are_not_cut(inbox: Path, drop: Drop) -> None:
    for number in range(40):
        drop(f"f{number:02}.gz" if number < 3 else f"f{number:02}", NOW_S, "\n" * 10)
    (inbox / "f00.gz").unlink()
    (inbox / "f01.gz").unlink()
    (inbox / "f02.gz").unlink()
    rows, tasks = batch_and_tasks(format="text", path=str(inbox), parallelism="4")
    assert rows.num_rows == 370
    assert len(tasks) <= 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "xml"}, "'format'.*must be one of"),
        ({}, "'format'.*is required"),
        ({"format": "csv", "path": ""}, "'path'"),
        ({"format": "csv", "path": "[1]"}, "'path'.*JSON list"),
        ({"format": "csv", "path": "/data/[a"}, "'path'.*not closed"),
        ({"format": "csv", "pathGlobFilter": "{a"}, "'pathGlobFilter'.*not closed"),
        ({"format": "csv", "maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1"}, "'maxBytesPerTrigger'.*together"),
        ({"format": "csv", "cleanSource": "archive"}, "'sourceArchiveDir'.*required"),
        ({"format": "csv", "cleanSource": "archive", "sourceArchiveDir": "/data/old"}, "'sourceArchiveDir'.*below"),
        ({"format": "csv", "cleanSource": "archive", "sourceArchiveDir": "s3://b/old"}, "'sourceArchiveDir'.*on the file system"),
        ({"format": "csv", "modifiedAfter": "2024-01-01T00:00:00"}, "'modifiedAfter'.*only for a batch"),
        ({"format": "csv", "maxFilePerTrigger": "1"}, "did you mean 'maxFilesPerTrigger'"),
        ({"format": "csv", "path": "nope://x"}, "'path'.*nope"),
        ({"format": "csv", "columns": "b"}, "'columns'.*given with .schema"),
        ({"format": "csv", "sep": "ab"}, "'sep'.*one character"),
        ({"format": "csv", "storageOptions": "[]"}, "'storageOptions'.*JSON object"),
        ({"format": "csv", "includeMetadata": "true"}, "'includeMetadata'.*_metadata"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said), Query(VALUE, **{"path": "/data", **options}) as query:
        query.step()


def test_a_state_location_must_be_safe() -> None:
    with pytest.raises(StateLocationError):
        Query(VALUE, format="text", path="/data", stateLocation="http://host/x")


def test_secrets_in_storage_options_are_not_shown(inbox: Path) -> None:
    with text(inbox, storageOptions='{"secret":"hush"}') as query:
        assert "hush" not in repr(query._configured)


def write_rows(kind: str, path: Path, table: pa.Table) -> None:
    """Write a table with one column of strings, in many small parts where the format has such."""
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=100)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, str(path), chunksize=100)
    elif kind == "orc":
        pyarrow.orc.write_table(table, str(path), stripe_size=1024, batch_size=64)
    elif kind == "avro":
        schema = {"type": "record", "name": "row", "fields": [{"name": "value", "type": ["null", "string"]}]}
        with path.open("wb") as file:
            fastavro.writer(file, schema, table.to_pylist(), codec="deflate")
    elif kind == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        path.write_text("\n".join(values(table)))
