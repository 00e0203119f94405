"""Which paths are read."""

from __future__ import annotations

import pytest

from headwater.enumerators.files.selection import (
    FileSelection,
    SelectedPath,
    alternatives,
    compile_name,
)


@pytest.mark.parametrize(
    ("pattern", "taken", "left"),
    [
        ("*.csv", ["a.csv", ".csv"], ["a.csv.gz", "a.CSV"]),
        (
            "part-?[0-9].{csv,json}",
            ["part-x1.csv", "part-11.json"],
            ["part-1.csv", "part-xx.csv", "part-x1.orc"],
        ),
        ("[!ab]*", ["c", "cab"], ["a", "b1"]),
        ("[^ab]", ["c"], ["a", "cc"]),
        (r"a\*b+c.d", ["a*b+c.d"], ["axb+c.d", "a*bbc.d"]),
        ("a}b,c", ["a}b,c"], ["ab"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"], ["b", "d"]),
    ],
)
def test_a_pattern_means_what_it_means_in_hadoop(pattern: str, taken: list[str], left: list[str]) -> None:
    matches = compile_name(pattern).fullmatch
    assert [name for name in taken + left if matches(name)] == taken


@pytest.mark.parametrize("pattern", ["a[b", "{a,b", "{a,{b}"])
def test_a_pattern_that_does_not_end_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="not closed"):
        compile_name(pattern)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("/in/{a,b}/x", ["/in/{a,b}/x"]),
        ("/in/{a/b,c/d}.txt", ["/in/a/b.txt", "/in/c/d.txt"]),
        ("{a/{b,x},c/d}.*", ["a/{b,x}.*", "c/d.*"]),
        ("{a/b,c}/{d/e,f}", ["a/b/d/e", "a/b/f", "c/d/e", "c/f"]),
    ],
)
def test_braces_around_slashes_are_several_paths(pattern: str, paths: list[str]) -> None:
    assert alternatives(pattern) == paths


def below(path: SelectedPath, *names: str) -> bool:
    parts = names[0].split("/")
    return all(path.descends(parts[: at + 1]) for at in range(len(parts) - 1)) and path.takes(parts)


@pytest.mark.parametrize(
    ("name", "plain", "recursive"),
    [
        ("a.csv", True, True),
        ("day=1/a.csv", True, True),
        ("_day=1/x=2/a.csv", True, True),
        ("sub/a.csv", False, True),
        ("day=1/sub/a.csv", True, True),
        ("sub/day=1/a.csv", True, True),
        ("day=1/_sub/a.csv", False, False),
        (".day=1/a.csv", False, False),
        ("_SUCCESS", False, False),
        (".a.csv.crc", False, False),
        ("_tmp/a.csv", False, False),
        (".git/a.csv", False, False),
        ("a.csv._COPYING_", False, False),
    ],
)
def test_folders_are_looked_into_and_hidden_files_left_out_as_in_spark(
    name: str, plain: bool, recursive: bool
) -> None:
    assert below(SelectedPath("/data"), name) is plain
    assert below(SelectedPath("/data", recursive=True), name) is recursive


def test_a_path_with_wildcards_begins_at_its_plain_part() -> None:
    path = SelectedPath("/data/20*/{a,b}.csv")
    assert path.root == "/data"
    assert below(path, "2024/a.csv")
    assert not below(path, "2024/c.csv")
    assert not below(path, "1999/a.csv")
    assert not path.takes(["2024"])
    assert below(SelectedPath("/data/20*"), "2024/x/".rstrip("/")), "a folder that matches is read"
    assert below(SelectedPath("/data/20*"), "2024/day=1/x")
    assert not below(SelectedPath("/data/20*"), "2024/sub/x")
    assert SelectedPath("s3://bucket/*").root == "s3://bucket"


def test_a_name_filter_is_for_files_only() -> None:
    path = SelectedPath("/data", name_filter="*.csv")
    assert below(path, "day=1/a.csv")
    assert not below(path, "a.txt")


def test_modification_times_and_a_least_age() -> None:
    selection = FileSelection(paths=(), modified_after_us=10, modified_before_us=20)
    assert [at for at in range(8, 22) if selection.in_time(at, 0)] == list(range(11, 20))
    assert [
        at for at in (1_000, 2_000, 3_000) if FileSelection(paths=(), min_age_ms=1).in_time(at, 3_000)
    ] == [
        1_000,
        2_000,
    ]
