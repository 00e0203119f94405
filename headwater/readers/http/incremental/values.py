"""Values of the field by which an API marks changes: how they compare, and their form in requests."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_FORM: Final = re.compile(
    r"(?P<date>[0-9-]+(?:[Ww][0-9-]+)?)"
    r"(?:(?P<separator>[^0-9-])(?P<time>[0-9:]+)(?P<fraction>[.,]\d+)?(?P<zone>[Zz]|[+-][0-9:.]+)?)?"
)
_TIMES: Final = {2: "%H", 4: "%H:%M", 6: "%H:%M:%S"}
"""How a time is written that has so many digits."""
_MOST_DIGITS: Final = 100


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value of the field.

    Attributes:
        text: as the API writes it, without quotes.
        rank: the key of comparisons; of one type for all values of an order.
    """

    text: str
    rank: Any


class ValueOrder(ABC):
    """How values compare, and how far before the largest one a round begins. Immutable; picklable."""

    @abstractmethod
    def value(self, text: str) -> FieldValue:
        """Return the value of a text.

        Raises:
            ValueError: it is no value of this order.
        """

    @abstractmethod
    def rank(self, stored: str) -> Any:
        """Return the rank whose ``str`` was stored."""

    @abstractmethod
    def back(self, value: FieldValue, like: FieldValue) -> FieldValue:
        """Return the value that lies the overlap before one, or a little earlier.

        Args:
            value: which.
            like: a value of the API: the answer is written in the same way.
        """

    def at(self, moment: datetime, like: FieldValue) -> FieldValue | None:
        """Return the value of a change that is made at this moment, None if the moment says nothing of it.

        Args:
            moment: by the API's clock.
            like: a value of the API.
        """
        return None


@dataclass(frozen=True)
class TimeOrder(ValueOrder):
    """Times and dates in ISO 8601: compared as moments, to the microsecond.

    Those without a zone are taken as UTC. Their meaning is unknown, so they are not compared
    with its clock.

    Attributes:
        overlap_ms: see `ValueOrder.back`.
    """

    overlap_ms: int

    def value(self, text: str) -> FieldValue:
        return FieldValue(text, (_moment(text) - _EPOCH) // _MICROSECOND)

    def rank(self, stored: str) -> Any:
        return int(stored)

    def back(self, value: FieldValue, like: FieldValue) -> FieldValue:
        written = _parsed(like.text)
        try:
            moment = _EPOCH + value.rank * _MICROSECOND - timedelta(milliseconds=self.overlap_ms)
            moment = moment.astimezone(written.tzinfo or UTC)
        except OverflowError:
            return value
        return self.value(_written(moment, like.text))

    def at(self, moment: datetime, like: FieldValue) -> FieldValue | None:
        if _parsed(like.text).tzinfo is None:
            return None
        return self.value(moment.astimezone(UTC).isoformat())


@dataclass(frozen=True)
class NumberOrder(ValueOrder):
    """Numbers: compared exactly, without rounding.

    Attributes:
        overlap: see `ValueOrder.back`.
    """

    overlap: Decimal

    def value(self, text: str) -> FieldValue:
        try:
            number = Decimal(text)
        except InvalidOperation as error:
            raise ValueError(f"{text[:100]!r} is no number") from error
        if not number.is_finite() or len(text) > _MOST_DIGITS or abs(number.adjusted()) > _MOST_DIGITS:
            raise ValueError(f"{text[:100]!r} is no number that can be compared")
        return FieldValue(text, number)

    def rank(self, stored: str) -> Any:
        return Decimal(stored)

    def back(self, value: FieldValue, like: FieldValue) -> FieldValue:
        return value if not self.overlap else self.value(format(value.rank - self.overlap, "f"))


@dataclass(frozen=True)
class TextOrder(ValueOrder):
    """Texts: compared character by character, by their numbers in Unicode. They have no overlap."""

    def value(self, text: str) -> FieldValue:
        return FieldValue(text, text)

    def rank(self, stored: str) -> Any:
        return stored

    def back(self, value: FieldValue, like: FieldValue) -> FieldValue:
        return value


def _parsed(text: str) -> datetime:
    # Both letters may be small.
    return datetime.fromisoformat(text.upper())


def _moment(text: str) -> datetime:
    try:
        moment = _parsed(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text[:100]!r} is no time in ISO 8601") from error


def _written(moment: datetime, like: str) -> str:
    """Return a moment in the form of a text, extended or basic, with its parts; others are cut off."""
    form = _FORM.fullmatch(like)
    assert form is not None, "every text that is read as a time has this form"
    date = _date_written(moment, form["date"])
    if form["time"] is None:
        return date
    time = moment.strftime(_TIMES[len(form["time"].replace(":", ""))])
    if ":" not in form["time"]:
        time = time.replace(":", "")
    if form["fraction"]:
        digits = f"{moment.microsecond:06}"
        time += form["fraction"][0] + (digits[:3] if len(form["fraction"]) <= 4 else digits)
    return f"{date}{form['separator']}{time}{_zone_written(moment, form['zone'])}"


def _date_written(moment: datetime, like: str) -> str:
    date = moment.date().isoformat()
    if "W" in like.upper():
        year, week, day = moment.isocalendar()
        has_day = len(like.replace("-", "")) > len("2024W18")
        date = f"{year:04}-{like[like.upper().index('W')]}{week:02}" + (f"-{day}" if has_day else "")
    return date if "-" in like else date.replace("-", "")


def _zone_written(moment: datetime, like: str | None) -> str:
    if like is None or like in "Zz":
        return like or ""
    offset = moment.strftime("%z")
    hours, *smaller = offset[:3], *(offset[at : at + 2] for at in range(3, len(offset), 2))
    if len(like) == len("+00") and not any(map(int, smaller)):
        return hours
    return ":".join([hours, *smaller]) if ":" in like or len(like) == len("+00") else offset


@dataclass(frozen=True, kw_only=True)
class IncrementalSettings:
    """How changes are recognized. Picklable; opens nothing. Names have dots between them.

    Attributes:
        parameter: of the query; takes the value from which on a round reads.
        value_field: where an item has the value that grows with each change.
        key_fields: the fields that identify an item.
        order: how values compare, and how far rounds overlap.
        starting_value: where the first round begins; None for everything there is.
    """

    parameter: str
    value_field: str
    key_fields: tuple[str, ...]
    order: ValueOrder
    starting_value: FieldValue | None = None
