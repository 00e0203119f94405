"""Values of results beside Spark's own cast: the same value, or refused by both."""

from __future__ import annotations

import importlib
import os
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headwater.connector.async_io.conversions import Members, converter
from headwater.connector.async_io.misfit import Misfit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pd: Any = importlib.import_module("pandas")  # without types
ZONE = ZoneInfo("America/New_York")
TYPES: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "float": pa.float32(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "decimal(6,2)": pa.decimal128(6, 2),
    "decimal(38,18)": pa.decimal128(38, 18),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
VALUES: dict[str, list[Any]] = {
    "bigint": [0, 1, -1, 127, 128, -129, 300, 2**31, -(2**31) - 1, 99999, 1700000000, 12345678901],
    "double": [
        0.0,
        -0.0,
        19.99,
        -19.99,
        1e-7,
        0.001,
        1234567.5,
        1e7,
        1.5e10,
        127.9,
        3e9,
        1.005,
        1700000000.25,
        9.3e18,
        -1e19,
    ],
    "boolean": [True, False],
    "string": [
        *(
            "",
            " ",
            "7",
            " 7 ",
            "+7",
            "-7",
            "7.5",
            "1e3",
            "128",
            "abc",
            "NaN",
            "inf",
            "-Infinity",
            "1_0",
            "0x1",
        ),
        *("true", "T", " yes ", "no", "f", "0", "2", "on"),
        *("2026", "2026-1", "2026-01-05", "2026-1-5", "2026-02-30", "2026-01-05T", "2026-01-05 07:08:09"),
        *(
            "2026-01-05T07:08:09.123456789Z",
            "2026-01-05 07:08:09.5+02:00",
            "2026-01-05 07:08:09 Europe/Berlin",
        ),
        *(
            "2026 7",
            "2026-01 x",
            "2026-01-05 x",
            "2026-01-05 7",
            "+2026-01-05",
            "2026-01-05 07:08:09.1234567891",
        ),
        *("2026-01-05 7:8Z", "2026-01-05  7:8", "7D", "7f", "0x1p3", "\x007\x7f", "+nan", "+inf", "NAN"),
        *("2026-01-05 7:8", "2026-01-05 25:00:00", "not a date", "2026-01-05junk", "1.005", "9999.995"),
    ],
    "decimal(20,5)": [
        Decimal(each) for each in ("1.50000", "-1.00500", "99999.99900", "0.00001", "300.00000")
    ],
    "timestamp": [
        datetime(2026, 1, 5, 7, 8, 9, 120000, UTC),
        datetime(1969, 12, 31, 23, 59, 59, 500000, UTC),
        datetime(2026, 7, 1, 3, 0, tzinfo=UTC),
    ],
    "date": [date(2026, 1, 5), date(1969, 12, 31)],
}


FIRST_DAY = -719_162  # of year 1
LAST_DAY = 2_932_896  # of year 9999
GENERATED = int(os.environ.get("HEADWATER_CASTS", "300"))


def converted(value: Any, kind: pa.DataType) -> Any:
    try:
        found = converter(pa.field("value", kind), ZONE, Members(exact=True), "")(value)
    except Misfit:
        return None
    return pa.array([found], kind)[0].as_py()


def as_values(column: Any) -> list[Any]:
    """Return Python's values; None for those of years before 1 or after 9999, which Python has not."""
    if pa.types.is_temporal(column.type):
        is_date = pa.types.is_date(column.type)
        day = 1 if is_date else 86_400_000_000
        numbers = column.cast(pa.int32() if is_date else pa.int64()).to_pylist()
        in_range = [each is not None and FIRST_DAY <= each // day <= LAST_DAY for each in numbers]
        column = pc.if_else(pa.array(in_range), column, pa.scalar(None, column.type))
    found: list[Any] = column.to_pylist()
    return found


def made_of(rng: random.Random, *parts: Sequence[str]) -> str:
    """Return one of each, and now and then one character too few or too many."""
    text = "".join(map(rng.choice, parts))
    place = rng.randint(0, len(text))
    return rng.choice(
        [text] * 6 + [text[:place] + text[place + 1 :], text[:place] + "0 -:.TZ+e"[place % 9] + text[place:]]
    )


def some_number(rng: random.Random) -> str:
    digits = ["", "0", "00", *(str(rng.getrandbits(rng.randint(1, 130))) for _ in range(6))]
    exponents = [""] * 6 + ["e3", "E-2", "e+18", "e400", "e-400", "f", "D", "L"]
    around = ["", "", "", " ", "\t", "\n ", "\x00", "\x7f", "\xa0"]
    return made_of(rng, around, ["", "-", "+"], digits, ["", "."], digits, exponents, around)


def some_time(rng: random.Random) -> str:
    years = ["2026", "1", "0000", "1883", "1582", "9999", "10000", "+2026", "-0044", "294247"]
    days = ["", *(f"-{rng.randint(0, 13):{width}}-{rng.randint(0, 32):{width}}" for width in ("02", "1"))]
    times = [f"{rng.randint(0, 24):{width}}:{rng.randint(0, 60):{width}}" for width in ("02", "1")]
    seconds = ["", f":{rng.randint(0, 60):02}", f":{rng.randint(0, 60):02}.{rng.getrandbits(30)}", ":"]
    zones = [
        "",
        "Z",
        "+02:00",
        "-0730",
        "+18:01",
        " UTC",
        "UTC+1",
        " Europe/Berlin",
        " GMT-3",
        "EST",
        " Mars/Base",
    ]
    return made_of(rng, years, days, ["T", " ", "  ", ""], ["", *times], seconds, zones)


def generated(rng: random.Random, source: str) -> Any:
    """Return a value of a type, near its borders more often than far from them."""
    sign = rng.choice([-1, 1])
    whole = sign * rng.getrandbits(rng.randint(1, 63))
    days = rng.randint(FIRST_DAY, LAST_DAY)
    made: dict[str, Callable[[], Any]] = {
        "bigint": lambda: whole,
        # Below 1e16: of larger ones a JVM before 19 may write a digit too many.
        "double": lambda: float(f"{whole % 10**12}e{rng.randint(-25, 4)}") * sign,
        "boolean": lambda: whole > 0,
        "string": lambda: rng.choice([some_number, some_time])(rng),
        "decimal(20,5)": lambda: Decimal(whole % 10**20).scaleb(-5).copy_sign(whole),
        "timestamp": lambda: datetime.fromtimestamp(0, UTC) + timedelta(days, 0, abs(whole) % 86_400_000_000),
        "date": lambda: date(1970, 1, 1) + timedelta(days),
    }
    return made[source]()


def wraps_around(value: object, target: str) -> bool:
    """Whether so many seconds are more than a timestamp holds: Spark makes another time of them."""
    return isinstance(value, Decimal) and target.startswith("timestamp") and abs(value) * 10**6 >= 2**63


@pytest.mark.parametrize("source", VALUES)
def test_a_value_is_converted_as_spark_casts_it(spark: SparkSession, source: str, rng: random.Random) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", str(ZONE))
    try:
        values = [*VALUES[source], *(generated(rng, source) for _ in range(GENERATED))]
        df = spark.createDataFrame(list(enumerate(values)), f"place int, value {source}")
        targets = [name for name in TYPES if can_cast(spark, source, name)]
        casts = [f"try_cast(value as {name}) `{name}`" for name in targets]
        table = df.selectExpr("place", *casts).orderBy("place").toArrow()
        differences = []
        for name in targets:
            expected = as_values(table.column(name).cast(TYPES[name]))
            for value, cast in zip(values, expected, strict=True):
                mine = converted(value, TYPES[name])
                if wraps_around(value, name):
                    cast = None  # noqa: PLW2901 - what the docs say instead
                if mine != cast and repr(mine) != repr(cast):  # NaN is not equal to itself
                    differences.append((value, name, cast, mine))
        assert not differences
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


def can_cast(spark: SparkSession, source: str, target: str) -> bool:
    """Return whether Spark's analyzer allows the cast at all."""
    from pyspark.errors import AnalysisException

    try:
        spark.sql(f"select try_cast(cast(null as {source}) as {target})").schema  # noqa: B018 - it analyzes
    except AnalysisException:
        return False
    return True


class RaisesArithmeticError:
    """Raises where it is asked what it is."""

    def __float__(self) -> float:
        raise ArithmeticError

    def __index__(self) -> int:
        raise ArithmeticError


@pytest.mark.parametrize(
    "value",
    [
        np.array([1, 2]),
        np.array(1),
        np.datetime64("2026-01-01"),
        pd.NaT,
        Decimal("sNaN"),
        Decimal("1e999999"),
        10**5000,
        "7" * 5000,
        RaisesArithmeticError(),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=ZONE),
        iter(()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_of_any_kind_is_converted_or_a_failure_of_its_row(value: Any) -> None:
    kinds = [*TYPES.values(), pa.binary(), pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32())]
    for kind in [*kinds, pa.struct([pa.field("a", pa.int32())])]:
        try:
            found = converter(pa.field("value", kind), ZONE, Members(exact=True), "")(value)
        except Misfit:
            continue
        assert pa.array([found], kind).null_count == 0
