"""A second reading of an epoch says so where it cannot be the first one again."""

from __future__ import annotations

import pytest

from headwater.core.epoch import EpochState, SplitProgress, SplitStatus
from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonValue
from tests.doubles import NumberSplit
from tests.pages import Library, Page, pages
from tests.readers.runtime.epoch.rig import (
    reading,
)


def test_a_second_reading_says_so_when_a_split_ends_earlier_than_the_first_time() -> None:
    state = EpochState((SplitProgress(NumberSplit("a"), 5),))
    with pytest.raises(DataLossError, match="read to 5"):
        list(reading(Library({"a": pages(3)}), "a", stop_at=state))


def test_a_second_reading_says_so_when_a_record_reaches_across_its_stop() -> None:
    class Wide(Library):
        def position(self, page: int) -> JsonValue:
            return 2 * page

        def page(self, position: JsonValue) -> int:
            return int(str(position)) // 2

    with pytest.raises(DataLossError, match="across 3"):
        list(reading(Wide({"a": pages(9)}), "a", stop_at=EpochState((SplitProgress(NumberSplit("a"), 3),))))


def test_a_second_reading_says_so_when_a_child_that_was_finished_has_no_end_any_more() -> None:
    library = Library({"a": [Page((1,), ("b",))], "b": pages(1)}, {"b": None})
    with pytest.raises(DataLossError, match="read to its end"):
        list(
            reading(
                library, "a", stop_at=EpochState((SplitProgress(NumberSplit("a"), 1, SplitStatus.FINISHED),))
            )
        )
