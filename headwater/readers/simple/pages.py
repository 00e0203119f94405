"""Steps through one split of a simple source, and checks the values that its generator yields."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC
from typing import Any, Final, TypeAlias

import pyarrow as pa

from headwater.core.abilities import EndsAtRecords
from headwater.core.barrier_reader import EpochRecord
from headwater.core.end_condition import first_end
from headwater.core.epoch import FoundSplit
from headwater.core.errors import ContractError, DataLossError
from headwater.core.jsons import JsonValue
from headwater.core.outside import check_json, outside
from headwater.core.redaction import logger_of
from headwater.core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource
from headwater.core.split import SplitRange
from headwater.readers.python_values.columns import RecordColumns
from headwater.readers.python_values.members import Misfit

log = logger_of(__name__)

_MOST_ANCESTORS: Final = 100
"""A longer ring is not noticed: these names go with each split that is found."""

Ending: TypeAlias = AskAgain | Finished | None
"""How a generator ended. None: there is nothing more now."""


class SplitPages:
    """The user's generator over one range of a split. Used by one thread at a time.

    Args:
        source: of the user.
        schema: of all rows.
        assigned: the range to read. A stop of None: to the end of the records.
        is_planned: whether the stop comes from a plan, not from an earlier reading.
        ends_at_records: whether the source is asked which record ends the split (`EndsAtRecords`).
        fail_on_data_loss: whether records that are gone are an error; None: no page may say that some are.

    Attributes:
        losses: what pages have said to be gone, from a position to another: for the reader to report.
    """

    def __init__(
        self,
        source: SimpleSource,
        schema: pa.Schema,
        assigned: SplitRange[NamedSplit, Any],
        *,
        is_planned: bool,
        ends_at_records: bool = False,
        fail_on_data_loss: bool | None = None,
    ) -> None:
        self._fail_on_data_loss = fail_on_data_loss
        self.losses: list[tuple[Any, Any]] = []
        self._source = source
        self._schema = schema
        self._is_planned = is_planned
        self._ends_at_records = ends_at_records
        self.split = assigned.split
        self.position = assigned.start
        self.stop = assigned.stop
        self._pages: Iterator[Page] | None = None
        self._columns: RecordColumns | None = None

    @property
    def is_second_reading(self) -> bool:
        """Whether the range was read before: there are rows up to its stop."""
        return self.stop is not None and not self._is_planned

    @property
    def is_at_stop(self) -> bool:
        """Whether nothing is left of the range."""
        return self.stop is not None and (
            self.position == self.stop or self._is_before(self.stop, self.position)
        )

    def step(self) -> EpochRecord | Ending:
        """Return the next page, advancing the position, or how the generator ended.

        After an error the next call begins anew at the position.

        Raises:
            ContractError: the source broke a promise of `SimpleSource.read`.
            SourceError: of the source.
        """
        try:
            with self._calling("read", self.position):
                if self._pages is None:
                    self._pages = self._begun()
                try:
                    page = next(self._pages)
                except StopIteration as ended:
                    return self._end(ended.value)
        except BaseException:
            # A generator that has raised is over.
            self._pages = None
            raise
        return self._take(page)

    def _begun(self) -> Iterator[Page]:
        takes_stop = "stop" in inspect.signature(self._source.read).parameters
        arguments = {"stop": self.stop} if takes_stop else {}
        pages = self._source.read(self.split, self.position, **arguments)
        if not isinstance(pages, Iterable):
            raise self.broken(f"must yield Pages, not return {pages!r}")
        return iter(pages)

    def close(self) -> None:
        """Close the generator, if one is open."""
        pages = self._pages
        self._pages = None
        close = getattr(pages, "close", None)
        if close is not None:
            close()

    def _end(self, value: object) -> Ending:
        self._pages = None
        if not isinstance(value, AskAgain | Finished | None):
            raise self.broken(f"must return AskAgain, Finished or None, not {value!r}")
        if isinstance(value, AskAgain) and not (type(value.after_ms) is int and value.after_ms >= 0):
            raise self.broken(f"must return AskAgain with milliseconds, not {value.after_ms!r}")
        # To be asked to wait says nothing of the rows: they come later.
        if self.is_second_reading and not isinstance(value, AskAgain):
            raise self.broken(
                f"came to {self.stop!r} when it was read before, and ends now: the same position must bring "
                "the same rows"
            )
        return value

    def _take(self, page: Page) -> EpochRecord:
        if not isinstance(page, Page):
            is_ending = isinstance(page, AskAgain | Finished)
            hint = ": write return instead of yield" if is_ending else ""
            raise self.broken(f"must yield Pages, not {type(page).__name__}{hint}")
        check_json(
            page.position,
            f"SimpleSource.read: the position after {self.position!r} of split {self.split.name!r} of source "
            f"{self._source.name!r}",
        )
        if page.position == self.position or self._is_before(page.position, self.position):
            raise self.broken(
                f"must move on: the page after {self.position!r} has the position {page.position!r}"
            )
        if page.children and self._is_planned:
            raise self.broken("found splits, which needs barrier mode: a source without Heads")
        rows, position = self._lost(page) if page.lost else self._cut(self._rows(page), page.position)
        end = self._end_in(rows) if self._ends_at_records else None
        if end is not None:
            if type(position) is int and position - self.position == rows.num_rows:
                position = self.position + end + 1
            rows = rows.slice(0, end)
        self.position = position
        if page.pending is not None and type(page.pending) is not int:
            raise self.broken(f"must say how many records are pending as an int, not {page.pending!r}")
        is_end = end is not None
        pending = None if is_end else page.pending
        return EpochRecord(rows, position, self._found(page.children), pending=pending, is_end=is_end)

    def _lost(self, page: Page) -> tuple[pa.RecordBatch, Any]:
        """Note the records that are gone, as far as they were to be read.

        Raises:
            DataLossError: the user wants an error then.
        """
        if self._fail_on_data_loss is None or len(page.rows):
            raise self.broken("may say that records are lost in a page without rows, and with Forgets only")
        until = self.stop if self._is_before(self.stop, page.position) else page.position
        if self._fail_on_data_loss:
            raise DataLossError(
                f"positions from {self.position} to before {until} were lost: the outside dropped them "
                "before they were read. Set failOnDataLoss=false to go on with what is there",
                source=self._source.name,
                split=self.split.name,
                position=self.position,
            )
        self.losses.append((self.position, until))
        return self._rows(page), until

    def _end_in(self, rows: pa.RecordBatch) -> int | None:
        """Return the first row that ends the split, as the source says; None if none does.

        Raises:
            ContractError: it does not say yes or no for each row.
        """
        if not rows.num_rows:
            return None
        source = self._source
        assert isinstance(source, EndsAtRecords), "only such a source is asked"
        with self._calling("is_end", self.position):
            answer: Any = source.is_end(rows)
        try:
            mask: Any = answer if isinstance(answer, pa.Array) else pa.array(answer, pa.bool_())
        except (pa.ArrowException, TypeError, ValueError):
            mask = None
        if mask is None or mask.type != pa.bool_() or len(mask) != rows.num_rows:
            raise ContractError(
                f"EndsAtRecords.is_end: {type(source).__name__}.is_end of split {self.split.name!r} of "
                f"source {source.name!r} must return yes or no for each of {rows.num_rows} rows, not "
                f"{answer!r}"
            )
        return first_end(mask)

    def _rows(self, page: Page) -> pa.RecordBatch:
        """Return the rows of a page as a record batch of the source's schema."""
        rows = page.rows
        if isinstance(rows, pa.RecordBatch):
            if not rows.schema.equals(self._schema):
                raise self.broken(
                    f"must yield the schema of the source, ({_text(self._schema)}), not "
                    f"({_text(rows.schema)})"
                )
            return rows
        if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
            raise self.broken(f"must yield rows as a list or a record batch, not as {type(rows).__name__}")
        # A list in the place of a row is one by its places, as a tuple is.
        has_lists = any(issubclass(kind, list) for kind in set(map(type, rows)))
        records = [tuple(row) if isinstance(row, list) else row for row in rows] if has_lists else rows
        return pa.RecordBatch.from_arrays(self._arrays(records), schema=self._schema)

    def _arrays(self, records: Sequence[Any]) -> list[pa.Array[Any]]:
        """Return the columns of records, which must hold them without loss."""
        if not records:
            return [pa.array([], field.type) for field in self._schema]
        if self._columns is None:
            self._columns = RecordColumns(self._schema, UTC, exact=False)
        arrays = self._columns.quick(records)
        if arrays is not None:
            return arrays
        try:
            return self._columns.arrays(self._checked(records, self._columns, each=False))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # A value is out of its type's range. The thorough checks name it.
            return self._columns.arrays(self._checked(records, self._columns, each=True))

    def _checked(self, records: Sequence[Any], columns: RecordColumns, *, each: bool) -> list[list[Any]]:
        checked: list[list[Any]] = []
        columns.members.unknown = {}
        for number, record in enumerate(records):
            try:
                checked.append(columns.checked(record, each=each))
            except Misfit as misfit:
                slip = (
                    f"has {misfit.value} in column {misfit.path!r}, which is {misfit.remedy}"
                    if misfit.remedy
                    else f"is {misfit.value}"
                )
                raise self.broken(
                    f"must yield rows of the schema ({_text(self._schema)}): row {number} of the page {slip}"
                ) from None
            if columns.members.unknown:
                raise self.broken(
                    f"has the column {min(columns.members.unknown, key=str)!r}, which is not in the schema "
                    f"({_text(self._schema)})"
                )
        return checked

    def _cut(self, rows: pa.RecordBatch, position: Any) -> tuple[pa.RecordBatch, Any]:
        """Leave out records at or after the stop: rows that came since an earlier reading."""
        if self.stop is None or not self._is_before(self.stop, position):
            return rows, position
        if type(position) is not int or position - self.position != rows.num_rows:
            raise self.broken(
                f"came to {position!r}, beyond the stop {self.stop!r}, with {rows.num_rows} rows since "
                f"{self.position!r}: give it a parameter stop, and do not read beyond it"
            )
        return rows.slice(0, self.stop - self.position), self.stop

    def _found(self, children: Sequence[NamedSplit]) -> tuple[FoundSplit, ...]:
        """Return the splits that a page names, without those that lead here: they name the same again."""
        ancestors = (*self.split.found_in, self.split.name)
        fresh = [child for child in map(self._checked_child, children) if child.name not in ancestors]
        if len(fresh) < len(children):
            log.warning(
                "source %s: a page of split %s names %d splits in which it was found, or itself: a ring, "
                "which is not read again",
                self._source.name,
                self.split.name,
                len(children) - len(fresh),
            )
        found_in = ancestors[-_MOST_ANCESTORS:]
        return tuple(FoundSplit(replace(child, found_in=found_in), self._start(child)) for child in fresh)

    def _checked_child(self, child: NamedSplit) -> NamedSplit:
        if not isinstance(child, NamedSplit) or not isinstance(child.name, str):
            raise self.broken(f"must name children as NamedSplits, not {child!r}")
        check_json(
            child.info, f"Page.children: the info of split {child.name!r} of source {self._source.name!r}"
        )
        return child

    def _start(self, child: NamedSplit) -> JsonValue:
        with outside(f"{type(self._source).__name__}.start", source=self._source.name, split=child.name):
            return self._source.start(child)

    def _is_before(self, position: Any, other: Any) -> bool:
        with self._calling("is_before", position):
            return self._source.is_before(position, other)

    def _calling(self, method: str, position: Any) -> AbstractContextManager[None]:
        """Wrap a call of a method of the source."""
        return outside(
            f"{type(self._source).__name__}.{method}",
            source=self._source.name,
            split=self.split.name,
            position=position,
        )

    def broken(self, what: str) -> ContractError:
        """Return the error of a broken promise of `SimpleSource.read`."""
        return ContractError(
            f"SimpleSource.read: {type(self._source).__name__}.read of split {self.split.name!r} of source "
            f"{self._source.name!r} {what}"
        )


def _text(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
