"""The format json beside Spark's own `from_json`, over random values of all types."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr, from_json
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from headwater.connector.formats.ddl import schema as struct_of
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.json.json_format import JsonValueFormat
from tests.formats.json_differences import DIFFERENCES, TIME_ONLY, is_meant
from tests.formats.json_texts import SCHEMAS, json_texts
from tests.parity.golden.answers import Answers
from tests.parity.golden.settings import Settings
from tests.readers.formats.json.json_values import spans

ZONE = "Europe/Paris"
CORRUPT = "_corrupt_record"
_CORRUPT_FIELD = StructField(CORRUPT, StringType())


@pytest.mark.parametrize("ddl", SCHEMAS)
def test_values_become_what_from_json_makes_of_them(
    answers: Answers, settings: Settings, ddl: str, rng: random.Random, *, at_length: bool
) -> None:
    """A million new ones, where everything runs."""
    for count in [25_000] * 10 if at_length else [3_000]:
        compare(answers, settings, ddl, list(json_texts(rng, struct_of(ddl), count)))


@pytest.mark.parametrize("ddl", SCHEMAS)
def test_the_rows_that_stay_are_those_of_spark_with_dropmalformed(
    answers: Answers, settings: Settings, ddl: str, rng: random.Random
) -> None:
    schema = struct_of(ddl)
    # Spark's reader takes an object as a row, an array as many and blank text as none.
    texts = [text for text in json_texts(rng, schema, 1_000) if text.startswith(b"{") and text.isascii()]
    texts = [text for text in texts if not TIME_ONLY.search(text.decode())]

    def ask() -> int:
        values = [(text.decode(),) for text in texts]
        lines = settings.spark.createDataFrame(values, "value string").repartition(1)
        options = {"mode": "DROPMALFORMED", "timeZone": ZONE}
        return settings.spark.read.schema(schema).options(**options).json(lines.select("value")).count()

    ours, _ = _our_rows(StructType([*schema, _CORRUPT_FIELD]), texts)
    stay = answers.ask(("DROPMALFORMED", ddl, texts), ask)
    assert stay == len(ours) - sum(bad for _, bad in ours)


def test_a_row_is_bad_where_failfast_fails(answers: Answers, settings: Settings, rng: random.Random) -> None:
    schema = struct_of(SCHEMAS[0])
    texts = [
        text for text in json_texts(rng, schema, 300) if not TIME_ONLY.search(text.decode(errors="replace"))
    ]
    bad = [is_bad for _, is_bad in _our_rows(StructType([*schema, _CORRUPT_FIELD]), texts)[0]]

    def are_read(texts: Sequence[bytes]) -> bool:
        parsed = from_json(expr("cast(v as string)"), schema, {"mode": "FAILFAST", "timeZone": ZONE})
        values = settings.spark.createDataFrame(pa.table({"v": pa.array(texts, pa.binary())}))
        try:
            return values.select(parsed.alias("r")).toArrow().num_rows == len(texts)
        except (Py4JJavaError, PySparkException) as error:
            if "MALFORMED_RECORD_IN_PARSING" not in str(error):
                raise
            return False

    good = [text for text, is_bad in zip(texts, bad, strict=True) if not is_bad]
    assert answers.ask(("FAILFAST", good), lambda: are_read(good))
    for text in [text for text, is_bad in zip(texts, bad, strict=True) if is_bad][:10]:
        assert not answers.ask(("FAILFAST", [text]), partial(are_read, [text]))


@pytest.mark.parametrize("is_case_sensitive", ["true", "false"])
def test_fields_that_differ_in_case_alone_are_told_apart(
    answers: Answers, settings: Settings, is_case_sensitive: str
) -> None:
    ddl = "id int, ID int, a struct<k string, K string>, b array<struct<x int, X int>>, m map<string, int>"
    texts = [
        b'{"id": 1, "ID": 2, "Id": 3, "a": {"K": "x", "k": "y"}, "b": [{"X": 4}, {"x": 5}]}',
        b'{"ID": 2, "m": {"k": 1, "K": 2}}',
        b'{"id": "x", "ID": 2, "a": {"K": [], "k": "y"}}',
        b'{"Id": 3, "A": {"k": "x"}, "_CORRUPT_RECORD": "x"}',
    ]

    def ask() -> list[Any]:
        values = settings.spark.createDataFrame([(text.decode(),) for text in texts], "v string")
        made = values.coalesce(1).select(from_json("v", struct_of(ddl)).alias("r"))
        return [row["r"] for row in made.toArrow().to_pylist()]

    with settings.such("spark.sql.caseSensitive", is_case_sensitive):
        theirs = answers.ask(("from_json", is_case_sensitive, ddl, texts), ask)
    ours, _ = _our_rows(struct_of(ddl).add(CORRUPT, StringType()), texts)
    assert [row for row, _ in ours] == theirs


def test_every_difference_stands_in_the_documentation() -> None:
    text = " ".join(Path("docs/formats.md").read_text(encoding="utf-8").split())
    assert not [(what, why) for what, why in DIFFERENCES.items() if what not in text or why not in text]


def compare(answers: Answers, settings: Settings, ddl: str, texts: Sequence[bytes]) -> None:
    schema = struct_of(ddl).add(CORRUPT, StringType())
    theirs = answers.ask(("from_json", ddl, texts), lambda: _spark_rows(settings.spark, schema, texts))
    ours, broken = _our_rows(schema, texts)
    wrong = [
        (text, our, their)
        for at, (text, our, their) in enumerate(zip(texts, ours, theirs, strict=True))
        if repr(our) != repr(their)
        and not is_meant(text, our[0], their[0], bad=our[1], spark_bad=their[1], broken=at in broken)
    ]
    assert not wrong, f"{len(wrong)} of {len(texts)}: {wrong[:5]}"


def _spark_rows(spark: SparkSession, schema: StructType, texts: Sequence[bytes]) -> list[tuple[Any, bool]]:
    values = pa.table({"i": pa.array(range(len(texts)), pa.int64()), "v": pa.array(texts, pa.binary())})
    options = {"columnNameOfCorruptRecord": CORRUPT, "timeZone": ZONE}
    parsed = from_json(expr("cast(v as string)"), schema, options)
    names = [name for name in schema.names if name != CORRUPT]
    found = (
        spark.createDataFrame(values)
        .select("i", parsed.alias("r"))
        .select("i", *(f"r.{name}" for name in names), col(f"r.{CORRUPT}").isNotNull().alias("bad"))
        .orderBy("i")
        .toArrow()
    )
    bad = [bool(is_bad) for is_bad in found["bad"].to_pylist()]
    return _rows(names, [found[name].combine_chunks() for name in names], bad)


def _our_rows(schema: StructType, texts: Sequence[bytes]) -> tuple[list[tuple[Any, bool]], set[int]]:
    arrow = to_arrow_schema(schema, timezone="UTC")
    made = JsonValueFormat(
        arrow.serialize().to_pybytes(), FormatOptions(corrupt_column=CORRUPT, time_zone=ZONE)
    )
    decoder = made.decoder()
    found = decoder.append(spans(texts))
    columns = decoder.finish()
    for column in columns:
        column.validate(full=True)
    bad = [text is not None for text in columns[-1].to_pylist()]
    broken = set()
    if found is not None:
        reasons = zip(found.rows.tolist(), found.reasons.tolist(), strict=True)
        broken = {row for row, reason in reasons if decoder.reason(reason) == "is not JSON"}
    return _rows(arrow.names[:-1], columns[:-1], bad), broken


def _rows(names: Sequence[str], columns: Sequence[Any], bad: Sequence[bool]) -> list[tuple[Any, bool]]:
    plain = [column.cast(_as_numbers(column.type)).to_pylist() for column in columns]
    return [(dict(zip(names, row, strict=True)), is_bad) for *row, is_bad in zip(*plain, bad, strict=True)]


def _as_numbers(kind: pa.DataType) -> pa.DataType:
    """Return a type with integers for times, which may lie beyond what Python's own can say."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if isinstance(kind, pa.StructType):
        return pa.struct(
            [(kind.field(i).name, _as_numbers(kind.field(i).type)) for i in range(kind.num_fields)]
        )
    if isinstance(kind, pa.ListType):
        return pa.list_(_as_numbers(kind.value_type))
    if isinstance(kind, pa.MapType):
        return pa.map_(kind.key_type, _as_numbers(kind.item_type))
    return kind
