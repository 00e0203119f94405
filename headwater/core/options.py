"""Options: each is declared once, where its value is used, with name, parser, default and help.

A source's options are the fields of a `Spec`, or single declarations (`Option`). From them come the checks,
the messages, ``hw.read``, and the tables in the docs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, NoReturn, Self, TypeVar, dataclass_transform, overload

from headwater.core.errors import OptionError
from headwater.core.source import Boundedness

T = TypeVar("T")
ChoiceT = TypeVar("ChoiceT", bound=str)

_ROW: Final = "option"
"""Where a field's metadata has its `Option`."""
_UNITS_MS: Final = {
    **dict.fromkeys(("", "ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
WHERE_SECRETS_ARE: Final = (
    "It may be `env:NAME`, an environment variable, or `file:PATH`, on the driver and every executor."
)
"""What the help of an option says that `headwater.core.secrets.resolved_secret` takes."""


@dataclass(frozen=True)
class Option(Generic[T]):
    """One option of a source: its name, its parser, its default and its help.

    Attributes:
        name: as the user writes it; Spark ignores case, so do we.
        parse: turns the user's text into a value; raises ValueError with what was expected.
        default: the value when the user gives none.
        help: one or two sentences for the table in the docs.
        only: the mode that the option is for, or None for both.
        shown_default: what the docs print as the default, where ``default`` does not tell.
        required: whether the user must give a value.
        after: the option behind which tables show it; empty where it is declared.
        also: another name of it, which tables show behind it.
        argument: its name in `hw.read`, if that is not the option's.
        kind: what its argument in `hw.read` takes, where the parser does not tell: the name of an
            `ArgumentKind` in lower case.
        needed_in: the modes in which the source refuses to be without it: there `hw.read` must be given it.
    """

    name: str
    parse: Callable[[str], T]
    default: T
    help: str
    only: Boundedness | None = None
    shown_default: str | None = None
    required: bool = False
    after: str = field(default="", kw_only=True)
    also: str = field(default="", kw_only=True)
    argument: str = field(default="", kw_only=True)
    kind: str = field(default="", kw_only=True)
    needed_in: tuple[Boundedness, ...] = field(default=(), kw_only=True)


_MISSING: Final[Any] = object()
_PARSERS: Final[dict[str, Callable[[str], Any]]] = {}
"""By the types of fields whose parser need not be written."""


@overload
def option(
    name: str,
    help: str,
    *,
    default: T,
    parse: Callable[[str], T] | None = None,
    is_secret: bool = False,
    **more: Any,
) -> T: ...


@overload
def option(
    name: str,
    help: str,
    *,
    parse: Callable[[str], T] | None = None,
    is_secret: bool = False,
    **more: Any,
) -> T: ...


def option(
    name: str,
    help: str,  # noqa: A002 - as in `Option`
    *,
    default: Any = _MISSING,
    parse: Callable[[str], Any] | None = None,
    is_secret: bool = False,
    **more: Any,
) -> Any:
    """Declare a field of a `Spec` that an option sets. Without a default the user must give it.

    Args:
        name: of the option, as the user writes it.
        help: as in `Option`.
        default: the value when the user gives none.
        parse: as in `Option`; by the field's type for bool and str.
        is_secret: whether the value is left out where the object is shown.
        more: other attributes of the `Option`.
    """
    required = default is _MISSING
    row = Option[Any](name, parse or _unset, None if required else default, help, required=required, **more)
    metadata = {_ROW: row}
    if required:
        return field(repr=not is_secret, metadata=metadata)
    if isinstance(default, Hashable):
        return field(default=default, repr=not is_secret, metadata=metadata)
    return field(default_factory=lambda: default, repr=not is_secret, metadata=metadata)


def _unset(raw: str) -> NoReturn:
    raise NotImplementedError(raw)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, field))
class Spec:
    """A frozen dataclass whose fields are options, declared where their values are used.

    Such as::

        class JsonSettings(Spec):
            comments: bool = option("allowComments", "Whether `//` is skipped.", default=False)
            multi_line: bool = False

    A table of options takes its rows (`options`), and `ParsedOptions.of` makes the object from what the user
    gave. A field without an option, like the second one, is set by the code that makes the object.
    A check of options that do not go together is a ``__post_init__`` that raises `refusal`.

    Attributes:
        OPTIONS: the options by their fields, in the order of the docs.
    """

    OPTIONS: ClassVar[Mapping[str, Option[Any]]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)
        rows = {
            each.name: (each.metadata[_ROW], each.type)
            for each in fields(cls)  # type: ignore[arg-type]
            if _ROW in each.metadata
        }
        cls.OPTIONS = MappingProxyType({name: _with_parser(row, kind) for name, (row, kind) in rows.items()})

    @classmethod
    def options(cls) -> tuple[Option[Any], ...]:
        """Return the rows for a table of options."""
        return tuple(cls.OPTIONS.values())

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the object of parsed options by name, such as ``self.options`` of a simple source.

        Raises:
            OptionError: options do not go together.
        """
        return cls(**{name: values[row.name] for name, row in cls.OPTIONS.items()})

    def require(self, name: str, hint: str) -> Any:
        """Return the value of an option that the user must give, at least here.

        Args:
            name: of the field, whose default of None stands for "not given".
            hint: what follows "is required" in the error.

        Raises:
            OptionError: it was not given.
        """
        value = getattr(self, name)
        if value is None:
            raise self.refusal(name, f"is required{hint}")
        return value

    @classmethod
    def refusal(cls, name: str, message: str) -> OptionError:
        """Return the error of an option.

        Args:
            name: of the field.
            message: what is wrong, and what to do.
        """
        return OptionError(message, option=cls.OPTIONS[name].name)


def _with_parser(row: Option[Any], kind: Any) -> Option[Any]:
    if row.parse is not _unset:
        return row
    return replace(row, parse=_PARSERS[str(kind).removesuffix(" | None")])


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


_PARSERS.update({"bool": boolean, "str": text})


def integer(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """A whole number of at least ``least``, and at most ``most`` if there is such a limit."""
    return WholeNumber(least, most)


def duration_ms(raw: str) -> int:
    """A number of milliseconds, or a number with a unit.

    ``500ms``, ``10s``, ``15m``, ``1h``, also ``15 minutes``.
    """
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", raw.lower())
    unit_ms = _UNITS_MS.get(match.group(2)) if match else None
    if match is None or unit_ms is None:
        raise ValueError(f"must be a duration such as 500ms, 10s, 15m or 1h, not {raw!r}")
    return int(match.group(1)) * unit_ms


def positive_duration_ms(raw: str) -> int:
    """A duration of more than 0, as `duration_ms` reads it."""
    found_ms = duration_ms(raw)
    if not found_ms:
        raise ValueError("must be more than 0")
    return found_ms


def names(raw: str) -> tuple[str, ...]:
    """Names with commas between them; blanks around them do not count, none may be empty or come twice."""
    values = tuple(name.strip() for name in raw.split(","))
    if not all(values) or len(set(values)) != len(values):
        raise ValueError(f"must be a comma-separated list of distinct names, not {raw!r}")
    return values


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
    members = dict(pairs)
    if len(members) < len(pairs):
        names_given = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in members if names_given.count(name) > 1)!r} comes twice")
    return members
