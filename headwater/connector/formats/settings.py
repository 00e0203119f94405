"""What the options say about one part of a record, checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import StringType, StructField, StructType

from headwater.connector.formats.by_name import FORMATS
from headwater.connector.formats.format_request import ChosenFormat, FormatRequest
from headwater.connector.formats.options import BAD_RECORDS_PATH, BAD_RECORDS_STORAGE, PARTS
from headwater.connector.formats.part_options import PartOptions
from headwater.connector.formats.registry_options import check_no_registry
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonValue
from headwater.readers.formats.bad_records import BadRecordsLocation
from headwater.readers.formats.decoded_part import DecodedPart, OnBadValue

_ON_BAD: Final[dict[str, OnBadValue]] = {
    "PERMISSIVE": "keep",
    "DROPMALFORMED": "drop",
    "FAILFAST": "fail",
}


@dataclass(frozen=True, kw_only=True)
class PartSettings:
    """A key or value that is to be decoded.

    Attributes:
        format_name: as the user writes it.
        chosen: the format.
        prefix: before the names of its columns.
        on_bad: what becomes of a row whose part cannot be decoded.
        extra_columns: the names of the columns for corrupt values and for what is rescued, as far as there
            are such.
        zone_option: see `DecodedPart`.
    """

    format_name: str
    chosen: ChosenFormat
    prefix: str
    on_bad: OnBadValue
    extra_columns: tuple[str, ...]
    zone_option: str

    @property
    def is_single_value(self) -> bool:
        """Whether a value is one column, and not a struct of fields."""
        return self.chosen.is_single_value

    @property
    def columns(self) -> StructType:
        """All columns that the format makes: `Format.schema` in Spark's types."""
        fields = self.chosen.fields
        more = [name for name in self.extra_columns if name not in fields.names]
        return StructType([*fields.fields, *(StructField(name, StringType()) for name in more)])

    def decoded_part(self) -> DecodedPart:
        """Return what readers need of it. Loads Arrow."""
        return DecodedPart(
            format=self.chosen.make(),
            prefix=self.prefix,
            on_bad=self.on_bad,
            zone_option=self.zone_option,
            names_schemas=FORMATS[self.format_name].asks_registry,
        )

    def logged(self) -> JsonValue:
        """Return what an offset says of it."""
        return {"fields": self.chosen.fields.simpleString(), "format": self.format_name}


def part_settings(
    options: ParsedOptions,
    topics: Collection[str] | None,
    parts: Mapping[str, PartOptions] = PARTS,
    infer: Callable[[PartOptions], StructType] | None = None,
) -> dict[str, PartSettings]:
    """Return the settings of key and value, as far as they have a format.

    Reads files of schemas, and asks the schema registry, where a format needs that.

    Args:
        options: the user's.
        topics: the names of Kafka's topics that are read; None if a pattern finds them.
        parts: which of the two there may be; the table has the options of these.
        infer: see `FormatRequest`.

    Raises:
        OptionError: an option is missing, or counts for nothing.
        SourceError: the registry does not have a schema, or does not answer.
    """
    if not any(_asks_registry(options, rows) for rows in parts.values()):
        check_no_registry(options)
    found = {
        part: _settings(FormatRequest(given=options, rows=rows, topics=topics, infer=infer))
        for part, rows in parts.items()
    }
    return {part: settings for part, settings in found.items() if settings is not None}


def bad_records_location(options: ParsedOptions) -> BadRecordsLocation | None:
    """Return where records go that cannot be decoded; None if they go nowhere.

    Raises:
        OptionError: the path is relative, or there is none.
    """
    path = options[BAD_RECORDS_PATH]
    storage = options[BAD_RECORDS_STORAGE]
    if path is None:
        if storage is not None:
            raise OptionError(
                f"counts only with option {BAD_RECORDS_PATH.name!r}", option=BAD_RECORDS_STORAGE.name
            )
        return None
    if "://" not in path and not path.removeprefix("file:").startswith("/"):
        raise OptionError(
            "must be an absolute path or a URL: driver and executors work in different folders",
            option=BAD_RECORDS_PATH.name,
        )
    return BadRecordsLocation(path=path, storage_options=storage or {})


def _settings(request: FormatRequest) -> PartSettings | None:
    given = request.given
    rows = request.rows
    name = given[rows.format]
    if name is None:
        rows.check_none_given(given)
        return None
    known = FORMATS[name]
    for field, option in rows.by_field():
        if field not in known.takes | {"format", "prefix"} and given.get(option) is not None:
            raise request.refusal(option, f"has no meaning for the format {name!r}: remove it")
    zone = given[rows.time_zone]
    if zone is not None:
        _check_zone(request, zone)
    chosen = known.choose(request)
    return PartSettings(
        format_name=name,
        chosen=chosen,
        prefix=given[rows.prefix] or "",
        on_bad=_ON_BAD[given[rows.mode] or "PERMISSIVE"],
        extra_columns=_extra_columns(request, chosen.fields, may_be_it="schema" in known.takes),
        zone_option=rows.time_zone.name if chosen.has_times and zone is None else "",
    )


def _extra_columns(request: FormatRequest, fields: StructType, *, may_be_it: bool) -> tuple[str, ...]:
    """Return the names of the columns beside those of the schema.

    Raises:
        OptionError: a field has such a name and is not that column.
    """
    rows = request.rows
    names: list[str] = []
    for option in (rows.corrupt_column, rows.rescued_column):
        name = request.given.get(option)
        if name is None:
            continue
        if any(_is_other(field, name, may_be_it=may_be_it) for field in fields.fields):
            raise request.refusal(option, f"{name!r} is a field of the {rows.part} too: choose another name")
        if name.lower() in [other.lower() for other in names]:
            raise request.refusal(option, f"{name!r} is also option {rows.corrupt_column.name!r}")
        names.append(name)
    return tuple(names)


def _asks_registry(options: ParsedOptions, rows: PartOptions) -> bool:
    name = options[rows.format]
    if name is None:
        return False
    known = FORMATS[name]
    return known.asks_registry and not (known.schema_suffices and options[rows.schema] is not None)


def _check_zone(request: FormatRequest, zone: str) -> None:
    from headwater.readers.formats.values.zones import offsets_of

    if offsets_of(zone) is None:
        raise request.refusal(
            request.rows.time_zone, f"there is no time zone {zone!r}; write Europe/Paris, +01:00 or UTC"
        )


def _is_other(field: StructField, extra: str, *, may_be_it: bool) -> bool:
    """Whether a field has the name of a column for corrupt or rescued values, and cannot be it."""
    same = field.name.lower() == extra.lower()
    return same and not (may_be_it and field.name == extra and isinstance(field.dataType, StringType))
