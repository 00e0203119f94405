"""``spark.read`` with Spark's filters, for those who switched them on."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)

from headwater.connector.sources.files.source import FilesSource
from headwater.connector.sources.simple import BarrierSimpleSource, PlannedSimpleSource
from headwater.connector.spark.batch_reader import BatchReader

__all__ = ["PushdownBatchReader"]

_OPERATORS: dict[type[Filter], str] = {
    EqualTo: "==",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
    IsNotNull: "not null",
    IsNull: "null",
    LessThan: "<",
    LessThanOrEqual: "<=",
}
_KINDS = (bool, int, str, dt.date, decimal.Decimal)


class PushdownBatchReader(BatchReader):
    """A reader that takes filters: of files, or of a source of the user that can.

    A class of its own: while ``spark.sql.python.filterPushdown.enabled`` is off, as it is by default, Spark
    refuses every reader that has `pushFilters`.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Note the filters that are understood, and return all.

        Spark applies them again, so ours may let a row through, but never drop one.
        """
        source = self._configured.source
        if isinstance(source, BarrierSimpleSource | PlannedSimpleSource):
            self._configured = replace(self._configured, source=source.with_filters(filters))
            return filters
        assert isinstance(source, FilesSource)
        understood = tuple(taken for taken in map(_understood, filters) if taken is not None)
        self._configured = replace(
            self._configured, source=replace(source, read=replace(source.read, filters=understood))
        )
        return filters


def _understood(given: Filter) -> tuple[str, str, object] | None:
    operator = _OPERATORS.get(type(given))
    attribute: tuple[str, ...] = getattr(given, "attribute", ())
    value: Any = getattr(given, "value", None)
    values = value if isinstance(given, In) else (value,)
    plain = operator in ("null", "not null") or all(
        isinstance(item, _KINDS) and not isinstance(item, dt.datetime) for item in values
    )
    return (attribute[0], operator, value) if operator is not None and len(attribute) == 1 and plain else None
