"""Answers of functions that take whole Arrow batches, as Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from headwater.connector.async_io.results import ResultColumns, ResultFields, ResultFormat, session_zone
from headwater.readers.async_io.call import Failure
from headwater.readers.python_values.checks import has_infinity, is_cast_exactly
from headwater.readers.python_values.members import Misfit

ResultColumn: TypeAlias = "pa.Array[Any] | list[Any]"
"""A list is one of pandas whose values have no type of Arrow in common."""


class ArrowResults:
    """The result columns of output batches, with the schema that was promised.

    By the rules of `ResultColumns`. Where Arrow casts all columns of an answer without loss, no row of it
    becomes a Python object. Otherwise each row is checked: one that does not fit is a failure.

    Owned by the task's thread.

    Attributes:
        misfits: answers in which something did not fit.

    Args:
        form: how results become columns.
        function: the function's name, for errors.
        kept_columns: the input columns with which the output begins.
        key_columns: the columns that name a row in errors.
    """

    def __init__(
        self, form: ResultFormat, function: str, *, kept_columns: Sequence[str], key_columns: Sequence[str]
    ) -> None:
        self._form = form
        self._kept_columns = list(kept_columns)
        self._key_columns = list(key_columns)
        self._keys = pa.RecordBatch.from_pydict({})
        self._zone = session_zone(form.time_zone)
        self._columns = ResultColumns(form, function, self._row_name)
        self.misfits = 0

    def joined(self, batch: pa.RecordBatch, answer: Any) -> pa.RecordBatch:
        """Return the rows that come out: some columns of their input, then those of the results.

        Args:
            batch: all columns of the input.
            answer: the function's, for it.

        Raises:
            ContractError: something does not fit, and the policy is to fail.
        """
        rows = batch.num_rows
        self._keys = batch.select(self._key_columns)
        misfits = self._columns.misfits
        try:
            places, columns = self._built(answer, rows)
        except Misfit as misfit:
            failure = self._columns.failure_of(misfit)
            places, columns = self._columns.build(range(rows), [failure] * rows)
        finally:
            self.misfits += self._columns.misfits > misfits
        inputs = batch.select(self._kept_columns)
        if len(places) < rows:
            inputs = inputs.take(pa.array(places, pa.int64()))
        schema = pa.schema([*inputs.schema, *self._columns.schema])
        return pa.RecordBatch.from_arrays([*inputs.columns, *columns], schema=schema)

    def _built(self, answer: Any, rows: int) -> tuple[Sequence[int], list[pa.Array[Any]]]:
        """Return the places of the rows that come out, and their columns.

        Raises:
            Misfit: the answer is no frame, or has other rows or columns.
            ContractError: a row does not fit, and the policy is to fail.
        """
        if isinstance(answer, Failure):
            return self._columns.build(range(rows), [answer] * rows)
        columns = self._checked(answer, rows)
        whole = self._cast(columns, rows)
        if whole is not None:
            return range(rows), self._columns.with_extra(whole, rows)
        values = zip(*map(_values, columns.values()), strict=True)
        return self._columns.build(range(rows), [dict(zip(columns, each, strict=True)) for each in values])

    def _checked(self, answer: Any, rows: int) -> dict[str, ResultColumn]:
        columns, names = _columns_of(answer)
        lengths = set(map(len, columns))
        if lengths - {rows}:
            raise Misfit(f"{max(lengths - {rows})} rows for {rows}, and must return one for each")
        is_other = self._form.fields is ResultFields.EXACT and set(names) != set(self._form.schema.names)
        if is_other or len(set(names)) < len(names):
            raise Misfit(f"the columns {', '.join(map(repr, names)) or 'none'}")
        return dict(zip(names, columns, strict=True))

    def _cast(self, columns: Mapping[str, ResultColumn], rows: int) -> list[pa.Array[Any]] | None:
        """Return the result columns as Arrow casts them; None if rows must be checked one by one."""
        if self._form.rescue_column is not None and not columns.keys() <= set(self._form.schema.names):
            return None
        arrays: list[pa.Array[Any]] = []
        for field in self._form.schema:
            column = columns.get(field.name)
            array = (
                pa.nulls(rows, field.type) if column is None else _exact_cast(column, field.type, self._zone)
            )
            if array is None:
                return None
            arrays.append(array)
        return arrays

    def _row_name(self, place: int) -> str:
        """Return the name of a row: ``id=7, region='eu'``; without key columns nothing."""
        [row] = self._keys.slice(place, 1).to_pylist() if self._keys.num_columns else [{}]
        return ", ".join(f"{name}={value!r}" for name, value in row.items())


def _columns_of(answer: Any) -> tuple[Sequence[ResultColumn], list[str]]:
    """Return the columns of a batch, a table, or a DataFrame of pandas or polars, and their names.

    Raises:
        Misfit: it is none of these.
    """
    kind = type(answer)
    library = kind.__module__.partition(".")[0] if kind.__name__ == "DataFrame" else None
    if library == "pandas":
        names = [str(name) for name in answer.columns]
        return [_of_series(answer.iloc[:, place]) for place in range(len(names))], names
    if library == "polars":
        answer = answer.to_arrow()
    if isinstance(answer, pa.RecordBatch):
        return answer.columns, answer.schema.names
    if isinstance(answer, pa.Table):
        return [_in_one(column) for column in answer.columns], answer.schema.names
    raise Misfit(
        f"a {kind.__name__}; it must return a RecordBatch, a Table, or a DataFrame of pandas or polars"
    )


def _of_series(series: Any) -> ResultColumn:
    try:
        return _in_one(pa.Array.from_pandas(series))
    except pa.ArrowException:
        values: list[Any] = series.astype(object).where(series.notna(), None).tolist()
        return values


def _in_one(column: Any) -> pa.Array[Any]:
    """Return a column as one array."""
    whole: pa.Array[Any] = column
    if isinstance(column, pa.ChunkedArray):
        whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return whole


def _values(column: ResultColumn) -> list[Any]:
    """Return the values of a column.

    Raises:
        Misfit: it has times in years that Python does not have.
    """
    try:
        return column if isinstance(column, list) else column.to_pylist()
    except (ValueError, OverflowError) as error:
        raise Misfit(f"a column with {error}") from None


def _exact_cast(column: ResultColumn, kind: Any, zone: tzinfo) -> pa.Array[Any] | None:
    """Return a column of another type, cast by Arrow without loss; None if it may not be, or has no type."""
    if isinstance(column, list):
        return None
    try:
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(kind) and column.type.tz is None:
            column = _in_zone(column, kind, zone)
        if not _is_exact(column.type, kind):
            return None
        cast: pa.Array[Any] = pc.cast(column, kind)
    except pa.ArrowException:
        return None
    return None if has_infinity(cast) else cast


def _in_zone(column: Any, kind: Any, zone: tzinfo) -> pa.Array[Any]:
    """Return times without a zone as ones of the session's, where an instant is expected and Arrow knows it.

    An hour that comes twice is the first one. At one that does not exist Arrow raises.
    """
    name = "UTC" if zone.utcoffset(None) == UTC.utcoffset(None) else getattr(zone, "key", None)
    zoned: pa.Array[Any] = column
    if kind.tz is not None and name is not None:
        zoned = pc.assume_timezone(column, name, ambiguous="earliest")
    return zoned


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def _is_exact(source: Any, kind: Any) -> bool:
    """Return whether Arrow casts a type to another one without loss or raises, at every depth."""
    if source == kind or pa.types.is_null(source):
        return True
    if pa.types.is_struct(source) and pa.types.is_struct(kind):
        return [field.name for field in source] == [field.name for field in kind] and all(
            into.nullable and _is_exact(field.type, into.type)
            for field, into in zip(source, kind, strict=True)
        )
    if _is_list(source) and pa.types.is_list(kind):
        return kind.value_field.nullable and _is_exact(source.value_type, kind.value_type)
    return is_cast_exactly(source, kind)
