"""The loop of a task: order, ends, closing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from headwater.core.errors import ContractError
from headwater.core.reader import RecordsWithSplitIds
from headwater.core.split import SplitRange
from headwater.readers.runtime.source_reader import read_ranges
from tests.doubles import NumberReader, NumberSource, NumberSplit


def piece(label: str, start: int, stop: int) -> SplitRange[NumberSplit, int]:
    return SplitRange(NumberSplit(label), start, stop)


def rows(batches: Sequence[pa.RecordBatch]) -> list[tuple[str, int]]:
    return [(row["label"], row["number"]) for batch in batches for row in batch.to_pylist()]


def test_every_record_of_every_range_comes_once_and_in_order() -> None:
    source = NumberSource()
    found = rows(list(read_ranges(source, [piece("a", 3, 25), piece("b", 0, 4)])))
    assert found == [("a", n) for n in range(3, 25)] + [("b", n) for n in range(4)]
    assert [reader.closed for reader in source.readers] == [1]


def test_two_ranges_of_one_split_are_read_one_after_the_other() -> None:
    source = NumberSource()
    found = rows(list(read_ranges(source, [piece("a", 0, 5), piece("a", 50, 52), piece("b", 1, 2)])))
    assert [n for label, n in found if label == "a"] == [0, 1, 2, 3, 4, 50, 51]
    assert [reader.closed for reader in source.readers] == [1, 1]


def test_a_reader_that_is_left_early_is_closed() -> None:
    source = NumberSource()
    batches = read_ranges(source, [piece("a", 0, 1_000)])
    next(batches)
    batches.close()
    assert [reader.closed for reader in source.readers] == [1]


def test_records_of_an_unknown_split_break_the_contract() -> None:
    class Confused(NumberReader):
        def fetch(self) -> RecordsWithSplitIds[range]:
            return RecordsWithSplitIds({("other",): [range(3)]})

    source = NumberSource()
    source.create_reader = Confused  # type: ignore[method-assign]
    with pytest.raises(ContractError, match="other, which it was not given"):
        list(read_ranges(source, [piece("a", 0, 5)]))
