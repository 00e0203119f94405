"""``headwater try`` on queries of Spark's own file source, whose log names the files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from headwater.core.errors import AuthorizationError, OptionError
from headwater.tools.commands.checkpoint_folder import LocalFolder
from headwater.tools.commands.main import main
from headwater.tools.commands.trial.batches import last_batches
from headwater.tools.commands.trial.files_trial import base_folder, logged_files, present_files
from tests.tools.commands.trial.sparks_queries import SparksQuery, content

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id int, name string, day string"


def test_files_of_a_query_are_the_same_and_a_planted_difference_is_found(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in put"
    (source / "day=1").mkdir(parents=True)
    for number in range(11):
        lines = "".join(f"{number * 10 + each},n{each}\n" for each in range(10))
        (source / "day=1" / f"a {number}.csv").write_text(lines)
    query = SparksQuery(
        spark, "csv", {"path": source, "maxFilesPerTrigger": 1}, tmp_path / "checkpoint", SCHEMA
    )
    query.run()
    # The log of files is compacted every ten batches: old files stand there alone.
    assert (query.checkpoint / "sources" / "0" / "9.compact").exists()
    names = logged_files(last_batches(LocalFolder(query.checkpoint), 100), "0")
    assert sorted(Path(each).name for each in names) == sorted(f"a {n}.csv" for n in range(11))
    before = content(query.checkpoint)
    (source / "day=1" / "a 10.csv").unlink()
    assert query.try_it("--schema", SCHEMA, "--batches", "100", format="csv") == 0
    said = capsys.readouterr().out
    assert "a 10.csv: the file is not there" in said
    assert "all columns of the files: 100 rows, the same" in said
    assert '.format("csv")  ->  .format("headwater").option("source", "files")' in said
    assert content(query.checkpoint) == before

    # Spark takes digits of every script for a number, as docs/files-differences.md has it.
    (source / "day=1" / "late.csv").write_text("\u0663,three\n")
    query.run()
    assert query.try_it("--schema", SCHEMA, "--batches", "1", format="csv") == 1
    said = capsys.readouterr().out
    assert "NOT the same" in said
    assert "late.csv" in said
    assert "1 of headwater alone: id=null, name='three', day='1'" in said

    assert query.try_it("--schema", SCHEMA) == 1
    assert "'format'" in capsys.readouterr().err


def test_a_file_that_may_not_be_seen_is_not_called_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "a b.csv"
    there.touch()
    found = present_files((str(there), str(tmp_path / "none.csv"), "memory://none/[1].csv"), {})
    assert found.files == (str(there),)
    assert [text.rpartition(": ")[2] for text in found.gone] == [
        "the file is not there",
        "its name would be taken for a pattern",
    ]

    def refuse(*_arguments: object, **_more: object) -> None:
        raise PermissionError("Forbidden")

    monkeypatch.setattr(MemoryFileSystem, "info", refuse)
    with pytest.raises(AuthorizationError, match="permission to list and read is missing"):
        present_files(("memory://hidden/a.csv",), {})
    with pytest.raises(OptionError, match="Protocol not known"):
        present_files(("nowhere://hidden/a.csv",), {})


@pytest.mark.parametrize(
    ("options", "base"),
    [
        ({}, None),
        ({"path": "/data/in"}, "/data/in"),
        ({"path": "file:///data/"}, "file:///data/"),
        ({"path": "/data/*"}, None),
        ({"path": "/data/in", "basepath": "/data"}, None),
        ({"path": "/data/in/a.csv"}, None),
    ],
)
def test_names_of_folders_are_columns_below_the_folder_of_the_query(
    options: dict[str, str], base: str | None
) -> None:
    assert base_folder(options, ("/data/in/a.csv",)) == base


def test_a_folder_in_which_the_files_do_not_lie_is_refused() -> None:
    with pytest.raises(OptionError, match="option 'path': '/data/i' is not the folder of these files"):
        base_folder({"path": "/data/i"}, ("/data/in/a.csv",))


def test_a_source_with_a_name_is_tried_from_a_checkpoint_on_any_file_system(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if pyspark.__version__.startswith("4.2."):
        pytest.skip("Spark 4.2 logs the numbers of sources, whatever their names")
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.csv").write_text("1,one,mon\n")
    checkpoint = tmp_path / "checkpoint"
    SparksQuery(spark, "csv", {"path": source}, checkpoint, SCHEMA, name="files_in").run()
    memory = MemoryFileSystem()
    memory.put(str(checkpoint), "/named", recursive=True)
    arguments = ["-o", "format=csv", "-o", f"path={source}", "--schema", SCHEMA, "--rounds", "1"]
    assert main(["try", "memory://named", "--source", "files_in", *arguments]) == 0
    assert "all columns of the files: 1 rows, the same" in capsys.readouterr().out
    memory.rm("/named", recursive=True)
