"""Resolution beside fastavro's, over the matrix of types that are written and read.

Where fastavro gives a value ours is the same. Where it refuses, ours is bad, or the schema of the columns is
refused. What is meant to differ is in `differs_on_purpose` and `as_fastavro_has_it`.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pytest

from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.avro.avro_format import AvroValueFormat
from tests.formats.avro_schemas import TIMES, TYPES, logical, plain, record, schema_of, value
from tests.readers.formats.avro.values import encode, resolved, spans

_VALUES = 6
_RECORDS = frozenset(name for name in TYPES if "record" in name)


@dataclass(frozen=True)
class Outcome:
    """What became of a value: the value, or why there is none."""

    value: Any = None
    error: str | None = None

    def shown(self) -> str:
        """NaN is like NaN, and -0.0 is not like 0.0."""
        return repr(self.value) if self.error is None else "bad"


def differences(rng: random.Random, written: str, read: Sequence[str]) -> list[Any]:
    """Return both types, the bytes, and both outcomes, where these are not the same."""
    writer = plain(json.loads(schema_of(TYPES[written])))
    parsed = fastavro.parse_schema(writer)
    values = [encode(writer, value(rng, writer)) for _ in range(_VALUES)]
    wrong = []
    for name in read:
        reader = plain(json.loads(schema_of(TYPES[name])))
        for content, ours in zip(values, our_outcomes(writer, reader, values), strict=True):
            theirs = their_outcome(parsed, reader, content)
            same = ours.shown() in {theirs.shown(), rounded(theirs.value, TYPES[name])}
            if not same and not differs_on_purpose(written, name, ours, theirs):
                wrong.append((written, name, content, ours, theirs))
    return wrong


def our_outcomes(writer: Any, reader: Any, values: Sequence[bytes]) -> list[Outcome]:
    try:
        decoder = AvroValueFormat(json.dumps(reader), json.dumps(writer)).decoder()
    except FormatSchemaError as error:
        return [Outcome(error=str(error))] * len(values)
    bad = decoder.append(spans(values))
    rows, codes = ([], []) if bad is None else (bad.rows.tolist(), bad.reasons.tolist())
    reasons = {row: decoder.reason(code) for row, code in zip(rows, codes, strict=True)}
    kind = reader["fields"][0]["type"]
    found = decoder.finish()[0].to_pylist()
    return [
        Outcome(error=reasons[row]) if row in reasons else Outcome(as_fastavro_has_it(kind, each))
        for row, each in enumerate(found)
    ]


def their_outcome(writer: Any, reader: Any, content: bytes) -> Outcome:
    try:
        found: Any = fastavro.schemaless_reader(io.BytesIO(content), writer, reader)
    except Exception as error:  # noqa: BLE001 - fastavro documents no errors of its own
        return Outcome(error=f"{type(error).__name__}: {error}")
    return Outcome(found["x"])


def as_fastavro_has_it(kind: Any, found: Any) -> Any:
    """Return the branch of a union that a struct of all branches holds, and maps as dictionaries."""
    match kind:
        case list():
            if isinstance(found, dict) and found.keys() == {f"member{i}" for i in range(len(found))}:
                return next((member for member in found.values() if member is not None), None)
        case {"type": "map"}:
            return dict(found)
    return found


def rounded(found: Any, kind: Any) -> str:
    """Return a number as a float of 32 bits, which fastavro does not make of a wider integer."""
    if isinstance(found, float) and "float" in json.dumps(kind):
        with np.errstate(over="ignore"):
            return repr(float(np.float32(found)))
    return repr(found)


def differs_on_purpose(written: str, read: str, ours: Outcome, theirs: Outcome) -> bool:
    """Whether ours is what Avro's specification or its library for Java has, and `docs/formats.md` says."""
    if theirs.error is None:
        return "has the type null and nothing else" in (ours.error or "")
    if theirs.error.startswith("UnicodeDecodeError"):
        return "\N{REPLACEMENT CHARACTER}" in str(ours.value)
    nothing_inside = ours.value in ([], {})
    other_name = "record of another name" in {written, read} and {written, read} <= _RECORDS
    return theirs.error.startswith("SchemaResolutionError") and (nothing_inside or other_name)


def test_values_become_what_fastavro_makes_of_them(rng: random.Random) -> None:
    for written in rng.sample(sorted(TYPES), 12):
        assert differences(rng, written, sorted(TYPES)) == []


@pytest.mark.long
@pytest.mark.parametrize("written", sorted(TYPES))
def test_each_type_that_is_written_is_read_as_each_other_as_fastavro_does(
    rng: random.Random, written: str
) -> None:
    for _ in range(20):
        assert differences(rng, written, sorted(TYPES)) == []


@pytest.mark.parametrize("read", ["timestamp-millis", "timestamp-micros"])
@pytest.mark.parametrize("written", ["timestamp-millis", "timestamp-micros"])
def test_moments_are_the_same_whatever_unit_is_read(written: str, read: str, rng: random.Random) -> None:
    for prefix in ("", "local-"):
        wrote, reads = (logical("long", prefix + name) for name in (written, read))
        zone = dt.UTC if not prefix else None
        for _ in range(20):
            moment = dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(
                milliseconds=rng.randint(-1 << 45, 1 << 45)
            )
            assert resolved(wrote, reads, moment) == fastavro_reads(wrote, reads, moment) == moment


def test_dates_and_decimals_are_those_of_fastavro(rng: random.Random) -> None:
    for _ in range(50):
        day = dt.date(1970, 1, 1) + dt.timedelta(days=rng.randint(-500_000, 500_000))
        date = TIMES["date"]
        assert resolved(date, ["null", date], day) == fastavro_reads(date, ["null", date], day) == day
        unscaled = rng.getrandbits(rng.randrange(1, 99)) * rng.choice([1, -1])
        number = Decimal(unscaled).scaleb(-2)
        money = logical("bytes", "decimal", precision=30, scale=2)
        assert (
            resolved(money, ["null", money], number)
            == fastavro_reads(money, ["null", money], number)
            == number
        )


def fastavro_reads(writer: Any, reader: Any, written: Any) -> Any:
    wrote, reads = (record({"name": "x", "type": kind}) for kind in (writer, reader))
    return their_outcome(wrote, reads, encode(wrote, {"x": written})).value
