"""CSV and JSON.

Rows do not depend on where tasks and blocks begin, and bad records do what the mode says.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from headwater.core.errors import CorruptRecordError
from headwater.readers.files import line_format
from headwater.readers.files.lines import UniversalEnds
from headwater.readers.files.text_settings import CsvSettings, RecordSettings
from headwater.readers.formats.csv.csv_settings import CsvDialect
from tests.readers.files.reading import infer, read, settings

BORDERS = st.lists(st.integers(1, 400), max_size=4)
ENDS = st.sampled_from(["\n", "\r\n"])
WORD = st.text("ab é\"',;\\\t", max_size=6)
ANY = examples(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60
)
_FIELDS: list[pa.Field[Any]] = [pa.field("n", pa.int64()), pa.field("s", pa.string())]
PAIR = pa.schema(_FIELDS)
KEPT = PAIR.append(pa.field("_corrupt_record", pa.string()))
BAD_JSON = ["{", "[1]", '{"n":"x"}', "", "  ", '{"n":\n3}', '{"s":{"a":1}\n,"n":4}', "4"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small file has many."""
    monkeypatch.setattr(line_format.line_blocks, "__defaults__", (UniversalEnds(), 16))


@ANY
@given(
    rows=st.lists(st.tuples(st.integers(-9, 10**12), WORD), max_size=10),
    end=ENDS,
    last=st.booleans(),
    header=st.booleans(),
    mark=st.booleans(),
    borders=BORDERS,
)
def test_csv_is_its_records_whatever_the_borders(
    *,
    rows: list[tuple[int, str]],
    end: str,
    last: bool,
    header: bool,
    mark: bool,
    borders: list[int],
    tmp_path: Path,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([("x", "y")] * header + list(rows))
    data = text.getvalue() if last else text.getvalue().removesuffix(end)
    (tmp_path / "f").write_bytes((b"\xef\xbb\xbf" if mark and data else b"") + data.encode())
    how = CsvSettings(header=header, dialect=CsvDialect(escape='"'))
    found = read(tmp_path / "f", settings("csv", PAIR, csv=how), borders)
    assert [(row["n"], row["s"]) for row in found] == [(n, s or None) for n, s in rows]


@ANY
@given(
    rows=st.lists(
        st.one_of(st.integers(0, 99), st.just("bad"), st.just('"open'), st.just("a,b,c"), st.just('"x\ny"')),
        max_size=10,
    ),
    borders=BORDERS,
)
def test_bad_csv_lines_are_the_same_rows_whatever_the_borders(
    rows: list[Any], borders: list[int], tmp_path: Path
) -> None:
    (tmp_path / "f").write_text(
        "".join(f"{row},ok\n" if isinstance(row, int) else f"{row}\n" for row in rows)
    )
    how = settings("csv", KEPT)
    found = read(tmp_path / "f", how, borders)
    assert found == read(tmp_path / "f", how)
    good = [row["n"] for row in found if row["_corrupt_record"] is None]
    assert good == [row for row in rows if isinstance(row, int)]
    bad = [row["_corrupt_record"] for row in found if row["_corrupt_record"] is not None]
    assert bad == [line for row in rows if not isinstance(row, int) for line in row.split("\n")]


@ANY
@given(
    rows=st.lists(st.one_of(st.tuples(st.integers(), WORD), st.sampled_from(BAD_JSON)), max_size=10),
    borders=BORDERS,
)
def test_json_is_its_lines_whatever_the_borders(rows: list[Any], borders: list[int], tmp_path: Path) -> None:
    lines = [
        json.dumps({"s": row[1], "n": row[0] % 2**62, "x": [1]}) if isinstance(row, tuple) else row
        for row in rows
    ]
    (tmp_path / "f").write_text("\n".join(lines))
    found = read(tmp_path / "f", settings("json", KEPT), borders)
    assert [(row["n"], row["s"]) for row in found if row["_corrupt_record"] is None] == [
        (r[0] % 2**62, r[1]) for r in rows if isinstance(r, tuple)
    ]
    bad = [line for row in rows if isinstance(row, str) for line in row.split("\n") if line.strip()]
    assert [row["_corrupt_record"] for row in found if row["_corrupt_record"]] == bad


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_dropped_records_are_told_once_a_file_however_many_blocks_it_has(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = {"csv": (b"1,a\n", b"x,b\n"), "json": (b'{"n":1,"s":"a"}\n', b'{"n":"x","s":"b"}\n')}[kind]
    (tmp_path / "f").write_bytes(good + (bad + good) * 50)
    rows = read(tmp_path / "f", settings(kind, PAIR, records=RecordSettings(mode="dropmalformed")))
    assert len(rows) == 51
    (said,) = caplog.messages
    assert f"50 records that cannot be read are left out from position {len(good)} on" in said


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_modes(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = {"csv": (b"1,a\n", b"x,b\n"), "json": (b'{"n":1,"s":"a"}\n', b'{"n":"x","s":"b"}\n')}[kind]
    (tmp_path / "f").write_bytes(good * 3 + bad + good)
    rows = read(tmp_path / "f", settings(kind, KEPT))
    assert rows[3] == {"n": None, "s": "b", "_corrupt_record": bad.decode().strip()}
    assert [row["n"] for row in read(tmp_path / "f", settings(kind, PAIR))] == [1, 1, 1, None, 1]
    assert len(read(tmp_path / "f", settings(kind, PAIR, records=RecordSettings(mode="dropmalformed")))) == 4
    assert "1 records that cannot be read are left out from position" in caplog.text
    with pytest.raises(CorruptRecordError, match=r"(?s)FAILFAST.*split file://.*/f"):
        read(tmp_path / "f", settings(kind, PAIR, records=RecordSettings(mode="failfast")))


def _dialect(**how: Any) -> CsvSettings:
    return CsvSettings(dialect=CsvDialect(**how))


def test_csv_values_of_every_type(tmp_path: Path) -> None:
    kinds = [
        pa.int16(),
        pa.float64(),
        pa.bool_(),
        pa.date32(),
        pa.timestamp("us", "UTC"),
        pa.decimal128(10, 2),
        pa.string(),
        pa.string(),
    ]
    schema = pa.schema([pa.field(f"c{at}", kind) for at, kind in enumerate(kinds)])
    lines = [
        '1,1.5,TRUE,2024-02-29,2024-01-01 10:00:00,12.34,"",NULL',
        "-1,NaN,false,1969-12-31,2024-01-01T10:00:00.5+01:00,0.10,NULL,x",
        "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL",
    ]
    (tmp_path / "f").write_text("\n".join(lines))
    rows = [
        list(row.values())
        for row in read(
            tmp_path / "f",
            settings("csv", schema, csv=_dialect(null_value="NULL"), records=RecordSettings(time_zone="UTC")),
        )
    ]
    assert rows[0] == [
        1,
        1.5,
        True,
        date(2024, 2, 29),
        datetime(2024, 1, 1, 10, tzinfo=UTC),
        Decimal("12.34"),
        "",
        None,
    ]
    assert rows[1][2:] == [
        False,
        date(1969, 12, 31),
        datetime(2024, 1, 1, 9, 0, 0, 500_000, tzinfo=UTC),
        Decimal("0.10"),
        None,
        "x",
    ]
    assert rows[2] == [None] * 8


def test_csv_separators_escapes_and_no_quotes(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('1\t"a\\"b"\n')
    assert read(tmp_path / "f", settings("csv", PAIR, csv=_dialect(separator="\t"))) == [{"n": 1, "s": 'a"b'}]
    assert read(tmp_path / "f", settings("csv", PAIR, csv=_dialect(separator="\t", quote=""))) == [
        {"n": 1, "s": '"a\\"b"'}
    ]


def test_csv_values_with_line_ends_if_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('n,s\n1,"a\nb"\nx,y\n2\n')
    multi = CsvSettings(header=True, dialect=CsvDialect(multi_line=True))
    rows = read(
        tmp_path / "f",
        settings("csv", KEPT, csv=CsvSettings(header=True, dialect=CsvDialect(multi_line=True))),
        [5, 9],
    )
    assert [(row["n"], row["s"]) for row in rows] == [(1, "a\nb"), (None, "y"), (2, None)]
    assert [row["_corrupt_record"] for row in rows] == [None, "x,y", "2"]
    assert (
        len(
            read(
                tmp_path / "f", settings("csv", PAIR, csv=multi, records=RecordSettings(mode="dropmalformed"))
            )
        )
        == 1
    )
    with pytest.raises(CorruptRecordError, match="x,y"):
        read(tmp_path / "f", settings("csv", PAIR, csv=multi, records=RecordSettings(mode="failfast")))


def test_csv_columns_go_by_their_position_whatever_the_header_says(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x,y\n1,a\n2\n")
    header = CsvSettings(header=True)
    assert read(tmp_path / "f", settings("csv", PAIR, csv=header)) == [
        {"n": 1, "s": "a"},
        {"n": 2, "s": None},
    ]
    strict = CsvSettings(header=True, enforce_schema=False)
    with pytest.raises(CorruptRecordError, match="enforceSchema=false"):
        read(tmp_path / "f", settings("csv", PAIR, csv=strict))
    (tmp_path / "f").write_text("N,S\n1,a\n")
    assert read(tmp_path / "f", settings("csv", PAIR, csv=strict)) == [{"n": 1, "s": "a"}]


def test_a_stream_of_csv_ends_behind_a_quoted_value(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('1,"a"\n2,""')
    rows = read(tmp_path / "f", settings("csv", PAIR, csv=_dialect(multi_line=True, ignore_leading=True)))
    assert rows == [{"n": 1, "s": "a"}, {"n": 2, "s": None}]


def test_what_no_column_of_csv_takes_is_rescued(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('1,a\nx,"b ""c""",more\n3\n')
    schema = PAIR.append(pa.field("rest", pa.string()))
    for multi_line in (False, True):
        how = settings(
            "csv",
            schema,
            csv=_dialect(escape='"', multi_line=multi_line),
            records=RecordSettings(rescued_column="rest", mode="dropmalformed"),
        )
        assert read(tmp_path / "f", how) == [
            {"n": 1, "s": "a", "rest": None},
            {"n": None, "s": 'b "c"', "rest": '{"n":"x","_c2":"more"}'},
            {"n": 3, "s": None, "rest": None},
        ]


def test_some_columns_of_an_inferred_schema_go_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("s,other,n\na,b,1\n")
    some = CsvSettings(header=True, by_name=True)
    assert read(tmp_path / "f", settings("csv", PAIR, csv=some), [9, 14]) == [{"n": 1, "s": "a"}]


def test_some_columns_of_csv_without_a_header_wherever_a_range_begins(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"{n},a,b\n" if n % 3 else f"{n}\n" for n in range(1, 30)))
    some = pa.schema([pa.field("_c2", pa.string()), pa.field("_corrupt_record", pa.string())])
    how = settings("csv", some, csv=CsvSettings(by_name=True))
    whole = read(tmp_path / "f", how)
    assert [row["_c2"] for row in whole] == ["b" if n % 3 else None for n in range(1, 30)]
    assert all(read(tmp_path / "f", how, [border]) == whole for border in range(1, 60))
    multi = read(
        tmp_path / "f",
        settings("csv", some, csv=CsvSettings(dialect=CsvDialect(multi_line=True), by_name=True)),
    )
    assert [row["_c2"] for row in multi] == [row["_c2"] for row in whole]


def test_json_values_of_every_type(tmp_path: Path) -> None:
    fields: list[pa.Field[Any]] = [
        pa.field("d", pa.date32()),
        pa.field("t", pa.timestamp("us", "UTC")),
        pa.field("e", pa.decimal128(10, 2)),
        pa.field("l", pa.list_(pa.int64())),
        pa.field("o", pa.struct([pa.field("x", pa.string())])),
        pa.field("text", pa.string()),
    ]
    schema = pa.schema(fields)
    (tmp_path / "f").write_text(
        '{"d":"2024-02-29","t":"2024-01-01T10:00:00Z","e":"1.5","l":[1,null],"o":{"x":"y"},"text":"z"}\n'
        '\n{"text":{"a":1},"l":"no"}\n'
    )
    first, second = read(tmp_path / "f", settings("json", schema))
    assert first == {
        "d": date(2024, 2, 29),
        "t": datetime(2024, 1, 1, 10, tzinfo=UTC),
        "e": Decimal("1.50"),
        "l": [1, None],
        "o": {"x": "y"},
        "text": "z",
    }
    assert (second["text"], second["l"], second["d"]) == ('{"a":1}', None, None)


def test_compressed_files_are_read_whole(tmp_path: Path) -> None:
    data = b"".join(b"%d,x\n" % n for n in range(50))
    packed = {
        "gz": gzip.compress(data[:20]) + gzip.compress(data[20:]),
        "bz2": bz2.compress(data),
        "xz": lzma.compress(data),
    }
    packed["zst"] = pa.compress(data, "zstd", asbytes=True)
    for suffix, content in packed.items():
        path = tmp_path / f"f.csv.{suffix}"
        path.write_bytes(content)
        assert [row["n"] for row in read(path, settings("csv", PAIR), [3, 9])] == list(range(50)), suffix


def test_inference(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(
        "id,big,x,day,at,ok,s,none\n"
        "1,5000000000,1.5,2024-01-01,2024-01-01 00:00:00,true,a,\n"
        "2,1,2,2024-01-02,2024-01-01T00:00:00Z,False,1,\n"
    )
    assert [
        str(field.type)
        for field in infer(
            tmp_path / "f", settings("csv", PAIR, csv=CsvSettings(header=True, infer_types=True))
        )
    ] == [
        "int32",
        "int64",
        "double",
        "date32[day]",
        "timestamp[us, tz=UTC]",
        "bool",
        "string",
        "string",
    ]
    assert infer(tmp_path / "f", settings("csv", PAIR)).names == [f"_c{at}" for at in range(8)]
    (tmp_path / "f").write_text(
        '{"b":1,"a":{"x":1},"l":[1,2.5]}\nbad\n{"b":2.5,"a":{"y":"z"},"c":[],"mixed":1}\n{"mixed":"x"}'
    )
    assert [(field.name, str(field.type)) for field in infer(tmp_path / "f", settings("json", PAIR))] == [
        ("_corrupt_record", "string"),
        ("a", "struct<x: int64, y: string>"),
        ("b", "double"),
        ("c", "list<item: string>"),
        ("l", "list<item: double>"),
        ("mixed", "string"),
    ]
