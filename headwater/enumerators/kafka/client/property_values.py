"""What the value of a Kafka property may look like: text in, a checked value out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "BrokerAddress",
    "Parser",
    "addresses",
    "boolean",
    "integer",
    "one_of",
    "protocols",
    "text",
    "verbatim",
]

Parser: TypeAlias = Callable[[str], Any]
"""Returns the value, or raises ValueError with a sentence that goes on from "option 'kafka.x': ".

The sentence never holds a secret.
"""

_ADDRESS = re.compile(r"(?:[\w.%-]*://)?\[?(?P<host>[\w.%:-]+)\]?:(?P<port>[0-9]{1,5})", re.ASCII)
"""What Java's client takes, IPv6 with and without brackets."""

LARGEST_INT = 2**31 - 1
LARGEST_LONG = 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class BrokerAddress:
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def text(value: str) -> str:
    """Take any text, without the blanks around it."""
    return value.strip()


def verbatim(value: str) -> str:
    """Take any text as it is: secrets and certificates."""
    return value


def integer(at_least: int, at_most: int = LARGEST_INT) -> Parser:
    """Return a parser of whole numbers in a range, both ends included."""

    def parse(value: str) -> int:
        try:
            number = int(value.strip())
        except ValueError:
            raise ValueError(f"{value!r} is not a whole number") from None
        if not at_least <= number <= at_most:
            raise ValueError(f"{number} is not between {at_least} and {at_most}")
        return number

    return parse


def boolean(value: str) -> bool:
    """Take true or false, in any case, as Kafka does."""
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(f"{value!r} is neither true nor false")
    return lowered == "true"


def one_of(*choices: str, lower: bool = False, upper: bool = False) -> Parser:
    """Return a parser that takes one of the choices, after changing the case if told to."""

    def parse(value: str) -> str:
        word = value.strip()
        word = word.lower() if lower else word.upper() if upper else word
        if word not in choices:
            raise ValueError(
                f"{value!r} is not one of {', '.join(choice or '(empty)' for choice in choices)}"
            )
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

    A protocol before the host (PLAINTEXT://host:port) is left out, as Kafka does.
    """
    found = tuple(_address(entry.strip()) for entry in value.split(",") if entry.strip())
    if not found:
        raise ValueError("it names no broker; write host:port,host:port")
    return found


def _address(entry: str) -> BrokerAddress:
    match = _ADDRESS.fullmatch(entry)
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise ValueError(f"{entry!r} is not host:port")
    return BrokerAddress(match["host"], int(match["port"]))
