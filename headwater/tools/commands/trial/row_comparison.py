"""Whether two frames have the same rows, in any order, and where they differ. All of it is done in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headwater.connector.compat import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row
    from pyspark.sql.types import DataType

_LOW: Final = 0xFFFFFFFF
_CUT: Final = 120


@dataclass(frozen=True)
class RowsDigest:
    """How many rows there are, and a sum of their hashes, which does not depend on their order.

    Rows that come twice count twice. The halves of the hashes are summed, so that no sum overflows.
    """

    rows: int
    low: int
    high: int


@dataclass(frozen=True)
class Place:
    """A place in which two frames differ.

    Attributes:
        text: where, and how, for people.
        columns: the names of the columns that differ; empty if the whole row is missing or comes twice.
    """

    text: str
    columns: frozenset[str] = frozenset()


def digest(frame: DataFrame) -> RowsDigest:
    """Read a frame, and return the digest of all columns of its rows."""
    from pyspark.sql import functions as f

    row = frame.select(row_hash(frame).alias("hash")).agg(f.count("*"), *_halves()).first()
    assert row is not None
    rows, low, high = row
    return RowsDigest(rows, low or 0, high or 0)


def columns_that_differ(sparks: DataFrame, ours: DataFrame) -> list[str]:
    """Return in words how the columns differ, in names, order or types. Nullability does not count."""
    one, other = (_columns(frame) for frame in (sparks, ours))
    if one == other:
        return []
    of_sparks, of_ours = (", ".join(f"{name} {kind}" for name, kind in each) for each in (one, other))
    return [f"columns: {of_sparks} of Spark's source, and {of_ours} of headwater"]


def first_places(sparks: DataFrame, ours: DataFrame, place: Sequence[str], count: int) -> list[Place]:
    """Read two frames, and return the first places in which they differ, in the order of places.

    Args:
        sparks: of Spark's source.
        ours: of headwater, with the same columns.
        place: the columns that say where a row comes from. If they are not unique, a row counts as often as
            it comes.
        count: how many at the most.
    """
    from pyspark.sql import functions as f

    keys = [f"key{at}" for at in range(len(place))]
    one, other = _by_place(sparks, place, "one"), _by_place(ours, place, "other")
    joined = one.join(other, [one[key].eqNullSafe(other[key]) for key in keys], "full_outer")
    same = [one[f"one_{each}"].eqNullSafe(other[f"other_{each}"]) for each in ("count", "low", "high")]
    others = joined.where(~(same[0] & same[1] & same[2])).select(
        *(f.coalesce(one[key], other[key]).alias(key) for key in keys),
        *(f"{side}_{each}" for each in ("count", "hashes", "texts") for side in ("one", "other")),
    )
    # As text, made by Spark: Python has no time before the year 1, and no NaN that equals itself.
    first = others.orderBy(*keys).limit(count).withColumns({key: f.col(key).cast("string") for key in keys})
    return [_place(row, len(place), sparks.columns) for row in first.collect()]


def _by_place(frame: DataFrame, place: Sequence[str], side: str) -> DataFrame:
    """Return for each place how many rows it has, the sum of their hashes, and one of them, as text."""
    from pyspark.sql import functions as f

    hashed = frame.select(
        *(f.col(name).alias(f"key{at}") for at, name in enumerate(place)),
        row_hash(frame).alias("hash"),
        f.array(*(_column_hash(frame, name) for name in frame.columns)).alias("hashes"),
        f.array(*(_text(frame, name) for name in frame.columns)).alias("texts"),
    )
    low, high = _halves()
    return hashed.groupBy(*(f"key{at}" for at in range(len(place)))).agg(
        f.count("*").alias(f"{side}_count"),
        low.alias(f"{side}_low"),
        high.alias(f"{side}_high"),
        f.first("hashes").alias(f"{side}_hashes"),
        f.first("texts").alias(f"{side}_texts"),
    )


def row_hash(frame: DataFrame) -> Column:
    """Return 64 bits of all columns of a frame."""
    from pyspark.sql import functions as f

    return f.xxhash64(*(_column_hash(frame, name) for name in frame.columns))


def _column_hash(frame: DataFrame, name: str) -> Column:
    """Return 64 bits of a column, in which a null differs from everything else.

    Spark's hash passes over nulls, so a flag stands beside each value; nested ones are hashed as JSON too. It
    takes -0.0 for 0.0, so numbers of this kind are hashed as text too.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StructType

    kind = frame.schema[name].dataType
    column = _without_maps(f.col(quoted(name)), kind)
    parts = [column.isNull(), column]
    if isinstance(kind, (ArrayType, MapType, StructType)):
        parts.append(f.to_json(f.struct(column), {"ignoreNullFields": "false"}))
    elif isinstance(kind, (DoubleType, FloatType)):
        parts.append(column.cast("string"))
    return f.xxhash64(*parts)


def _without_maps(column: Column, kind: DataType) -> Column:
    """Return a column with sorted lists of entries for maps: the order of those is none of their value."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, MapType, StructType

    if not _has_map(kind):
        return column
    match kind:
        case MapType():
            entry = StructType().add("key", kind.keyType).add("value", kind.valueType)
            return f.array_sort(_without_maps(f.map_entries(column), ArrayType(entry)))
        case ArrayType():
            return f.transform(column, lambda each: _without_maps(each, kind.elementType))
        case StructType():
            fields = (
                _without_maps(column.getField(each.name), each.dataType).alias(each.name) for each in kind
            )
            return f.when(column.isNotNull(), f.struct(*fields))
    raise AssertionError(kind)


def _text(frame: DataFrame, name: str) -> Column:
    """Return a column as people read it: bytes that are no text in hexadecimal digits."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import BinaryType

    column = f.col(quoted(name))
    text = column.cast("string")
    if not isinstance(frame.schema[name].dataType, BinaryType):
        return text
    return f.when(f.is_valid_utf8(text), text).otherwise(f.hex(column))


def _has_map(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType

    match kind:
        case MapType():
            return True
        case ArrayType():
            return _has_map(kind.elementType)
        case StructType():
            return any(_has_map(field.dataType) for field in kind.fields)
    return False


def _halves() -> tuple[Column, Column]:
    from pyspark.sql import functions as f

    hashed = f.col("hash")
    return f.sum(hashed.bitwiseAND(_LOW)), f.sum(f.shiftrightunsigned(hashed, 32))


def _place(row: Row, keys: int, names: Sequence[str]) -> Place:
    where = " ".join(row[:keys])
    one_count, other_count, *arrays = row[keys:]
    one_hashes, other_hashes, one, other = (each or [] for each in arrays)
    if not one_count or not other_count:
        side = "headwater" if other_count else "Spark's source"
        return Place(f"{where}: {one_count or other_count} of {side} alone: {_row(names, one or other)}")
    if one_count != other_count:
        return Place(
            f"{where}: {one_count} of Spark's source, {other_count} of headwater: {_row(names, one)}"
        )
    others = [at for at in range(len(names)) if one_hashes[at] != other_hashes[at]]
    texts = [
        f"{names[at]} is {_cut(one[at])} of Spark's source and {_cut(other[at])} of headwater"
        for at in others
    ]
    return Place(f"{where}: {'; '.join(texts) or 'rows differ'}", frozenset(names[at] for at in others))


def _row(names: Sequence[str], texts: Sequence[str | None]) -> str:
    return ", ".join(f"{name}={_cut(text)}" for name, text in zip(names, texts, strict=True))


def _cut(text: str | None) -> str:
    if text is None:
        return "null"
    shown = repr(text)
    return shown if len(shown) <= _CUT else f"{shown[: _CUT - 3]}..."


def _columns(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema]
