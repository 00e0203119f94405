"""Options as a typed table.

One row an option gives parsing, errors with the nearest name, and the documentation.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headwater.core.errors import OptionError, nearest
from headwater.core.source import Boundedness

__all__ = [
    "Option",
    "OptionTable",
    "boolean",
    "duration_ms",
    "integer",
    "json_object",
    "names",
    "one_of",
    "text",
]

T = TypeVar("T")
log = logging.getLogger(__name__)
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


_MODES = {None: "both", Boundedness.BOUNDED: "batch", Boundedness.CONTINUOUS_UNBOUNDED: "stream"}


@dataclass(frozen=True)
class Option(Generic[T]):
    """One option of a source.

    Attributes:
        name: as the user writes it; Spark ignores case, so do we.
        parse: turns the user's text into a value; raises ValueError with what was expected.
        default: the value when the user gives none.
        help: one or two sentences for the table in the docs.
        only: the mode that the option is for, or None for both.
        shown_default: what the docs print as the default, where ``default`` does not tell.
        required: whether the user must give a value.
    """

    name: str
    parse: Callable[[str], T]
    default: T
    help: str
    only: Boundedness | None = None
    shown_default: str | None = None
    required: bool = False


class OptionTable:
    """All options of a source, in the order in which the docs list them.

    Args:
        rows: the options.
        prefixes: beginnings of names that are passed through whole (``kafka.``); whoever takes them checks
            the rest.
    """

    def __init__(self, rows: Iterable[Option[Any]], prefixes: tuple[str, ...] = ()) -> None:
        self.rows = tuple(rows)
        self.prefixes = prefixes
        self._by_lower = {row.name.lower(): row for row in self.rows}

    def parse(self, given: Mapping[str, str], boundedness: Boundedness | None) -> dict[str, Any]:
        """Return a value for every option of the table, by name.

        Args:
            given: the user's options; the case of keys does not matter.
            boundedness: a batch's option in a stream is an error, a stream's option in a batch is ignored
                with a warning, as in Spark's own sources; None if the mode is not known yet.

        Raises:
            OptionError: an unknown name (with the nearest valid one), a value that does not parse, an option
                of the other mode, one that is missing.
        """
        values = {row.name: row.default for row in self.rows}
        for key, raw in given.items():
            if key.lower().startswith(self.prefixes):
                continue
            row = self._by_lower.get(key.lower())
            if row is None:
                raise self._unknown(key)
            if row.only is Boundedness.BOUNDED and boundedness is Boundedness.CONTINUOUS_UNBOUNDED:
                raise OptionError(
                    "is only for a batch read (spark.read); a stream has no end: remove it", option=row.name
                )
            if row.only is Boundedness.CONTINUOUS_UNBOUNDED and boundedness is Boundedness.BOUNDED:
                log.warning(
                    "option %r counts only in a stream (spark.readStream); ignored in this batch read",
                    row.name,
                )
            try:
                value = row.parse(raw)
            except ValueError as error:
                raise OptionError(f"{error}", option=row.name) from error
            if row.only is None or boundedness in {None, row.only}:
                values[row.name] = value
        if missing := [
            row
            for row in self.rows
            if row.required and row.name.lower() not in {key.lower() for key in given}
        ]:
            raise OptionError(f"is required: {missing[0].help}", option=missing[0].name)
        return values

    def markdown(self) -> str:
        """Return the table as the docs show it."""
        rows = [f"| `{row.name}` | {_default(row)} | {_MODES[row.only]} | {row.help} |" for row in self.rows]
        return "\n".join(["| option | default | for | meaning |", "|---|---|---|---|", *rows])

    def _unknown(self, key: str) -> OptionError:
        near = nearest(key, [row.name for row in self.rows])
        hint = f"did you mean {near!r}?" if near else f"valid are {', '.join(row.name for row in self.rows)}"
        return OptionError(f"is not an option of this source; {hint}", option=key)


def _default(row: Option[Any]) -> str:
    if row.required:
        return "required"
    if row.shown_default is not None or row.default is None:
        return row.shown_default or ""
    return f"`{json.dumps(row.default)}`" if not isinstance(row.default, str) else f"`{row.default}`"


def text(raw: str) -> str:
    """Any text but an empty one."""
    if not raw.strip():
        raise ValueError("must not be empty")
    return raw.strip()


def boolean(raw: str) -> bool:
    """``true`` or ``false``, in any case."""
    try:
        return {"true": True, "false": False}[raw.strip().lower()]
    except KeyError:
        raise ValueError(f"must be true or false, not {raw!r}") from None


def integer(least: int = 0) -> Callable[[str], int]:
    """A whole number of at least ``least``."""

    def parse(raw: str) -> int:
        if not re.fullmatch(r"\s*[+-]?\d+\s*", raw) or int(raw) < least:
            raise ValueError(f"must be a whole number of at least {least}, not {raw!r}")
        return int(raw)

    return parse


def duration_ms(raw: str) -> int:
    """A number of milliseconds, or a number with a unit.

    ``500ms``, ``10s``, ``15m``, ``1h``, also ``15 minutes``.
    """
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", raw.lower())
    unit = found.group(2) if found else ""
    words = {"millisecond": "ms", "second": "s", "sec": "s", "minute": "m", "hour": "h", "day": "d"}
    unit = words.get(unit.removesuffix("s") if len(unit) > 2 else unit, unit) or "ms"
    if found is None or unit not in _UNITS_MS:
        raise ValueError(f"must be a duration such as 500ms, 10s, 15m or 1h, not {raw!r}")
    return int(found.group(1)) * _UNITS_MS[unit]


def names(raw: str) -> tuple[str, ...]:
    """Names with commas between them; blanks around them do not count, none may be empty or come twice."""
    found = tuple(name.strip() for name in raw.split(","))
    if not all(found) or len(set(found)) != len(found):
        raise ValueError(f"must be different names with commas between them, not {raw!r}")
    return found


def one_of(*choices: str) -> Callable[[str], str]:
    """One of a few words, in any case."""

    def parse(raw: str) -> str:
        if raw.strip().lower() not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {raw!r}")
        return raw.strip().lower()

    return parse


def json_object(raw: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(raw)
    except ValueError as error:
        raise ValueError(f"is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        # The user wrote a wrong value, no wrong type.
        raise ValueError(f'must be a JSON object such as {{"topic": ...}}, not {raw!r}')  # noqa: TRY004
    return value
