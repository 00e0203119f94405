"""The format avro beside Spark's own `from_avro`, over the matrix of types that are written and read."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro

from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.avro.avro_format import AvroValueFormat
from headwater.readers.formats.avro.schema import parse_schema
from tests.formats.avro_schemas import (
    DEFAULT_TYPES,
    DEFAULTS,
    DIFFERENCES,
    REFUSED_BY_SPARK,
    TYPES,
    field,
    is_meant,
    plain,
    record,
    schema_of,
    value,
)
from tests.formats.avro_texts import TEXTS
from tests.parity.golden.answers import Answers
from tests.parity.golden.settings import Settings
from tests.readers.formats.avro.values import encode, spans

_VALUES = 6
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("written", sorted(TYPES))
def test_each_type_that_is_written_is_read_as_each_other_as_from_avro_does(
    answers: Answers, settings: Settings, rng: random.Random, written: str
) -> None:
    assert differences(answers, settings, rng, written) == []


@pytest.mark.parametrize("name", sorted(DEFAULT_TYPES))
def test_a_default_of_any_type_becomes_what_javas_resolving_decoder_makes_of_it(
    answers: Answers, settings: Settings, name: str
) -> None:
    kind = DEFAULT_TYPES[name]
    is_number = kind in {"float", "double"} if isinstance(kind, str) else False
    defaults = [default for default in DEFAULTS if not (is_number and _is_no_number(default))]
    readers = [_with_default(kind, default) for default in defaults]
    writer = record(field("id", "int"))
    theirs = answers.ask(
        ("Java's GenericDatumReader", writer, readers),
        lambda: [_java_record(settings.spark, json.dumps(writer), reader) for reader in readers],
    )
    differ: dict[str, Any] = {}
    for default, reader, written_again in zip(defaults, readers, theirs, strict=True):
        ours = _our_columns(json.dumps(writer), reader, [b"\2"])[0][0]
        theirs_x = _our_columns(reader, reader, [written_again])[0][0] if written_again else None
        if repr(ours) != repr(theirs_x):
            differ[default] = (theirs_x, ours)
    # Java's library fails there, since 1.12.
    meant: dict[str, Any] = {default: (None, []) for default in ("[]", "{}")}
    assert differ == (meant if name == "nullable array" else {})


@pytest.mark.parametrize("kind", list(TEXTS))
def test_a_schema_is_taken_as_javas_parser_takes_it_and_in_a_file_with_any_names(
    answers: Answers, settings: Settings, kind: str
) -> None:
    texts = TEXTS[kind]
    theirs = answers.ask(
        ("Java's parser of schemas, and that of files", texts),
        lambda: [_java_takes(settings.spark, text) for text in texts],
    )
    differ = [
        (text, takes)
        for text, takes in zip(texts, theirs, strict=True)
        if tuple(takes)
        != tuple(_succeeds(partial(parse_schema, text, any_names=any_names)) for any_names in (False, True))
    ]
    assert differ == []


def test_a_text_that_is_no_number_is_no_default_of_a_number() -> None:
    for default in filter(_is_no_number, DEFAULTS):
        with pytest.raises(FormatSchemaError, match="a default of 'x' that is no number"):
            AvroValueFormat(_with_default("float", default))


def test_every_difference_stands_in_the_documentation() -> None:
    text = " ".join(Path("docs/formats.md").read_text(encoding="utf-8").split())
    assert not [what for what in DIFFERENCES if what not in text]


def differences(answers: Answers, settings: Settings, rng: random.Random, written: str) -> list[Any]:
    """Return what our rows have, and Spark's do not: both types, the bytes, our value and that of Spark."""
    writer = json.loads(schema_of(TYPES[written]))
    values = [encode(plain(writer), value(rng, plain(writer))) for _ in range(_VALUES)]
    read = [each for each in sorted(TYPES) if each not in REFUSED_BY_SPARK and _is_read(each)]
    readers = [schema_of(TYPES[each]) for each in read]
    theirs = answers.ask(
        ("from_avro", writer, readers, values),
        lambda: _spark_columns(settings.spark, json.dumps(writer), readers, values),
    )
    wrong = []
    for name, (their_x, their_mark) in zip(read, theirs, strict=True):
        ours = _our_columns(json.dumps(writer), schema_of(TYPES[name]), values)
        for at, content in enumerate(values):
            one = (ours[0][at], ours[1][at])
            other = (their_x[at], their_mark[at])
            if repr(one) != repr(other) and not is_meant(written, name):
                wrong.append((written, name, content, one, other))
    return wrong


def _with_default(kind: Any, default: str) -> str:
    """Return a reader's schema; its default is text, for JSON that Python would write otherwise."""
    marked = record(field("x", kind, default="?"), field("id", "int"))
    return json.dumps(marked).replace('"?"', default)


def _is_no_number(default: str) -> bool:
    """Whether Java's parser refuses it where a number is meant; other defaults wait for the decoder."""
    return default.startswith('"') and default not in {
        *('"1"', '" 1.5 "', '"1.5f"', '"0x1p3"', '"NaN"', '"-Infinity"')
    }


def _is_read(name: str) -> bool:
    try:
        AvroValueFormat(schema_of(TYPES[name])).schema()
    except FormatSchemaError:
        return False
    return True


def _spark_columns(
    spark: SparkSession, writer: str, readers: Iterable[str], values: Sequence[bytes]
) -> list[tuple[list[Any], list[Any]]]:
    numbered = pa.table({"i": pa.array(range(len(values)), pa.int64()), "v": pa.array(values, pa.binary())})
    parsed = [
        from_avro("v", writer, {"avroSchema": reader, "mode": "PERMISSIVE"}).alias(f"c{at}")
        for at, reader in enumerate(readers)
    ]
    try:
        found = spark.createDataFrame(numbered).coalesce(1).select("i", *parsed).orderBy("i").toArrow()
    except (Py4JJavaError, PySparkException) as error:
        raise AssertionError(f"Spark fails with {writer}: {str(error)[:500]}") from None
    columns: list[Any] = [column.combine_chunks() for column in found.columns[1:]]
    return [(_shown(column.field(0)), _shown(column.field(1))) for column in columns]


def _java_record(spark: SparkSession, writer: str, reader: str) -> bytes | None:
    """Return the record that Java's library reads, written again with the reader's schema; None if it fails.

    Not `from_avro`: Spark sends the schema to its tasks, where it is parsed more strictly than by its users.
    """
    jvm: Any = spark._jvm
    avro = jvm.org.apache.avro
    schemas = [avro.Schema.Parser().setValidateDefaults(False).parse(each) for each in (writer, reader)]
    try:
        values = avro.io.DecoderFactory.get().binaryDecoder(b"\2", None)
        found = avro.generic.GenericDatumReader(*schemas).read(None, values)
    except Py4JJavaError:
        return None
    output = jvm.java.io.ByteArrayOutputStream()
    encoder = avro.io.EncoderFactory.get().binaryEncoder(output, None)
    avro.generic.GenericDatumWriter(schemas[1]).write(found, encoder)
    encoder.flush()
    return bytes(output.toByteArray())


def _java_takes(spark: SparkSession, text: str) -> tuple[bool, bool]:
    """Return whether Java's library takes a schema that a user writes, and one in the header of a file."""
    jvm: Any = spark._jvm
    avro = jvm.org.apache.avro
    header = encode({"type": "map", "values": "bytes"}, {"avro.schema": text.encode()})

    def opened() -> None:
        content = jvm.java.io.ByteArrayInputStream(b"Obj\1" + header + bytes(16))
        avro.file.DataFileStream(content, avro.generic.GenericDatumReader())

    return _succeeds(lambda: avro.Schema.Parser().parse(text)), _succeeds(opened)


def _succeeds(call: Callable[[], Any]) -> bool:
    try:
        call()
    except (FormatSchemaError, Py4JJavaError, PySparkException):
        return False
    return True


def _our_columns(writer: str, reader: str, values: Sequence[bytes]) -> tuple[list[Any], list[Any]]:
    decoder = AvroValueFormat(reader, writer).decoder()
    decoder.append(spans(values))
    columns = decoder.finish()
    for column in columns:
        column.validate(full=True)
    return _shown(columns[0]), _shown(columns[1])


def _shown(column: Any) -> list[Any]:
    return [_as_text(column.type, each) for each in column.cast(_as_bytes(column.type)).to_pylist()]


def _as_bytes(kind: pa.DataType) -> pa.DataType:  # noqa: PLR0911 - a case for each type
    """Return a type without times, which may be far away, and strings, which may not be UTF-8 in Spark."""
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_string(kind):
        return pa.binary()
    if isinstance(kind, pa.StructType):
        return pa.struct([(each.name, _as_bytes(each.type)) for each in kind])
    if isinstance(kind, pa.ListType):
        return pa.list_(_as_bytes(kind.value_type))
    if isinstance(kind, pa.MapType):
        return pa.map_(_as_bytes(kind.key_type), _as_bytes(kind.item_type))
    return kind


def _as_text(kind: pa.DataType, found: Any) -> Any:
    if found is None:
        return None
    if pa.types.is_string(kind):
        return _SURROGATE.sub(b"\xff", found).decode(errors="replace")
    if isinstance(kind, pa.StructType):
        return {each.name: _as_text(each.type, found[each.name]) for each in kind}
    if isinstance(kind, pa.ListType):
        return [_as_text(kind.value_type, each) for each in found]
    if isinstance(kind, pa.MapType):
        return sorted((_as_text(kind.key_type, key), _as_text(kind.item_type, each)) for key, each in found)
    return found
