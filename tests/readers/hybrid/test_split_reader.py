"""Which rows of a batch lie on which side of the seam."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest

from headwater.enumerators.hybrid.split import PositionSwitchPoint, TimeSwitchPoint
from headwater.readers.hybrid.split_reader import filter_of

TIMES = st.lists(st.integers(-3_000, 3_000), max_size=30)


@hypothesis.given(times=TIMES, seam_us=st.integers(-3_000, 3_000), unit=st.sampled_from(["us", "ns"]))
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_each_row_is_on_one_side_whatever_its_time(
    times: list[int], seam_us: int, unit: str, zone: str | None
) -> None:
    kind = pa.timestamp("us", zone) if unit == "us" else pa.timestamp("ns", zone)
    batch = pa.record_batch({"at": pa.array(times, pa.int64()).cast(pa.timestamp("us", zone)).cast(kind)})
    sides = [
        filter_of(TimeSwitchPoint("at", seam_us, 0), batch.schema, is_last=is_last, part="a")
        for is_last in (False, True)
    ]
    before, after = (
        []
        if side is None
        else side.kept(batch).column("at").cast(pa.timestamp("us", zone)).cast(pa.int64()).to_pylist()
        for side in sides
    )
    assert before == [at for at in times if at < seam_us]
    assert after == [at for at in times if at >= seam_us]


@hypothesis.given(
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 9)), max_size=30),
    ends=st.lists(st.integers(0, 10), min_size=6, max_size=6),
)
def test_rows_of_the_history_from_the_seam_on_are_left_out(
    rows: list[tuple[str, int, int]], ends: list[int]
) -> None:
    positions = {"a": dict(zip("012", ends[:3], strict=True)), "b": dict(zip("012", ends[3:], strict=True))}
    batch = pa.record_batch(
        {
            "topic": pa.array([topic for topic, _, _ in rows], pa.string()),
            "partition": pa.array([partition for _, partition, _ in rows], pa.int32()),
            "offset": pa.array([offset for _, _, offset in rows], pa.int64()),
        }
    )
    side = filter_of(PositionSwitchPoint(positions), batch.schema, is_last=False, part="a")
    assert side is not None
    kept = [tuple(row.values()) for row in side.kept(batch).to_pylist()]
    assert kept == [row for row in rows if row[2] < positions[row[0]][str(row[1])]]
    assert filter_of(PositionSwitchPoint(positions), batch.schema, is_last=True, part="b") is None
