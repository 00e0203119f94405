"""The formats by the names that users write, and their options, for values and for keys.

Loads no format before it is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal, NamedTuple

from pyspark.sql.types import StructType

from headwater.connector.formats.ddl import schema
from headwater.connector.options import OptionTable
from headwater.core.errors import OptionError
from headwater.core.options import Option, Spec, boolean, json_object, one_of, option, text
from headwater.core.source import Boundedness
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.registry.glue_settings import GLUE_OPTIONS
from headwater.readers.formats.registry.settings import REGISTRY_OPTIONS
from headwater.readers.formats.values.time_pattern import datetime_pattern

_DEBEZIUM: Final = "headwater.connector.formats.debezium_formats"
_PLAIN: Final = "headwater.connector.formats.plain_formats"
_REGISTERED: Final = "headwater.connector.formats.registered_formats"
_BAD: Final = frozenset({"mode", "corrupt_column"})
_JSON: Final = _BAD | {"schema", "time_zone", "timestamp_format", "timestamp_ntz_format", "date_format"}
_CSV: Final = _JSON | {"csv_options"}
_RESCUED: Final = frozenset({"rescued_column"})
_PROTOBUF: Final = _BAD | {"descriptor", "message", "emit_defaults", "enums_as_ints", "upcast_unsigned"}
_VERSION: Final = frozenset({"subject", "subject_strategy", "version", "message"})
_GLUE_VERSION: Final = frozenset({"subject", "version"})


class KnownFormat(NamedTuple):
    """A format that a user can name.

    Attributes:
        module: where the function is that chooses it.
        function: finds its schema. May read a file or ask a registry.
        takes: which of the options of a part mean something for it, by their fields in `PartOptions`, beside
            those that all formats have.
        registry: the kind of schema registry that it asks; empty: none.
        schema_suffices: whether it does not where the user names the fields.
        has_kernel: whether compiled code decodes it.
    """

    module: str
    function: str
    takes: frozenset[str] = frozenset()
    registry: Literal["", "confluent", "glue"] = ""
    schema_suffices: bool = False
    has_kernel: bool = True


FORMATS: Final[Mapping[str, KnownFormat]] = {
    "avro": KnownFormat(_PLAIN, "avro", _BAD | {"avro_schema", "avro_writer_schema"}),
    "confluent-avro": KnownFormat(
        _REGISTERED, "avro", _BAD | _VERSION | {"avro_schema"}, registry="confluent"
    ),
    "confluent-json": KnownFormat(
        _REGISTERED, "json", _JSON | _RESCUED | _VERSION, registry="confluent", schema_suffices=True
    ),
    "confluent-protobuf": KnownFormat(_REGISTERED, "protobuf", _PROTOBUF | _VERSION, registry="confluent"),
    "csv": KnownFormat(_PLAIN, "csv", _CSV),
    "debezium-avro": KnownFormat(_DEBEZIUM, "avro", _BAD | _VERSION | {"avro_schema"}, registry="confluent"),
    "debezium-json": KnownFormat(_DEBEZIUM, "json", _JSON),
    "glue-avro": KnownFormat(_REGISTERED, "avro", _BAD | _GLUE_VERSION | {"avro_schema"}, registry="glue"),
    "glue-json": KnownFormat(
        _REGISTERED, "json", _JSON | _RESCUED | _GLUE_VERSION, registry="glue", schema_suffices=True
    ),
    "json": KnownFormat(_PLAIN, "json", _JSON | _RESCUED),
    "protobuf": KnownFormat(_PLAIN, "protobuf", _PROTOBUF),
    "text": KnownFormat(_PLAIN, "text", has_kernel=False),
}

_SUBJECT_STRATEGIES: Final = ("topic", "record", "topic-record")
"""Confluent's, by which producers name the subjects of their schemas."""
_MODES: Final = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")

BAD_RECORDS_PATH: Final = Option(
    "badRecordsPath",
    text,
    None,
    "A folder, on any file system of fsspec, for records whose key or value cannot be decoded: they are not "
    "in the output, whatever `mode` says. See [formats.md](formats.md#files-of-bad-records).",
)
BAD_RECORDS_STORAGE: Final = Option(
    "badRecordsStorageOptions", json_object, None, "JSON: settings of the fsspec file system behind it."
)
SCHEMA_EVOLUTION: Final = Option(
    "schemaEvolution",
    boolean,
    False,
    "Whether a query may go on from a checkpoint in which another schema of keys or values is logged.",
    only=Boundedness.CONTINUOUS_UNBOUNDED,
)


def _version(raw: str) -> str:
    version = raw.strip().lower()
    if version != "latest" and not (version.isdecimal() and int(version) > 0):
        raise ValueError(f"must be latest or the number of a version, not {raw!r}")
    return version


def _dialect(raw: str) -> CsvDialect:
    """How single records are written, by a JSON object with the names of Spark's options."""
    texts = {
        name.lower(): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in json_object(raw).items()
    }
    try:
        dialect = OptionTable(CsvDialect.options()).parse(texts, None).of(CsvDialect)
        dialect.check()
    except OptionError as error:
        raise ValueError(f"holds a wrong option: {error}") from None
    return dialect


class PartOptions(Spec):
    """The options about one part of a record: here of values."""

    PART: ClassVar[str] = "value"

    format: str | None = option(
        "valueFormat",
        "How values are written; without it they are bytes. See [formats.md](formats.md).",
        default=None,
        parse=one_of(*FORMATS),
        shown_default="bytes",
    )
    schema: StructType | None = option(
        "valueSchema",
        "The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of a "
        "change event of Debezium: those of the row. A batch of `json` from Kafka infers them "
        "without it.",
        default=None,
        parse=schema,
        kind="schema",
    )
    avro_schema: str | None = option(
        "valueAvroSchema",
        "The Avro schema that the columns are made of: its JSON, or the path of a file on the driver "
        "(or a URL of fsspec).",
        default=None,
        parse=text,
    )
    avro_writer_schema: str | None = option(
        "valueAvroWriterSchema",
        "The Avro schema that values without a header were written with, if it is another.",
        default=None,
        parse=text,
        shown_default="`valueAvroSchema`",
    )
    descriptor: str | None = option(
        "valueDescriptor",
        "A file on the driver (or a URL of fsspec) that `protoc --include_imports "
        "--descriptor_set_out=FILE` has written.",
        default=None,
        parse=text,
    )
    message: str | None = option(
        "valueMessage",
        "The name of the Protobuf message. Of a schema in a registry: the first one by default. With "
        "`valueSubjectStrategy`: the full name of the message or record.",
        default=None,
        parse=text,
    )
    emit_defaults: bool = option(
        "valueEmitDefaults",
        "Whether a field of Protobuf without presence that is not set is its default and not null "
        "(`emit.default.values` of Spark).",
        default=False,
    )
    enums_as_ints: bool = option(
        "valueEnumsAsInts",
        "Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).",
        default=False,
    )
    upcast_unsigned: bool = option(
        "valueUpcastUnsigned",
        "Whether unsigned integers of Protobuf become the next larger type "
        "(`upcast.unsigned.ints` of Spark).",
        default=False,
    )
    subject: str | None = option(
        "valueSubject",
        "The subject in the schema registry whose schema the columns are made of; with Glue the schema.",
        default=None,
        parse=text,
        shown_default="as `valueSubjectStrategy` says; with Glue the topic",
    )
    subject_strategy: str | None = option(
        "valueSubjectStrategy",
        "How producers name subjects: `topic` (`orders-value`), `record` (`com.acme.Order`) or "
        "`topic-record` (`orders-com.acme.Order`), the record as `valueMessage` names it.",
        default=None,
        parse=one_of(*_SUBJECT_STRATEGIES),
        shown_default="`topic`",
    )
    version: str = option(
        "schemaVersion",
        "Which version of it: `latest`, or a number.",
        default="latest",
        parse=_version,
        kind="version",
    )
    prefix: str | None = option(
        "valuePrefix",
        "What comes before the names of the columns that are `value.*`.",
        default=None,
        parse=text,
    )
    mode: str = option(
        "mode",
        "What becomes of a record whose value cannot be decoded: `PERMISSIVE` makes nulls of what "
        "cannot be decoded, `DROPMALFORMED` leaves the record out, `FAILFAST` fails the query.",
        default="PERMISSIVE",
        parse=one_of(*_MODES),
    )
    corrupt_column: str | None = option(
        "columnNameOfCorruptRecord",
        "A column of this name has the text of values that cannot be decoded.",
        default=None,
        parse=text,
    )
    rescued_column: str | None = option(
        "rescuedDataColumn",
        "A column of this name has, as JSON, what the schema does not name and what did not fit its "
        "type, which makes no value bad then. "
        "See [formats.md](formats.md#what-the-schema-does-not-name).",
        default=None,
        parse=text,
    )
    time_zone: str | None = option(
        "timeZone",
        "The zone of times that are written without one.",
        default=None,
        parse=text,
        shown_default="the session's",
    )
    timestamp_format: str | None = option(
        "timestampFormat",
        "How times of the type `timestamp` are written, as Spark's datetime pattern "
        "(`dd/MM/yyyy HH:mm`). See [formats.md](formats.md#patterns-of-dates-and-times).",
        default=None,
        parse=datetime_pattern,
        shown_default="ISO 8601",
    )
    timestamp_ntz_format: str | None = option(
        "timestampNTZFormat",
        "The same for the type `timestamp_ntz`.",
        default=None,
        parse=datetime_pattern,
        shown_default="ISO 8601",
    )
    date_format: str | None = option(
        "dateFormat",
        "The same for the type `date`.",
        default=None,
        parse=datetime_pattern,
        shown_default="ISO 8601",
    )
    csv_options: CsvDialect = option(
        "csvOptions",
        "JSON: how values of the format `csv` are written, by the names of Spark's options: "
        '`{"sep": ";", "escape": "\\""}`. See [formats.md](formats.md#csv).',
        default=CsvDialect(),
        parse=_dialect,
        shown_default="as Spark's",
        kind="json",
    )


class KeyOptions(PartOptions):
    """The same for keys, by names of their own."""

    PART: ClassVar[str] = "key"


def _of_keys(row: Option[Any]) -> Option[Any]:
    own = row.name.removeprefix("value")
    default = row.shown_default
    return replace(
        row,
        name=f"key{own[0].upper()}{own[1:]}",
        help=f"As `{row.name}`, for keys.",
        shown_default=None if default is None else default.replace("`value", "`key"),
    )


KeyOptions.OPTIONS = {name: _of_keys(row) for name, row in PartOptions.OPTIONS.items()}

PARTS: Final[Mapping[str, type[PartOptions]]] = {"key": KeyOptions, "value": PartOptions}

FORMAT_OPTIONS: Final = (
    *PartOptions.options(),
    *KeyOptions.options(),
    *REGISTRY_OPTIONS,
    *GLUE_OPTIONS,
    BAD_RECORDS_PATH,
    BAD_RECORDS_STORAGE,
    SCHEMA_EVOLUTION,
)
"""In the order of the docs."""
