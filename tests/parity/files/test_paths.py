"""Which files are read, beside Spark's own readers."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.parity.files.files_parity import Failed, FilesParity, Outcome, Reading, Row, reading

TEXT = reading("text", "value string")
ZONE = "spark.sql.session.timeZone"
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
    *("m=1/sub/n.txt", "m=1/o.txt", "m=1/_sub/p.txt", "m=1/._COPYING_/q.txt", ".m=1/r.txt"),
    "s/n=1/t.txt",
)


@pytest.mark.parametrize("streaming", [False, True])
def test_files_that_are_hidden_from_spark_are_hidden(
    parity: FilesParity, tmp_path: Path, *, streaming: bool
) -> None:
    folders = (
        ("plain", "", HIDDEN[:6]),
        ("columns", ", k int", HIDDEN[6:8]),
        ("odd", ", _h int", HIDDEN[8:9]),
        ("deep", ", m int", HIDDEN[9:14]),
        ("below", ", n int", HIDDEN[14:15]),
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


def test_all_that_is_in_a_folder_of_columns_is_read_with_a_base_path(
    parity: FilesParity, tmp_path: Path
) -> None:
    paths = [tmp_path / "k=1" / name for name in ("a.txt", "sub/b.txt", "_c/d.txt")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    how = reading("text", "value string, k int", basePath=str(tmp_path))
    sparks, ours = parity.both_of(paths, str(tmp_path / "k=1"), how, streaming=False)
    assert ours == sparks == [[("x", 1)], [("x", 1)], []]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("timestamp", ["2024-07-01 10%3A00%3A00.5", "2024-1-5", "2024", "2024-03-31 2:30:0"]),
        ("timestamp", ["2024-01-01T10:00:00Z", "2024-01-01 1:2:3.1234567+09:00"]),
        ("timestamp_ntz", ["2024-07-01 10%3A00%3A00", "2024-1-5"]),
        ("date", ["2024-1-5", "2024", "2024-02-03 10%3A00"]),
        ("decimal(5,2)", ["1", "1.555", "-1.5e1", "30000", "__HIVE_DEFAULT_PARTITION__"]),
        ("boolean", ["true", "FALSE"]),
        (None, ["2024-01-01", "2024-07-01 10%3A00%3A00"]),
    ],
)
def test_values_of_folders_are_those_of_spark_in_the_zone_of_the_session(
    parity: FilesParity, tmp_path: Path, kind: str | None, values: list[str]
) -> None:
    paths = [tmp_path / f"k={value}" / f"{at}.txt" for at, value in enumerate(values)]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(b"x")
    how = reading("text", f"value string, k {kind}" if kind else None)
    with parity.settings.such(ZONE, "Europe/Paris"):
        sparks, ours = parity.both_of(paths, str(tmp_path), how, streaming=False)
    assert not isinstance(sparks[0], Failed)
    assert ours == sparks


def both_below(
    parity: FilesParity, folder: Path, names: Sequence[str], how: Reading, *, below: Sequence[str] = ("",)
) -> tuple[Outcome, Outcome]:
    """Return what both make of the first file, after a proof that they make the same of all."""
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    sparks, ours = parity.both_of(paths, [str(folder / root) for root in below], how, streaming=False)
    assert ours == sparks
    return sparks[0], ours[0]


@pytest.mark.parametrize("schema", [None, "value string, k int"])
@pytest.mark.parametrize(
    ("names", "below", "says"),
    [
        (["a/k=1/f.txt", "b/k=2/g.txt"], ["a", "b"], "and elsewhere: "),
        (["a/k=1/f.txt", "b/k=2/g.txt"], [""], "and elsewhere: "),
        (["a/k=1/f.txt", "b/k=2/g.txt"], ["*"], "and elsewhere: "),
        (["a/f.txt", "b/k=2/g.txt"], ["a", "b"], "and elsewhere: "),
        (["k=1/f.txt", "sub/g.txt"], [""], "and elsewhere: "),
        (["k=1/f.txt", "k=1/l/g.txt", "sub/n/h.txt"], [""], "and elsewhere: "),
        (["k=1/f.txt", "l=2/g.txt"], [""], "folders of other columns: k and l"),
        (["k=1/f.txt", "k=1/l=2/g.txt"], [""], "folders of other columns: k and k, l"),
        (["k=1/K=2/f.txt"], [""], "the folders k=1/K=2 are called alike but for case"),
        (["=1/f.txt"], [""], "a folder =1 has no name"),
        (["k=1/=1/f.txt"], [""], "a folder =1 has no name"),
        (["k=/f.txt"], [""], "a folder k= has no value"),
    ],
)
def test_folders_that_are_no_columns_of_one_table_are_refused_as_in_spark(  # noqa: PLR0917 - a case
    parity: FilesParity, tmp_path: Path, names: list[str], below: list[str], says: str, schema: str | None
) -> None:
    _, ours = both_below(parity, tmp_path, names, reading("text", schema), below=below)
    assert isinstance(ours, Failed)
    assert re.search(says, ours.said)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("k=1/sub/l=2/f.txt", ("x", 2)),
        ("k=1/l=2/sub/f.txt", ("x", 1, 2)),
        ("k==1/f.txt", ("x", "=1")),
        ("k%20=1/f.txt", ("x", 1)),
        ("k%3Dl=1/f.txt", ("x", 1)),
        ("k%zz=%C3%A9/f.txt", ("x", "\u00c3\u00a9")),
    ],
)
def test_columns_of_folders_are_those_of_spark(
    parity: FilesParity, tmp_path: Path, name: str, row: Row
) -> None:
    assert both_below(parity, tmp_path, [name], reading("text"))[1] == [row]


def test_a_stream_reads_a_folder_with_an_escape_in_its_key_as_spark_does(
    parity: FilesParity, tmp_path: Path
) -> None:
    path = tmp_path / "in" / "k%20=1" / "f.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    how = reading("text", "value string, `k ` int")
    sparks, ours = parity.both_of([path], str(tmp_path / "in"), how, streaming=True)
    assert ours == sparks == [[("x", 1)]]


def test_a_pattern_that_matches_nothing_fails_in_a_batch_as_in_spark(
    parity: FilesParity, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    for pattern, fails in (("b*", True), ("e*", False), ("?.txt", False)):
        sparks, ours = parity.both_of([tmp_path / "a.txt"], f"{tmp_path}/{pattern}", TEXT, streaming=False)
        assert ours == sparks
        assert isinstance(ours[0], Failed) == fails
    _, ours = parity.both_of([tmp_path / "a.txt"], f"{tmp_path}/b*", TEXT, streaming=True)
    assert ours == [[]]


def test_a_file_that_several_paths_select_differs(parity: FilesParity) -> None:
    spark, ours = parity.differs(
        "a file that several paths select", TEXT, b"x", at="k=1/a.txt", paths=["k=1", "k=1/a.txt"]
    )
    assert (spark, ours) == ([("x",), ("x",)], [("x",)])


def test_a_file_beside_folders_of_columns_differs(parity: FilesParity) -> None:
    how = reading("csv", "value string, k int")
    beside = {"k=1/other.csv": b"x"}
    spark, ours = parity.differs("a file beside folders of columns", how, b"x", at="a.txt", beside=beside)
    assert (spark, ours) == ([], [("x", None)])


def test_columns_of_folders_beside_a_given_schema_differ(parity: FilesParity) -> None:
    with pytest.raises(
        AssertionError, match=r"(?s)Spark: struct<value:string,k:int>.*ours:  struct<value:string>"
    ):
        parity.differs("columns of folders beside a given schema", TEXT, b"x", at="k=1/a.txt")


def changed_at(path: Path, second: int) -> Path:
    path.write_bytes(path.name.encode())
    os.utime(path, (second, second))
    return path


def test_times_of_files_without_a_zone_are_of_the_session(parity: FilesParity, tmp_path: Path) -> None:
    ten = 1_720_000_800  # 2024-07-03 10:00:00 UTC
    paths = [changed_at(tmp_path / f"{hour}.txt", ten + hour * 3600) for hour in range(-3, 4)]
    for option in ("modifiedAfter", "modifiedBefore"):
        how = reading("text", "value string", **{option: "2024-07-03T10:00:00"})
        sparks, ours = parity.both_of(paths, str(tmp_path), how, streaming=False)
        assert ours == sparks
        assert sum(map(bool, ours)) == 3


def test_times_of_files_differ_where_the_zone_is_not_utc(parity: FilesParity) -> None:
    # Half an hour after the file was written: 12:46:40 in Paris.
    how = reading("text", "value string", modifiedAfter="2024-07-03T13:16:40")
    with parity.settings.such(ZONE, "Europe/Paris"):
        assert parity.differs("times of files in a zone", how, b"x") == ([("x",)], [])


ONE_TIME = {
    "csv": b"2024-07-03T12:46:40\n",
    "json": b'{"t": "2024-07-03T12:46:40"}\n',
    "text": b"x",
}


@pytest.mark.parametrize("zone", ["Europe/Paris", "GMT-03:30"])
@pytest.mark.parametrize("kind", ["csv", "json", "text"])
def test_times_without_a_zone_have_that_of_the_jvm_where_nobody_has_set_one(
    parity: FilesParity, tmp_path: Path, kind: str, zone: str
) -> None:
    column = "value string" if kind == "text" else "t timestamp"
    path = tmp_path / "at=2024-01-01 12%3A00%3A00" / "a"
    path.parent.mkdir()
    path.write_bytes(ONE_TIME[kind])
    with parity.settings.such(ZONE, None), parity.settings.java_zone(zone):
        sparks, ours = parity.both_of(
            [path], str(tmp_path), reading(kind, f"{column}, at timestamp"), streaming=False
        )
    assert ours == sparks
    assert not isinstance(ours[0], Failed)
    assert len(ours[0]) == 1


def test_a_schema_from_files_of_a_time_without_a_zone_differs(parity: FilesParity) -> None:
    how = reading("csv", None, modifiedAfter="2024-07-03T09:00:00")
    spark, ours = parity.differs("a schema by times without a zone", how, b"1")
    assert spark == [("1",)]
    assert isinstance(ours, Failed)
    assert "modifiedAfter" in ours.said


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
