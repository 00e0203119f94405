"""The format csv beside Spark's own `from_csv`, over random text and values."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.functions import col, from_csv
from pyspark.sql.pandas.types import to_arrow_schema

from headwater.connector.formats.ddl import schema as struct_of
from headwater.readers.formats.csv.csv_format import CsvValueFormat
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import FormatOptions, ValueDecoder
from tests.parity.files.plain import plain_rows
from tests.parity.golden.answers import Answers
from tests.parity.golden.settings import Settings
from tests.readers.formats.json.json_values import spans

CORRUPT = "_corrupt_record"
TEXT = "a string, b string, c string"
TYPED = "i int, l bigint, d double, e decimal(10,2), o boolean, t date, s timestamp"
_LETTERS = '"",\\ ab1\t\'é'
_VALUES = (
    *("1", "+1", "007", "-0", "2147483648", "1.239", "-0.0", "5.", ".5", "1e3", "NaN", "Inf", "-Inf", "1d"),
    *(" 1", "", "true", "TRUE", "t", "2024-1-5", "2024", "2024-01-05 10:11:12", "2024-02-30", "null"),
    *("2024-01-05T10:11:12.123456789Z", "2024-01-05 10:11:12 Europe/Paris", "12345-01-01", '"1"'),
)


@pytest.mark.parametrize("escape", ["\\", '"'])
def test_text_becomes_what_from_csv_makes_of_it(
    answers: Answers, settings: Settings, rng: random.Random, escape: str, *, at_length: bool
) -> None:
    texts = [_text(rng) for _ in range(250_000 if at_length else 3_000)]
    compare(answers, settings, TEXT, texts, CsvDialect(escape=escape))


def test_values_become_what_from_csv_makes_of_them(
    answers: Answers, settings: Settings, rng: random.Random
) -> None:
    records = [",".join(rng.choices(_VALUES, k=rng.choice((7, 7, 7, 6, 8)))) for _ in range(3_000)]
    compare(answers, settings, TYPED, records, CsvDialect())


def _text(rng: random.Random) -> str:
    return ",".join(
        "".join(rng.choices(_LETTERS, k=rng.randrange(7))) for _ in range(rng.choice((3, 3, 2, 4)))
    )


@pytest.mark.parametrize(
    ("options", "dialect", "record"),
    [
        ({"maxColumns": "3"}, CsvDialect(max_columns=3), "1,2,3,4"),
        ({"maxCharsPerColumn": "3"}, CsvDialect(max_characters=3), "1,2,long"),
        (
            {"unescapedQuoteHandling": "RAISE_ERROR"},
            CsvDialect(unescaped_quotes="RAISE_ERROR"),
            '"1"x,2,3',
        ),
    ],
)
def test_a_record_that_an_option_forbids_is_bad_where_from_csv_fails_the_query(
    answers: Answers, settings: Settings, options: dict[str, str], dialect: CsvDialect, record: str
) -> None:
    def ask() -> str:
        values = settings.spark.createDataFrame(pa.table({"v": ["1,2,3", record]}))
        with pytest.raises((Py4JJavaError, PySparkException)) as caught:
            values.select(from_csv(col("v"), TEXT, options)).toArrow()
        found = re.search(
            r"MalformedCSV|TextParsingException|ArrayIndexOutOfBounds|MALFORMED", str(caught.value)
        )
        assert found
        return found[0]

    assert answers.ask(("from_csv", options, record), ask)
    decoder = _decoder(f"{TEXT}, {CORRUPT} string", dialect)
    bad = decoder.append(spans([b"1,2,3", record.encode()]))
    assert bad is not None
    assert bad.rows.tolist() == [1]
    assert [column.to_pylist() for column in decoder.finish()] == [
        *(["1", None], ["2", None], ["3", None], [None, record])
    ]


def _decoder(ddl: str, dialect: CsvDialect) -> ValueDecoder:
    return CsvValueFormat(
        to_arrow_schema(struct_of(ddl), timezone="UTC").serialize().to_pybytes(),
        FormatOptions(corrupt_column=CORRUPT, time_zone="UTC"),
        dialect,
    ).decoder()


def compare(
    answers: Answers, settings: Settings, ddl: str, records: Sequence[str], dialect: CsvDialect
) -> None:
    """Decode records with both, and compare all columns."""
    options = {"escape": dialect.escape, "columnNameOfCorruptRecord": CORRUPT, "timeZone": "UTC"}

    def ask() -> tuple[list[str], list[tuple[Any, ...]]]:
        values = settings.spark.createDataFrame(pa.table({"i": range(len(records)), "v": list(records)}))
        parsed = from_csv(col("v"), f"{ddl}, {CORRUPT} string", options)
        found = values.select("i", parsed.alias("r")).orderBy("i").select("r.*").toArrow()
        return found.schema.names, plain_rows(found)

    names, theirs = answers.ask(("from_csv", ddl, options, list(records)), ask)
    decoder = _decoder(f"{ddl}, {CORRUPT} string", dialect)
    decoder.append(spans([record.encode() for record in records]))
    ours = pa.Table.from_arrays([pa.chunked_array([each]) for each in decoder.finish()], names)
    wrong = [
        (record, our, their)
        for record, our, their in zip(records, plain_rows(ours), theirs, strict=True)
        if our != their
    ]
    assert not wrong, f"{len(wrong)} of {len(records)}: {wrong[:8]}"
