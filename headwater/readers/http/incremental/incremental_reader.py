"""Reads lists that change, round by round, through a segment log: so every change can be read again."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa

from headwater.core.barrier_reader import EpochRecord, EpochRecords
from headwater.core.clock import Clock
from headwater.core.errors import CorruptRecordError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath, SplitRange
from headwater.core.state_store import StateStore
from headwater.enumerators.http.origins import with_parameters
from headwater.enumerators.http.split import HttpSplit, LogPosition
from headwater.readers.http.client import RequestRate
from headwater.readers.http.incremental.known_items import KnownItems, Ranked, Version, version_of
from headwater.readers.http.incremental.rounds import Round, RoundLog, log_folder
from headwater.readers.http.incremental.values import IncrementalSettings
from headwater.readers.http.paged_split_reader import MOST_LEFT_OUT, PagedSplitReader
from headwater.readers.http.pages import (
    HTTP_SCHEMA,
    HttpPage,
    bad_page_rows,
    fields_of,
    parse_page,
    with_no_reason,
)
from headwater.readers.http.paging import CircleGuard, PageLink, counted_on, not_counted
from headwater.readers.http.response import HttpResponse, server_time
from headwater.readers.http.settings import HttpSettings

_MOST_UNWRITTEN: Final = 10
"""After this number of pages without a new item the log gets the state of the round."""
_MOST_UNWRITTEN_MS: Final = 1_000
"""Or after this time."""
_MOST_EMPTY: Final = 100
"""This number of pages in a row without items is no list."""
_MOST_SAME: Final = 10


def _nothing() -> Generator[EpochRecord, None, None]:
    yield from ()


@dataclass
class OpenRounds:
    """A list while a task reads it. Belongs to the reader.

    Attributes:
        split: the list.
        log: of its rows.
        is_second_reading: whether the log is all that is read.
        round: where the list stands.
        written: where it stands durably: a crash leads back there.
        written_ms: when that was written.
        asked: the page to ask for.
        steps: the content of the log.
        known: the versions that were read.
        guard: notices pages that lead in a circle.
        seen: tells the last page that was read from every other one, where pages or items are counted.
        same_pages: how many pages in a row were the one before.
    """

    split: HttpSplit
    log: RoundLog
    is_second_reading: bool
    round: Round
    written: Round
    written_ms: int
    asked: PageLink
    steps: Generator[EpochRecord, None, None] = field(default_factory=_nothing)
    known: KnownItems = field(default_factory=KnownItems)
    guard: CircleGuard = field(default_factory=CircleGuard)
    seen: str | None = None
    same_pages: int = 0

    @property
    def is_new(self) -> bool:
        """Whether nothing of the list was ever read."""
        return self.round.pages == 0

    def take_counted(self, page: HttpPage) -> None:
        """Take a page that has items.

        Raises:
            CorruptRecordError: again and again it is the one before. Once it may be: items that change
                meanwhile moves items on.
        """
        digest = page.digest
        self.same_pages = self.same_pages + 1 if digest == self.seen else 0
        self.seen = digest
        if self.same_pages >= _MOST_SAME:
            raise not_counted(self.asked.url)


class IncrementalReader(PagedSplitReader[OpenRounds]):
    """A list that changes cannot be read again: rows that a task emits are durable in the log of the list.

    A list without a stop is read by the one attempt that has claimed the task. It becomes the log's writer,
    which fences the one before; hands on the content of the log; then asks for page after page, leaves
    out known items, and appends the rest together with where the round stands. After a crash the next
    attempt goes on behind the last segment. When a round is over, the list is caught up until the next one is
    due.

    A list with a stop is read from the log alone.

    Args:
        settings: the user's settings.
        incremental: how rounds are read.
        clock: time.
        rate: of the task.
        store: the state location; None in a batch read, which reads one round and stores nothing.
        query: the query's folder in it.
    """

    def __init__(
        self,
        settings: HttpSettings,
        incremental: IncrementalSettings,
        *,
        clock: Clock,
        rate: RequestRate,
        store: StateStore | None,
        query: str,
    ) -> None:
        super().__init__(settings, clock, rate)
        self._incremental = incremental
        self._order = incremental.order
        self._store = store
        self._query = query

    def _opened(self, split_range: SplitRange[HttpSplit, JsonValue]) -> OpenRounds:
        split = split_range.split
        first = Round.first(self._incremental.starting_value)
        start = LogPosition.from_json(split_range.start)
        folder = log_folder(self._query, split.path)
        opened = OpenRounds(
            split=split,
            log=RoundLog(self._store, folder, secrets.token_hex(8), self._order),
            is_second_reading=split_range.stop is not None,
            round=first,
            written=first,
            written_ms=self._clock.monotonic_ms(),
            asked=PageLink(split.url),
        )
        if split_range.stop is None:
            opened.steps = self._take_over(opened, start)
        else:
            opened.steps = self._replay(opened.log, start, LogPosition.from_json(split_range.stop))
        return opened

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            self._close_steps(path)
        super().handle_splits_removal(removed)

    def close(self) -> None:
        for path in [*self._open, *self._paused]:
            self._close_steps(path)
        super().close()

    def _close_steps(self, path: SplitPath) -> None:
        """End the reading of a log that was left half-way, and with it the threads that read ahead."""
        current = self._open.get(path) or self._paused.get(path)
        if current is not None:
            current.steps.close()

    def _without_request(self, current: OpenRounds) -> EpochRecords | None:
        record = next(current.steps, None)
        if record is not None:
            return EpochRecords({current.split.path: [record]})
        if current.is_second_reading:
            del self._open[current.split.path]
            return EpochRecords(finished=frozenset([current.split.path]))
        return None

    def _take_over(self, current: OpenRounds, start: LogPosition) -> Generator[EpochRecord, None, None]:
        """Yield the records of earlier attempts behind the start; restore the state of the list."""
        for logged in current.log.take_over(start):
            current.round = current.written = logged.round
            current.known.add(logged.versions)
            if logged.position.segment > start.segment:
                yield self._record(logged.rows, logged.position)
        yield from self._kept(current)
        current.asked = current.round.link or self._first_page(current)

    def _replay(
        self, log: RoundLog, start: LogPosition, stop: LogPosition
    ) -> Generator[EpochRecord, None, None]:
        for logged in log.between(start, stop):
            yield self._record(logged.rows, logged.position)

    def _first_page(self, current: OpenRounds) -> PageLink:
        since = current.round.since
        parameters = {} if since is None else {self._incremental.parameter: since.text}
        return PageLink(with_parameters(current.split.url, parameters))

    def _read(self, current: OpenRounds, answer: HttpResponse) -> EpochRecords:
        """Append the new items of a page, and where the list stands after it; then hand it over."""
        page = parse_page(answer, self._settings.paging)
        following = self._following(current, page, answer)
        if self._settings.paging.kind != "link" and page.items:
            current.take_counted(page)
        versions = [version_of(fields_of(item), self._incremental) for item in page.items]
        at = current.round
        if at.link is None:
            at = replace(at, began=server_time(answer.headers))
        at = at.with_values(version.value for version in versions)
        at = replace(at, link=following.link, left_out=0, empty_pages=0 if versions else at.empty_pages + 1)
        if at.empty_pages >= _MOST_EMPTY and at.link is not None:
            raise CorruptRecordError(
                f"{_MOST_EMPTY} pages in a row have no items and name another one: say with hasMoreField "
                "where the end is told",
                source="http",
                split=answer.url,
            )
        new = self._new(current, versions)
        ranked = [versions[row].ranked for row in new]
        current.known.add(ranked)
        at, bound = at.bound(self._order, len(current.known))
        current.known.forget_before(bound)
        rows = page.rows(current.split.url, at.pages, new, 0)
        return self._append(current, at, self._whole(rows), ranked)

    def _new(self, current: OpenRounds, versions: Sequence[Version]) -> list[int]:
        """Return the rows of the versions that were not read yet. The first one counts."""
        since = current.round.since
        new: dict[bytes, int] = {}
        for row, version in enumerate(versions):
            # An API may give more than it was asked for: what is before that was read, or is not wanted.
            is_before = since is not None and version.value.rank < since.rank
            if not is_before and version.digest not in current.known:
                new.setdefault(version.digest, row)
        return list(new.values())

    def _append(
        self,
        current: OpenRounds,
        at: Round,
        rows: pa.RecordBatch,
        versions: Sequence[Ranked | None],
        events: tuple[JsonValue, ...] = (),
    ) -> EpochRecords:
        """Make a page durable, and where the list stands after it. Without another page the round ends."""
        path = current.split.path
        at = replace(at, pages=at.pages + 1)
        at = at if at.link is not None else at.ended(self._order)
        current.round = at
        records: dict[SplitPath, Sequence[EpochRecord]] = {}
        if rows.num_rows or events or self._is_to_be_written(current):
            position = current.log.append(rows, versions, at)
            current.written = at
            current.written_ms = self._clock.monotonic_ms()
            records[path] = [self._record(rows, position, events), *self._kept(current)]
        if at.link is None:
            return self._over(current, records)
        current.asked = at.link
        return EpochRecords(records)

    def _is_to_be_written(self, current: OpenRounds) -> bool:
        """Whether a page that brings nothing new is worth a segment.

        Most rounds bring nothing, and the log need not know of them. But a long one must not begin again and
        again because its epoch ends.
        """
        at = current.round
        if at.link is None:
            return at != replace(current.written, pages=at.pages)
        since_ms = self._clock.monotonic_ms() - current.written_ms
        return since_ms >= _MOST_UNWRITTEN_MS or at.pages - current.written.pages >= _MOST_UNWRITTEN

    def _leave_out(self, current: OpenRounds, reason: str) -> EpochRecords:
        link = counted_on(current.asked, self._settings.paging)
        if link is None:
            # Nothing but the page itself says what follows: it is asked for again when the next round is due.
            return replace(self._over(current, {}), events=(reason,))
        at = current.round
        left_out = at.left_out + 1
        at = replace(at, left_out=left_out, link=link if left_out < MOST_LEFT_OUT else None)
        rows = self._no_rows
        if self._settings.bad_pages == "column":
            rows = bad_page_rows(current.split.url, [(at.pages, reason)])
        return self._append(current, at, rows, [None] * rows.num_rows, (reason,))

    def _end(self, current: OpenRounds) -> EpochRecords:
        """End the round as if it was whole."""
        rows = self._no_rows
        return self._append(current, replace(current.round, link=None), rows, [])

    def _over(self, current: OpenRounds, records: Mapping[SplitPath, Sequence[EpochRecord]]) -> EpochRecords:
        """Read nothing more of a list in this epoch."""
        path = current.split.path
        del self._open[path]
        if self._settings.follows_growth:
            return EpochRecords(records, caught_up={path: None})
        return EpochRecords(records, frozenset([path]))

    def _kept(self, current: OpenRounds) -> Iterator[EpochRecord]:
        """Write the versions that are known, if it is time."""
        position = current.log.keep(current.known, current.round)
        if position is not None:
            yield self._record(None, position)

    def _record(
        self, rows: pa.RecordBatch | None, position: LogPosition, events: tuple[JsonValue, ...] = ()
    ) -> EpochRecord:
        return EpochRecord(self._no_rows if rows is None else rows, position.to_json(), events=events)

    @property
    def _no_rows(self) -> pa.RecordBatch:
        return self._whole(pa.RecordBatch.from_pylist([], HTTP_SCHEMA))

    def _whole(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return with_no_reason(rows) if self._settings.bad_pages == "column" else rows
