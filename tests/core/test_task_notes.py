"""Task notes in a store: the first one counts, and with it its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.core.errors import StateLocationError
from headwater.core.state_location import LocalStateStore
from headwater.core.task_notes import TaskNote, TaskNotes


@pytest.fixture
def notes(tmp_path: Path) -> TaskNotes:
    return TaskNotes(LocalStateStore(tmp_path), "query")


def reading(notes: TaskNotes, attempt: str, *rows: bytes) -> TaskNote:
    """Keep rows aside and publish a note, as a task does; return the one that counts."""
    for number, data in enumerate(rows):
        notes.put_rows("split", attempt, number, data)
    return notes.publish("split", TaskNote({"by": attempt}, attempt, len(rows)))


def test_of_two_readings_at_once_the_first_to_publish_counts_for_both(notes: TaskNotes) -> None:
    assert notes.find("split") is None
    first = reading(notes, "one", b"1", b"2")
    assert first == TaskNote({"by": "one"}, "one", 2)
    assert reading(notes, "two", b"3") == first
    assert list(notes.rows("split", first)) == [b"1", b"2"]


def test_a_split_that_nobody_read_is_sealed_and_one_that_was_is_not(notes: TaskNotes) -> None:
    assert notes.seal("split") == TaskNote(None, None)
    assert reading(notes, "late", b"1").attempt is None
    notes.prune([])
    counts = reading(notes, "one", b"1")
    assert notes.seal("split") == counts


def test_only_what_is_asked_for_is_left_and_rows_that_are_gone_are_an_error(notes: TaskNotes) -> None:
    counts = reading(notes, "one", b"1")
    notes.publish("other", TaskNote({}, "one"))
    assert notes.prune(["split"]) == 2
    assert notes.find("other") is None
    assert list(notes.rows("split", counts)) == [b"1"]
    assert notes.prune([]) == 0
    with pytest.raises(StateLocationError, match="is gone"):
        list(notes.rows("split", counts))
