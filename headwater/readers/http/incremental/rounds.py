"""Where a list stands that is read in rounds, and where its next round begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast

from headwater.core.errors import SourceError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.readers.http.incremental.values import FieldValue, ValueOrder
from headwater.readers.http.paging import PageLink

_MOST_WITHOUT_ORDER: Final = 100_000
"""From so many items on, a round without a moment when it began relies on the order of its items."""


@dataclass(frozen=True, slots=True)
class Round:
    """What is known after a page, and stored with its rows.

    What changes while a round is read may be missed by it: its item may stand on a page that was read. So the
    next round does not begin at the largest value, but at one that is surely before every change made since
    this round began: the moment then, by the API's clock, or the largest value of all rounds before. Where
    neither is known, the first round is read again as a whole; or, if it is long, its items must come in
    order: then what changes moves behind them.

    Attributes:
        pages: how many pages were read in all rounds; numbers the next one.
        since: what this round asked for, or what the next one will; None for everything.
        before: the largest value of all rounds before this one, or where the user wants to begin; None if
            there is neither.
        largest: the largest value of all rounds; None if there was no item yet.
        began: when this round began, by the API's clock; None if that said nothing, or between rounds.
        last: of the values of this round, as long as they come in order; None at its beginning.
        in_order: whether they do.
        relies_on_order: whether items of this round were forgotten that only their order keeps from coming
            again.
        link: the next page; None between rounds.
        empty_pages: how many pages in a row had no items.
        left_out: how many pages in a row were left out.
    """

    pages: int = 0
    since: FieldValue | None = None
    before: FieldValue | None = None
    largest: FieldValue | None = None
    began: datetime | None = None
    last: FieldValue | None = None
    in_order: bool = True
    relies_on_order: bool = False
    link: PageLink | None = None
    empty_pages: int = 0
    left_out: int = 0

    @classmethod
    def first(cls, starting_value: FieldValue | None) -> Round:
        """Return where a list stands of which nothing was read."""
        return cls(since=starting_value, before=starting_value)

    def with_values(self, values: Iterable[FieldValue]) -> Round:
        """Take the values of the items of a page.

        Raises:
            SourceError: the round relies on an order that there is not.
        """
        largest = self.largest
        last = self.last
        in_order = self.in_order
        for value in values:
            in_order = in_order and (last is None or value.rank >= last.rank)
            last = value
            if largest is None or value.rank > largest.rank:
                largest = value
        if self.relies_on_order and not in_order:
            raise SourceError(
                "items do not come in the order of incrementalField, and nothing tells what changed while "
                "they were read: let the API sort by that field, set startingValue, or use a field with "
                "times and zones",
                source="http",
            )
        return replace(self, largest=largest, last=last, in_order=in_order)

    def bound(self, order: ValueOrder, known: int) -> tuple[Round, FieldValue | None]:
        """Return the value before which no later round begins, whatever comes in this one; None if unknown.

        Args:
            order: of the values.
            known: how many versions are kept now.
        """
        if self.largest is None:
            return self, self.since
        quiet = self._quiet(order, self.largest)
        if quiet is not None:
            return self, self._beginning(order, quiet)
        if self.in_order and known > _MOST_WITHOUT_ORDER:
            return replace(self, relies_on_order=True), self._beginning(order, self.largest)
        return self, self.since

    def ended(self, order: ValueOrder) -> Round:
        """Return where the list stands after the last page of a round."""
        since = self.since
        if self.largest is not None:
            begin = self.largest if self.relies_on_order else self._quiet(order, self.largest)
            since = self.since if begin is None else self._beginning(order, begin)
        return Round(pages=self.pages, since=since, before=self.largest or self.before, largest=self.largest)

    def to_json(self) -> JsonObject:
        """Return the state as it is stored."""
        found: JsonObject = {"pages": self.pages, "in_order": self.in_order}
        for name in ("since", "before", "largest", "last"):
            value: FieldValue | None = getattr(self, name)
            if value is not None:
                found[name] = value.text
        if self.began is not None:
            found["began"] = self.began.isoformat()
        if self.link is not None:
            found["link"] = [self.link.url, self.link.cursor]
        for name in ("relies_on_order", "empty_pages", "left_out"):
            if getattr(self, name):
                found[name] = getattr(self, name)
        return found

    @classmethod
    def from_json(cls, value: JsonValue, order: ValueOrder) -> Round:
        """Return what `to_json` wrote."""
        found = cast("dict[str, Any]", value)

        def field_value(name: str) -> FieldValue | None:
            return order.value(found[name]) if name in found else None

        return cls(
            pages=found["pages"],
            since=field_value("since"),
            before=field_value("before"),
            largest=field_value("largest"),
            began=datetime.fromisoformat(found["began"]) if "began" in found else None,
            last=field_value("last"),
            in_order=found["in_order"],
            relies_on_order=found.get("relies_on_order", False),
            link=PageLink(*found["link"]) if "link" in found else None,
            empty_pages=found.get("empty_pages", 0),
            left_out=found.get("left_out", 0),
        )

    def _quiet(self, order: ValueOrder, largest: FieldValue) -> FieldValue | None:
        """Return a value that is before every change made since this round began, None if none is known.

        The largest value, if that is smaller: what a clock says counts only as far as there were changes.
        """
        began = None if self.began is None else order.at(self.began, largest)
        known = [value for value in (self.before, began) if value is not None]
        quiet = max(known, key=lambda value: value.rank, default=None)
        return quiet if quiet is None or quiet.rank < largest.rank else largest

    def _beginning(self, order: ValueOrder, value: FieldValue) -> FieldValue:
        """Return where the next round begins if everything up to a value was read."""
        begin = order.back(value, value if self.largest is None else self.largest)
        return begin if self.since is None or begin.rank > self.since.rank else self.since
