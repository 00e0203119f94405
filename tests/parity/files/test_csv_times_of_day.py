"""Times of day and intervals in CSV, as both readers read them."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, reading

TIMES = (
    *(
        "12:30",
        "1:2",
        "1:2:3",
        "01:02:03.1234567",
        "24:00",
        "23:59:60",
        "T12:30",
        "12",
        "T12",
        "12:",
        "12:30Z",
    ),
    *("12:30:01 PM", "12:30 am", "0:30 am", "13:30 pm", " 12:30", "12:30 ", "12:30:01.", "+1:00", "1230"),
    *("2024-01-01 12:30", "am", "1:2:3 +01:00", "1:2:3.PM", "012:30", "12:030", "T1 pm", "1:2:3:4", ""),
)
INTERVALS = (
    *("INTERVAL '1 02:03:04.5' DAY TO SECOND", "interval  '-1 02:03:04' day to second", "1 day", "1", ""),
    *("INTERVAL -'-1 02:03:04' DAY TO SECOND", "1 02:03:04", "1 2:3:4.123456789", "-1 2:3:4.5", "|1 2:3:4"),
    *("+1 2:3:4", "1 24:00:00", "1 2:60:00", "1 2:3:60", "1  2:3:4", " 1 2:3:4 ", "1 2:3", "1 2:3:4."),
    *("106751991 04:00:54.775807", "106751991 04:00:54.775808", "-106751991 04:00:54.775808"),
    *("106751992 0:0:0", "INTERVAL'1 2:3:4' DAY TO SECOND", "INTERVAL '1 2:3:4' DAY TO MINUTE"),
    *(
        "INTERVAL | '1 2:3:4' DAY TO SECOND",
        "INTERVAL +'1 2:3:4' DAY TO SECOND",
        "0001 2:3:4",
        "1000000000 1:1:1",
    ),
)
_LETTERS = "0123456789::::.. -+|'TtAaPpMmZDAYO"


@st.composite
def changed(draw: st.DrawFn, texts: tuple[str, ...]) -> bytes:
    """Return twenty lines of texts, and of texts with another letter somewhere."""

    def text() -> str:
        found = draw(st.sampled_from(texts))
        at = draw(st.integers(0, len(found)))
        return found[:at] + draw(st.text(_LETTERS, max_size=1)) + found[at + draw(st.integers(0, 1)) :]

    return "\n".join(text() for _ in range(20)).encode()


@pytest.mark.parametrize(("kind", "texts"), [("time", TIMES), ("interval day to second", INTERVALS)])
def test_values_are_those_of_spark(
    with_times_of_day: FilesParity, seed: int, kind: str, texts: tuple[str, ...]
) -> None:
    how = reading("csv", f"v {kind}, _corrupt_record string")
    with_times_of_day.same(how, ["\n".join(texts).encode()])
    DrawnFiles(with_times_of_day, seed).same(how, changed(texts), 250)


def test_times_of_day_differ_where_spark_has_no_such_type(parity: FilesParity) -> None:
    sparks, ours = parity.differs("times of day without the type", reading("csv", "v time"), b"12:30\n")
    assert isinstance(sparks, Failed)
    assert ours == [(45_000 * 10**6,)]
