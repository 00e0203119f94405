"""From a source's table of options to the arguments of its typed reader."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headwater.connector.options import shown
from headwater.connector.sources.registry import options_of
from headwater.connector.typed.argument_kinds import ArgumentKind
from headwater.core.options import (
    Choice,
    Option,
    WholeNumber,
    boolean,
    duration_ms,
    json_object,
    names,
    positive_duration_ms,
)
from headwater.core.source import Boundedness


@dataclass(frozen=True)
class Argument:
    """An argument of a typed reader, after ``spark``; all are given by name.

    Attributes:
        name: of the argument.
        option: that it sets; what ends with a dot, or is empty, is the beginning of the names of many
            options, and the argument a mapping of the rest of their names.
        annotation: its type, as a signature writes it, without None.
        kind: how its value is written.
        required: whether it must be given.
        default: what counts without it, as the docs show it.
        help: one or two sentences.
    """

    name: str
    option: str
    annotation: str
    kind: ArgumentKind
    required: bool
    default: str
    help: str


@dataclass(frozen=True)
class _Spelling:
    """What a table does not tell about the argument of an option.

    Attributes:
        name: of the argument; None for that of the option.
        kind: of the argument; None for what the option's parser says.
        required: whether it must be given.
        required_in: the mode in which it must be, if it is one.
    """

    name: str | None = None
    kind: ArgumentKind | None = None
    required: bool = False
    required_in: Boundedness | None = None


_SPELLINGS: Final[Mapping[str, Mapping[str, _Spelling]]] = {
    "demo": {"startingTimestamp": _Spelling(kind=ArgumentKind.MOMENT)},
    "files": {
        "format": _Spelling(required=True),
        "path": _Spelling(kind=ArgumentKind.PATHS, required=True),
        "modifiedAfter": _Spelling(kind=ArgumentKind.MOMENT),
        "modifiedBefore": _Spelling(kind=ArgumentKind.MOMENT),
        "samplingRatio": _Spelling(kind=ArgumentKind.NUMBER),
        "maxCharsPerColumn": _Spelling(kind=ArgumentKind.WHOLE_NUMBER),
        "avroSchema": _Spelling(kind=ArgumentKind.JSON),
    },
    "http": {
        "url": _Spelling(kind=ArgumentKind.NAMES, required=True),
        "params": _Spelling(kind=ArgumentKind.JSON),
        "oauthParams": _Spelling(kind=ArgumentKind.JSON),
        "body": _Spelling(kind=ArgumentKind.JSON),
        "requestsPerSecond": _Spelling(kind=ArgumentKind.NUMBER),
        "header.": _Spelling("headers"),
    },
    "hybrid": {
        "sources": _Spelling(required=True, kind=ArgumentKind.NAMES),
        "seamTime": _Spelling(kind=ArgumentKind.MOMENT),
        "seamOffsets": _Spelling(kind=ArgumentKind.JSON),
    },
    "kafka": {
        "subscribe": _Spelling("topics", ArgumentKind.NAMES),
        "subscribePattern": _Spelling("topic_pattern"),
        "assign": _Spelling("partitions"),
        "startingOffsets": _Spelling(kind=ArgumentKind.JSON),
        "endingOffsets": _Spelling(kind=ArgumentKind.JSON),
        "startingTimestamp": _Spelling(kind=ArgumentKind.MOMENT_MS),
        "endingTimestamp": _Spelling(kind=ArgumentKind.MOMENT_MS),
        "maxOffsetsPerTrigger": _Spelling(kind=ArgumentKind.WHOLE_NUMBER_OR_JSON),
        "topicWeights": _Spelling(kind=ArgumentKind.JSON),
        "kafka.": _Spelling("properties"),
    },
    "mqtt": {
        "broker": _Spelling(required=True),
        "topics": _Spelling(kind=ArgumentKind.NAMES, required=True),
        "clientId": _Spelling(required_in=Boundedness.CONTINUOUS_UNBOUNDED),
        "receiverIdleTimeout": _Spelling(kind=ArgumentKind.DURATION),
    },
}
_OF_FORMATS: Final[Mapping[str, _Spelling]] = {
    "valueSchema": _Spelling(kind=ArgumentKind.SCHEMA),
    "keySchema": _Spelling(kind=ArgumentKind.SCHEMA),
    "schemaVersion": _Spelling(kind=ArgumentKind.VERSION),
    "keySchemaVersion": _Spelling(kind=ArgumentKind.VERSION),
    "csvOptions": _Spelling(kind=ArgumentKind.JSON),
    "keyCsvOptions": _Spelling(kind=ArgumentKind.JSON),
    "badRecordsStorageOptions": _Spelling(kind=ArgumentKind.JSON),
    "schema.registry.url": _Spelling(kind=ArgumentKind.NAMES),
}
_OTHER_NAMES: Final = frozenset({"paths", "delimiter", "charset"})
"""Options of Spark that are only other names: the argument is `path`, `sep`, `encoding`."""

_SERVERS: Final = Argument(
    "servers",
    "kafka.bootstrap.servers",
    ArgumentKind.NAMES.annotation,
    ArgumentKind.NAMES,
    required=True,
    default="required",
    help="Brokers to begin with, as `host:port`.",
)
_PARTS: Final = Argument(
    "parts",
    "",
    "Mapping[str, str]",
    ArgumentKind.TEXT,
    required=True,
    default="required",
    help="Options of the parts, by their whole names: "
    "`{'history.source': 'files', 'live.subscribe': 'orders'}`.",
)
_MANY: Final = {
    "kafka.": "Properties of Kafka's client, without `kafka.`: `{'security.protocol': 'SASL_SSL'}`.",
    "header.": "Headers of each request, by name.",
}
_FIXED_KINDS: Final[Mapping[Any, ArgumentKind]] = {
    boolean: ArgumentKind.BOOLEAN,
    duration_ms: ArgumentKind.DURATION,
    positive_duration_ms: ArgumentKind.DURATION,
    json_object: ArgumentKind.JSON,
    names: ArgumentKind.NAMES,
}


def arguments_of(source: str, boundedness: Boundedness) -> tuple[Argument, ...]:
    """Return the arguments of a source's typed reader: first those that must be given.

    Options of the other mode are left out, as are those that are refused, and other names of options.

    Args:
        source: one that is built in.
        boundedness: whether the reader is for batches or for streams.
    """
    found = tuple(_arguments(source, boundedness))
    return (*(one for one in found if one.required), *(one for one in found if not one.required))


def _arguments(source: str, boundedness: Boundedness) -> Iterator[Argument]:
    table = options_of(source)
    if source == "kafka":
        yield _SERVERS
    if source == "hybrid":
        yield _PARTS
    for row in table.rows:
        of_this_mode = row.only is None or row.only is boundedness
        if of_this_mode and row.name not in _OTHER_NAMES and not row.help.startswith("Refused"):
            yield _argument(row, _spelling(source, row.name), boundedness)
    for prefix in table.prefixes:
        name = _spelling(source, prefix).name or prefix.rstrip(".")
        yield Argument(
            name,
            prefix,
            "Mapping[str, str]",
            ArgumentKind.TEXT,
            required=False,
            default="",
            help=_MANY[prefix],
        )


def _argument(row: Option[Any], spelling: _Spelling, boundedness: Boundedness) -> Argument:
    kind = (ArgumentKind[row.kind.upper()] if row.kind else None) or spelling.kind or _kind(row)
    required = row.required or spelling.required or spelling.required_in is boundedness
    return Argument(
        spelling.name or _snake_case(row.name),
        row.name,
        _annotation(row, kind),
        kind,
        required=required,
        default="required" if required else shown(row).default,
        help=row.help,
    )


def _spelling(source: str, option: str) -> _Spelling:
    return _SPELLINGS[source].get(option) or _OF_FORMATS.get(option) or _Spelling()


def _kind(row: Option[Any]) -> ArgumentKind:
    if isinstance(row.parse, WholeNumber):
        return ArgumentKind.WHOLE_NUMBER
    return _FIXED_KINDS.get(row.parse, ArgumentKind.TEXT)


def _annotation(row: Option[Any], kind: ArgumentKind) -> str:
    if isinstance(row.parse, Choice):
        choices = ", ".join(f'"{choice}"' for choice in row.parse.choices)
        return f"Literal[{choices}]"
    return kind.annotation


def _snake_case(name: str) -> str:
    """``valueTimestampNTZFormat`` is ``value_timestamp_ntz_format``, and a dot ends a word too."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return words.replace(".", "_").lower()
