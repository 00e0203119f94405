"""Schemas of CSV that both readers infer, and what both refuse with FAILFAST: of random files, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, reading
from tests.parity.files.strategies.csv import inferable_records, records_with_a_bad_value
from tests.parity.files.test_csv import TYPED


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preferDate": "false"},
        {"multiLine": "true"},
        {"dateFormat": "yyyy-M-d"},
        {"timestampFormat": "yyyy-MM-dd HH:mm:ss"},
        {"nullValue": "a"},
        {"header": "false"},
    ],
    ids=str,
)
def test_random_files_have_the_schema_that_spark_infers(drawn: DrawnFiles, options: dict[str, str]) -> None:
    how = reading("csv", **{"header": "true", "inferSchema": "true", **options})
    drawn.same(how, inferable_records().map(str.encode), 60, one_by_one=True)


@pytest.mark.parametrize("multi_line", ["false", "true"])
def test_files_without_a_record_have_no_columns(parity: FilesParity, multi_line: str) -> None:
    files = [b"\n", b"\n\n \n", b"a\n", b"\n\na,b\n1,x\n"]
    how = reading("csv", header="true", inferSchema="true", multiLine=multi_line)
    parity.same(how, files, one_by_one=True)


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd HH:mm:ss", "yyyy", "yyyy-MM-dd'T'HH:mm:ssXXX"])
def test_only_texts_that_follow_the_pattern_are_times(parity: FilesParity, pattern: str) -> None:
    texts = ["2024", "2024-1-5", "2024-01-05 10:00:00", "2024-01-05T10:00:00", "2024-01-05T10:00:00+01:00"]
    names = [f"t{at}" for at in range(len(texts))]
    content = "\n".join([",".join(names), ",".join(texts)]).encode()
    how = {"header": "true", "inferSchema": "true", "timestampFormat": pattern}
    parity.same(reading("csv", **how), [content])
    parity.same(reading("csv", preferDate="false", **how), [content])
    parity.same(reading("csv", enableDateTimeParsingFallback="true", **how), [content])


@pytest.mark.timeout(900)
def test_failfast_refuses_what_spark_refuses_and_nothing_else(drawn: DrawnFiles) -> None:
    schema = TYPED.replace(", _corrupt_record string", "")
    how = reading("csv", schema, mode="FAILFAST")
    found = drawn.same(how, records_with_a_bad_value().map(str.encode), 150, one_by_one=True)
    assert 0 < sum(isinstance(each, Failed) for each in found) < 150


@pytest.mark.parametrize("content", [b"k,v\n9,x\n8,y\n", b"v,k,w\nx,9,1.5\n"])
@pytest.mark.parametrize("multi_line", ["false", "true"])
def test_a_column_that_a_folder_hides_keeps_its_place_in_the_records(
    parity: FilesParity, tmp_path: Path, content: bytes, multi_line: str
) -> None:
    path = tmp_path / "k=1" / "a.csv"
    path.parent.mkdir()
    path.write_bytes(content)
    how = reading("csv", header="true", inferSchema="true", mode="FAILFAST", multiLine=multi_line)
    sparks, ours = parity.both_of([path], str(tmp_path), how, streaming=False)
    assert ours == sparks
    assert isinstance(ours[0], list)


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "FAILFAST"])
@pytest.mark.parametrize(
    ("folder", "content", "options"),
    [
        ("k=1", b"a,k\n1,9\n2,8\n", {"header": "true"}),
        ("k=1", b"a,k\n1,9\n2,8\n", {"header": "true", "multiLine": "true"}),
        ("k=1", b"a,k\n1,9\n2,8\n", {"header": "true", "enforceSchema": "false"}),
        ("k=1/l=2", b"a,K,l\n1,2,3\n4,5,6\n", {"header": "true", "inferSchema": "true"}),
        ("k=1", b"k\n9\n8\n", {"header": "true"}),
        ("_c1=1", b"1,2\n3,4\n", {}),
        ("k=1", b"a\n1,9\n2\n", {"header": "true"}),
        ("k=1", b"a,k\n1,9,5\n2,8\n", {"header": "true"}),
        ("k=1", b"a,k,b\n1,9,5,6\n2\n", {"header": "true"}),
    ],
)
def test_a_last_column_that_a_folder_hides_is_a_part_of_its_records(  # noqa: PLR0917 - a case
    parity: FilesParity, tmp_path: Path, mode: str, folder: str, content: bytes, options: dict[str, str]
) -> None:
    path = tmp_path / folder / "f.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    sparks, ours = parity.both_of(
        [path], str(tmp_path), reading("csv", mode=mode, **options), streaming=False
    )
    assert ours == sparks
