"""Results of functions, as Arrow columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from enum import Enum
from itertools import repeat
from types import NoneType
from typing import Any

import pyarrow as pa

from headwater.core.errors import ContractError, OptionError
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.settings import OnFailure
from headwater.readers.formats.values.time_zones import zone_of
from headwater.readers.python_values.columns import RecordColumns
from headwater.readers.python_values.members import Misfit

ERROR_TYPE = pa.struct([("class", pa.string()), ("message", pa.string()), ("attempts", pa.int32())])


class ResultFields(Enum):
    """The treatment of members of a result, or of a struct in it, that the schema does not have."""

    EXACT = "exact"  # the row failed; as if a member is missing
    LENIENT = "lenient"  # they are dropped; a member that is missing is null
    RESCUE = "rescue"  # they are kept as JSON in a column of their own; a member that is missing is null


@dataclass(frozen=True, kw_only=True)
class ResultFormat:
    """How results become columns. Sent to the tasks.

    Attributes:
        schema: the result columns.
        fields: the treatment of other members.
        rescue_column: with `ResultFields.RESCUE`, the column that keeps them.
        error_column: the column that holds failures; None: there is none, and a failure is a row of nulls.
        on_failure: the treatment of a result that is no row of the schema.
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
    all_results = [result for _, result in outputs]
    if not any(issubclass(kind, list | NoneType) for kind in set(map(type, all_results))):
        return [row for row, _ in outputs], all_results, 1
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
    """The result columns of output batches, with the schema that was promised.

    A value has its column's type, or one that Arrow takes for it without loss. A result that does not fit is
    a failure of its row, as if the call had failed.

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
        self._columns = RecordColumns(
            form.schema, session_zone(form.time_zone), exact=form.fields is ResultFields.EXACT
        )
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
        arrays = self._columns.quick(results)
        if arrays is not None:
            return rows, self.with_extra(arrays, len(results))
        misfits = self.misfits
        try:
            return self._checked_one_by_one(rows, results, each=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # A value is out of its type's range. The thorough checks find it.
            self.misfits = misfits
            return self._checked_one_by_one(rows, results, each=True)

    def _checked_one_by_one(
        self, rows: Sequence[Any], results: Sequence[Any], *, each: bool
    ) -> tuple[Sequence[Any], list[pa.Array[Any]]]:
        outcomes = [self._outcome(row, result, each=each) for row, result in zip(rows, results, strict=True)]
        if self._form.on_failure is OnFailure.DROP:
            good = [place for place, (_, _, result) in enumerate(outcomes) if type(result) is not Failure]
            rows = [rows[place] for place in good]
            outcomes = [outcomes[place] for place in good]
        arrays = self._columns.arrays([values for values, _, _ in outcomes])
        rescued = [text for _, text, _ in outcomes]
        return rows, [*arrays, *self._extra_columns(rescued, [result for _, _, result in outcomes])]

    def with_extra(self, arrays: Sequence[pa.Array[Any]], rows: int) -> list[pa.Array[Any]]:
        """Return the columns of results without failures or unknown members, and the extra columns."""
        return [*arrays, *self._extra_columns([None] * rows, [None] * rows)]

    def _outcome(self, row: Any, result: Any, *, each: bool) -> tuple[Sequence[Any], str | None, Any]:
        """Return the values of a result, its unknown members, and the result, or the failure that it is."""
        if type(result) is Failure:
            return self._nulls, None, result
        self._columns.members.unknown = {}
        try:
            values = self._columns.checked(result, each=each)
        except Misfit as misfit:
            return self._nulls, None, self.failure_of(misfit, self._describe(row))
        unknown = self._columns.members.unknown
        return values, json.dumps(unknown, default=str) if unknown else None, result

    def failure_of(self, misfit: Misfit, row_name: str = "") -> Failure:
        """Return a result that does not fit as the failure of its row, and count it.

        Raises:
            ContractError: failures fail the task.
        """
        self.misfits += 1
        which = f" for {row_name}" if row_name else ""
        expected = ", ".join(f"{field.name} {field.type}" for field in self._form.schema)
        reason = (
            f" as {misfit.path!r}, which is {misfit.remedy}"
            if misfit.remedy
            else f"; its schema is {expected}"
        )
        error = ContractError(f"{self._function} returned{which} {misfit.value}{reason}")
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


def session_zone(name: str) -> tzinfo:
    """Return the zone of a session: a region, or an offset such as ``+02:00``.

    Raises:
        OptionError: this machine knows no such zone.
    """
    zone = zone_of(name)
    if zone is None:
        raise OptionError(f"{name!r} is no time zone here", option="spark.sql.session.timeZone")
    return zone
