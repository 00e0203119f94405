"""The options about one part of a record, checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql.types import StringType, StructField, StructType

from headwater.connector.formats.format_request import ChosenFormat, FormatRequest, choose
from headwater.connector.formats.options import (
    BAD_RECORDS_PATH,
    BAD_RECORDS_STORAGE,
    FORMATS,
    PARTS,
    PartOptions,
)
from headwater.connector.formats.registered_schema import check_registries
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonValue
from headwater.readers.formats.bad_records import BadRecordsLocation
from headwater.readers.formats.format import DecodedPart, OnBadValue

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
        on_bad: how a row is treated whose part cannot be decoded.
        extra_columns: the names of the columns for corrupt values and for rescued data, as far as there
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
        """Return the part as readers need it. Loads Arrow."""
        return DecodedPart(
            format=self.chosen.make(),
            prefix=self.prefix,
            on_bad=self.on_bad,
            zone_option=self.zone_option,
            names_schemas=FORMATS[self.format_name].registry == "confluent",
        )

    def logged(self) -> JsonValue:
        """Return its fields and its format, for offsets."""
        return {"fields": self.chosen.fields.simpleString(), "format": self.format_name}


def part_settings(
    options: ParsedOptions,
    topics: Collection[str] | None,
    parts: Mapping[str, type[PartOptions]] = PARTS,
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
    requests = {
        name: FormatRequest(parsed=options, part=options.of(spec), topics=topics, infer=infer)
        for name, spec in parts.items()
    }
    check_registries(options, {_registry(request.part) for request in requests.values()})
    settings = {name: _settings(request) for name, request in requests.items()}
    return {name: each for name, each in settings.items() if each is not None}


def bad_records_location(options: ParsedOptions) -> BadRecordsLocation | None:
    """Return where records go that cannot be decoded; None if they go nowhere.

    Raises:
        OptionError: the path is relative, or there is none.
    """
    path = options[BAD_RECORDS_PATH]
    storage = options[BAD_RECORDS_STORAGE]
    if path is None:
        if storage is not None:
            raise OptionError(f"requires option {BAD_RECORDS_PATH.name!r}", option=BAD_RECORDS_STORAGE.name)
        return None
    if "://" not in path and not path.removeprefix("file:").startswith("/"):
        raise OptionError(
            "must be an absolute path or a URL: driver and executors work in different folders",
            option=BAD_RECORDS_PATH.name,
        )
    return BadRecordsLocation(path=path, storage_options=storage or {})


def _settings(request: FormatRequest) -> PartSettings | None:
    part = request.part
    if part.format is None:
        _check_none_given(request)
        return None
    row = FORMATS[part.format]
    for name in part.OPTIONS:
        if name not in row.takes | {"format", "prefix"} and request.gives(name):
            raise part.refusal(name, f"has no meaning for the format {part.format!r}: remove it")
    if part.time_zone is not None:
        _check_zone(part, part.time_zone)
    chosen = choose(request)
    return PartSettings(
        format_name=part.format,
        chosen=chosen,
        prefix=part.prefix or "",
        on_bad=_ON_BAD[part.mode],
        extra_columns=_extra_columns(part, chosen.fields, may_be_it="schema" in row.takes),
        zone_option=part.OPTIONS["time_zone"].name if chosen.has_times and part.time_zone is None else "",
    )


def _check_none_given(request: FormatRequest) -> None:
    """Refuse options that only count with a format, where there is none.

    Raises:
        OptionError: one of them was given.
    """
    part = request.part
    for name in part.OPTIONS:
        if request.gives(name):
            raise part.refusal(
                name,
                f"requires option {part.OPTIONS['format'].name!r}, which says how the {part.PART} is "
                "written; set that too, or remove this",
            )


def _extra_columns(part: PartOptions, fields: StructType, *, may_be_it: bool) -> tuple[str, ...]:
    """Return the names of the columns beside those of the schema.

    Raises:
        OptionError: a field has such a name and is not that column.
    """
    columns: list[str] = []
    for option, name in (("corrupt_column", part.corrupt_column), ("rescued_column", part.rescued_column)):
        if name is None:
            continue
        if any(_is_other(field, name, may_be_it=may_be_it) for field in fields.fields):
            raise part.refusal(option, f"{name!r} is a field of the {part.PART} too: choose another name")
        if name.lower() in [other.lower() for other in columns]:
            raise part.refusal(option, f"{name!r} is also option {part.OPTIONS['corrupt_column'].name!r}")
        columns.append(name)
    return tuple(columns)


def _registry(part: PartOptions) -> str:
    """Return the kind of registry that the part asks; nothing if it asks none."""
    if part.format is None:
        return ""
    row = FORMATS[part.format]
    return "" if row.schema_suffices and part.schema is not None else row.registry


def _check_zone(part: PartOptions, zone: str) -> None:
    from headwater.readers.formats.values.zones import offsets_of

    if offsets_of(zone) is None:
        raise part.refusal("time_zone", f"there is no time zone {zone!r}; write Europe/Paris, +01:00 or UTC")


def _is_other(field: StructField, extra: str, *, may_be_it: bool) -> bool:
    """Whether a field has the name of a column for corrupt or rescued values, and cannot be it."""
    same = field.name.lower() == extra.lower()
    return same and not (may_be_it and field.name == extra and isinstance(field.dataType, StringType))
