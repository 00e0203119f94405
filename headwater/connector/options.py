"""Tables of options: they parse what the user gave, name the nearest option in errors, and show themselves.

A `Spec` is made from the values with `ParsedOptions.of`; a single declaration is the key of its value::

    COLUMNS: Final = Option("columns", names, None, "Only these columns.")
    TABLE: Final = OptionTable([COLUMNS, *JsonSettings.options()])

    parsed = TABLE.parse({"columns": "key,value"}, boundedness)
    parsed[COLUMNS]  # a tuple[str, ...] | None
    parsed.of(JsonSettings)
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from textwrap import fill
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

from headwater.core.errors import OptionError, nearest
from headwater.core.options import Option, Spec
from headwater.core.redaction import logger_of
from headwater.core.source import Boundedness

T = TypeVar("T")
SpecT = TypeVar("SpecT", bound=Spec)
log = logger_of(__name__)

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

_HEAD: Final = ("option", "default", "for", "meaning")
_INDENT: Final = "    "
_BOTH: Final = "both"


class ParsedOptions:
    """A value for every option of a table: the one that the user gave, or the default.

    Args:
        values: by the names of the options, as the table spells them.
        given: the names of those that the user gave, and that count in this mode.
    """

    def __init__(self, values: Mapping[str, Any], explicit: Iterable[str]) -> None:
        self._values = dict(values)
        self._given = frozenset(explicit)

    def gives(self, option: Option[Any]) -> bool:
        """Return whether the user gave an option, and it counts in this mode."""
        return option.name in self._given

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

    def of(self, spec: type[SpecT], **others: Any) -> SpecT:
        """Return a spec with the values of its options.

        Args:
            spec: the class. An option that this table does not have has its default.
            others: the other fields of it.

        Raises:
            OptionError: options do not go together.
        """
        values = {name: self.get(row) for name, row in spec.OPTIONS.items()}
        return spec(**values | others)

    def by_name(self) -> dict[str, Any]:
        """Return all values by name: what the source of a user is made from (``self.options["folder"]``)."""
        return dict(self._values)


class OptionTable:
    """All options of a source, in the order in which the docs list them.

    Args:
        rows: the options. One with `Option.after` moves behind that one.
        prefixes: beginnings of names, in lower case, that the table leaves alone (``kafka.``): the source
            checks such options itself.
        other_words: what people write who do not know the table, in lower case, and what they mean.
        others: a line about options with such beginnings, for people; empty for none.
    """

    def __init__(
        self,
        rows: Iterable[Option[Any]],
        prefixes: tuple[str, ...] = (),
        other_words: Mapping[str, str] = MappingProxyType({}),
        others: str = "",
    ) -> None:
        self.rows = tuple(_ordered(rows))
        self._alias_of = {row.also: row.name for row in self.rows if row.also}
        self.prefixes = prefixes
        self.other_words = other_words
        self.others = others
        self._by_lower = {row.name.lower(): row for row in self.rows}

    def parse(self, texts: Mapping[str, str], boundedness: Boundedness | None) -> ParsedOptions:
        """Return a value for every option of the table.

        Args:
            texts: the user's options; the case of keys does not matter.
            boundedness: a batch's option in a stream is an error, a stream's option in a batch is ignored
                with a warning, as in Spark's own sources; None if the mode is not known yet.

        Raises:
            OptionError: an unknown name (with the nearest valid one), a value that does not parse, an option
                of the other mode, one that is missing.
        """
        values = {row.name: row.default for row in self.rows}
        counting: set[str] = set()
        for key, raw in texts.items():
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
                counting.add(row.name)
        for alias, name in self._alias_of.items():
            if alias in counting and name not in counting:
                values[name] = values[alias]
        given_lower = {key.lower() for key in texts}
        for row in self.rows:
            if row.required and row.name.lower() not in given_lower:
                raise OptionError(f"is required: {row.help}", option=row.name)
        return ParsedOptions(values, counting)

    def spelling(self, key: str) -> str | None:
        """Return an option that this table has as the docs spell it; None if it has no such option."""
        row = self._by_lower.get(key.lower())
        if row is not None:
            return row.name
        return key if key.lower().startswith(self.prefixes) else None

    def likely(self, key: str) -> str | None:
        """Return the likely meaning of a name that is not in the table; None if there is none."""
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
        return _markdown(map(shown, self.rows))

    def __repr__(self) -> str:
        return "\n".join(filter(None, [_plain_text(map(shown, self.rows)), self.others]))

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        others = f"<p>{html.escape(self.others)}</p>" if self.others else ""
        return _html_table(map(shown, self.rows)) + others

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


def _ordered(rows: Iterable[Option[Any]]) -> list[Option[Any]]:
    every = list(rows)
    ordered = [each for row in every if not row.after for each in (row, *_alias(row))]
    for row in every:
        if row.after:
            names = [other.name for other in ordered]
            ordered.insert(names.index(row.after) + 1 if row.after in names else len(names), row)
    return ordered


def _alias(row: Option[Any]) -> list[Option[Any]]:
    """Return the row of the other name of an option, if it has one."""
    if not row.also:
        return []
    formats = row.help.partition(":")[0]
    return [replace(row, name=row.also, also="", help=f"{formats}: another name of `{row.name}`.")]


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
    """Return an option as tables and signatures show it."""
    return ShownOption(row.name, _default(row), _SHOWN_MODE[row.only], row.help)


def _default(row: Option[Any]) -> str:
    if row.required:
        return "required"
    if row.shown_default is not None:
        return row.shown_default
    if row.default is None:
        return ""
    return f"`{row.default}`" if isinstance(row.default, str) else f"`{json.dumps(row.default)}`"


@dataclass(frozen=True)
class ShownOption:
    """The row of an option in a table; code in it is between back-quotes.

    Attributes:
        name: of the option.
        default: empty if there is none.
        mode: ``batch``, ``stream`` or ``both``.
        meaning: one or two sentences.
    """

    name: str
    default: str
    mode: str
    meaning: str

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Its line in the table."""
        return f"`{self.name}`", self.default, self.mode, self.meaning


def _markdown(rows: Iterable[ShownOption]) -> str:
    """Return a table of Markdown."""
    head, *lines = (f"| {' | '.join(cells)} |" for cells in (_HEAD, *(row.cells for row in rows)))
    return "\n".join([head, "|---" * len(_HEAD) + "|", *lines])


def _plain_text(rows: Iterable[ShownOption]) -> str:
    """Return an option a line, with its default, and its meaning below."""
    return "\n".join(_paragraph(row) for row in rows)


def _html_table(rows: Iterable[ShownOption]) -> str:
    """Return a table of HTML."""
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    lines = "".join(f"<tr>{''.join(map(_html_cell, row.cells))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{lines}</table>"


def _paragraph(row: ShownOption) -> str:
    notes = [row.default.replace("`", ""), "" if row.mode == _BOTH else f"{row.mode} only"]
    between = ", ".join(filter(None, notes))
    first = f"{row.name} ({between})" if between else row.name
    return f"{first}\n{fill(_without_links(row.meaning), initial_indent=_INDENT, subsequent_indent=_INDENT)}"


def _without_links(text: str) -> str:
    """Return Markdown without the targets of its links, which lead nowhere outside of the docs."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def _html_cell(text: str) -> str:
    """Return a cell with the little Markdown that there is as HTML: code, and nothing else."""
    content = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(_without_links(text), quote=False))
    return f'<td style="text-align: left">{content}</td>'
