"""A listing runs beside the query: asking for what it found blocks no longer than it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from headwater.core.clock import ManualClock, SystemClock
from headwater.core.errors import SourceError, TransientSourceError
from headwater.core.retry import Backoff
from headwater.enumerators.files import settings
from headwater.enumerators.files.backlog import BatchLimits
from headwater.enumerators.files.discovery import FileDiscovery
from headwater.enumerators.files.listing import Ask, FileLister
from headwater.enumerators.files.selection import FileSelection, SelectedPath
from headwater.enumerators.files.split import FileStatus
from tests.patience import PATIENCE_S

FOREVER_MS = 60_000


def file(name: str, modified_ms: int = 10) -> FileStatus:
    return FileStatus(name, 1, modified_ms * 1000)


class Listing(FileLister):
    """Pages of a test's choice; waits at the gate after the first, and fails at its end if it is told to."""

    def __init__(self, *pages: Sequence[FileStatus]) -> None:
        self.now: list[list[FileStatus]] = [list(page) for page in pages]
        self.gate = threading.Event()
        self.gate.set()
        self.first_out = threading.Event()
        self.failure: Exception | None = None
        self.begun = 0

    def pages(self) -> Iterator[list[FileStatus]]:
        self.begun += 1
        for page in self.now:
            yield page
            self.first_out.set()
            assert self.gate.wait(PATIENCE_S)
        if self.failure is not None:
            raise self.failure


def discovery(listing: Listing, clock: ManualClock | None = None) -> FileDiscovery:
    return FileDiscovery(
        lambda: [listing],
        FileSelection(paths=(), modified_before_us=100_000),
        clock or ManualClock(),
        lambda: 0,
        closing=threading.Event(),
    )


def test_what_is_found_can_be_taken_before_the_listing_ends() -> None:
    listing = Listing([file("a")], [file("b")])
    listing.gate.clear()
    looking = discovery(listing)
    looking.begin(0)
    assert listing.first_out.wait(PATIENCE_S)
    first = looking.take(0)
    assert (list(first.recent), first.under_way, first.listed_once) == ([file("a")], True, False)
    looking.begin(0)
    listing.gate.set()
    second = looking.take(FOREVER_MS)
    assert (list(second.recent), second.under_way, second.listed_once) == ([file("b")], False, True)
    assert listing.begun == 1, "one listing at a time"


def test_what_is_found_comes_in_parts_and_is_listed_once_when_all_of_it_was_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headwater.enumerators.files.discovery._MOST_TAKEN", 2)
    files = [file(name) for name in "abcde"]
    listing = Listing(files)
    looking = discovery(listing)
    looking.begin(0)
    taken = [looking.take(FOREVER_MS) for _ in range(4)]
    assert [list(part.recent) for part in taken] == [files[:2], files[2:4], files[4:], []]
    assert [part.listed_once for part in taken] == [False, False, True, True]
    assert taken[1].under_way, "there is more in a moment"
    assert not taken[2].under_way


def test_each_version_of_a_file_is_told_once() -> None:
    listing = Listing([file("a"), file("b", 200)])
    looking = discovery(listing)
    for expected in ([file("a")], [], []):
        looking.begin(0)
        assert list(looking.take(FOREVER_MS).recent) == expected
    listing.now = [[file("a", 11)]]
    looking.begin(0)
    assert list(looking.take(FOREVER_MS).recent) == [file("a", 11)]


def test_files_behind_the_frontier_are_reported_if_the_listing_before_did_not_have_them() -> None:
    listing = Listing([file("old", 5)])
    looking = discovery(listing)
    looking.begin(7)
    assert looking.take(FOREVER_MS).outside == []
    listing.now = [[file("old", 5), file("late", 6), file("new", 8)]]
    looking.begin(7)
    found = looking.take(FOREVER_MS)
    assert (list(found.outside), list(found.recent)) == ([file("late", 6)], [file("new", 8)])


def test_a_listing_that_fails_is_never_taken_for_a_whole_one() -> None:
    listing = Listing([file("a")])
    listing.failure = TransientSourceError("away")
    looking = discovery(listing)
    looking.begin(0)
    for _ in range(2):
        with pytest.raises(SourceError, match="the listing failed: away") as caught:
            looking.take(FOREVER_MS)
        assert not isinstance(caught.value, TransientSourceError), "its pages were asked for again already"
    listing.failure = None
    looking.begin(0)
    found = looking.take(FOREVER_MS)
    assert {file.url for file in found.recent} == {"a"}
    assert found.listed_once


def test_a_long_listing_is_followed_by_a_rest() -> None:
    clock = ManualClock()
    listing = Listing([file("a")])
    listing.gate.clear()
    looking = discovery(listing, clock)
    looking.begin(0)
    assert listing.first_out.wait(PATIENCE_S)
    clock.advance(3_000)
    listing.gate.set()
    looking.take(FOREVER_MS)
    clock.advance(2_999)
    looking.begin(0)
    assert not looking.take(0).under_way
    clock.advance(1)
    looking.begin(0)
    looking.take(FOREVER_MS)
    assert listing.begun == 2


def test_a_listing_that_is_closed_half_way_is_not_taken_for_a_whole_one() -> None:
    listing = Listing([file("a")], [file("b")])
    listing.gate.clear()
    looking = discovery(listing)
    looking.begin(0)
    assert listing.first_out.wait(PATIENCE_S)
    looking.close()
    listing.gate.set()
    found = looking.take(FOREVER_MS)
    assert (list(found.recent), found.under_way, found.listed_once) == ([file("a")], False, False)


@dataclass(frozen=True)
class Away(FileLister):
    """A store that does not answer."""

    ask: Ask
    asked: threading.Event

    def pages(self) -> Iterator[list[FileStatus]]:
        yield self.ask(self._fail, what="listing")

    def _fail(self) -> list[FileStatus]:
        self.asked.set()
        raise TransientSourceError("away", source="files")


def test_the_end_of_a_query_ends_the_wait_for_a_store_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()
    monkeypatch.setattr(settings, "lister_for", lambda *given: Away(given[-1], asked))
    days_ms = 10**9
    looking = settings.FilesSettings(
        selection=FileSelection(paths=(SelectedPath("/in"),)),
        limits=BatchLimits(),
        backoff=Backoff(deadline_ms=10 * days_ms, first_ms=days_ms, most_ms=days_ms),
    ).discovery(SystemClock(), is_new=True)
    looking.begin(0)
    assert asked.wait(PATIENCE_S)
    looking.close()
    with pytest.raises(SourceError, match="no answer after 1 attempts"):
        looking.take(PATIENCE_S * 1000)
