"""The files source as a query sees it: offsets, batches and restarts, without Spark."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.core.errors import DataLossError, OffsetError, OptionError, SourceError
from headwater.enumerators.files import seen
from tests.connector.sources.files.files_queries import NOW_S, VALUE, Drop, Query, text, values

pytestmark = pytest.mark.usefixtures("patience")

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


def test_a_plan_that_would_not_fit_into_the_offset_is_cut(
    inbox: Path, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.connector.sources.files.discovery_options._MOST_PLAN_BYTES", 1_000)
    for number in range(20):
        drop(f"{number:03}", NOW_S)
    with text(inbox, available_now=True) as query:
        found: list[str] = []
        while (rows := query.step(limited=False)) is not None:
            found += sorted(values(rows))  # tasks have no order among them
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
        assert values(query.step()) == []
        assert query.step() is None
        lost: Any = query.log[-1]["losses"]
        assert (lost["splits"], lost["rows"]) == (1, 0)
        assert [each["split"] for each in lost["ranges"]] == [f"file://{inbox}/late"]
        os.utime(inbox / "late", (NOW_S - 50_000_000, NOW_S - 50_000_000))
        assert values(query.step()) == ["late"]
        drop("later", NOW_S - 50_000_000 - 10_000)
        query.restart(onLateFile="fail")
        assert query.step() is None, "what was there when the process began cannot be told from what was read"
        drop("latest", NOW_S - 50_000_000 - 10_000)
        with pytest.raises(SourceError, match=r"1 files came too late .*/latest.*touch.*onLateFile=warn"):
            query.step()
        query.restart()
        drop("next", NOW_S - 50_000_001)
        assert values(query.step()) == ["next"]
        assert query.log[-1]["losses"] == lost
    assert "1 files came too late and are not read" in caplog.text
    assert "/late" in caplog.text


def test_before_a_file_inside_the_window_would_be_forgotten_the_query_stops_and_goes_on_with_a_state_location(
    inbox: Path, drop: Drop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "INLINE_FILES", 10)
    monkeypatch.setattr(seen, "SPILL_FILES", 10)
    with text(inbox) as query:
        query.step()
        found: list[str] = []
        for number in range(10):
            drop(f"f{number}", NOW_S - 40_000_000 + number)
            found += values(query.step())
        drop("f10", NOW_S - 40_000_000 + 10)
        with pytest.raises(OptionError, match=r"'stateLocation'.*11 files.*maxFileAge"):
            query.step()
        query.restart(stateLocation=str(tmp_path / "state"))
        for number in range(10, 50):
            drop(f"f{number}", NOW_S - 40_000_000 + number)
            found += values(query.step())
        assert sorted(found) == sorted(f"f{number}" for number in range(50))
        drop("late", NOW_S - 40_000_000 - 1_000)
        assert values(query.step()) == ["late"]
        assert len(str(query.log[-1]["state"])) < 1_500
        query.restart()
        assert query.step() is None
        query.restart(maxFileAge="10s")
        drop("f100", NOW_S - 40_000_000 + 100)
        assert values(query.step()) == ["f100"]
        assert "spilled" not in cast("dict[str, Any]", query.log[-1]["state"])


@pytest.mark.parametrize("which", ["inline", "window_cut", "spilled"])
def test_offsets_of_an_earlier_version_go_on(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written by the version before: six files; in two of the samples only four names fitted.

    The window that version cut short stays cut: what it forgot is reported, and not read twice.
    """
    fs = fsspec.filesystem("memory")
    monkeypatch.setattr(type(fs), "store", {})

    def put(name: str, at_s: int) -> None:
        fs.pipe(f"/earlier/{name}", f"{name}\n".encode())
        fs.store[f"/earlier/{name}"].created = datetime.fromtimestamp(at_s, UTC)

    for number in range(6):
        put(f"f{number}", 1_700_000_000 + number)
    sample = Path(__file__).parent / "earlier_offsets"
    options: dict[str, Any] = {}
    if which == "spilled":
        options["stateLocation"] = str(shutil.copytree(sample / "state", tmp_path / "state"))
    with Query(VALUE, format="text", path="memory://earlier", **options) as query:
        query.log += [json.loads(line) for line in (sample / f"{which}.jsonl").read_text().splitlines()]
        assert sorted(values(query.replay())) == ["f3", "f4", "f5"]
        assert query.step() is None
        put("f9", 1_700_000_009)
        put("f2-late", 1_700_000_002)
        assert sorted(values(query.step())) == ["f2-late", "f9"]
        monkeypatch.setattr(seen, "INLINE_FILES", 4)
        monkeypatch.setattr(seen, "SPILL_FILES", 4)
        query.restart(stateLocation=str(tmp_path / "state"))
        assert query.step() is None
        put("f10", 1_700_000_010)
        assert values(query.step()) == ["f10"]
        query.restart()
        assert query.step() is None
        state = cast("dict[str, Any]", query.log[-1]["state"])
        assert all(name.startswith(state["query"]) for name, _ in state["spilled"][-1:])


def test_a_burst_of_equal_times_is_refused_or_kept_at_the_state_location(
    inbox: Path, drop: Drop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "INLINE_FILES", 10)
    monkeypatch.setattr(seen, "SPILL_FILES", 10)
    for number in range(25):
        drop(f"f{number:02}", NOW_S)
    with (
        text(inbox, available_now=True) as query,
        pytest.raises(OptionError, match=r"'stateLocation': is needed.*25 files"),
    ):
        query.step()
    with text(
        inbox, maxFilesPerTrigger="7", available_now=True, stateLocation=str(tmp_path / "state")
    ) as query:
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
    monkeypatch.setattr(seen, "SPILL_FILES", 10)
    for number in range(11):
        drop(f"f{number:02}", NOW_S + number)
    with (
        text(inbox, latestFirst="true") as query,
        pytest.raises(OptionError, match="11 files wait, and only 10"),
    ):
        query.step()
    (inbox / "f00").unlink()
    with text(inbox, latestFirst="true", maxFilesPerTrigger="3") as query:
        assert [values(query.step())[0] for _ in range(4)] == ["f10", "f07", "f04", "f01"]


def test_a_changed_file_is_an_error_or_ignored_or_read_again(
    inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture
) -> None:
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


def follow(query: Query, error: Exception) -> None:
    """Set the options that a message names, as it writes them, and start the query again."""
    named = dict(re.findall(r"\b([a-z]+[A-Z]\w*)=(\w+)", str(error)))
    assert {"ignoreMissingFiles", "onChange"} <= named.keys()
    query.restart(ignoreMissingFiles="true", onChange="read")


def test_the_message_about_a_file_that_was_appended_to_names_the_whole_way_out(
    inbox: Path, drop: Drop
) -> None:
    """Between planning and reading, and between batches, and again while that is mended."""
    drop("a", NOW_S, "one\n")
    drop("b", NOW_S, "b\n")
    with text(inbox) as query:
        query.step()
        drop("a", NOW_S + 1, "one\ntwo\n")
        with pytest.raises(DataLossError, match=r"4 bytes then, 8 now.*in/a") as planned:
            query.replay()
        follow(query, planned.value)
        assert values(query.replay()) == ["b"]
        assert values(query.step()) == ["one", "two"]
        assert query.step() is None
    with text(inbox) as query:
        assert sorted(values(query.step())) == ["b", "one", "two"]
        drop("a", NOW_S + 2, "one\ntwo\nthree\n")
        with pytest.raises(SourceError, match=r"changed after it was read.*in/a") as between:
            query.step()
        follow(query, between.value)
        assert values(query.step()) == ["one", "two", "three"]
        drop("a", NOW_S + 3, "one\ntwo\nthree\nfour\n")
        assert values(query.replay()) == []
        assert values(query.step()) == ["one", "two", "three", "four"]


def test_skipped_files_are_counted_and_named_in_the_progress(inbox: Path, tmp_path: Path) -> None:
    column = pa.schema([pa.field("c", pa.int64())])
    for name in ("a", "b"):
        pq.write_table(pa.table({"c": [1]}), inbox / f"{name}.parquet")
    (inbox / "damaged.parquet").write_bytes(b"no parquet file")
    how: Any = {"ignoreCorruptFiles": "true", "ignoreMissingFiles": "true"}
    with Query(column, format="parquet", path=str(inbox), **how) as query:
        found = query.step()
        assert found is not None
        assert found.num_rows == 2
        (inbox / "a.parquet").unlink()
        assert query.replay().num_rows == 1
        assert query.replay().num_rows == 1
        pq.write_table(pa.table({"c": [2]}), inbox / "c.parquet")
        query.step()
        lost: Any = query.log[-1]["losses"]
        sizes = {each["split"].rpartition("/")[2]: each["until"] for each in lost["ranges"]}
        assert set(sizes) == {"a.parquet", "damaged.parquet"}
        assert sizes["damaged.parquet"] == len(b"no parquet file")
        assert (lost["rows"], lost["at_least_rows"]) == (0, sum(sizes.values()))


def test_what_is_skipped_while_it_is_decoded_is_counted_too(inbox: Path, drop: Drop) -> None:
    """In blocks that come behind the one with the damage, too."""
    rows = "a,b\n" * 300_000
    drop("damaged", NOW_S, rows + "a,too long\n" + rows)
    schema = pa.schema([pa.field("a", pa.string()), pa.field("b", pa.string())])
    how: Any = {"format": "csv", "maxCharsPerColumn": "4", "ignoreCorruptFiles": "true", "parallelism": "1"}
    with Query(schema, path=str(inbox), **how) as query:
        found = query.step()
        assert found is not None
        assert found.num_rows == 300_000
        drop("good", NOW_S + 1, "a,b\n")
        query.step()
        lost: Any = query.log[-1]["losses"]
        assert [each["until"] for each in lost["ranges"]] == [2 * len(rows) + len("a,too long\n")]


def test_the_skipped_end_of_a_compressed_file_is_counted_though_more_than_its_size_was_read(
    inbox: Path,
) -> None:
    whole = gzip.compress("".join(f"{at}\n" for at in range(100_000)).encode())
    (inbox / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with text(inbox, ignoreCorruptFiles="true") as query:
        assert len(values(query.step())) > 10_000
        (inbox / "good").write_text("x")
        query.step()
        lost: Any = query.log[-1]["losses"]
        assert [each["until"] - each["first"] for each in lost["ranges"]] == [1]
        assert lost["at_least_rows"] == 1


def test_a_file_that_vanished_or_changed_under_a_planned_batch(
    inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture
) -> None:
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


def test_a_file_that_changed_since_it_was_read_is_not_deleted(
    inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture
) -> None:
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


def test_each_content_of_a_path_that_is_written_again_and_again_stays_in_the_archive(
    inbox: Path, drop: Drop, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    below = archive / str(inbox).lstrip("/")
    options = {"cleanSource": "archive", "sourceArchiveDir": str(archive), "onChange": "read"}
    with text(inbox, **options) as query:
        assert values(query.step()) == []
        contents = ["one\n", "two\n", "three\n", "two\n"]
        for number, content in enumerate(contents):
            drop("daily.csv.gz", NOW_S + number, gzip.compress(content.encode(), mtime=0).decode("latin-1"))
            (inbox / "daily.csv.gz").write_bytes(gzip.compress(content.encode(), mtime=0))
            os.utime(inbox / "daily.csv.gz", (NOW_S + number, NOW_S + number))
            query.restart(available_now=True)
            assert values(query.step()) == [content.rstrip()]
            assert query.step() is None, "this commits the batch, and waits for the archive"
            assert list(inbox.iterdir()) == []
    names = sorted(path.name for path in below.iterdir())
    kept = sorted(gzip.decompress(path.read_bytes()).decode() for path in below.iterdir())
    assert names[-1] == "daily.csv.gz"
    assert all(re.fullmatch(r"daily\.[0-9a-f]{8}\.csv\.gz", name) for name in names[:-1])
    assert kept == sorted(contents), "the fourth is another version than the second"
