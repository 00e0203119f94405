"""What is remembered of read files: bounded, and still nothing is read twice or lost without a word."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import OffsetError, OptionError
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.files import seen as seen_module
from headwater.enumerators.files.names import FileName, NameStore, pack, segment_of
from headwater.enumerators.files.seen import INLINE_FILES, FileState, SeenFiles
from headwater.enumerators.files.split import FileStatus

DAY_MS = 24 * 3600 * 1000
NOW_MS = 1_800_000_000_000


def file(number: int, modified_ms: int, size: int = 10, etag: str | None = None) -> FileStatus:
    return FileStatus(f"file:///data/{number}", size, modified_ms * 1000, etag)


def add(seen: SeenFiles, *files: FileStatus, oldest_unread_ms: int | None = None) -> None:
    overflow = seen.add(files, oldest_unread_ms, NOW_MS)
    if overflow is not None:
        seen.attach(segment_of("q", overflow))


def test_a_file_is_seen_once_it_was_added_and_changed_when_its_content_is_another() -> None:
    seen = SeenFiles(DAY_MS, can_spill=False)
    assert seen.state_of(file(1, NOW_MS)) is FileState.NEW
    add(seen, file(1, NOW_MS))
    assert seen.state_of(file(1, NOW_MS)) is FileState.SEEN
    assert seen.state_of(file(1, NOW_MS, size=11)) is FileState.CHANGED
    assert seen.state_of(file(1, NOW_MS + 1)) is FileState.CHANGED
    seen.replace(file(1, NOW_MS + 1))
    assert seen.state_of(file(1, NOW_MS + 1)) is FileState.SEEN


def test_an_etag_stands_for_the_content_whatever_the_time() -> None:
    seen = SeenFiles(DAY_MS, can_spill=False)
    add(seen, file(1, NOW_MS, etag="x"))
    assert seen.state_of(file(1, NOW_MS + 5, etag="x")) is FileState.SEEN
    assert seen.state_of(file(1, NOW_MS, etag="y")) is FileState.CHANGED


def test_a_late_file_inside_the_window_is_new_and_one_outside_is_not() -> None:
    seen = SeenFiles(DAY_MS, can_spill=False)
    add(seen, file(1, NOW_MS))
    assert seen.state_of(file(2, NOW_MS - DAY_MS)) is FileState.NEW
    assert seen.state_of(file(3, NOW_MS - DAY_MS - 1)) is FileState.OUTSIDE


def test_a_file_from_the_future_does_not_drag_the_window_along() -> None:
    seen = SeenFiles(DAY_MS, can_spill=False)
    add(seen, file(1, NOW_MS * 2), file(2, NOW_MS))
    assert seen.state_of(file(3, NOW_MS - 1)) is FileState.NEW


def test_the_frontier_waits_for_files_that_are_not_read_yet() -> None:
    seen = SeenFiles(1, can_spill=False)
    add(seen, *(file(n, NOW_MS + n) for n in range(100)), oldest_unread_ms=NOW_MS - 5)
    assert seen.state_of(file(999, NOW_MS - 5)) is FileState.NEW


@pytest.mark.parametrize(
    ("times", "oldest_unread_ms"),
    [
        ([NOW_MS] * (INLINE_FILES + 1), None),
        ([NOW_MS + n for n in range(INLINE_FILES + 1)], None),
        ([NOW_MS + n * DAY_MS for n in range(INLINE_FILES + 1)], NOW_MS),
    ],
    ids=["equal times", "inside of the window", "older ones unread"],
)
def test_more_names_than_fit_are_refused_and_never_forgotten(
    times: list[int], oldest_unread_ms: int | None
) -> None:
    seen = SeenFiles(DAY_MS, can_spill=False)
    add(seen, *(file(n, at_ms) for n, at_ms in enumerate(times[:-1])), oldest_unread_ms=oldest_unread_ms)
    with pytest.raises(OptionError, match=r"'stateLocation': is needed.* 2,001 files must be remembered"):
        add(seen, file(len(times), times[-1]), oldest_unread_ms=oldest_unread_ms)


def test_what_is_older_than_the_window_makes_room() -> None:
    seen = SeenFiles(DAY_MS, can_spill=False)
    step_ms = DAY_MS // 1_500
    for first in range(0, 10_000, 100):
        add(seen, *(file(n, NOW_MS - DAY_MS * 7 + n * step_ms) for n in range(first, first + 100)))
    assert seen.state_of(file(8_600, NOW_MS - DAY_MS * 7 + 8_600 * step_ms)) is FileState.SEEN


def test_more_equal_times_than_fit_are_kept_elsewhere_if_they_may_be() -> None:
    names = NameStore(MemoryStateStore())
    seen = SeenFiles(DAY_MS, can_spill=True)
    files = [file(n, NOW_MS) for n in range(3 * INLINE_FILES)]
    for at in range(0, len(files), 100):
        overflow = seen.add(files[at : at + 100], None, NOW_MS)
        if overflow is not None:
            seen.attach(names.write("q", overflow))
    restored = SeenFiles(DAY_MS, can_spill=True)
    state = json.loads(json.dumps(seen.to_json()))
    assert len(json.dumps(state)) < 60_000
    for name, newest_ms in restored.restore(state):
        restored.attach(names.read(name, newest_ms))
    assert {restored.state_of(one) for one in files} == {FileState.SEEN}
    assert restored.add([file(-1, NOW_MS + 2 * DAY_MS)], None, NOW_MS + 2 * DAY_MS) is None
    assert restored.segments == frozenset()
    names.prune(restored.segments)
    assert names._store.list("files-seen/q") == []


def test_names_that_are_missing_elsewhere_are_an_error() -> None:
    with pytest.raises(OffsetError, match="stateLocation"):
        NameStore(MemoryStateStore()).read("gone", 1)


def test_small_segments_become_large_ones_which_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SPILL_FILES": 100, "_SMALL_NAMES": 800, "_MOST_SMALL_NAMES": 3_200}.items():
        monkeypatch.setattr(seen_module, name, value)
    seen = SeenFiles(DAY_MS, can_spill=True)
    written = 0
    count = 10_000
    for at in range(0, count, 50):
        before = seen.segments
        add(seen, *(file(n, NOW_MS) for n in range(at, at + 50)))
        written += sum(len(seen._segments[name].versions) for name in seen.segments - before)
        assert len(seen.segments) <= count // 3_200 + 64
    assert {seen.state_of(file(n, NOW_MS)) for n in range(0, count, 97)} == {FileState.SEEN}
    assert written <= 2 * count


def test_of_a_path_that_was_read_again_the_last_version_counts_wherever_its_names_are() -> None:
    seen = SeenFiles(DAY_MS, can_spill=True)
    others = [file(n, NOW_MS + 1) for n in range(1, INLINE_FILES + 1)]
    for round_, size in enumerate(range(10, 50)):
        add(seen, file(0, NOW_MS, size), *(one._replace(size_bytes=round_) for one in others))
        assert seen.segments, "the names do not fit"
        assert seen.state_of(file(0, NOW_MS, size)) is FileState.SEEN


@pytest.mark.parametrize(
    "state", [None, {}, {"frontier_ms": 1, "names": "x"}, {"frontier_ms": 1, "names": "AAAA"}, [1]]
)
def test_a_state_that_is_not_ours_is_refused(state: object) -> None:
    with pytest.raises(OffsetError):
        SeenFiles(1, can_spill=False).restore(state)  # type: ignore[arg-type]


def test_two_queries_that_read_the_same_files_keep_names_of_their_own() -> None:
    store = MemoryStateStore()
    data = pack({1: FileName(2, NOW_MS)})
    mine = NameStore(store)
    kept = mine.write("mine", data)
    others = NameStore(store).write("others", data)
    mine.prune([])
    assert NameStore(store).read(others.name, others.newest_ms) == others
    with pytest.raises(OffsetError, match="stateLocation"):
        NameStore(store).read(kept.name, kept.newest_ms)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 50)), max_size=60),
    st.integers(1, 30),
    st.booleans(),
)
def test_nothing_is_new_after_it_was_added_whatever_the_order_of_times(
    found: list[tuple[int, int]], window_ms: int, can_spill: bool
) -> None:
    """And the state goes through JSON at every step, as it does in a query."""
    seen = SeenFiles(window_ms, can_spill=can_spill)
    files = [file(n, NOW_MS + at) for n, at in dict(found).items()]
    for one in files:
        if seen.state_of(one) is FileState.NEW:
            add(seen, one)
        restored = SeenFiles(window_ms, can_spill=can_spill)
        assert restored.restore(json.loads(json.dumps(seen.to_json()))) == []
        assert restored.to_json() == seen.to_json()
        seen = restored
        assert seen.state_of(one) is not FileState.NEW
