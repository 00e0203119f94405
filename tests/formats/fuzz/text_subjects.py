"""Random columns of JSON and texts for them, and the format text."""

from __future__ import annotations

import random
import zlib
from typing import Final

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
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
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.json.json_format import ConfluentJsonFormat, GlueJsonFormat, JsonValueFormat
from headwater.readers.formats.text import TextValueFormat
from tests.formats.fuzz.subject import Subject
from tests.formats.json_texts import NUMBERS, PIECES, TIMES, json_texts

GOOD_VALUES: Final = 400
_DEEP: Final = (
    b"[" * 1200,
    b"[" * 990 + b"]" * 990,
    b'{"a":' * 300,
    b'{"f0":[' * 200 + b"]}" * 200,
)
_MEMBERS: Final = tuple(
    f'"f{i}":{value},'.encode()
    for i in range(4)
    for value in ("[]", "{}", "[[", '{"', '"\\ud83d', "-", "1e99999", "null", '[1,"x",{}]')
)
TOKENS: Final = (
    *PIECES,
    *_MEMBERS,
    *(text.encode() for text in NUMBERS),
    *(f'"{text}"'.encode() for text in TIMES),
    *_DEEP,
    b"9" * 1100,
    b"0." + b"0" * 900 + b"1",
    b"\\u0000" * 50,
    b"\\ud83d\\ude00",
)
_SIMPLE: Final = (
    *(BinaryType, BooleanType, ByteType, DateType, DoubleType, FloatType, IntegerType, LongType),
    *(ShortType, StringType, TimestampNTZType, TimestampType),
)
_NAMES: Final = ("f0", "f1", "f2", "f3", "a", "ab", "a b", "grüße", 'quo"te', "n" * 40, "")


def json(rng: random.Random) -> Subject:
    """Return JSON texts."""
    made, good = _json(rng)
    return Subject(made, good, TOKENS)


def confluent_json(rng: random.Random) -> Subject:
    """Return JSON texts behind the id of a schema; no registry is asked."""
    plain, good = _json(rng)
    made = ConfluentJsonFormat(plain, plain.options.corrupt_column)
    return Subject(made, [b"\0" + rng.randbytes(4) + text for text in good], TOKENS)


def glue_json(rng: random.Random) -> Subject:
    """Return JSON texts in frames of AWS Glue, compressed or not."""
    plain, good = _json(rng)
    made = GlueJsonFormat(plain, plain.options.corrupt_column)
    frames = [b"\3\0" + rng.randbytes(16) + text for text in good]
    frames += [b"\3\5" + rng.randbytes(16) + zlib.compress(text) for text in good]
    return Subject(made, frames, TOKENS)


def text(rng: random.Random) -> Subject:
    """Return strings."""
    letters = "aé€🙂\n\0 "
    good = ["".join(rng.choices(letters, k=rng.randrange(40))).encode() for _ in range(GOOD_VALUES)]
    return Subject(TextValueFormat(), good)


def _json(rng: random.Random) -> tuple[JsonValueFormat, list[bytes]]:
    schema = _struct(rng, 0)
    columns = to_arrow_schema(schema, timezone="UTC")
    zone = rng.choice(["UTC", "Europe/Paris", "America/New_York", "+05:30"])
    corrupt = "corrupt" if rng.random() < 0.5 else None
    rescued = "rescued" if rng.random() < 0.3 else None
    options = FormatOptions(corrupt_column=corrupt, rescued_column=rescued, time_zone=zone)
    return JsonValueFormat(columns.serialize().to_pybytes(), options), [*json_texts(rng, schema, GOOD_VALUES)]


def _struct(rng: random.Random, depth: int) -> StructType:
    struct = StructType()
    for name in rng.sample(_NAMES, rng.randrange(1, 7)):
        struct = struct.add(name, _type(rng, depth + 1))
    return struct


def _type(rng: random.Random, depth: int) -> DataType:
    chance = rng.random()
    if depth < 4 and chance < 0.1:
        return _struct(rng, depth)
    if depth < 4 and chance < 0.2:
        return ArrayType(_type(rng, depth + 1))
    if depth < 4 and chance < 0.3:
        return MapType(StringType(), _type(rng, depth + 1))
    if chance < 0.38:
        precision = rng.randrange(1, 39)
        return DecimalType(precision, rng.randrange(precision + 1))
    return rng.choice(_SIMPLE)()
