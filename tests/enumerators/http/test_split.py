"""Lists as splits: a name for each, the same after every restart, and those of an earlier version."""

from __future__ import annotations

import pytest

from headwater.enumerators.http.split import ROOT, HttpSplit, PagePosition, current_path

ITEMS = HttpSplit("https://api.example/items")
LINES = HttpSplit("https://api.example/items/7/lines", "0.7 of https://api.example/items")


def test_the_path_says_where_a_list_was_found_and_its_url() -> None:
    assert ITEMS.path == (ROOT, "https://api.example/items")
    assert ITEMS.child(LINES.url, 0, 7) == LINES
    assert LINES.path == ("0.7 of https://api.example/items", "https://api.example/items/7/lines")
    assert (ITEMS.is_root, LINES.is_root) == (True, False)


def test_lists_that_were_found_on_different_ways_are_different_splits() -> None:
    url = "https://api.example/parts"
    others = [ITEMS.child(LINES.url, 0, 8), ITEMS.child(f"{LINES.url}/more", 0, 7)]
    found = [parent.child(url, page, 3) for parent in (ITEMS, LINES, *others) if parent for page in (0, 1)]
    assert len({split.path for split in found if split}) == len(found)


def test_a_list_is_no_child_of_itself_nor_of_one_that_was_found_in_it() -> None:
    parts = LINES.child("https://api.example/parts", 0, 1)
    assert parts is not None
    assert [parts.child(split.url, 0, 0) for split in (ITEMS, LINES, parts)] == [None, None, None]
    assert parts.child(f"{LINES.url}/more", 0, 0) is not None


@pytest.mark.parametrize("split", [ITEMS, LINES, LINES.child("https://api.example/parts", 2, 0)])
def test_a_path_of_an_earlier_version_is_converted_and_a_current_one_stays(split: HttpSplit) -> None:
    earlier = (ROOT, split.url) if split.is_root else ("found", f"{split.url} in {split.found_in}")
    assert current_path(earlier) == split.path
    assert current_path(split.path) == split.path


def test_a_position_is_what_it_was_after_json() -> None:
    position = PagePosition(3, 17, "https://api.example/items?page=3")
    assert PagePosition.from_json(position.to_json()) == position
    assert PagePosition.first_of(ITEMS) == PagePosition(0, 0, ITEMS.url)
