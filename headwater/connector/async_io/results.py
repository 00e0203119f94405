"""What a function returned, as Arrow columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from itertools import repeat
from types import NoneType
from typing import Any

import pyarrow as pa

from headwater.connector.async_io.conversions import Members, converter
from headwater.connector.async_io.misfit import Misfit
from headwater.connector.async_io.time_casts import session_zone
from headwater.core.errors import ContractError
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.settings import OnFailure

ERROR_TYPE = pa.struct([("class", pa.string()), ("message", pa.string()), ("attempts", pa.int32())])
_UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


class ResultFields(Enum):
    """What becomes of members of a result, or of a struct in it, that the schema does not know."""

    EXACT = "exact"  # the row failed; as if a member is missing
    LENIENT = "lenient"  # they are dropped; a member that is missing is null
    RESCUE = "rescue"  # they are kept as JSON in a column of their own; a member that is missing is null


@dataclass(frozen=True, kw_only=True)
class ResultFormat:
    """How results become columns. Sent to the tasks.

    Attributes:
        schema: the result columns.
        fields: what becomes of other members.
        rescue_column: with `ResultFields.RESCUE`, the column that keeps them.
        error_column: the column that holds failures; None: there is none, and a failure is a row of nulls.
        on_failure: what becomes of a result that is no row of the schema.
        time_zone: the session's: of times without a zone.
    """

    schema: pa.Schema
    fields: ResultFields = ResultFields.EXACT
    rescue_column: str | None = None
    error_column: str | None = None
    on_failure: OnFailure = OnFailure.FAIL
    time_zone: str = "UTC"


def flatten(outputs: Sequence[tuple[Any, Any]]) -> tuple[Sequence[Any], Sequence[Any], int]:
    """Return rows and results side by side, one result each, and how often a row comes at most.

    A row comes as often as it has results: a row without any does not come at all.
    """
    found = [result for _, result in outputs]
    if not any(issubclass(kind, list | NoneType) for kind in set(map(type, found))):
        return [row for row, _ in outputs], found, 1
    rows: list[Any] = []
    results: list[Any] = []
    times = 1
    for row, result in outputs:
        if isinstance(result, list):
            rows.extend(repeat(row, len(result)))
            results.extend(result)
            times = max(times, len(result))
        elif result is not None:
            rows.append(row)
            results.append(result)
    return rows, results, times


class ResultColumns:
    """The result columns of output batches, converted to the schema that was promised.

    Values are converted by Spark's cast rules in ANSI mode. A result that does not fit is a failure of its
    row, as if the call had failed.

    Owned by the task's thread.

    Attributes:
        schema: of the columns, with those for failures and for unknown members.
        misfits: results that were no row of the schema.

    Args:
        form: how results become columns.
        function: the function's name, for errors.
        describe: names a row, for errors.
    """

    def __init__(self, form: ResultFormat, function: str, describe: Callable[[Any], str]) -> None:
        self._form = form
        self._names = form.schema.names
        self._function = function
        self._describe = describe
        self._nulls = (None,) * len(self._names)
        self._members = Members(exact=form.fields is ResultFields.EXACT)
        zone = session_zone(form.time_zone)
        self._converters = [converter(field, zone, self._members, field.name) for field in form.schema]
        self._natural = [_natural_types(field.type, form.time_zone) for field in form.schema]
        self.misfits = 0
        self.schema = form.schema
        if form.rescue_column is not None:
            self.schema = self.schema.append(pa.field(form.rescue_column, pa.string()))
        if form.error_column is not None:
            self.schema = self.schema.append(pa.field(form.error_column, ERROR_TYPE))

    def build(self, rows: Sequence[Any], results: Sequence[Any]) -> tuple[Sequence[Any], list[pa.Array[Any]]]:
        """Return the rows that come out, and the columns of their results, one result a row.

        Raises:
            ContractError: a result is no row of the schema, and failures fail the task.
        """
        arrays = self._quick(results)
        if arrays is not None:
            return rows, [*arrays, *self._extra_columns([None] * len(results), results)]
        outcomes = [self._outcome(row, result) for row, result in zip(rows, results, strict=True)]
        if self._form.on_failure is OnFailure.DROP:
            kept = [place for place, (_, _, result) in enumerate(outcomes) if type(result) is not Failure]
            rows = [rows[place] for place in kept]
            outcomes = [outcomes[place] for place in kept]
        columns = list(zip(*(values for values, _, _ in outcomes), strict=True)) or [()] * len(self._names)
        types = self._form.schema.types
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        rescued = [text for _, text, _ in outcomes]
        return rows, [*arrays, *self._extra_columns(rescued, [result for _, _, result in outcomes])]

    def _quick(self, results: Sequence[Any]) -> list[pa.Array[Any]] | None:
        """Return the columns of results that are what Arrow takes as it is; None if one is not.

        Most functions return tuples, or dicts, of the right values: then none needs a look of its own.
        """
        kinds = set(map(type, results))
        columns: Sequence[Sequence[Any]]
        if set(map(len, results)) != {len(self._names)} if kinds <= {tuple, dict} else True:
            return None
        if kinds == {tuple}:
            columns = list(zip(*results, strict=True))
        elif kinds == {dict}:
            try:
                columns = [[result[name] for result in results] for name in self._names]
            except KeyError:
                return None
        else:
            return None
        arrays: list[pa.Array[Any]] = []
        for column, field, natural in zip(columns, self._form.schema, self._natural, strict=True):
            if not natural.issuperset(map(type, column)):
                return None
            try:
                arrays.append(pa.array(column, field.type))
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                return None
        return arrays

    def _outcome(self, row: Any, result: Any) -> tuple[Sequence[Any], str | None, Any]:
        """Return the values of a result, its unknown members, and the result, or the failure that it is."""
        if type(result) is Failure:
            return self._nulls, None, result
        self._members.unknown = {}
        try:
            values = self._converted(result)
        except Misfit as misfit:
            return self._nulls, None, self._failure(row, misfit)
        unknown = self._members.unknown
        return values, json.dumps(unknown, default=str) if unknown else None, result

    def _converted(self, result: Any) -> Sequence[Any]:
        values = self._members.values(result, self._names, "")
        converted: list[Any] = []
        for name, convert, value in zip(self._names, self._converters, values, strict=True):
            try:
                converted.append(convert(value))
            except Misfit as misfit:
                raise Misfit(f"{misfit.why} as {name + misfit.path!r}") from None
        return converted

    def _failure(self, row: Any, misfit: Misfit) -> Failure:
        self.misfits += 1
        row_name = self._describe(row)
        which = f" for {row_name}" if row_name else ""
        expected = ", ".join(f"{field.name} {field.type}" for field in self._form.schema)
        error = ContractError(f"{self._function} returned{which} {misfit.why}; its schema is {expected}")
        if self._form.on_failure is OnFailure.FAIL:
            raise error
        return Failure(error, attempts=None)

    def _extra_columns(self, rescued: Sequence[str | None], results: Sequence[Any]) -> list[pa.Array[Any]]:
        columns: list[pa.Array[Any]] = []
        if self._form.rescue_column is not None:
            columns.append(pa.array(rescued, pa.string()))
        if self._form.error_column is not None:
            errors = [
                (result.error_class, result.message, result.attempts) if type(result) is Failure else None
                for result in results
            ]
            columns.append(pa.array(errors, ERROR_TYPE))
        return columns


def _natural_types(kind: pa.DataType, time_zone: str) -> set[type]:
    """Return the types of the Python values that Arrow and Spark take for the same; none for nested types."""
    is_utc = time_zone in _UTC  # Arrow takes a time without a zone for UTC
    natural: list[tuple[Callable[[Any], bool], type]] = [
        (pa.types.is_integer, int),
        (pa.types.is_floating, float),
        (pa.types.is_boolean, bool),
        (pa.types.is_string, str),
        (pa.types.is_binary, bytes),
        (pa.types.is_date, date),
        (pa.types.is_decimal, Decimal),
        (
            lambda timestamp: pa.types.is_timestamp(timestamp) and timestamp.tz is not None and is_utc,
            datetime,
        ),
    ]
    return {each for is_kind, natural_type in natural if is_kind(kind) for each in (natural_type, type(None))}
