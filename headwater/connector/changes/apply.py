"""``hw.apply_changes``: a batch of changes of a table becomes one MERGE into another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final, cast

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from headwater.connector.changes.reduction import (
    OPERATION,
    ORDER,
    UNCHANGED,
    Reduced,
    flattened,
    value_column,
)
from headwater.connector.changes.rows import GENERATION, OPERATIONS, READ, TRUNCATE, change_rows
from headwater.connector.changes.target import target_table
from headwater.connector.program_arguments import checked_frame, checked_names, checked_text
from headwater.connector.readable import readable
from headwater.core.errors import OptionError, SourceError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row
    from pyspark.sql.types import StructType

    from headwater.connector.changes.rows import AnyChanges

_ROWS: Final = "rows"
_TRUNCATED: Final = "truncated"
_STRANGE: Final = "strange"
_UNORDERED: Final = "unordered"
_INCOMPLETE: Final = "incomplete"
_READ_AGAIN: Final = "read_again"
_WHOLE: Final = "whole"


@readable
def apply_changes(df: DataFrame, *, into: str, key: Sequence[str]) -> None:
    """Apply a batch of change rows to a table: afterwards it is as the changed table was at the batch's end.

    For ``foreachBatch``, where a batch may come twice: the second time changes nothing.

    ::

        def merge(df, batch_id):
            hw.apply_changes(df, into="lake.orders", key=["id"])

        changes.writeStream.foreachBatch(merge).option("checkpointLocation", ...).start()

    The last change of each key is written, in one MERGE of Spark, with deletes and TRUNCATE. A column whose
    value the database did not send (`_unchanged`) keeps its value. Columns that only describe a change, such
    as `_lsn`, are written where the table has a column of that name.

    Rows of a table that was read again as a whole (`_sync` above 0) need a column `_sync` in the target: with
    the first change behind them, rows of the target that did not come back are deleted.

    Args:
        df: rows with `_op`, `_lsn`, `_seq`; or with `_change_type`, `_commit_version`; or of Debezium, with
            `op`, `before`, `after` and Kafka's `partition` and `offset`. Read twice, and cached meanwhile.
        into: the table, of a format that has MERGE.
        key: the columns that identify a row. Never NULL.

    Raises:
        OptionError: the frame is no batch of changes, the table is missing, has no MERGE, no column `_sync`
            where it needs one, or other columns, or the key does not identify rows.
        SourceError: a change cannot be applied: its operation is unknown, its place in the order is missing,
            or a row with a new key lacks a value.
    """
    frame = checked_frame(df)
    checked_text(into, "into")
    if frame.isStreaming:
        raise OptionError("is a stream: call hw.apply_changes in foreachBatch, with its batch", option="df")
    target = target_table(frame.sparkSession, into)
    names = target.check_key(checked_names(key, "key"))
    changes = change_rows(frame, target.names)
    columns = target.check_columns(list(changes.values))
    rows = flattened(changes, list(columns.values()))
    places = {name: at for at, name in enumerate(columns)}
    keys = {name: value_column(places[name]) for name in names}
    target.check_key_types({name: rows.schema[column].dataType for name, column in keys.items()})
    # The batch is looked at before it is written: without a cache the source would be read each time.
    rows = rows.persist()
    try:
        facts = _look(rows, keys)
        _check(facts, keys, changes, into)
        if not facts[_ROWS]:
            return
        target.check_generation(facts[_READ_AGAIN])
        is_truncated = facts[_TRUNCATED] is not None
        valid = rows.where(F.col(ORDER) > _literal(facts[_TRUNCATED], rows)) if is_truncated else rows
        if whole := facts[_WHOLE]:
            valid = valid.where(F.col(ORDER)[GENERATION] >= whole)
        unsent = target.folded(facts[UNCHANGED])
        _check_unsent(unsent, target.folded(list(changes.values)))
        partial = {
            name: unsent[folded] for folded, name in target.folded(list(columns)).items() if folded in unsent
        }
        reduced = Reduced.of(valid, changes, list(columns), names, partial=partial, is_truncated=is_truncated)
        older = target.older_rows(frame.sparkSession, whole) if whole and not is_truncated else None
        target.merge(reduced, names, gone=F.lit(True) if is_truncated else older)
    finally:
        rows.unpersist()


def _look(rows: DataFrame, keys: Mapping[str, str]) -> Row:
    """Return the facts of a batch that its checks need, in one pass."""
    operation, order, unchanged = F.col(OPERATION), F.col(ORDER), F.col(UNCHANGED)
    is_row = operation != TRUNCATE
    struct = cast("StructType", rows.schema[ORDER].dataType)
    places = [order[name] for name in struct.names]
    is_strange = ~F.coalesce(operation.isin(*OPERATIONS), F.lit(False))
    begins = operation.isin(READ, "c") & (F.size(unchanged) > 0)
    generation = order[GENERATION] if GENERATION in struct.names else F.lit(0)
    facts = rows.agg(
        F.count(F.lit(1)).alias(_ROWS),
        F.max(F.when(operation == TRUNCATE, order)).alias(_TRUNCATED),
        F.array_distinct(F.flatten(F.collect_set(unchanged))).alias(UNCHANGED),
        F.first(F.when(is_strange, F.coalesce(operation, F.lit("NULL"))), ignorenulls=True).alias(_STRANGE),
        F.count(F.when(reduce(or_, (place.isNull() for place in places)), 1)).alias(_UNORDERED),
        F.first(F.when(begins, F.struct(ORDER, UNCHANGED)), ignorenulls=True).alias(_INCOMPLETE),
        F.max(generation).alias(_READ_AGAIN),
        # A change comes behind all rows that were there.
        F.max(F.when(operation != READ, generation)).alias(_WHOLE),
        *(F.count(F.when(is_row & F.col(column).isNull(), 1)).alias(column) for column in keys.values()),
    ).first()
    assert facts is not None
    return facts


def _check(facts: Row, keys: Mapping[str, str], changes: AnyChanges, into: str) -> None:
    """Return if a batch can be applied.

    Args:
        facts: of `_look`.
        keys: the key's columns, by the target's names.
        changes: the kind of the rows.
        into: the target, for the error.

    Raises:
        OptionError: a key is NULL.
        SourceError: as `apply_changes` says.
    """
    if (strange := facts[_STRANGE]) is not None:
        raise SourceError(f"hw.apply_changes into {into}: the operation of a change is {strange!r}: unknown")
    if facts[_UNORDERED]:
        raise SourceError(
            f"hw.apply_changes into {into}: the order of {facts[_UNORDERED]} changes is not known: NULL in "
            f"{' or '.join(changes.order_names)}"
        )
    for name, column in keys.items():
        if facts[column]:
            raise OptionError(
                f"column {name!r} is NULL in {facts[column]} changes: a key identifies a row. A table "
                "without such a key needs REPLICA IDENTITY FULL and cannot be a target: keep its change log",
                option="key",
            )
    if facts[_READ_AGAIN] and changes.generation_reason:
        raise SourceError(f"hw.apply_changes into {into}: {changes.generation_reason}")
    if facts[_TRUNCATED] is not None and changes.truncate_reason:
        raise SourceError(f"hw.apply_changes into {into}: {changes.truncate_reason}")
    if (incomplete := facts[_INCOMPLETE]) is not None:
        raise SourceError(
            f"hw.apply_changes into {into}: the change at {tuple(incomplete[ORDER])} gives a row a new key "
            f"and lacks the value of {', '.join(incomplete[UNCHANGED])}, which the database did not send: "
            "ALTER TABLE ... REPLICA IDENTITY FULL on the server, and a new synchronisation of the table"
        )


def _check_unsent(unsent: Mapping[str, str], columns: Mapping[str, str]) -> None:
    """Return if each column without a value is one of the changes: else NULL could be taken for its value.

    Args:
        unsent: the names in `_unchanged`, by the form in which Spark compares them.
        columns: the columns of the changes, in the same way.

    Raises:
        OptionError: one is not.
    """
    if unknown := [name for folded, name in unsent.items() if folded not in columns]:
        raise OptionError(
            f"names {unknown[0]!r} in _unchanged, and has no such column: what is renamed must be renamed "
            "there too, and what is dropped be left out there: df.withColumn('_unchanged', "
            f"F.array_except('_unchanged', F.array(F.lit({unknown[0]!r}))))",
            option="df",
        )


def _literal(order: Row, rows: DataFrame) -> Column:
    """Return an order that was seen as an expression of the same type."""
    struct = cast("StructType", rows.schema[ORDER].dataType)
    return F.struct(*(F.lit(order[field.name]).cast(field.dataType).alias(field.name) for field in struct))
