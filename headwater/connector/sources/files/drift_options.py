"""The options on columns that files have and the schema has not, and where an inferred schema is kept."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from headwater.connector.options import ParsedOptions
from headwater.connector.sources.files.read_options import COLUMNS
from headwater.connector.sources.files.record_options import RESCUED_DATA_COLUMN
from headwater.core.errors import OptionError
from headwater.core.options import Option, one_of
from headwater.core.state_store import StateStore
from headwater.readers.files.schema_history import SchemaHistory
from headwater.readers.files.settings import (
    EVOLUTION_MODES,
    RESCUE_FORMATS,
    RESCUED_COLUMN,
    DriftSettings,
    EvolutionMode,
    ReadSettings,
)


def _schema_name(raw: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", raw.strip()):
        raise ValueError(f"must be a name of letters, digits, '_', '-' and '.', not {raw!r}")
    return raw.strip()


def _mode(raw: str) -> EvolutionMode | None:
    return one_of(*EVOLUTION_MODES)(raw)


_SCHEMA_EVOLUTION_MODE: Final[Option[EvolutionMode | None]] = Option(
    "schemaEvolutionMode",
    _mode,
    None,
    "What becomes of columns that files have and the schema has not: the query stops and has them after a "
    "restart (needs `schemaName`), they are in the column for rescued data, the query stops for good, or "
    "they are not read. See [Drift](#drift).",
    shown_default="`addNewColumns` with `schemaName`, else `none`",
)
SCHEMA_NAME: Final = Option(
    "schemaName",
    _schema_name,
    None,
    "Under this name an inferred schema is kept at `stateLocation`, and is the same after a restart; queries "
    "that give the same name share it.",
)

DRIFT_OPTIONS: Final = (_SCHEMA_EVOLUTION_MODE, SCHEMA_NAME)
"""In the order in which the docs list them."""


def with_drift(read: ReadSettings, options: ParsedOptions, store: StateStore | None) -> ReadSettings:
    """Return how files are read, with what becomes of new columns.

    Args:
        read: what all other options say.
        options: of a table with `DRIFT_OPTIONS`.
        store: at ``stateLocation``, None if there is none.

    Raises:
        OptionError: something is missing, or clashes.
    """
    name = options[SCHEMA_NAME]
    mode = options[_SCHEMA_EVOLUTION_MODE] or ("none" if name is None else "addNewColumns")
    if name is not None and store is None:
        raise OptionError("needs stateLocation, a folder in which the schema is kept", option="schemaName")
    if mode == "addNewColumns" and name is None:
        raise OptionError(
            "addNewColumns needs two more options: schemaName, a name for the schema, and stateLocation, a "
            "folder in which it is kept, since Spark does not tell a Python source where its checkpoint is",
            option=_SCHEMA_EVOLUTION_MODE.name,
        )
    if mode != "none":
        _check_clashes(read, options, mode)
    rescues = mode in ("addNewColumns", "rescue") and read.format in RESCUE_FORMATS
    if rescues and read.records.rescued_column is None:
        read = replace(read, records=replace(read.records, rescued_column=RESCUED_COLUMN))
    history = None if name is None or store is None else SchemaHistory(store, name)
    return replace(read, drift=DriftSettings(mode=mode, history=history, name=name))


def _check_clashes(read: ReadSettings, options: ParsedOptions, mode: EvolutionMode) -> None:
    if read.format not in RESCUE_FORMATS:
        raise OptionError(
            f"{mode} is not for the format {read.format!r}, which has always the same columns: remove it",
            option=_SCHEMA_EVOLUTION_MODE.name,
        )
    if options[COLUMNS] is not None:
        raise OptionError(
            f"cannot be given together with {_SCHEMA_EVOLUTION_MODE.name}={mode}: new columns are seen only "
            "where all are read. Select columns after load()",
            option=COLUMNS.name,
        )


def check_given_schema(read: ReadSettings) -> None:
    """Refuse options that are for an inferred schema where the user gave one.

    Raises:
        OptionError: they are given.
    """
    if read.drift.name is not None:
        raise OptionError(
            "is for an inferred schema, and one was given with .schema(...): remove one of the two. With a "
            f"given schema schemaEvolutionMode is rescue (with {RESCUED_DATA_COLUMN.name}), fail or none",
            option=SCHEMA_NAME.name,
        )


def settings_for_tasks(read: ReadSettings) -> ReadSettings:
    """Return how tasks read.

    Where new columns in JSON stop the query, there is a column in which they show.
    """
    assert read.schema is not None
    if read.drift.mode != "fail" or read.records.rescued_column is not None or read.format != "json":
        return read
    import pyarrow as pa

    return replace(
        read,
        schema=read.schema.append(pa.field(RESCUED_COLUMN, pa.string())),
        records=replace(read.records, rescued_column=RESCUED_COLUMN),
        drift=replace(read.drift, hides_rescued=True),
    )
