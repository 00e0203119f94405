"""What a function of whole batches returned, as Arrow columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from headwater.connector.async_io.arrow_casts import cast_as_a_whole
from headwater.connector.async_io.conversions import Converter, Members, converter
from headwater.connector.async_io.misfit import Misfit
from headwater.connector.async_io.results import ERROR_TYPE, ResultFields, ResultFormat
from headwater.connector.async_io.time_casts import session_zone
from headwater.core.errors import ContractError
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.settings import OnFailure

ResultColumn: TypeAlias = "pa.Array[Any] | list[Any]"
"""A list is one of pandas whose values have no type of Arrow in common."""


class ArrowResults:
    """The result columns of output batches, converted to the schema that was promised.

    By the rules of `ResultColumns`. Columns that are of their type but for its width are cast by Arrow, of
    others each value is converted by itself: one that does not fit is a failure of its row.

    Owned by the task's thread.

    Attributes:
        misfits: answers in which something did not fit.

    Args:
        form: how results become columns.
        function: the function's name, for errors.
        kept: the input columns with which the output begins.
        key_columns: those that name a row in errors.
    """

    def __init__(
        self, form: ResultFormat, function: str, *, kept: Sequence[str], key_columns: Sequence[str]
    ) -> None:
        self._form = form
        self._function = function
        self._kept = list(kept)
        self._key_columns = list(key_columns)
        self._zone = session_zone(form.time_zone)
        self._members = Members(exact=form.fields is ResultFields.EXACT)
        self._converters = [converter(field, self._zone, self._members, field.name) for field in form.schema]
        self.misfits = 0

    def joined(self, given: pa.RecordBatch, answer: Any) -> pa.RecordBatch:
        """Return the rows that come out: some columns of their input, then those of the results.

        Args:
            given: all columns of the input.
            answer: what the function returned for it.

        Raises:
            ContractError: something does not fit, and the policy is to fail.
        """
        found = _Found(given.select(self._key_columns))
        columns: list[pa.Array[Any]] = [pa.nulls(found.rows, field.type) for field in self._form.schema]
        if isinstance(answer, Failure):
            found.fail_all(answer)
        else:
            try:
                columns = self._converted(self._checked(answer, found.rows), found)
            except Misfit as misfit:
                found.fail_all(self._failure(misfit))
            self._accept(found)
        fields = list(self._form.schema)
        if found.failures:
            columns = [column.take(found.good_places()) for column in columns]
        if self._form.rescue_column is not None:
            fields.append(pa.field(self._form.rescue_column, pa.string()))
            columns.append(found.rescued())
        if self._form.error_column is not None:
            fields.append(pa.field(self._form.error_column, ERROR_TYPE))
            columns.append(found.errors())
        kept = given.select(self._kept)
        joined = pa.RecordBatch.from_arrays(
            [*kept.columns, *columns], schema=pa.schema([*kept.schema, *fields])
        )
        drops = found.failures and self._form.on_failure is OnFailure.DROP
        return joined.filter(found.good_places().is_valid()) if drops else joined

    def _checked(self, answer: Any, rows: int) -> dict[str, ResultColumn]:
        """Return the columns of an answer.

        Raises:
            Misfit: it is no frame, or has other rows or columns.
        """
        columns, names = _columns_of(answer)
        lengths = set(map(len, columns))
        if lengths - {rows}:
            raise Misfit(f"{max(lengths - {rows})} rows for {rows}, and must return one for each")
        wanted = set(self._form.schema.names)
        is_other = set(names) != wanted if self._form.fields is ResultFields.EXACT else False
        if is_other or len(set(names)) < len(names):
            raise Misfit(f"the columns {', '.join(map(repr, names)) or 'none'}")
        return dict(zip(names, columns, strict=True))

    def _converted(self, columns: Mapping[str, ResultColumn], found: _Found) -> list[pa.Array[Any]]:
        """Return the result columns; note rows that failed, and members that the schema does not know."""
        if self._form.rescue_column is not None:
            # In their order: the text must be the same whenever it is made.
            for name in [name for name in columns if name not in self._form.schema.names]:
                for place, value in enumerate(_values(columns[name])):
                    found.add_unknown(place, {name: value})
        converted: list[pa.Array[Any]] = []
        for field, convert in zip(self._form.schema, self._converters, strict=True):
            column = columns.get(field.name)
            if column is None:
                converted.append(pa.nulls(found.rows, field.type))
                continue
            cast = None if isinstance(column, list) else cast_as_a_whole(column, field.type, self._zone)
            if cast is None:
                values = self._each(field.name, convert, _values(column), found)
                cast = pa.array(values, field.type)
            converted.append(cast)
        return converted

    def _each(self, name: str, convert: Converter, values: Sequence[Any], found: _Found) -> list[Any]:
        """Return values, each converted by itself."""
        converted: list[Any] = [None] * len(values)
        for place, value in enumerate(values):
            self._members.unknown = {}
            try:
                converted[place] = convert(value)
            except Misfit as misfit:
                named = Misfit(f"{misfit.why} as {name + misfit.path!r}")
                found.failures.setdefault(place, self._failure(named, found.row_name(place)))
            if self._members.unknown:
                found.add_unknown(place, self._members.unknown)
        return converted

    def _failure(self, misfit: Misfit, row_name: str = "") -> Failure:
        expected = ", ".join(f"{field.name} {field.type}" for field in self._form.schema)
        which = f" for {row_name}" if row_name else ""
        error = ContractError(f"{self._function} returned{which} {misfit.why}; its schema is {expected}")
        return Failure(error, attempts=None)

    def _accept(self, found: _Found) -> None:
        """Count an answer in which something failed, or raise it if that is the policy."""
        if not found.failures:
            return
        self.misfits += 1
        if self._form.on_failure is OnFailure.FAIL:
            raise next(iter(found.failures.values())).error


class _Found:
    """What was found in an answer, by the places of its rows.

    Attributes:
        rows: how many there are.
        failures: rows that failed.
        unknown: members of rows that the schema does not know.

    Args:
        keys: the columns that name a row, perhaps none.
    """

    def __init__(self, keys: pa.RecordBatch) -> None:
        self._keys = keys
        self.rows = keys.num_rows
        self.failures: dict[int, Failure] = {}
        self.unknown: dict[int, dict[str, Any]] = {}

    def fail_all(self, failure: Failure) -> None:
        """Note that all rows failed."""
        self.failures = dict.fromkeys(range(self.rows), failure)

    def add_unknown(self, place: int, members: Mapping[str, Any]) -> None:
        """Note members of a row."""
        self.unknown.setdefault(place, {}).update(members)

    def row_name(self, place: int) -> str:
        """Return what names a row: ``id=7, region='eu'``; without key columns nothing."""
        [row] = self._keys.slice(place, 1).to_pylist() if self._keys.num_columns else [{}]
        return ", ".join(f"{name}={value!r}" for name, value in row.items())

    def good_places(self) -> pa.Array[Any]:
        """Return the places of all rows, null for those that failed."""
        return pa.array([None if place in self.failures else place for place in range(self.rows)], pa.int64())

    def rescued(self) -> pa.Array[Any]:
        """Return the unknown members of each row as JSON."""
        texts = [
            json.dumps(self.unknown[place], default=str)
            if place in self.unknown and place not in self.failures
            else None
            for place in range(self.rows)
        ]
        return pa.array(texts, pa.string())

    def errors(self) -> pa.Array[Any]:
        """Return what failed of each row."""
        failures = map(self.failures.get, range(self.rows))
        errors = [each and (each.error_class, each.message, each.attempts) for each in failures]
        return pa.array(errors, ERROR_TYPE)


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
    return column if isinstance(column, list) else column.to_pylist()
