"""Kinds of change rows, brought into one form: operation, order, and the columns of the table.

* headwater's own: `_op`, `_lsn`, `_seq`, and `_sync` and `_unchanged` where they are there;
* Spark's changelog: `_change_type`, `_commit_version`, `_commit_timestamp`, with `_seq` and `_unchanged`
  where they are there;
* Debezium's, of Kafka: `op`, `before`, `after` as ``valueFormat=debezium-json`` gives them, with `partition`
  and `offset`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from headwater.connector.compat import quoted
from headwater.connector.program_arguments import misfit
from headwater.core.errors import OptionError

HARD_DELETE: Final = "d"
READ: Final = "r"
"""A row that was there, of a table that is read as a whole."""
GENERATION: Final = "_sync"
"""How often the table was read again as a whole. The first field of an order that has it."""
SOFT_DELETE: Final = "b"
"""A row before its update: a delete if nothing follows, for the update may have another key."""
TRUNCATE: Final = "t"
OPERATIONS: Final = (READ, "c", "u", HARD_DELETE, SOFT_DELETE, TRUNCATE)

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""Debezium's default in place of a value that the database did not send."""

_OWN: Final = ("_op", "_lsn", "_seq")
_OWN_META: Final = frozenset({*_OWN, "_xid", "_commit_ts", "_sync", "_unchanged"})
_SPARK: Final = ("_change_type", "_commit_version")
_SPARK_META: Final = frozenset({*_SPARK, "_commit_timestamp", "_xid", "_seq", "_sync", "_unchanged"})
_SPARK_OPERATIONS: Final = {
    "insert": "c",
    "update_preimage": SOFT_DELETE,
    "update_postimage": "u",
    "delete": HARD_DELETE,
    "truncate": TRUNCATE,  # headwater's, of PostgreSQL
}
_DEBEZIUM: Final = ("op", "before", "after", "partition", "offset")
_DEBEZIUM_META: Final = frozenset(
    {*_DEBEZIUM, "ts_ms", "source", "key", "topic", "timestamp", "timestampType", "headers"}
)


@dataclass(frozen=True, kw_only=True)
class AnyChanges:
    """Change rows of any kind, as expressions over their frame.

    Attributes:
        rows: the frame, without rows that change nothing.
        operation: one of `OPERATIONS`; another value or NULL is refused.
        order: a struct that orders the changes of a key. NULL in it is refused.
        order_names: where that comes from, for errors.
        unchanged: names of columns whose value the database did not send; an empty array if all have one.
        values: the columns of the table by name.
        doubt: an aggregate over the changes of a key, true where their order is not known; None: it is.
        doubt_reason: the message of that error.
        truncate_reason: the message of the error for a TRUNCATE, whose place among the changes is not known;
            empty: it is.
        generation_reason: the message of the error for rows of a table that was read again, where they
            cannot be told from changes; empty: they can.
    """

    rows: DataFrame
    operation: Column
    order: Column
    order_names: tuple[str, ...]
    unchanged: Column
    values: Mapping[str, Column]
    doubt: Callable[[Column], Column] | None = None
    doubt_reason: str = ""
    truncate_reason: str = ""
    generation_reason: str = ""


def change_rows(df: DataFrame, target: Sequence[str]) -> AnyChanges:
    """Return the change rows of a frame.

    Args:
        df: the frame of a batch.
        target: columns of the target: those of them that describe a change are data too.

    Raises:
        OptionError: it has no rows of a known kind.
    """
    names = frozenset(df.columns)
    if names.issuperset(_OWN):
        return _own(df, target)
    if names.issuperset(_SPARK):
        return _of_changelog(df, target)
    if names.issuperset(_DEBEZIUM):
        return _of_debezium(df)
    raise misfit(
        "df",
        f"a frame of changes: with the columns {', '.join(_OWN)}; or {', '.join(_SPARK)}; or those of "
        f"Debezium with their place in Kafka, {', '.join(_DEBEZIUM)}",
        df,
        f" with the columns {', '.join(df.columns)}",
    )


def _own(df: DataFrame, target: Sequence[str]) -> AnyChanges:
    return AnyChanges(
        rows=df,
        operation=F.col("_op"),
        order=F.struct(_sync(df), F.col("_lsn"), F.col("_seq")),
        order_names=("_sync", "_lsn", "_seq"),
        unchanged=_unchanged(df),
        values=_data(df, _OWN_META, target),
    )


def _of_changelog(df: DataFrame, target: Sequence[str]) -> AnyChanges:
    kind = F.col("_change_type")
    operation = F.lit(None).cast("string")
    for name, letter in _SPARK_OPERATIONS.items():
        operation = F.when(kind == name, letter).otherwise(operation)
    # Removals go before additions where nothing else tells: a version may rewrite a row.
    rank = F.when(kind.isin("delete", "update_preimage"), 0).otherwise(1)
    changes = AnyChanges(
        rows=df,
        # An unknown word stays as it is, for the error.
        operation=F.coalesce(operation, kind),
        order=F.struct(_sync(df), F.col("_commit_version"), rank),
        order_names=("_sync", "_commit_version", "_seq"),
        unchanged=_unchanged(df),
        values=_data(df, _SPARK_META, target),
    )
    if "_seq" in df.columns:
        order = F.struct(_sync(df), F.col("_commit_version"), F.col("_seq"), rank)
        # A row that was there is an insert in this changelog, which has no word for it.
        read = F.when(F.col("_seq") < 0, READ).otherwise(changes.operation)
        return replace(changes, order=order, operation=read)
    return replace(
        changes,
        doubt=lambda order: F.count(F.lit(1)) != F.size(F.collect_set(order)),
        doubt_reason="a key has several changes of one kind in one _commit_version, and no column _seq that "
        "orders them",
        truncate_reason="a TRUNCATE has no place among the changes of its _commit_version without the column "
        "_seq: keep that column",
        generation_reason="the table was read again as a whole (_sync), and without the column _seq nobody "
        "can tell its rows from changes: keep that column",
    )


def _of_debezium(df: DataFrame) -> AnyChanges:
    table = df.schema["after"].dataType
    if not isinstance(table, StructType):
        raise misfit("df", "a frame whose column 'after' is a struct with the columns of the table", df)
    if strange := [name for name in df.columns if name not in _DEBEZIUM_META]:
        raise OptionError(
            f"column {strange[0]!r} is not one of Kafka or of Debezium's envelope: drop it, after a look at "
            "its rows if it holds values that could not be decoded",
            option="df",
        )
    gone = F.col("op") == HARD_DELETE
    values = {
        name: F.when(gone, F.col(f"before.{quoted(name)}")).otherwise(F.col(f"after.{quoted(name)}"))
        for name in table.names
    }
    left_out = [
        F.when(is_left_out, F.lit(field.name))
        for field in table
        if (is_left_out := _is_unavailable(values[field.name], field.dataType)) is not None
    ]
    unchanged = F.array_compact(F.array(*left_out)) if left_out else _NONE()
    # The same place of two topics is not one.
    place = [name for name in ("topic", "partition") if name in df.columns]
    return AnyChanges(
        # Tombstones, and messages that are of no table.
        rows=df.where(F.col("op").isNotNull() & (F.col("op") != "m")),
        operation=F.col("op"),
        order=F.struct(*place, "offset"),
        order_names=(*place, "offset"),
        unchanged=unchanged,
        values=values,
        doubt=lambda order: reduce(or_, (F.min(order[name]) != F.max(order[name]) for name in place)),
        doubt_reason="a key has changes in several partitions or topics of Kafka, whose order is not known",
        truncate_reason="a TRUNCATE of Debezium has no place among the changes of other partitions: empty "
        "the target by hand, and leave such rows out (op <> 't')",
    )


def _is_unavailable(value: Column, kind: DataType) -> Column | None:
    """Return whether a value is Debezium's placeholder: a text, or an array of that or of its bytes.

    None: there is no known one of this type.
    """
    match kind:
        case StringType() | BinaryType():
            return value.cast("string") == UNAVAILABLE
        case ArrayType(elementType=StringType()):
            return value == F.array(F.lit(UNAVAILABLE))
        case ArrayType(elementType=IntegerType() | LongType()):
            numbers = F.array(*(F.lit(each) for each in UNAVAILABLE.encode()))
            return value.cast("array<bigint>") == numbers.cast("array<bigint>")
        case _:
            return None


def _data(df: DataFrame, meta: frozenset[str], target: Sequence[str]) -> dict[str, Column]:
    # The row before the change (`includeBefore`) is a struct of that name.
    rows_before = {
        field.name for field in df.schema if field.name == "before" and isinstance(field.dataType, StructType)
    }
    described = {*meta, *rows_before}
    return {name: F.col(quoted(name)) for name in df.columns if name not in described or name in target}


def _sync(df: DataFrame) -> Column:
    return F.col(GENERATION) if GENERATION in df.columns else F.lit(0).alias(GENERATION)


def _unchanged(df: DataFrame) -> Column:
    return F.coalesce(F.col("_unchanged"), _NONE()) if "_unchanged" in df.columns else _NONE()


def _NONE() -> Column:  # noqa: N802 - a constant, for which a session must be there
    return F.array().cast("array<string>")
