"""Columns that a file has and the schema has not: they stop the query, or are rescued as JSON.

None of them vanishes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.core.errors import SourceError, meant
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.inference import inferred_columns, newest_columns
from headwater.readers.files.schema_history import new_names, widened
from headwater.readers.files.settings import ReadSettings, is_metadata
from headwater.readers.rescued import json_objects

_SHOWN = 20


class DriftGuard:
    """Looks for new columns in the files of one task.

    Files that tell their columns are looked at when they are opened, and so is the first record of CSV. In
    JSON new columns are found by the decoder: they are in the column for rescued data.

    Args:
        settings: the schema, and the mode for columns that it does not have.
    """

    def __init__(self, settings: ReadSettings) -> None:
        assert settings.schema is not None
        self._settings = settings
        self._drift = settings.drift
        self._schema = settings.schema
        self._rescued = settings.records.rescued_column
        # A column that is made here hides none of the file: what has its name there is unknown.
        special = settings.special_columns
        self._known = pa.schema(
            [field for field in settings.schema if field.name not in special and not is_metadata(field)]
        )

    def columns_to_read(self, file: FileStatus, columns: pa.Schema) -> pa.Schema:
        """Return which columns of a file are to be read: also those to be rescued, if it tells its columns.

        Args:
            file: that is about to be read.
            columns: those of the schema.

        Raises:
            SourceError: it has new columns, and they are to stop the query.
        """
        if self._drift.stops and self._settings.abilities.has_header:
            self._check_header(file, columns)
        if not self._settings.abilities.tells_columns:
            return columns
        if self._rescued is None and not self._drift.stops:
            return columns
        # A damaged file is an error here: the reader knows whether to skip it.
        own = inferred_columns([file], replace(self._settings, ignore_corrupt=False))
        if self._drift.stops:
            new = new_names(self._schema, own)
            if new:
                raise self._stopped(file, own, new)
        if self._rescued is None:
            return columns
        names = {name.lower() for name in self._known.names}
        of_folders = names.difference(name.lower() for name in columns.names)
        # With the new fields of structs: formats give what is asked for, and no more.
        return pa.schema([field for field in widened(columns, own) if field.name.lower() not in of_folders])

    def _check_header(self, file: FileStatus, columns: pa.Schema) -> None:
        """Compare the first record of a CSV file with the schema: by names if it goes by names."""
        csv = self._settings.csv
        only_names = replace(self._settings, csv=replace(csv, infer_types=False), ignore_corrupt=False)
        own = inferred_columns([file], only_names)
        new = new_names(self._schema, own) if csv.by_name else own.names[len(columns.names) :]
        if new:
            raise self._stopped(file, inferred_columns([file], self._settings), new)

    def with_rescued(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of such a file whose unknown columns are in the column for rescued data."""
        if self._rescued is None:
            return batch
        parts = {
            name: part
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
            if (part := self._unknown_part(name, column)) is not None
        }
        own = [name for name in batch.schema.names if name != self._rescued]
        return batch.select(own).append_column(self._rescued, json_objects(parts, batch.num_rows))

    def checked(self, rows: pa.RecordBatch, file: FileStatus) -> pa.RecordBatch:
        """Return rows of text as the user wants them, if they have no new columns or these may be there.

        Raises:
            SourceError: there are some, and they are to stop the query.
        """
        if not self._drift.stops or self._rescued is None or not self._settings.abilities.has_documents:
            return rows
        rescued = rows.column(self._rescued)
        if rescued.null_count < len(rescued):
            objects = (json.loads(str(text)) for text in rescued.drop_null().to_pylist())
            columns = pa.schema(_fields_of(objects))
            new = new_names(self._schema, columns)
            if new:
                # What inference does not look at (`samplingRatio`) comes as a string.
                raise self._stopped(file, widened(inferred_columns([file], self._settings), columns), new)
        return rows.drop_columns([self._rescued]) if self._drift.hides_rescued else rows

    def _unknown_part(self, name: str, column: pa.Array[Any]) -> pa.Array[Any] | None:
        """Return the part of a column that the schema does not have; None if it has all."""
        if not name:
            return None  # stands for the number of rows
        at = [field for field in self._known if field.name.lower() == name.lower()]
        return column if not at else _unknown_fields(column, at[0].type)

    def _stopped(self, file: FileStatus, columns: pa.Schema, new: list[str]) -> SourceError:
        """Return the error that stops the query; keep the new columns first, if they are to be added."""
        names = ", ".join(new[:_SHOWN]) + (", ..." if len(new) > _SHOWN else "")
        what = f"the file has columns that the schema does not have ({len(new)}): {names}"
        if self._drift.mode == "addNewColumns":
            assert self._drift.history is not None, "the options see to it"
            # Another file of the batch may have larger values: one alone does not tell a column's type.
            together = widened(newest_columns(file, self._settings), columns)
            self._drift.history.widen(self._without_corrupt(together, new))
            way_out = (
                f"The schema {self._drift.name!r} (option schemaName) has them now, at its end: call load() "
                "again and start the query, and it goes on with them where it is"
            )
        else:
            way_out = (
                "schemaEvolutionMode is fail: give a schema that has them with .schema(...), or remove the "
                "file; with schemaEvolutionMode=rescue they are kept in a column as JSON, with addNewColumns "
                "(and schemaName) they are added, with none they are left out"
            )
        return meant(SourceError(f"{what}. {way_out}", source="files", split=file.url))

    def _without_corrupt(self, columns: pa.Schema, new: list[str]) -> pa.Schema:
        """Return columns without the one for corrupt records: inference adds it where a file has such."""
        name = self._settings.records.corrupt_column
        return columns if name in new else pa.schema([field for field in columns if field.name != name])


def _unknown_fields(column: Any, schema_type: Any) -> pa.Array[Any] | None:
    """Return a struct of the fields that a known struct does not have; None if it has all."""
    if not pa.types.is_struct(column.type) or not pa.types.is_struct(schema_type):
        return None
    by_name = {field.name.lower(): field.type for field in schema_type}
    parts: dict[str, pa.Array[Any]] = {}
    for field, values in zip(column.type, column.flatten(), strict=True):
        kind = by_name.get(field.name.lower())
        part = values if kind is None else _unknown_fields(values, kind)
        if part is not None:
            parts[field.name] = part
    if not parts:
        return None
    return pa.StructArray.from_arrays(list(parts.values()), list(parts), mask=column.is_null())


def _fields_of(objects: Iterable[Any]) -> list[pa.Field[Any]]:
    """Return the names in JSON objects as fields, nested as they are, with strings for all else."""
    members: dict[str, list[Any]] = {}
    for each in objects:
        for name, value in each.items():
            members.setdefault(name, []).append(value)
    return [pa.field(name, _type_of(values)) for name, values in members.items()]


def _type_of(values: list[Any]) -> pa.DataType:
    structs = [value for value in values if isinstance(value, dict)]
    if structs:
        return pa.struct(_fields_of(structs))
    elements = [element for value in values if isinstance(value, list) for element in value]
    return pa.list_(_type_of(elements)) if elements else pa.string()
