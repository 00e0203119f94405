"""The columns of a query on files: of the files, of their folders, and about them; inferred and given."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from headwater.core.errors import CorruptRecordError, OptionError, SourceError, UnknownSplitError
from headwater.core.source import Boundedness
from headwater.testing.making import configured
from tests.connector.sources.files.files_queries import (
    NOW_S,
    VALUE,
    Drop,
    Query,
    batch,
    configure,
    text,
    values,
)

pytestmark = pytest.mark.usefixtures("patience")


def test_folders_are_columns_and_so_is_what_is_known_of_the_file(inbox: Path, drop: Drop) -> None:
    drop("year=2024/name=a%20b/x.csv", NOW_S, "1\n")
    drop("year=2025/name=__HIVE_DEFAULT_PARTITION__/x.csv", NOW_S, "2\n")
    rows = batch(
        format="csv",
        path=str(inbox),
        inferSchema="true",
        includeMetadata="true",
        columns="_c0,year,name,_metadata",
    )
    assert sorted(zip(*(rows.column(at).to_pylist() for at in range(3)), strict=True)) == [
        (1, 2024, "a b"),
        (2, 2025, None),
    ]
    about: Any = rows.column("_metadata").to_pylist()[0]
    assert about["file_path"] == f"file:{inbox}/year={rows.column('year')[0]}/name=a%2520b/x.csv"
    assert (
        about["file_name"],
        about["file_size"],
        about["file_block_start"],
        about["file_block_length"],
    ) == ("x.csv", 2, 0, 2)
    assert int(about["file_modification_time"].timestamp()) == NOW_S
    assert batch(format="csv", path=str(inbox), recursiveFileLookup="true").column_names == ["_c0"]
    wrong = pa.schema([pa.field("n", pa.int64()), pa.field("name", pa.int32())])
    with pytest.raises(CorruptRecordError, match="name=a%20b is no int32"):
        batch(wrong, format="csv", path=f"{inbox}/year=2024")


def test_several_paths_patterns_and_name_filters(inbox: Path, drop: Drop) -> None:
    for name in ("a/x.txt", "b/y.txt", "c/z.log"):
        drop(name, NOW_S)
    assert sorted(values(batch(format="text", path=json.dumps([f"{inbox}/a", f"{inbox}/c"])))) == [
        "a/x.txt",
        "c/z.log",
    ]
    assert values(batch(format="text", paths=json.dumps([f"{inbox}/{{b,d}}/*.txt"]))) == ["b/y.txt"]
    assert values(batch(format="text", path=f"{inbox}/*", pathGlobFilter="*.log")) == ["c/z.log"]
    assert values(batch(format="text", path=f"file:{inbox}/a/x.txt")) == ["a/x.txt"]
    assert (
        values(
            batch(
                format="text",
                path=str(inbox),
                recursiveFileLookup="true",
                modifiedBefore="1999-01-01T00:00:00Z",
            )
        )
        == []
    )
    with pytest.raises(UnknownSplitError, match="no such file"):
        batch(VALUE, format="text", path=f"{inbox}/nowhere")
    with pytest.raises(OptionError, match=r"'path'.*b more than once.*Name it once"):
        batch(VALUE, format="text", path=json.dumps([f"{inbox}/a", f"{inbox}/b", f"{inbox}/b/"]))


def test_times_of_files_without_a_zone_are_those_of_the_option(inbox: Path, drop: Drop) -> None:
    drop("a.txt", NOW_S)
    local = datetime.fromtimestamp(NOW_S - 3600, ZoneInfo("Europe/Paris")).replace(tzinfo=None)
    for hours, found in ((0, ["a.txt"]), (2, [])):
        after = (local + timedelta(hours=hours)).isoformat()
        for zone in ("Europe/Paris", "+01:00"):
            given = {"format": "text", "path": str(inbox), "timeZone": zone, "modifiedAfter": after}
            assert values(batch(VALUE, **given)) == found


def test_a_schema_is_inferred_from_the_files_that_are_read_or_a_zone_is_asked_for(
    inbox: Path, drop: Drop
) -> None:
    drop("a.json", NOW_S - 3 * 86_400, '{"old":1}\n')
    drop("b.json", NOW_S, '{"new":1}\n')
    before = datetime.fromtimestamp(NOW_S - 86_400, UTC)
    given = {"format": "json", "path": str(inbox)}
    assert batch(None, **given, modifiedAfter=before.isoformat()).to_pylist() == [{"new": 1}]
    local = configure(given | {"modifiedAfter": f"{before:%FT%T}"}, Boundedness.BOUNDED)
    assert local.source.schema().names == ["new"]
    unsure = datetime.fromtimestamp(NOW_S - 3_600, UTC)
    with pytest.raises(OptionError, match=r"'timeZone': is required.*b\.json.*modifiedAfter"):
        batch(None, **given, modifiedAfter=f"{unsure:%FT%T}")


def test_an_inferred_schema_is_kept_in_the_offset(inbox: Path, drop: Drop) -> None:
    drop("a.json", NOW_S, '{"x":1}\n')
    with Query(format="json", path=str(inbox)) as query:
        query.step()
        drop("b.json", NOW_S - 1, '{"x":"text","y":2}\n')
        query.restart()
        with pytest.raises(
            OptionError, match=r"began with the inferred schema `x` bigint; .* now is `x` string, `y` bigint"
        ):
            query.step()
        query.restart(pa.schema([pa.field("x", pa.int64())]))
        assert query.step().to_pylist() == [{"x": None}]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "what comes later is not looked at"),
        (
            {"schemaEvolutionMode": "addNewColumns", "schemaName": "inbox"},
            "of later ones only new columns are looked at (schemaEvolutionMode)",
        ),
    ],
)
def test_an_inferred_schema_says_whether_it_looks_at_what_comes_later(
    inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture, more: dict[str, str], said: str
) -> None:
    drop('{"x": 1}', NOW_S)
    options = {"path": str(inbox), "format": "json", "stateLocation": str(inbox.parent / "state"), **more}
    configured("files", options, Boundedness.CONTINUOUS_UNBOUNDED)
    assert f"inferred from 1 files of 1 that were listed; {said}: x int64" in caplog.text


def test_other_paths_after_a_restart_are_warned_of(
    inbox: Path, drop: Drop, caplog: pytest.LogCaptureFixture
) -> None:
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
    with pytest.raises(
        CorruptRecordError, match=r"'n' is string in this file and int64 in the schema.*f\.parquet"
    ):
        batch(pa.schema([pa.field("n", pa.int64())]), format="parquet", path=str(inbox))
    rows = batch(
        pa.schema([pa.field("s", pa.string())]).append(pa.field("gone", pa.int32())),
        format="parquet",
        path=str(inbox),
    )
    assert rows.to_pylist() == [{"s": "y", "gone": None}]
    (inbox / "f.parquet").write_text("no parquet at all")
    with pytest.raises(CorruptRecordError, match=r"no parquet file.*f\.parquet"):
        batch(pa.schema([pa.field("n", pa.int64())]), format="parquet", path=str(inbox))
