"""Options as a typed table: each is declared once, with its name, its parser, its default and its help.

The table parses what the user gave, names the nearest option in errors, and writes the page of the docs. What
it parsed is asked for with the declaration, which also tells mypy the type::

    COLUMNS: Final = Option("columns", names, None, "Only these columns.")
    TABLE: Final = OptionTable([COLUMNS])

    TABLE.parse({"columns": "key,value"}, boundedness)[COLUMNS]  # a tuple[str, ...] | None
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

from headwater.connector import option_display
from headwater.connector.option_display import ShownOption
from headwater.core.errors import OptionError, nearest
from headwater.core.source import Boundedness

T = TypeVar("T")
ChoiceT = TypeVar("ChoiceT", bound=str)
log = logging.getLogger(__name__)

_UNITS_MS: Final = {
    **dict.fromkeys(("", "ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_SHOWN_MODE: Final = {
    None: "both",
    Boundedness.BOUNDED: "batch",
    Boundedness.CONTINUOUS_UNBOUNDED: "stream",
}

_LIKENESS: Final = 0.75
"""How much a name must look like another to be taken for a slip of it. Where it is less, guesses mislead."""

_LIKENESS_OF_WORDS: Final = 0.85
"""The same for other words, which are shorter."""

_FEW: Final = 12
"""So many names are read in an error; more are a wall."""

_MANY: Final = 6
"""So many names are guessed at most."""

_LEAST_CHARS: Final = 3
"""What is shorter is a part of many names by chance."""

_PATH: Final = "path"
"""The option that Spark makes of the argument of ``load``."""

WHERE_SECRETS_ARE: Final = (
    "It may be `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor."
)
"""What the help of an option says that `headwater.core.secrets.resolved_secret` takes."""


@dataclass(frozen=True)
class Option(Generic[T]):
    """One option of a source: its row in the table, and the key of its value in `ParsedOptions`.

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


class ParsedOptions:
    """A value for every option of a table: the one that the user gave, or the default.

    Args:
        values: by the names of the options, as the table spells them.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, option: Option[T]) -> T:
        """Return the value of an option of the table.

        Raises:
            KeyError: the table does not have this option.
        """
        return cast("T", self._values[option.name])

    def get(self, option: Option[T]) -> T:
        """Return the value of an option that only some tables have; the default if this one does not."""
        return cast("T", self._values.get(option.name, option.default))

    def require(self, option: Option[T | None], hint: str = "") -> T:
        """Return the value of an option that the user must give, at least here.

        Args:
            option: whose default of None stands for "not given".
            hint: what follows "is required" in the error.

        Raises:
            OptionError: it was not given.
        """
        value = self[option]
        if value is None:
            raise OptionError(f"is required{hint}", option=option.name)
        return value

    def by_name(self) -> dict[str, Any]:
        """Return all values by name: what the source of a user is made from (``self.options["folder"]``)."""
        return dict(self._values)


class OptionTable:
    """All options of a source, in the order in which the docs list them.

    Args:
        rows: the options.
        prefixes: beginnings of names, in lower case, that the table leaves alone (``kafka.``): the source
            checks such options itself.
        other_words: what people write who do not know the table, in lower case, and what they mean.
    """

    def __init__(
        self,
        rows: Iterable[Option[Any]],
        prefixes: tuple[str, ...] = (),
        other_words: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.rows = tuple(rows)
        self.prefixes = prefixes
        self.other_words = other_words
        self._by_lower = {row.name.lower(): row for row in self.rows}

    def parse(self, given: Mapping[str, str], boundedness: Boundedness | None) -> ParsedOptions:
        """Return a value for every option of the table.

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
            row = self._row(key)
            counts = _counts(row, boundedness)
            # An option that does not count is parsed all the same: a slip in it should not wait for the day
            # on which it does.
            try:
                value = row.parse(raw)
            except ValueError as error:
                raise OptionError(f"{error}", option=row.name) from error
            if counts:
                values[row.name] = value
        given_lower = {key.lower() for key in given}
        for row in self.rows:
            if row.required and row.name.lower() not in given_lower:
                raise OptionError(f"is required: {row.help}", option=row.name)
        return ParsedOptions(values)

    def spelling(self, key: str) -> str | None:
        """Return an option that this table has as the docs spell it; None if it has no such option."""
        row = self._by_lower.get(key.lower())
        if row is not None:
            return row.name
        return key if key.lower().startswith(self.prefixes) else None

    def likely(self, key: str) -> str | None:
        """Return what may be meant by a name that is not in the table; None if nobody can tell."""
        if key.lower() == _PATH:
            return "it is what .load(...) was given: load() takes nothing here"
        near = self._near(key)
        if near is not None:
            return f"did you mean {near!r}?"
        having = [repr(row.name) for row in self.rows if key.lower() in row.name.lower()]
        if len(key) >= _LEAST_CHARS and 0 < len(having) <= _MANY:
            return f"did you mean {' or '.join(having)}?"
        return None

    def markdown(self) -> str:
        """Return the table as the docs show it."""
        return option_display.markdown(map(shown, self.rows))

    def __repr__(self) -> str:
        return option_display.plain_text(map(shown, self.rows))

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        return option_display.html_table(map(shown, self.rows))

    def _near(self, key: str) -> str | None:
        word = nearest(key, self.other_words, likeness=_LIKENESS_OF_WORDS)
        if word is not None:
            return self.other_words[word]
        near = nearest(key, [row.name for row in self.rows], likeness=_LIKENESS)
        if near is None and "." in key and self.prefixes:
            near = f"{self.prefixes[0]}{key}"
        return near

    def _row(self, key: str) -> Option[Any]:
        row = self._by_lower.get(key.lower())
        if row is not None:
            return row
        hint = self.likely(key) or f"valid are {self._valid()}"
        raise OptionError(f"is not an option of this source; {hint}", option=key)

    def _valid(self) -> str:
        names = [row.name for row in self.rows]
        if len(names) > _FEW:
            more = f"and {len(names) - _FEW} more, which hw.options_of(source) shows"
            return f"{', '.join(names[:_FEW])}, {more}"
        return ", ".join(names)


def _counts(row: Option[Any], boundedness: Boundedness | None) -> bool:
    """Whether an option that was given counts in this mode.

    Raises:
        OptionError: it contradicts the mode.
    """
    if boundedness is None or row.only is None or row.only is boundedness:
        return True
    if row.only is Boundedness.BOUNDED:
        raise OptionError(
            "is only for a batch read (spark.read); a stream has no end: remove it", option=row.name
        )
    log.warning("option %r counts only in a stream (spark.readStream); ignored in this batch read", row.name)
    return False


def shown(row: Option[Any]) -> ShownOption:
    """Return what tables and signatures say of an option."""
    return ShownOption(row.name, _default(row), _SHOWN_MODE[row.only], row.help)


def _default(row: Option[Any]) -> str:
    if row.required:
        return "required"
    if row.shown_default is not None:
        return row.shown_default
    if row.default is None:
        return ""
    return f"`{row.default}`" if isinstance(row.default, str) else f"`{json.dumps(row.default)}`"


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


@dataclass(frozen=True)
class WholeNumber:
    """The parser that `integer` returns."""

    least: int
    most: int | None = None

    def __call__(self, raw: str) -> int:
        """Return the number that a text says."""
        if not re.fullmatch(r"\s*[+-]?\d+\s*", raw) or int(raw) < self.least:
            raise ValueError(f"must be a whole number of at least {self.least}, not {raw!r}")
        if self.most is not None and int(raw) > self.most:
            raise ValueError(f"must be at most {self.most}, not {raw!r}")
        return int(raw)


def integer(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """A whole number of at least ``least``, and at most ``most`` if there is such a limit."""
    return WholeNumber(least, most)


def duration_ms(raw: str) -> int:
    """A number of milliseconds, or a number with a unit.

    ``500ms``, ``10s``, ``15m``, ``1h``, also ``15 minutes``.
    """
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", raw.lower())
    unit_ms = _UNITS_MS.get(found.group(2)) if found else None
    if found is None or unit_ms is None:
        raise ValueError(f"must be a duration such as 500ms, 10s, 15m or 1h, not {raw!r}")
    return int(found.group(1)) * unit_ms


def positive_duration_ms(raw: str) -> int:
    """A duration of more than 0, as `duration_ms` reads it."""
    found_ms = duration_ms(raw)
    if not found_ms:
        raise ValueError("must be more than 0")
    return found_ms


def names(raw: str) -> tuple[str, ...]:
    """Names with commas between them; blanks around them do not count, none may be empty or come twice."""
    found = tuple(name.strip() for name in raw.split(","))
    if not all(found) or len(set(found)) != len(found):
        raise ValueError(f"must be different names with commas between them, not {raw!r}")
    return found


@dataclass(frozen=True)
class Choice(Generic[ChoiceT]):
    """The parser that `one_of` returns."""

    choices: tuple[ChoiceT, ...]

    def __call__(self, raw: str) -> ChoiceT:
        """Return the word that a text says, as it stands among the choices."""
        by_lower = {choice.lower(): choice for choice in self.choices}
        choice = by_lower.get(raw.strip().lower())
        if choice is None:
            raise ValueError(f"must be one of {', '.join(self.choices)}, not {raw!r}")
        return choice


def one_of(*choices: ChoiceT) -> Callable[[str], ChoiceT]:
    """One of a few words, in any case; the value is the word as it stands here."""
    return Choice(choices)


def json_object(raw: str) -> dict[str, Any]:
    """A JSON object, in which no name comes twice."""
    try:
        value = json.loads(raw, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise ValueError(f'is not valid JSON: {error}; write an object such as {{"name": ...}}') from None
    if not isinstance(value, dict):
        # No TypeError: the caller's argument is a text, as it should be; what the user wrote in it is wrong.
        raise ValueError(f'must be a JSON object such as {{"topic": ...}}, not {raw!r}')  # noqa: TRY004
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Python would keep the last one, and what the user wrote first would be gone without a word.
    found = dict(pairs)
    if len(found) < len(pairs):
        names_given = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in found if names_given.count(name) > 1)!r} comes twice")
    return found
