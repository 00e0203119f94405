"""Dates and times by patterns beside Spark's own `from_json`, over random patterns and texts."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.json.json_format import JsonValueFormat
from headwater.readers.formats.values.time_pattern import PatternError, program_of
from tests.formats.time_patterns import USUAL, random_pattern, random_text
from tests.parity.golden.answers import Answers
from tests.parity.golden.settings import Settings
from tests.readers.formats.json.json_values import plain, spans

ZONE = "Europe/Paris"
SCHEMA = "t timestamp, n timestamp_ntz, d date, c string"
FIELDS: dict[str, pa.DataType] = {
    "t": pa.timestamp("us", "UTC"),
    "n": pa.timestamp("us"),
    "d": pa.date32(),
    "c": pa.string(),
}


def test_usual_patterns_read_what_from_json_reads(
    answers: Answers, settings: Settings, rng: random.Random
) -> None:
    compare(answers, settings, rng, [pattern for pattern in USUAL if is_taken(pattern)], texts=60)


def test_random_patterns_read_what_from_json_reads(
    answers: Answers, settings: Settings, rng: random.Random, *, at_length: bool
) -> None:
    """A million new texts, where everything runs."""
    for texts in [500] * 50 if at_length else [60]:
        compare(answers, settings, rng, patterns(rng, 40), texts=texts)


@pytest.mark.parametrize("pattern", ["Y", "w", "u", "E", "yyyyyyy", "MMMMM", "dd'", "{", "]", "SSSSSSSSSS"])
def test_what_spark_refuses_is_refused(answers: Answers, settings: Settings, pattern: str) -> None:
    assert not is_taken(pattern)

    def is_refused() -> bool:
        values = settings.spark.createDataFrame([('{"t":"x"}',)], "v string")
        try:
            values.select(from_json("v", "t timestamp", {"timestampFormat": pattern})).collect()
        except PySparkException:
            return True
        return False

    assert answers.ask(("refused", pattern), is_refused) or "'" in pattern


def is_taken(pattern: str) -> bool:
    try:
        program_of(pattern)
    except PatternError:
        return False
    return True


def patterns(rng: random.Random, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        pattern = random_pattern(rng)
        if is_taken(pattern):
            found.append(pattern)
    return found


def compare(
    answers: Answers, settings: Settings, rng: random.Random, given: Sequence[str], *, texts: int
) -> None:
    """Read texts by each pattern as all three types, in Spark and here."""
    values = [[random_text(rng, pattern) for _ in range(texts)] for pattern in given]
    rows = [[json.dumps(dict.fromkeys("tnd", text)).encode() for text in of_one] for of_one in values]
    theirs = answers.ask(("patterns", given, rows), lambda: spark_rows(settings.spark, given, rows))
    wrong = []
    for pattern, texts_of_one, made_of, found in zip(given, values, rows, theirs, strict=True):
        ours = our_rows(pattern, made_of)
        wrong += [
            (pattern, text, our, their)
            for text, our, their in zip(texts_of_one, ours, found, strict=True)
            if our != their
        ][:2]
    assert not wrong, f"{len(wrong)} of {len(given) * texts}: {wrong}"


def spark_rows(
    spark: SparkSession, given: Sequence[str], rows: Sequence[Sequence[bytes]]
) -> list[list[tuple[Any, ...]]]:
    """Return what Spark reads by each pattern in its texts."""
    names = [f"v{at}" for at in range(len(given))]
    table = pa.table({"i": pa.array(range(len(rows[0])))} | dict(zip(names, rows, strict=True)))
    parsed = [
        from_json(col(name).cast("string"), SCHEMA, spark_options(pattern)).alias(name)
        for name, pattern in zip(names, given, strict=True)
    ]
    found = spark.createDataFrame(table).coalesce(1).select("i", *parsed).orderBy("i").toArrow()
    columns: list[Any] = [found[name].combine_chunks() for name in names]
    return [list(zip(*[plain(field) for field in each.flatten()], strict=True)) for each in columns]


def spark_options(pattern: str) -> dict[str, str]:
    return {
        "columnNameOfCorruptRecord": "c",
        "dateFormat": pattern,
        "timeZone": ZONE,
        "timestampFormat": pattern,
        "timestampNTZFormat": pattern,
    }


def our_rows(pattern: str, texts: Sequence[bytes]) -> list[tuple[Any, ...]]:
    options = FormatOptions(
        corrupt_column="c",
        time_zone=ZONE,
        timestamp_format=pattern,
        timestamp_ntz_format=pattern,
        date_format=pattern,
    )
    decoder = JsonValueFormat(pa.schema(FIELDS).serialize().to_pybytes(), options).decoder()
    decoder.append(spans(texts))
    return list(zip(*[plain(column) for column in decoder.finish()], strict=True))
