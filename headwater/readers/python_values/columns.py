"""Python records as columns of a schema. Nothing is converted with loss, and named members go by name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from headwater.readers.python_values.checks import Check, arrow_takes, check_of, has_infinity
from headwater.readers.python_values.members import Members, Misfit


class RecordColumns:
    """Makes columns of records: tuples by place; mappings, dataclasses, Rows and named tuples by name.

    One owner, one thread.

    Attributes:
        members: finds the members of records and of structs in them.

    Args:
        schema: of the columns.
        zone: of times without one.
        exact: whether a record must name every column. Otherwise those that it lacks are null, and those that
            the schema lacks are in ``members.unknown``.
    """

    def __init__(self, schema: pa.Schema, zone: tzinfo, *, exact: bool) -> None:
        self.members = Members(exact=exact)
        self._schema = schema
        self._names = schema.names
        self._known = frozenset(schema.names)
        self._exact = exact
        self._checks, self._thorough_checks = (
            [check_of(field, zone, self.members, field.name, each=each) for field in schema]
            for each in (False, True)
        )
        self._arrow_takes = [arrow_takes(field.type, zone) for field in schema]

    def quick(self, records: Sequence[Any]) -> list[pa.Array[Any]] | None:
        """Return the columns of records whose values Arrow takes as they are; None if one is none of these.

        Most records are tuples, or dicts, of the right values: then none needs a look of its own.
        """
        columns = self._values_of(records)
        if columns is None:
            return None
        arrays: list[pa.Array[Any]] = []
        for column, field, classes in zip(columns, self._schema, self._arrow_takes, strict=True):
            array = _taken(column, field, classes)
            if array is None:
                return None
            arrays.append(array)
        return arrays

    def checked(self, record: Any, *, each: bool) -> list[Any]:
        """Return the values of a record, as Arrow takes them.

        Args:
            record: of any kind.
            each: as of `check_of`.

        Raises:
            Misfit: it is no record, has other members, or a value does not fit its column.
        """
        checks: Sequence[Check] = self._thorough_checks if each else self._checks
        exact: list[Any] = []
        values = self.members.values(record, self._names, "")
        for name, check, value in zip(self._names, checks, values, strict=True):
            try:
                exact.append(check(value))
            except Misfit as misfit:
                raise misfit.inside(name) from None
        return exact

    def arrays(self, rows: Sequence[Sequence[Any]]) -> list[pa.Array[Any]]:
        """Return the columns of records whose values were `checked`.

        Raises:
            pa.ArrowException, TypeError, ValueError, OverflowError: a value is out of its type's range, and
                was not checked for itself.
        """
        columns = list(zip(*rows, strict=True)) or [()] * len(self._names)
        return [pa.array(column, kind) for column, kind in zip(columns, self._schema.types, strict=True)]

    def _values_of(self, records: Sequence[Any]) -> Sequence[Sequence[Any]] | None:
        """Return the values of plain tuples, or of plain dicts, by columns; None of any others."""
        kinds = set(map(type, records))
        if kinds == {tuple} and set(map(len, records)) == {len(self._names)}:
            return list(zip(*records, strict=True))
        if kinds != {dict}:
            return None
        if self._exact and set(map(len, records)) != {len(self._names)}:
            return None
        if not all(map(self._known.issuperset, records)):
            return None
        try:
            return [[record[name] for record in records] for name in self._names]
        except KeyError:
            return [[record.get(name) for record in records] for name in self._names]


def _taken(column: Sequence[Any], field: pa.Field[Any], classes: frozenset[type]) -> pa.Array[Any] | None:
    """Return a column as Arrow takes it; None if a value is of another class, or does not fit."""
    if not classes.issuperset(map(type, column)):
        return None
    try:
        array = pa.array(column, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return None if has_infinity(array) or (array.null_count and not field.nullable) else array
