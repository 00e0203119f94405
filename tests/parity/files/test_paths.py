"""Which files are read, beside Spark's own readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parity.files.files_parity import Failed, FilesParity, reading

TEXT = reading("text", "value string")
HIDDEN = (
    "_a.txt",
    ".b.txt",
    "c.txt",
    "_d=1.txt",
    "e._COPYING_",
    "_metadata",
    "k=1/f.txt",
    "k=1/_g.txt",
    "_h=2/i.txt",
)


@pytest.mark.parametrize("streaming", [False, True])
def test_files_that_are_hidden_from_spark_are_hidden(
    parity: FilesParity, tmp_path: Path, *, streaming: bool
) -> None:
    folders = (
        ("plain", "", HIDDEN[:6]),
        ("columns", ", k int", HIDDEN[6:8]),
        ("odd", ", _h int", HIDDEN[8:]),
    )
    for folder, column, names in folders:
        paths = [tmp_path / folder / name for name in names]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(path.name.encode())
        how = reading("text", f"value string{column}")
        sparks, ours = parity.both_of(paths, str(tmp_path / folder), how, streaming=streaming)
        assert ours == sparks
        assert folder == "odd" or any(sparks)


def test_a_file_that_several_paths_select_differs(parity: FilesParity) -> None:
    spark, ours = parity.differs(
        "a file that several paths select", TEXT, b"x", at="k=1/a.txt", paths=["k=1", "k=1/a.txt"]
    )
    assert (spark, ours) == ([("x",), ("x",)], [("x",)])


def test_a_file_beside_folders_of_columns_differs(parity: FilesParity) -> None:
    how = reading("csv", "value string, k int")
    spark, ours = parity.differs("a file beside folders of columns", how, b"x", at="a.txt")
    assert (spark, ours) == ([], [("x", None)])


def test_columns_of_folders_beside_a_given_schema_differ(parity: FilesParity) -> None:
    with pytest.raises(
        AssertionError, match=r"(?s)Spark: struct<value:string,k:int>.*ours:  struct<value:string>"
    ):
        parity.differs("columns of folders beside a given schema", TEXT, b"x", at="k=1/a.txt")


def test_times_of_files_without_a_zone_differ(parity: FilesParity) -> None:
    how = reading("text", "value string", modifiedAfter="2020-01-01T00:00:00")
    spark, ours = parity.differs("times of files without a zone", how, b"x")
    assert spark == [("x",)]
    assert isinstance(ours, Failed)
    assert "timeZone" in ours.said


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_schema_from_empty_files_differs(parity: FilesParity, kind: str) -> None:
    spark, ours = parity.differs("a schema from empty files", reading(kind, None), b"")
    assert spark == []
    assert isinstance(ours, Failed)
    assert "no file with anything in it is there" in ours.said


def test_names_of_other_languages_differ(parity: FilesParity) -> None:
    how = reading("csv", "d date", locale="fr-FR", dateFormat="d MMMM yyyy")
    spark, ours = parity.differs(
        "names and numbers of other languages", how, "5 f\u00e9vrier 2024\n".encode()
    )
    assert spark == [(19758,)]
    assert isinstance(ours, Failed)
    assert "option 'locale'" in ours.said
