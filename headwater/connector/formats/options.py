"""The options of formats, for values and, with ``key`` before their names, for keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headwater.connector.formats.by_name import FORMATS
from headwater.connector.formats.csv_dialect import dialect_of
from headwater.connector.formats.ddl import schema
from headwater.connector.formats.part_options import PartOptions
from headwater.connector.formats.registry_options import REGISTRY_OPTIONS
from headwater.connector.formats.subjects import SUBJECT_STRATEGIES
from headwater.core.options import Option, boolean, json_object, one_of, text
from headwater.core.source import Boundedness
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.values.time_pattern import program_of

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


def datetime_pattern(raw: str) -> str:
    """A pattern of dates and times that the kernel can follow."""
    if not raw:
        raise ValueError("must not be empty")
    program_of(raw)
    return raw


def _csv_options(raw: str) -> CsvDialect:
    return dialect_of(json_object(raw))


def _part_options(part: str) -> PartOptions:
    is_key = part == "key"

    def name(plain: str) -> str:
        return f"key{plain[0].upper()}{plain[1:]}" if is_key else plain

    def help_of(of_value: str, same_as: str) -> str:
        return f"As `{same_as}`, for keys." if is_key else of_value

    return PartOptions(
        part=part,
        format=Option(
            f"{part}Format",
            one_of(*FORMATS),
            None,
            help_of(
                "How values are written; without it they are bytes. See [formats.md](formats.md).",
                "valueFormat",
            ),
            shown_default="bytes",
        ),
        schema=Option(
            f"{part}Schema",
            schema,
            None,
            help_of(
                "The fields of a value, as Spark's DDL (`id long, at timestamp`) or Spark's JSON. Of a "
                "change event of Debezium: those of the row. A batch of `json` from Kafka infers them "
                "without it.",
                "valueSchema",
            ),
        ),
        avro_schema=Option(
            f"{part}AvroSchema",
            text,
            None,
            help_of(
                "The Avro schema that the columns are made of: its JSON, or the path of a file on the driver "
                "(or a URL of fsspec).",
                "valueAvroSchema",
            ),
        ),
        avro_writer_schema=Option(
            f"{part}AvroWriterSchema",
            text,
            None,
            help_of(
                "The Avro schema that values without a header were written with, if it is another.",
                "valueAvroWriterSchema",
            ),
            shown_default=f"`{part}AvroSchema`",
        ),
        descriptor=Option(
            f"{part}Descriptor",
            text,
            None,
            help_of(
                "A file on the driver (or a URL of fsspec) that `protoc --include_imports "
                "--descriptor_set_out=FILE` has written.",
                "valueDescriptor",
            ),
        ),
        message=Option(
            f"{part}Message",
            text,
            None,
            help_of(
                "The name of the Protobuf message. Of a schema in a registry: the first one by default. With "
                "`valueSubjectStrategy`: the full name of the message or record.",
                "valueMessage",
            ),
        ),
        emit_defaults=Option(
            f"{part}EmitDefaults",
            boolean,
            None,
            help_of(
                "Whether a field of Protobuf without presence that is not set is its default and not null "
                "(`emit.default.values` of Spark).",
                "valueEmitDefaults",
            ),
            shown_default="`false`",
        ),
        enums_as_ints=Option(
            f"{part}EnumsAsInts",
            boolean,
            None,
            help_of(
                "Whether enums of Protobuf are their numbers (`enums.as.ints` of Spark).", "valueEnumsAsInts"
            ),
            shown_default="`false`",
        ),
        upcast_unsigned=Option(
            f"{part}UpcastUnsigned",
            boolean,
            None,
            help_of(
                "Whether unsigned integers of Protobuf become the next larger type "
                "(`upcast.unsigned.ints` of Spark).",
                "valueUpcastUnsigned",
            ),
            shown_default="`false`",
        ),
        subject=Option(
            f"{part}Subject",
            text,
            None,
            help_of(
                "The subject in the schema registry whose schema the columns are made of.", "valueSubject"
            ),
            shown_default=f"as `{part}SubjectStrategy` says",
        ),
        subject_strategy=Option(
            f"{part}SubjectStrategy",
            one_of(*SUBJECT_STRATEGIES),
            None,
            help_of(
                "How producers name subjects: `topic` (`orders-value`), `record` (`com.acme.Order`) or "
                "`topic-record` (`orders-com.acme.Order`), the record as `valueMessage` names it.",
                "valueSubjectStrategy",
            ),
            shown_default="`topic`",
        ),
        version=Option(
            name("schemaVersion"),
            _version,
            None,
            help_of("Which version of it: `latest`, or a number.", "schemaVersion"),
            shown_default="`latest`",
        ),
        prefix=Option(
            f"{part}Prefix",
            text,
            None,
            help_of("What comes before the names of the columns that are `value.*`.", "valuePrefix"),
        ),
        mode=Option(
            name("mode"),
            one_of(*_MODES),
            None,
            help_of(
                "What becomes of a record whose value cannot be decoded: `PERMISSIVE` makes nulls of what "
                "cannot be decoded, `DROPMALFORMED` leaves the record out, `FAILFAST` fails the query.",
                "mode",
            ),
            shown_default="`PERMISSIVE`",
        ),
        corrupt_column=Option(
            name("columnNameOfCorruptRecord"),
            text,
            None,
            help_of(
                "A column of this name has the text of values that cannot be decoded.",
                "columnNameOfCorruptRecord",
            ),
        ),
        rescued_column=Option(
            name("rescuedDataColumn"),
            text,
            None,
            help_of(
                "A column of this name has, as JSON, what the schema does not name and what did not fit its "
                "type, which makes no value bad then. "
                "See [formats.md](formats.md#what-the-schema-does-not-name).",
                "rescuedDataColumn",
            ),
        ),
        time_zone=Option(
            name("timeZone"),
            text,
            None,
            help_of("The zone of times that are written without one.", "timeZone"),
            shown_default="the session's",
        ),
        timestamp_format=Option(
            name("timestampFormat"),
            datetime_pattern,
            None,
            help_of(
                "How times of the type `timestamp` are written, as Spark's datetime pattern "
                "(`dd/MM/yyyy HH:mm`). See [formats.md](formats.md#patterns-of-dates-and-times).",
                "timestampFormat",
            ),
            shown_default="ISO 8601",
        ),
        timestamp_ntz_format=Option(
            name("timestampNTZFormat"),
            datetime_pattern,
            None,
            help_of("The same for the type `timestamp_ntz`.", "timestampNTZFormat"),
            shown_default="ISO 8601",
        ),
        date_format=Option(
            name("dateFormat"),
            datetime_pattern,
            None,
            help_of("The same for the type `date`.", "dateFormat"),
            shown_default="ISO 8601",
        ),
        csv_options=Option(
            name("csvOptions"),
            _csv_options,
            None,
            help_of(
                "JSON: how values of the format `csv` are written, by the names of Spark's options: "
                '`{"sep": ";", "escape": "\\""}`. See [formats.md](formats.md#csv).',
                "csvOptions",
            ),
            shown_default="as Spark's",
        ),
    )


VALUE: Final = _part_options("value")
KEY: Final = _part_options("key")
PARTS: Final[Mapping[str, PartOptions]] = {"key": KEY, "value": VALUE}

FORMAT_OPTIONS: Final = (
    *(option for part in (VALUE, KEY) for _, option in part.by_field()),
    *REGISTRY_OPTIONS,
    BAD_RECORDS_PATH,
    BAD_RECORDS_STORAGE,
    SCHEMA_EVOLUTION,
)
"""In the order of the docs."""
