"""The first complete listing, as a checkpoint keeps it."""

from __future__ import annotations

import json

import pytest

from headwater.core.errors import DataLossError, OffsetError
from headwater.enumerators.files.fixed_listing import FixedListing
from headwater.enumerators.files.split import FileStatus

FILES = [
    FileStatus(f"file:///lake/{number:05}.parquet", 100 + number, 1_000_000 + number)
    for number in range(10_000)
]


def test_it_is_small_with_any_number_of_files_and_knows_what_is_left() -> None:
    listing = FixedListing.of(FILES)
    assert len(json.dumps(listing.to_json())) < 200
    left = FixedListing.from_json(json.loads(json.dumps(listing.without(FILES[:4_000]).to_json())))
    left.check(FILES[4_000:])
    assert left.with_back(FILES[:4_000]) == listing
    for others in (FILES[4_001:], FILES[3_999:], [*FILES[4_001:], FILES[0]]):
        with pytest.raises(DataLossError, match="are not there as they were"):
            left.check(others)


def test_newer_files_came_later_and_are_told_once() -> None:
    listing = FixedListing.of(FILES)
    later = FileStatus("file:///lake/new.parquet", 5, 2_000_000)
    assert listing.came_later(later)
    assert not any(map(listing.came_later, FILES))
    assert listing.told([later]).told_us == 2_000_000


def test_what_is_no_listing_is_refused() -> None:
    with pytest.raises(OffsetError, match="not one of the files source"):
        FixedListing.from_json({"files": 3})
