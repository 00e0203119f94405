"""Formats for the rows of any source: one column of bytes or strings becomes typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.formats.options import (
    BAD_RECORDS_PATH,
    BAD_RECORDS_STORAGE,
    FORMATS,
    SCHEMA_EVOLUTION,
    PartOptions,
)
from headwater.connector.formats.session_settings import with_session_zone
from headwater.connector.formats.settings import bad_records_location, part_settings
from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.program_arguments import checked_mapping, checked_names, checked_text
from headwater.connector.readable import readable
from headwater.core.barrier_reader import EpochRecord
from headwater.core.decoding import Decoding
from headwater.core.emitter import RecordEmitter
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonValue
from headwater.core.options import Option, names, one_of
from headwater.readers.formats.bad_records import BadRecordsLocation
from headwater.readers.formats.format import DecodedPart, is_spread, part_of
from headwater.readers.formats.registry.glue_settings import GLUE_OPTIONS
from headwater.readers.formats.registry.settings import REGISTRY_OPTIONS

if TYPE_CHECKING:
    import pyarrow as pa

_ALWAYS: Final = frozenset({"format", "prefix"})


def row_format_options(column: str, *formats: str) -> tuple[Option[Any], ...]:
    """Return the options of a source that decodes one column of its rows, in the order of the docs.

    Args:
        column: its name.
        formats: those that it may have; all of them if none is named.
    """
    fields = frozenset[str]().union(*(FORMATS[name].takes for name in formats or FORMATS))
    rows = [option for field, option in PartOptions.OPTIONS.items() if field in fields | _ALWAYS]
    own_rows = {
        PartOptions.OPTIONS["format"].name: replace(
            PartOptions.OPTIONS["format"],
            parse=one_of(*(formats or FORMATS)),
            help=f"How `{column}` is written, if it is to be decoded. See [formats.md](formats.md).",
            shown_default="",
        ),
        PartOptions.OPTIONS["prefix"].name: replace(
            PartOptions.OPTIONS["prefix"],
            help=f"What comes before the names of the columns that are `{column}.*`.",
        ),
    }
    columns = replace(
        _COLUMNS,
        help=f"With `valueFormat`: only these columns, in this order; `{column}.*` are all that it makes.",
    )
    registries = {FORMATS[name].registry for name in formats or FORMATS}
    registry = (
        *(REGISTRY_OPTIONS if "confluent" in registries else ()),
        *(GLUE_OPTIONS if "glue" in registries else ()),
    )
    own = [own_rows.get(row.name, row) for row in rows]
    path = replace(
        BAD_RECORDS_PATH,
        help="With `valueFormat`: a folder, on any file system of fsspec, for rows whose "
        f"`{column}` cannot be decoded: they are not in the output, whatever `mode` says. See "
        "[formats.md](formats.md#files-of-bad-records).",
    )
    return (columns, *own, *registry, path, BAD_RECORDS_STORAGE, SCHEMA_EVOLUTION)


_COLUMNS: Final = Option("columns", names, None, "", shown_default="all")


@dataclass(frozen=True, kw_only=True)
class RowDecoding(Decoding):
    """How one column of rows is decoded, and which columns stay.

    Attributes:
        column: the one that is decoded.
        columns: as the user wrote them; None: all, those of the format in place of the decoded one.
        part: the format.
        logged: the decoded fields, for offsets.
        evolution: whether a query may go on from a checkpoint with other fields.
        bad_records: where rows go that cannot be decoded.
    """

    column: str
    columns: tuple[str, ...] | None
    part: DecodedPart
    logged: JsonValue
    evolution: bool
    bad_records: BadRecordsLocation | None = None

    @property
    def logged_schema(self) -> JsonValue:
        return self.logged

    @property
    def takes_other_schemas(self) -> bool:
        return self.evolution

    def schema(self, rows: pa.Schema) -> pa.Schema:
        from headwater.readers.formats.row_emitter import decoded_schema

        return decoded_schema(rows, self.column, self._chosen(rows), self.part)

    def create_emitter(self, rows: pa.Schema, *, source: str) -> RecordEmitter[EpochRecord, Any, Any]:
        from headwater.readers.formats.row_emitter import DecodingEmitter

        part = with_session_zone(self.part)
        return DecodingEmitter(
            rows, self.column, self._chosen(rows), part, source=source, bad_records=self.bad_records
        )

    def _chosen(self, rows: pa.Schema) -> tuple[str, ...]:
        """Return the names of the columns of a row as they are spelled.

        Raises:
            OptionError: there is no such column, or one comes twice.
        """
        if self.column not in rows.names:
            raise OptionError(
                f"{self.column!r} is to be decoded, and is not a column; there are {', '.join(rows.names)}"
            )
        spread = f"{self.column}.*"
        whole = self.column if self.part.format.is_single_value else spread
        if self.columns is None:
            return tuple(whole if name == self.column else name for name in rows.names)
        by_lower = {name.lower(): name for name in [*rows.names, spread]}
        if unknown := [name for name in self.columns if name.lower() not in by_lower]:
            raise OptionError(
                f"{unknown[0]!r} is not a column; there are {', '.join(by_lower.values())}",
                option=_COLUMNS.name,
            )
        names = tuple(by_lower[name.lower()] for name in self.columns)
        if len(set(names)) < len(names):
            raise OptionError("a column comes twice", option=_COLUMNS.name)
        if self.column not in {part_of(name) for name in names}:
            raise OptionError(
                f"has neither {self.column!r} nor {spread!r}: what a format decodes must be a column",
                option=_COLUMNS.name,
            )
        if self.part.prefix and not any(is_spread(name) for name in names):
            raise OptionError(
                f"requires {spread!r} in option 'columns'",
                option=PartOptions.OPTIONS["prefix"].name,
            )
        return names


def row_decoding(options: ParsedOptions, column: str) -> RowDecoding | None:
    """Return how a column is decoded, as options say that `row_format_options` has; None if it is not.

    Reads files of schemas, and asks the schema registry, where the format needs that.

    Raises:
        OptionError: an option is missing, or counts for nothing.
        SourceError: the registry does not have a schema, or does not answer.
    """
    settings = part_settings(options, (), {"value": PartOptions}).get("value")
    bad_records = bad_records_location(options)
    if settings is not None:
        return RowDecoding(
            column=column,
            columns=options[_COLUMNS],
            part=settings.decoded_part(),
            logged={"value": settings.logged()},
            evolution=options[SCHEMA_EVOLUTION],
            bad_records=bad_records,
        )
    needless: dict[str, Any] = {BAD_RECORDS_PATH.name: bad_records}
    needless |= {_COLUMNS.name: options[_COLUMNS], SCHEMA_EVOLUTION.name: options[SCHEMA_EVOLUTION]}
    for name, value in needless.items():
        if value:
            raise OptionError(f"requires option {PartOptions.OPTIONS['format'].name!r}", option=name)
    return None


@readable
def decode(
    format: str,  # noqa: A002 - the word that users write
    *,
    column: str,
    schema: str | None = None,
    mode: str | None = None,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> Decoding:
    """Say that a column of a source's rows is to be decoded: bytes or strings in, typed columns out.

    For sources of users: `SimpleSource.decoding` returns it, and a source of the full form keeps it and
    asks for its schema and its emitter. Called on the driver, where a query is made. Reads files of schemas,
    and asks the schema registry, where the format needs that.

    Args:
        format: as ``valueFormat`` of the Kafka source: ``json``, ``avro``, ``confluent-avro``, ...
        column: the column of the rows, of type binary or string.
        schema: the fields of a JSON value, as Spark's DDL (``valueSchema``).
        mode: how a row is treated whose value cannot be decoded: ``PERMISSIVE``, ``DROPMALFORMED`` or
            ``FAILFAST``.
        columns: only these, in this order; ``body.*`` stands for all that the format makes of the column
            ``body``. None: all, those of the format in the place of the decoded one.
        options: others, by their names in docs/formats.md: ``{"timeZone": "UTC"}``.

    Raises:
        OptionError: an option is unknown, missing or counts for nothing.
        SourceError: the schema registry does not have a schema, or does not answer.
    """
    arguments = {"valueFormat": format, "valueSchema": schema, "mode": mode}
    texts = {name: checked_text(value, name) for name, value in arguments.items() if value is not None}
    checked_text(column, "column")
    if columns is not None:
        checked_names(columns, "columns")
    for name, value in checked_mapping(options or {}, "options").items():
        checked_text(value, name)
    lower = {name.lower() for name in texts}
    if twice := [name for name in options or {} if name.lower() in lower]:
        raise OptionError("is an argument of hw.decode too: give it once", option=twice[0])
    table = OptionTable(row_format_options(column))
    parsed = table.parse({**texts, **(options or {})}, None)
    decoding = row_decoding(parsed, column)
    assert decoding is not None
    return decoding if columns is None else replace(decoding, columns=tuple(columns))
