"""Where a list stands that is read in rounds, where its next round begins, and the log of both.

The segment log holds the rows of the list, and beside them the state of its rounds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast

import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.enumerators.http.split import LogPosition
from headwater.readers.http.incremental.known_items import DIGEST_BYTES, KnownItems, Ranked
from headwater.readers.http.incremental.values import FieldValue, ValueOrder
from headwater.readers.http.paging import PageLink
from headwater.readers.runtime.partitions.segment_log import SegmentLog

_MOST_WITHOUT_ORDER: Final = 100_000
"""From this number of items on, a round without a moment when it began relies on the order of its items."""


@dataclass(frozen=True, slots=True)
class Round:
    """The state after a page, stored with its rows.

    A change while a round is read may be missed by it: its item may stand on a page that was read. So the
    next round does not begin at the largest value, but at one that is surely before every change made since
    this round began: the moment then, by the API's clock, or the largest value of all rounds before. Where
    neither is known, the first round is read again as a whole; or, if it is long, its items must come in
    order: then changed items move behind them.

    Attributes:
        pages: how many pages were read in all rounds; numbers the next one.
        since: the value that this round asked for, or that the next one will; None for everything.
        before: the largest value of all rounds before this one, or where the user wants to begin; None if
            there is neither.
        largest: the largest value of all rounds; None if there was no item yet.
        began: when this round began, by the API's clock; None if that is unknown, or between rounds.
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

    def bound(self, order: ValueOrder, versions: int) -> tuple[Round, FieldValue | None]:
        """Return the value before which no later round begins, with any content of this one; None if unknown.

        Args:
            order: of the values.
            versions: how many versions are kept now.
        """
        if self.largest is None:
            return self, self.since
        quiet = self._quiet(order, self.largest)
        if quiet is not None:
            return self, self._beginning(order, quiet)
        if self.in_order and versions > _MOST_WITHOUT_ORDER:
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
        fields: JsonObject = {"pages": self.pages, "in_order": self.in_order}
        for name in ("since", "before", "largest", "last"):
            value: FieldValue | None = getattr(self, name)
            if value is not None:
                fields[name] = value.text
        if self.began is not None:
            fields["began"] = self.began.isoformat()
        if self.link is not None:
            fields["link"] = [self.link.url, self.link.cursor]
        for name in ("relies_on_order", "empty_pages", "left_out"):
            if getattr(self, name):
                fields[name] = getattr(self, name)
        return fields

    @classmethod
    def from_json(cls, value: JsonValue, order: ValueOrder) -> Round:
        """Return the state that `to_json` wrote."""
        fields = cast("dict[str, Any]", value)

        def field_value(name: str) -> FieldValue | None:
            return order.value(fields[name]) if name in fields else None

        return cls(
            pages=fields["pages"],
            since=field_value("since"),
            before=field_value("before"),
            largest=field_value("largest"),
            began=datetime.fromisoformat(fields["began"]) if "began" in fields else None,
            last=field_value("last"),
            in_order=fields["in_order"],
            relies_on_order=fields.get("relies_on_order", False),
            link=PageLink(*fields["link"]) if "link" in fields else None,
            empty_pages=fields.get("empty_pages", 0),
            left_out=fields.get("left_out", 0),
        )

    def _quiet(self, order: ValueOrder, largest: FieldValue) -> FieldValue | None:
        """Return a value that is before every change made since this round began, None if none is known.

        The largest value, if that is smaller: a clock counts only as far as there were changes.
        """
        began = None if self.began is None else order.at(self.began, largest)
        bounds = [value for value in (self.before, began) if value is not None]
        quiet = max(bounds, key=lambda value: value.rank, default=None)
        return quiet if quiet is None or quiet.rank < largest.rank else largest

    def _beginning(self, order: ValueOrder, value: FieldValue) -> FieldValue:
        """Return where the next round begins if everything up to a value was read."""
        begin = order.back(value, value if self.largest is None else self.largest)
        return begin if self.since is None or begin.rank > self.since.rank else self.since


_DIGEST: Final = "__digest"
_RANK: Final = "__rank"
_ROUND: Final = b"headwater.round"
_FOLDER_BYTES: Final = 16
_MOST_SINCE_KNOWN: Final = 64
"""After this number of segments the known versions are written anew: a new reader reads no more."""


def log_folder(query: str, path: SplitPath) -> str:
    """Return the folder of a list's log, in the state location."""
    name = hashlib.blake2b(dumps(list(path)).encode(), digest_size=_FOLDER_BYTES).hexdigest()
    return f"{query}/log/{name}"


def segment_log(store: StateStore, query: str, path: SplitPath) -> SegmentLog:
    """Return the log of a list as the driver has it, which writes nothing."""
    return SegmentLog(store, log_folder(query, path), "driver")


@dataclass(frozen=True)
class Logged:
    """A segment, as it was appended.

    Attributes:
        rows: of a page; None in a segment with the versions that are known.
        versions: of the items in ``rows``, or all that are known.
        round: where the list stands after it.
        position: behind it.
    """

    rows: pa.RecordBatch | None
    versions: Sequence[Ranked]
    round: Round
    position: LogPosition


class RoundLog:
    """One attempt's way to the log of one list. Belongs to one thread.

    A batch read has no log: nothing is stored, and positions only tell pages apart.

    Args:
        store: the state location; None in a batch read.
        folder: of the log.
        attempt: unique among all attempts.
        order: of the values.
    """

    def __init__(self, store: StateStore | None, folder: str, attempt: str, order: ValueOrder) -> None:
        self._log = None if store is None else SegmentLog(store, folder, attempt)
        self._order = order
        self._at = LogPosition()

    def take_over(self, start: LogPosition) -> Iterator[Logged]:
        """Become the writer, which fences every earlier attempt; yield the content of the log.

        From the versions that were known at the start on, so that these are complete; the first segments may
        lie before the start.
        """
        if self._log is None:
            return
        end = self._log.take_over()
        begin = LogPosition(start.first_needed, start.known)
        for logged in self._records(self._log, begin, end):
            self._at = logged.position
            yield logged
        self._at = LogPosition(end, self._at.known)

    def between(self, start: LogPosition, stop: LogPosition) -> Iterator[Logged]:
        """Yield the content of the log between two positions."""
        if self._log is not None:
            yield from self._records(self._log, start, stop.segment)

    def append(self, rows: pa.RecordBatch, versions: Sequence[Ranked | None], state: Round) -> LogPosition:
        """Make the new items of a page durable; return the position behind them.

        Args:
            rows: of the page.
            versions: one for each row; None for a row that is no item.
            state: where the list stands after the page.

        Raises:
            FencedError: another attempt took over.
        """
        columns = [*rows.columns, *_columns(versions)]
        number = self._put(columns, [*rows.schema.names, _DIGEST, _RANK], state)
        self._at = LogPosition(number + 1, self._at.known)
        return self._at

    def keep(self, items: KnownItems, state: Round) -> LogPosition | None:
        """Write all versions that are known, if it is time; return the position behind them.

        Raises:
            FencedError: another attempt took over.
        """
        if self._log is None or self._at.segment - self._at.first_needed < _MOST_SINCE_KNOWN:
            return None
        number = self._put(_columns(items.versions()), [_DIGEST, _RANK], state)
        self._at = LogPosition(number + 1, number)
        return self._at

    def _put(self, columns: list[pa.Array[Any]], names: list[str], state: Round) -> int:
        if self._log is None:
            return self._at.segment
        # With the rows: so where the list stands and what was read of it never differ.
        metadata = {_ROUND: dumps(state.to_json()).encode()}
        return self._log.append([pa.RecordBatch.from_arrays(columns, names, metadata=metadata)])

    def _records(self, log: SegmentLog, start: LogPosition, end: int) -> Iterator[Logged]:
        versions_at = start.known
        for number, (batch,) in log.view_after(start.segment, end).segments():
            names = batch.schema.names[:-2]
            if not names:
                versions_at = number
            digests = batch.column(_DIGEST).to_pylist()
            ranks = cast("list[str]", batch.column(_RANK).to_pylist())
            yield Logged(
                batch.select(names).replace_schema_metadata() if names else None,
                [
                    (digest, self._order.rank(rank))
                    for digest, rank in zip(digests, ranks, strict=True)
                    if digest is not None
                ],
                Round.from_json(json.loads((batch.schema.metadata or {})[_ROUND]), self._order),
                LogPosition(number + 1, versions_at),
            )


def _columns(versions: Sequence[Ranked | None]) -> list[pa.Array[Any]]:
    digests = [None if version is None else version[0] for version in versions]
    ranks = [None if version is None else str(version[1]) for version in versions]
    return [pa.array(digests, pa.binary(DIGEST_BYTES)), pa.array(ranks, pa.string())]
