"""Options of Spark's readers that are known here and cannot be kept: refused by name, with the reason."""

from __future__ import annotations

from typing import NoReturn

from headwater.core.options import Option


def refused(name: str, why: str) -> Option[None]:
    """Return an option that is refused, whatever its value.

    Args:
        name: as the user writes it.
        why: and what to do.
    """

    def parse(_raw: str) -> NoReturn:
        raise ValueError(why)

    return Option(name, parse, None, f"Refused: {why}.")


def only(name: str, value: str, why: str) -> Option[str]:
    """Return an option of which one value is as if it were not given, and no other is taken.

    Args:
        name: as the user writes it.
        value: in lower case.
        why: no other is taken, and what to do.
    """

    def parse(raw: str) -> str:
        if raw.strip().lower() != value:
            raise ValueError(f"can only be {value}: {why}")
        return value

    return Option(name, parse, value, f"Only `{value}`: {why}.")
