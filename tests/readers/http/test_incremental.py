"""Lists that change: each version comes once, whatever the API sorts by and however often readers die."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.epoch import Barrier
from tests.readers.http.changing_list import WRITTEN, ChangingList, follower
from tests.readers.http.scripted import Scripted, scripted_server


def test_a_round_reads_what_changed_since_the_one_before_and_each_version_once(server: Scripted) -> None:
    made = ChangingList()
    for number in range(10):
        made.put(number)
    query = follower(server, made)
    assert query.epoch() == made.history
    made.put(3)
    made.put(10)
    assert query.epoch() == [(3, 2), (10, 1)]
    assert query.epoch() == []
    assert made.asked[0] is None
    assert made.asked[-1] == "2024-05-01T11:59:12Z"


_CHANGES = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([0, 0, 1, 5, 90]), st.integers(0, 60)), max_size=3
)
"""Items that change before a page is made: which, how long after the last change, and how late it is seen."""
_BARRIERS = st.builds(Barrier, rows=st.integers(1, 9))


@pytest.mark.parametrize("sort", ["changed", "newest", "id"])
@given(
    api=st.builds(
        ChangingList,
        page=st.integers(1, 4),
        filters=st.booleans(),
        written=st.sampled_from([*WRITTEN.values()]),
    ),
    tells_time=st.booleans(),
    changes=st.lists(_CHANGES, max_size=25),
    epochs=st.lists(st.tuples(st.none() | _BARRIERS, _BARRIERS), max_size=6),
)
@settings(max_examples=40, deadline=None)
def test_each_version_comes_once_while_the_list_changes_and_readers_die(
    sort: str,
    *,
    api: ChangingList,
    tells_time: bool,
    changes: list[list[tuple[int, int, int]]],
    epochs: list[tuple[Barrier | None, Barrier]],
) -> None:
    made = replace(api, sort=sort)
    has_overlap = made.written.kind == "time"

    def change() -> None:
        for number, after_s, late_s in changes.pop(0) if changes else ():
            made.put(number, after_s=after_s, late_s=late_s if has_overlap else 0)

    made.before_page = change
    with scripted_server() as server:
        query = follower(server, made)
        if not tells_time:
            server.now = None
        seen: list[tuple[int, int]] = []
        for dies, lives in epochs:
            if dies is not None:
                query.die(dies)
            seen += query.epoch(lives)
        while changes:
            seen += query.epoch()
        for _ in range(3):
            seen += query.epoch()
        assert not query.epoch()
    assert [version for version, times in Counter(seen).items() if times > 1] == []
    assert set(made.latest) <= set(seen) <= set(made.history)
