"""Which folders of a path are columns, and which files cannot be read together."""

from __future__ import annotations

import pytest

from headwater.core.errors import SourceError
from headwater.enumerators.files.folder_columns import FolderColumns
from headwater.enumerators.files.selection import SelectedPath

TABLE = FolderColumns((SelectedPath("/in"),))


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("x/a=1/b=c=d", {"a": "1", "b": "c=d"}),
        ("a=1/x", {"a": "1"}),
        ("a=1/x/b=2", {"b": "2"}),
        ("a%20=1", {"a ": "1"}),
        ("x", {}),
    ],
)
def test_the_lowest_folders_with_an_equals_sign_that_follow_each_other_are_columns(
    names: str, found: dict[str, str]
) -> None:
    assert TABLE.values_of(f"file:///in/{names}/f") == found


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (["a/k=1/f", "b/k=2/f"], "and elsewhere: file:///in/a and file:///in/b"),
        (["a/k=1/f", "f"], "and elsewhere: file:///in and file:///in/a"),
        (["k=1/f", "l=1/f"], "of other columns: k and l"),
        (["=1/f"], "=1 has no name of a column"),
        (["k=/f"], "k= has no value"),
    ],
)
def test_files_that_are_not_of_one_table_are_refused(files: list[str], says: str) -> None:
    urls = [f"file:///in/{name}" for name in files]
    with pytest.raises(SourceError, match=says):
        TABLE.check(urls)
    FolderColumns((SelectedPath("/in", recursive=True),)).check(urls)


def test_files_of_one_table_are_read_together() -> None:
    TABLE.check(f"file:///in/{name}" for name in ("f", "k=1/f", "K=2/f", "k=2/x/f"))
    TABLE.check(f"file:///in/{name}" for name in ("f", "a/f"))
