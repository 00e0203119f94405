"""Watermarks between rows on their way into an operator."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa

from headwater.connector.async_io.epoch_calls import EventTimeSegments
from headwater.readers.async_io.stream_element_queue import Watermark

WIDTH_MS = 10

Times = list[int | None]


def parted(segments: EventTimeSegments, times: Times) -> list[Times | Watermark]:
    batch = pa.record_batch({"t": pa.array(times, pa.timestamp("ms"))})
    return [
        part if isinstance(part, Watermark) else part.column(0).cast(pa.int64()).to_pylist()
        for part in segments.parted(batch)
    ]


def test_rows_of_one_segment_keep_their_order_and_others_are_parted_by_time() -> None:
    segments = EventTimeSegments("t", WIDTH_MS)
    assert parted(segments, [5, 3, None, 9]) == [[5, 3, None, 9]]
    assert parted(segments, [14, None, 8, 31, 12]) == [
        [None, 8, 12],
        Watermark(14),
        [14],
        Watermark(31),
        [31],
    ]
    assert parted(segments, [None]) == [[None]]


def test_rows_behind_the_last_watermark_begin_its_segment_anew() -> None:
    segments = EventTimeSegments("t", WIDTH_MS)
    assert parted(segments, [40]) == [[40]]
    assert parted(segments, [34]) == [[34]]
    assert parted(segments, [44, 45]) == [[44], Watermark(45), [45]]


@hypothesis.given(
    batches=st.lists(st.lists(st.none() | st.integers(-100, 100), min_size=1, max_size=8), max_size=8)
)
def test_no_row_is_later_by_more_than_the_width_than_one_before_it_in_its_segment(
    batches: list[Times],
) -> None:
    segments = EventTimeSegments("t", WIDTH_MS)
    earliest: int | None = None
    out: Times = []
    for times in batches:
        for part in parted(segments, times):
            if isinstance(part, Watermark):
                earliest = None
                continue
            out += part
            known = [at for at in part if at is not None]
            for at in known:
                earliest = at if earliest is None else min(earliest, at)
                assert at <= earliest + WIDTH_MS
    assert sorted(map(str, out)) == sorted(str(at) for times in batches for at in times)
