"""The schema of a stream, kept at ``stateLocation``: each version has more columns than the one before."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa

from headwater.core.errors import StateLocationError
from headwater.core.state_store import StateStore

_FOLDER = "files-schemas"


class SchemaHistory:
    """The versions of the schema with one name, each an object that is never changed.

    A Python source does not know where Spark's checkpoint lies, and its schema is asked for before any
    offset: so the user names it. On the driver, and in tasks, which find new columns. Every method blocks.

    Args:
        store: where they are.
        name: which the user gave.
    """

    def __init__(self, store: StateStore, name: str) -> None:
        self._store = store
        self._folder = f"{_FOLDER}/{name}"

    def latest(self) -> pa.Schema | None:
        """Return the last version, None if there is none.

        Raises:
            StateLocationError: it cannot be read.
        """
        numbers = self._store.list(self._folder)
        return self._read(numbers[-1]) if numbers else None

    def begin(self, schema: pa.Schema) -> pa.Schema:
        """Keep the first version, unless there is one; return the one that is there."""
        return self._put(0, schema)

    def widen(self, columns: pa.Schema) -> None:
        """Add the columns and fields that are new to the end of the last version.

        Other tasks may do the same at this moment: all their columns are in the last version then.
        """
        while True:
            numbers = self._store.list(self._folder)
            latest = self._read(numbers[-1])
            wider = widened(latest, columns)
            if wider == latest or self._put(int(numbers[-1]) + 1, wider) == wider:
                return

    def _put(self, number: int, schema: pa.Schema) -> pa.Schema:
        text = ", ".join(f"{field.name} {field.type}" for field in schema)
        arrow = base64.b64encode(schema.serialize().to_pybytes()).decode()
        data = json.dumps({"version": 1, "columns": text, "arrow": arrow}, indent=1).encode()
        return self._parsed(self._store.put_if_absent(f"{self._folder}/{number:010d}", data))

    def _read(self, number: str) -> pa.Schema:
        data = self._store.get(f"{self._folder}/{number}")
        if data is None:
            raise StateLocationError(f"{self._folder}/{number} was deleted at this moment; start again")
        return self._parsed(data)

    def _parsed(self, data: bytes) -> pa.Schema:
        try:
            arrow = base64.b64decode(json.loads(data)["arrow"], validate=True)
            return pa.ipc.read_schema(pa.py_buffer(arrow))
        except (ValueError, KeyError, TypeError, pa.ArrowInvalid) as error:
            raise StateLocationError(
                f"an object in {self._folder} is no schema of headwater: {error!r}. Give the schema with "
                ".schema(...), or delete that folder to infer it anew"
            ) from error


def widened(schema: pa.Schema, columns: pa.Schema) -> pa.Schema:
    """Return a schema with the columns, and fields of structs, that another one has more.

    They come at the end. Types of known columns stay. A name that differs in its case only is known, as in
    Spark.
    """
    return pa.schema(_widened_fields(list(schema), list(columns)))


def new_names(schema: pa.Schema, columns: pa.Schema) -> list[str]:
    """Return the columns, and fields of structs (``a.b``), that `widened` adds."""
    return _new_names(list(schema), list(columns), "")


def _widened_fields(fields: list[pa.Field[Any]], others: list[pa.Field[Any]]) -> list[pa.Field[Any]]:
    by_name = {field.name.lower(): field for field in others}
    wider = [
        field.with_type(_widened_type(field.type, by_name[field.name.lower()].type))
        if field.name.lower() in by_name
        else field
        for field in fields
    ]
    names = {field.name.lower() for field in fields}
    return wider + [field for field in others if field.name.lower() not in names]


def _widened_type(kind: Any, other: Any) -> Any:
    if pa.types.is_struct(kind) and pa.types.is_struct(other):
        return pa.struct(_widened_fields(list(kind), list(other)))
    if pa.types.is_list(kind) and pa.types.is_list(other):
        return pa.list_(_widened_type(kind.value_type, other.value_type))
    return kind


def _new_names(fields: list[pa.Field[Any]], others: list[pa.Field[Any]], prefix: str) -> list[str]:
    by_name = {field.name.lower(): field.type for field in fields}
    names: list[str] = []
    for field in others:
        kind = by_name.get(field.name.lower())
        path = f"{prefix}{field.name}"
        names += [path] if kind is None else _new_names_inside(kind, field.type, path)
    return names


def _new_names_inside(kind: Any, other: Any, path: str) -> list[str]:
    if pa.types.is_struct(kind) and pa.types.is_struct(other):
        return _new_names(list(kind), list(other), f"{path}.")
    if pa.types.is_list(kind) and pa.types.is_list(other):
        return _new_names_inside(kind.value_type, other.value_type, path)
    return []
