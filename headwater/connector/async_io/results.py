"""What a function returned, as Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

import pyarrow as pa

from headwater.core.errors import ContractError
from headwater.readers.async_io.call import Failure

ERROR_TYPE = pa.struct([("class", pa.string()), ("message", pa.string()), ("attempts", pa.int32())])


def flatten(outputs: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    """Return rows and results side by side, one result each.

    A row comes as often as it has results: a row without any does not come at all.
    """
    rows: list[Any] = []
    results: list[Any] = []
    for row, result in outputs:
        if isinstance(result, list):
            rows.extend(repeat(row, len(result)))
            results.extend(result)
        elif result is not None:
            rows.append(row)
            results.append(result)
    return rows, results


class ResultColumns:
    """The result columns of an output batch, checked against the schema that was promised.

    Args:
        schema: the result columns.
        function: the function's name, for errors.
        describe: names a row, for errors.
        error_column: the name of the column that holds failures; None: there is none, and a failure is a row
            of nulls.
    """

    def __init__(
        self, schema: pa.Schema, function: str, describe: Callable[[Any], str], error_column: str | None
    ) -> None:
        self._schema = schema
        self._names = schema.names
        self._function = function
        self._describe = describe
        self._nulls = (None,) * len(self._names)
        self._has_errors = error_column is not None
        self.schema = schema if error_column is None else schema.append(pa.field(error_column, ERROR_TYPE))

    def build(self, rows: Sequence[Any], results: Sequence[Any]) -> list[pa.Array[Any]]:
        """Return the columns of the results of some rows, one result a row.

        Raises:
            ContractError: a result is no row of the schema.
        """
        values = results
        # Most functions return tuples of the right length: then no result needs a look of its own.
        if set(map(type, results)) != {tuple} or set(map(len, results)) != {len(self._names)}:
            values = [self._values(row, result) for row, result in zip(rows, results, strict=True)]
        columns = list(zip(*values, strict=True)) or [()] * len(self._names)
        arrays = [
            self._array(field, column, rows) for field, column in zip(self._schema, columns, strict=True)
        ]
        if self._has_errors:
            errors = [
                (result.error_class, result.message, result.attempts) if type(result) is Failure else None
                for result in results
            ]
            arrays.append(pa.array(errors, ERROR_TYPE))
        return arrays

    def _values(self, row: Any, result: Any) -> Sequence[Any]:
        """Return the values of one result in the order of the schema."""
        kind = type(result)
        if kind is Failure:
            return self._nulls
        try:
            if kind is dict:
                values: Sequence[Any] = [result[name] for name in self._names]
            elif isinstance(result, tuple):
                fields = getattr(result, "__fields__", None) or getattr(result, "_fields", None)
                values = result if fields is None else [result[fields.index(name)] for name in self._names]
            else:
                raise self._broken(
                    row, f"a {kind.__name__}; a result is a dict, a tuple or a Row, a list of these, or None"
                )
        except (KeyError, ValueError):
            raise self._broken(row, f"a {kind.__name__} with the columns {_names_of(result)}") from None
        if len(result) != len(self._names):
            named = kind is dict or hasattr(result, "_fields")
            has = f"the columns {_names_of(result)}" if named else f"{len(result)} values"
            raise self._broken(row, f"a {kind.__name__} with {has}")
        return values

    def _array(self, field: pa.Field[Any], column: Sequence[Any], rows: Sequence[Any]) -> pa.Array[Any]:
        try:
            array: pa.Array[Any] = pa.array(column, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            for row, value in zip(rows, column, strict=True):
                if (kind := _error_of(value, field)) is not None:
                    # Not the error's own words: they hold the value, which may be confidential.
                    raise self._broken(
                        row, f"a {type(value).__name__} that is no {field.type} as {field.name!r} ({kind})"
                    ) from None
            raise
        return array

    def _broken(self, row: Any, was: str) -> ContractError:
        row_name = self._describe(row)
        which = f" for {row_name}" if row_name else ""
        expected = ", ".join(f"{field.name} {field.type}" for field in self._schema)
        return ContractError(f"{self._function} returned{which} {was}; its schema is {expected}")


def _error_of(value: Any, field: pa.Field[Any]) -> str | None:
    try:
        pa.array([value], field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        return type(error).__name__
    return None


def _names_of(result: Any) -> str:
    if isinstance(result, dict):
        names = list(result)
    else:
        names = getattr(result, "__fields__", None) or result._fields
    return ", ".join(map(repr, names)) or "none"
