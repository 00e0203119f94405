"""The last state of each key of a batch of changes.

A key's life begins with `r` or `c` and ends with `d`. Of a column whose value the database did not send, the
last one of this life counts; if the life began before the batch, the target has it. Never NULL in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from headwater.connector.changes.rows import HARD_DELETE, SOFT_DELETE
from headwater.connector.compat import quoted

if TYPE_CHECKING:
    from headwater.connector.changes.rows import AnyChanges

_PREFIX: Final = "__headwater_"
OPERATION: Final = f"{_PREFIX}operation"
ORDER: Final = f"{_PREFIX}order"
UNCHANGED: Final = f"{_PREFIX}unchanged"
_LAST: Final = f"{_PREFIX}last"
_END: Final = f"{_PREFIX}end"
_DOUBT: Final = f"{_PREFIX}doubt"
_GONE: Final = f"{_PREFIX}gone"

_LACKING: Final = (
    "hw.apply_changes: the database did not send the value of column '{}', and neither the batch nor the "
    "target has it: the target lacks the row. Were changes left out, or is the target another table?"
)


def value_column(number: int) -> str:
    """Return the name of a column in `flattened` and `Reduced.rows`: none of the target is called so."""
    return f"{_PREFIX}value_{number}"


def flattened(changes: AnyChanges, columns: Sequence[str]) -> DataFrame:
    """Return change rows with the same columns for each kind, and values by number.

    Args:
        changes: of any kind.
        columns: those of the changes, in the order of the target's.
    """
    values = [changes.values[name].alias(value_column(at)) for at, name in enumerate(columns)]
    return changes.rows.select(
        changes.operation.alias(OPERATION),
        changes.order.alias(ORDER),
        changes.unchanged.alias(UNCHANGED),
        *values,
    )


@dataclass(frozen=True, kw_only=True)
class Reduced:
    """One row for each key that a batch changes.

    Attributes:
        rows: the frame.
        places: of the target's columns in it.
        partial: columns that have no value in some change of the batch, with their names in the changes:
            Spark may compare names without case.
        is_truncated: whether the table was emptied before these changes.
    """

    rows: DataFrame
    places: Mapping[str, int]
    partial: Mapping[str, str]
    is_truncated: bool

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        changes: AnyChanges,
        names: Sequence[str],
        key: Sequence[str],
        *,
        partial: Mapping[str, str],
        is_truncated: bool,
    ) -> Self:
        """Reduce changes.

        Args:
            rows: of `flattened`, without those of an earlier table and without TRUNCATE.
            changes: of which kind they are.
            names: the target's columns.
            key: some of them.
            partial: as in the attributes.
            is_truncated: as in the attributes.
        """
        places = {name: at for at, name in enumerate(names)}
        order, operation = F.col(ORDER), F.col(OPERATION)
        settled = [value_column(at) for name, at in places.items() if name not in {*partial, *key}]
        aggregates = [
            F.max_by(F.struct(OPERATION, *settled), order).alias(_LAST),
            F.max(F.when(operation == HARD_DELETE, order)).alias(_END),
            (F.lit(False) if changes.doubt is None else changes.doubt(order)).alias(_DOUBT),
        ]
        for name in sorted(partial):
            column = value_column(places[name])
            is_sent = ~operation.isin(HARD_DELETE, SOFT_DELETE) & ~F.array_contains(UNCHANGED, partial[name])
            sent = F.struct(order.alias("order"), F.col(column).alias("value"))
            aggregates.append(F.max_by(sent, F.when(is_sent, order)).alias(column))
        states = rows.groupBy(*(value_column(places[name]) for name in key)).agg(*aggregates)
        gone = F.when(F.col(_DOUBT), F.raise_error(f"hw.apply_changes: {changes.doubt_reason}")).otherwise(
            F.col(f"{_LAST}.{OPERATION}").isin(HARD_DELETE, SOFT_DELETE)
        )
        rows = states.withColumn(_GONE, gone)
        return cls(rows=rows, places=places, partial=partial, is_truncated=is_truncated)

    @property
    def is_gone(self) -> Column:
        """Whether the key is not in the table afterwards."""
        return F.col(_GONE)

    def value(self, name: str) -> Column:
        """Return the value of a column that is sent with each change."""
        column = value_column(self.places[name])
        return F.col(column) if column in self.rows.columns else F.col(f"{_LAST}.{column}")

    def inserted(self, name: str) -> Column:
        """Return the value of a column where the target has no such row."""
        if name not in self.partial:
            return self.value(name)
        column = F.col(value_column(self.places[name]))
        return F.when(self._is_known(name), column["value"]).otherwise(F.raise_error(_LACKING.format(name)))

    def updated(self, name: str) -> Column:
        """Return the value of a column where the target has the row already."""
        if name not in self.partial or self.is_truncated:
            return self.inserted(name)
        # After an end in this batch the target's row is of an earlier life.
        return F.when(self._is_known(name) | F.col(_END).isNotNull(), self.inserted(name)).otherwise(
            F.col(quoted(name))
        )

    def _is_known(self, name: str) -> Column:
        column = F.col(value_column(self.places[name]))
        return column.isNotNull() & (F.col(_END).isNull() | (column["order"] > F.col(_END)))
