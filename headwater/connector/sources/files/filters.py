"""Spark's filters in the form that Parquet's row groups are skipped by."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Sequence
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


def understood_filters(filters: Sequence[Filter]) -> tuple[tuple[str, str, object], ...]:
    """Return column, operator and value of each filter that is understood; leave out the others."""
    return tuple(triple for triple in map(_understood, filters) if triple is not None)


def _understood(spark_filter: Filter) -> tuple[str, str, object] | None:
    operator = _OPERATORS.get(type(spark_filter))
    attribute: tuple[str, ...] = getattr(spark_filter, "attribute", ())
    value: Any = getattr(spark_filter, "value", None)
    values = value if isinstance(spark_filter, In) else (value,)
    plain = operator in ("null", "not null") or all(
        isinstance(item, _KINDS) and not isinstance(item, dt.datetime) for item in values
    )
    return (attribute[0], operator, value) if operator is not None and len(attribute) == 1 and plain else None
