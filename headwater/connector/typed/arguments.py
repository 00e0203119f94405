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

_COMMAS: Final = re.compile(r"(; several)?,? with commas( between them)?")
"""How an option is written that an argument takes as a list."""


@dataclass(frozen=True)
class Argument:
    """An argument of a typed reader, after ``spark``; all are given by name.

    Attributes:
        name: of the argument.
        option: that it sets; a name that ends with a dot, or is empty, is the beginning of the names of many
            options, and the argument a mapping of the rest of their names.
        annotation: its type, as a signature writes it, without None.
        kind: how its value is written.
        required: whether it must be given.
        default: the value without it, as the docs show it.
        help: one or two sentences.
    """

    name: str
    option: str
    annotation: str
    kind: ArgumentKind
    required: bool
    default: str
    help: str


_REPEATED: Final = "paths"
"""An option of Spark that is only another name: the argument is `path`."""

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
_PREFIXES: Final = {
    "kafka.": (
        "properties",
        "Properties of Kafka's client, without `kafka.`: `{'security.protocol': 'SASL_SSL'}`.",
    ),
    "header.": ("headers", "Headers of each request, by name."),
}
"""The argument for all options that begin so, and its help."""
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
    arguments = tuple(_arguments(source, boundedness))
    return (*(one for one in arguments if one.required), *(one for one in arguments if not one.required))


def _arguments(source: str, boundedness: Boundedness) -> Iterator[Argument]:
    table = options_of(source)
    if source == "kafka":
        yield _SERVERS
    if source == "hybrid":
        yield _PARTS
    repeated = {_REPEATED, *(row.also for row in table.rows)}
    for row in table.rows:
        of_this_mode = row.only is None or row.only is boundedness
        if of_this_mode and row.name not in repeated and not row.help.startswith("Refused"):
            yield _argument(row, boundedness)
    for prefix in table.prefixes:
        name, described = _PREFIXES[prefix]
        yield Argument(
            name,
            prefix,
            "Mapping[str, str]",
            ArgumentKind.TEXT,
            required=False,
            default="",
            help=described,
        )


def _argument(row: Option[Any], boundedness: Boundedness) -> Argument:
    kind = _kind(row)
    required = row.required or boundedness in row.needed_in
    return Argument(
        row.argument or _snake_case(row.name),
        row.name,
        _annotation(row, kind),
        kind,
        required=required,
        default="required" if required else shown(row).default,
        help=row.help if kind is not ArgumentKind.NAMES else _COMMAS.sub("", row.help),
    )


def _kind(row: Option[Any]) -> ArgumentKind:
    if row.kind:
        return ArgumentKind[row.kind.upper()]
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
