"""The kinds of treatment of a Kafka property, and the parsers of values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from headwater.enumerators.kafka.client.metadata import BrokerAddress

Parser: TypeAlias = Callable[[str], Any]
"""Returns the value, or raises ValueError with a sentence that goes on from "option 'kafka.x': ".

The sentence never holds a secret: where it would show the value, it is an `UnfitValueError`.
"""

_ADDRESS = re.compile(r"(?:[\w.%-]*://)?\[?(?P<host>[\w.%:-]+)\]?:(?P<port>[0-9]{1,5})", re.ASCII)
"""The addresses that Java's client takes, IPv6 with and without brackets."""

LARGEST_INT = 2**31 - 1
LARGEST_LONG = 2**63 - 1


class UnfitValueError(ValueError):
    """A malformed value. The message shows it.

    Attributes:
        reason: goes on from the value, and does not show it.
    """

    def __init__(self, value: str, reason: str) -> None:
        super().__init__(f"{value!r} {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Mapped:
    """A property with the same effect as in Java.

    Attributes:
        parse: checks the value.
        default: the value if none is given, as the user would write it; None if there is no default.
        note: anything to add.
    """

    parse: Parser
    default: str | None = None
    note: str = ""

    def value_of(self, text: str | None) -> Any:
        """Return the checked value; the default's if none is given; None if there is no default either.

        Raises:
            ValueError: see `Parser`.
        """
        written = self.default if text is None else text
        return None if written is None else self.parse(written)


@dataclass(frozen=True, slots=True)
class Ignored:
    """A property that changes nothing here, and no row depends on it.

    It is named once in the log and then ignored. ``note`` says why.
    """

    note: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A property that must not be ignored, because the user would get something else than was asked for.

    ``note`` says why, and names the replacement.
    """

    note: str


Property: TypeAlias = Mapped | Ignored | Refused


def text(value: str) -> str:
    """Take any text, without the blanks around it."""
    return value.strip()


def verbatim(value: str) -> str:
    """Take any text as it is: for secrets and certificates."""
    return value


def integer(at_least: int, at_most: int = LARGEST_INT) -> Parser:
    """Return a parser of whole numbers in a range, both ends included."""

    def parse(value: str) -> int:
        try:
            number = int(value.strip())
        except ValueError:
            raise UnfitValueError(value, "is not a whole number") from None
        if not at_least <= number <= at_most:
            raise ValueError(f"{number} is not between {at_least} and {at_most}")
        return number

    return parse


def boolean(value: str) -> bool:
    """Take true or false, in any case, as Kafka does."""
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise UnfitValueError(value, "is neither true nor false")
    return lowered == "true"


def one_of(*choices: str, lower: bool = False, upper: bool = False) -> Parser:
    """Return a parser that takes one of the choices, after it has changed the case if told to."""

    def parse(value: str) -> str:
        word = value.strip()
        word = word.lower() if lower else word.upper() if upper else word
        if word not in choices:
            names = ", ".join(choice or "(empty)" for choice in choices)
            raise UnfitValueError(value, f"is not one of {names}")
        return word

    return parse


def protocols(value: str) -> tuple[str, ...]:
    """Take a list of TLS versions."""
    parse = one_of("TLSv1.2", "TLSv1.3")
    names = tuple(parse(name) for name in value.split(",") if name.strip())
    if not names:
        raise ValueError("it names no TLS version; write TLSv1.2,TLSv1.3")
    return names


def addresses(value: str) -> tuple[BrokerAddress, ...]:
    """Take a list of brokers: host:port,host:port.

    A protocol before the host (PLAINTEXT://host:port) is left out, as in Kafka.
    """
    brokers = tuple(_address(entry.strip()) for entry in value.split(",") if entry.strip())
    if not brokers:
        raise ValueError("it names no broker; write host:port,host:port")
    return brokers


def _address(entry: str) -> BrokerAddress:
    if "@" in entry:
        raise ValueError("an address is host:port, without a user or a password before it")
    match = _ADDRESS.fullmatch(entry)
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise UnfitValueError(entry, "is not host:port")
    return BrokerAddress(match["host"], int(match["port"]))
