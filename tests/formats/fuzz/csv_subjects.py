"""Random columns of CSV, random ways to write it, and records."""

from __future__ import annotations

import random

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headwater.readers.formats.csv.csv_format import CsvValueFormat
from headwater.readers.formats.csv.csv_settings import UNESCAPED_QUOTES, CsvDialect
from headwater.readers.formats.format import FormatOptions
from tests.formats.fuzz.subject import Subject
from tests.formats.json_texts import NUMBERS, TIMES

GOOD_VALUES = 400
_TYPES: tuple[type[DataType], ...] = (
    *(BinaryType, BooleanType, ByteType, DateType, DoubleType, FloatType, IntegerType, LongType),
    *(ShortType, StringType, TimestampNTZType, TimestampType),
)
_TOKENS = (
    *(text.encode() for text in (*NUMBERS, *TIMES)),
    *(b'"', b'""', b'\\"', b"\\\\", b'"x" ', b" ", b",", b",,", b"ab", b"\n", b"\r\n", b"#", "é€🙂".encode()),
    *(b"0x1.8p3", b"-0xAp-9999999999", b"9" * 2000, b"1e" + b"9" * 300, b'"' * 500, b"\xff\xfe", b"," * 30),
)


def csv(rng: random.Random) -> Subject:
    """Return records of CSV."""
    schema = StructType()
    for at in range(rng.randrange(1, 9)):
        kind = DecimalType(20, 5) if rng.random() < 0.1 else rng.choice(_TYPES)()
        schema = schema.add(f"f{at}", kind)
    dialect = _dialect(rng)
    corrupt = "corrupt" if rng.random() < 0.5 else None
    options = FormatOptions(corrupt_column=corrupt, time_zone=rng.choice(["UTC", "Europe/Paris"]))
    columns = to_arrow_schema(schema, timezone="UTC").serialize().to_pybytes()
    texts = ("", "1", "-7", "1.5", "true", "2024-01-05", "2024-01-05 10:11:12", '"a b"', '"a ""b"""', "é")
    good = [
        dialect.separator.join(rng.choice(texts) for _ in schema.fields).encode() for _ in range(GOOD_VALUES)
    ]
    return Subject(CsvValueFormat(columns, options, dialect), good, _TOKENS)


def _dialect(rng: random.Random) -> CsvDialect:
    separator = rng.choice([",", ",", ";", "\t", "ab", ",,", "é"])
    handlings = [*UNESCAPED_QUOTES] if len(separator) == 1 else ["STOP_AT_DELIMITER", "STOP_AT_CLOSING_QUOTE"]
    return CsvDialect(
        separator=separator,
        quote=rng.choice(['"', '"', "'", ""]),
        escape=rng.choice(["\\", '"', "", "'"]),
        escape_escape=rng.choice([None, None, "\\", "'"]),
        comment=rng.choice(["", "#"]),
        ignore_leading=rng.random() < 0.3,
        ignore_trailing=rng.random() < 0.3,
        unescaped_quotes=rng.choice(handlings),
        max_columns=rng.choice([20_480, 20_480, 5]),
        max_characters=rng.choice([-1, -1, 10]),
    )
