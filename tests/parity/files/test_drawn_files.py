"""What is asked of drawn files, with readers that read nothing: who differs, and what is shown of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, Outcome, Reading, reading

TEXTS: SearchStrategy[bytes] = st.text("abcx", min_size=1, max_size=20).map(str.encode)
HOW = reading("text")


class ScriptedParity(FilesParity):
    """Both readers as functions of a file's content. A file that cannot be read fails the whole read."""

    def __init__(self, spark: Callable[[bytes], Outcome], ours: Callable[[bytes], Outcome]) -> None:
        self._readers = spark, ours
        self.reads: list[int] = []

    def drawn(self, how: Reading, count: int, draw: Callable[[], list[bytes]]) -> list[bytes]:
        return draw()

    def both(
        self, how: Reading, files: Sequence[bytes], *, one_by_one: bool = False, streaming: bool = False
    ) -> tuple[list[Outcome], list[Outcome]]:
        self.reads.append(len(files))
        sparks, ours = (self._of_all(reader, files) for reader in self._readers)
        return sparks, ours

    @staticmethod
    def _of_all(reader: Callable[[bytes], Outcome], files: Sequence[bytes]) -> list[Outcome]:
        outcomes = [reader(content) for content in files]
        failed = next((each for each in outcomes if isinstance(each, Failed)), None)
        return [failed or each for each in outcomes]


def rows(content: bytes) -> Outcome:
    return [(content,)]


def rows_but(letter: bytes, otherwise: Outcome) -> Callable[[bytes], Outcome]:
    return lambda content: otherwise if letter in content else rows(content)


def test_all_files_are_read_at_once_and_no_two_are_equal() -> None:
    parity = ScriptedParity(rows, rows)
    found = DrawnFiles(parity, 1).same(HOW, TEXTS, 300)
    assert parity.reads == [300]
    assert len({str(each) for each in found}) == 300


def test_the_same_seed_draws_the_same_files() -> None:
    one, other, another = (
        DrawnFiles(ScriptedParity(rows, rows), seed).same(HOW, TEXTS, 50) for seed in (1, 1, 2)
    )
    assert one == other != another


def test_of_files_that_differ_a_smallest_one_is_shown() -> None:
    parity = ScriptedParity(rows, rows_but(b"x", []))
    with pytest.raises(
        AssertionError,
        match=re.escape("files differ; a small one:\nheadwater's rows differ from Spark's, of b'x'"),
    ):
        DrawnFiles(parity, 1).same(HOW, TEXTS, 300)
    assert parity.reads[0] == 300
    # What is drawn depends on the modules that are loaded: the smallest one may be among the first files.
    assert set(parity.reads[1:]) <= {1}
    assert len(parity.reads) <= 101


def test_with_no_read_left_one_that_differs_is_shown() -> None:
    # Nothing that is smaller differs: each new file is read, and none is found.
    known: set[bytes] = set()

    def differs_in_the_first_read(content: bytes) -> Outcome:
        if not parity.reads[1:]:
            known.add(content)
        return [] if content in known and b"x" in content else rows(content)

    parity = ScriptedParity(rows, differs_in_the_first_read)
    with pytest.raises(AssertionError, match="files differ; a small one:") as caught:
        DrawnFiles(parity, 1).same(HOW, TEXTS, 300)
    assert len(parity.reads) <= 101
    assert any(f"of {content!r}\n" in str(caught.value) for content in known)


@pytest.mark.parametrize("spark_fails", [True, False])
def test_a_file_that_fails_the_read_of_all_is_found_and_all_others_are_compared(*, spark_fails: bool) -> None:
    fails = rows_but(b"xcba", Failed("no good"))
    readers = (fails, rows) if spark_fails else (rows, fails)
    parity = ScriptedParity(*readers)
    with pytest.raises(AssertionError, match=re.escape("differ from Spark's, of b'xcba'\n")):
        DrawnFiles(parity, 1).same(HOW, TEXTS, 300)
    assert len(parity.reads) <= 201


def test_files_that_both_refuse_are_the_same() -> None:
    fails = rows_but(b"xcba", Failed())
    found = DrawnFiles(ScriptedParity(fails, fails), 1).same(HOW, TEXTS, 300)
    assert 0 < found.count(Failed()) < 15


def test_a_read_that_always_fails_is_an_error_in_one_reader_and_in_both() -> None:
    def fails(_: bytes) -> Outcome:
        return Failed("the option is unknown")

    for readers in ((rows, fails), (fails, rows), (fails, fails)):
        parity = ScriptedParity(*readers)
        with pytest.raises(AssertionError, match=r"the option is unknown|100 of 100 files failed"):
            DrawnFiles(parity, 1).same(HOW, TEXTS, 100)
        assert len(parity.reads) <= 301


def test_a_strategy_of_few_files_is_an_error() -> None:
    parity = ScriptedParity(rows, rows)
    with pytest.raises(AssertionError, match="100 files were asked for; only 2 are not equal to others"):
        DrawnFiles(parity, 1).same(HOW, st.sampled_from([b"a", b"b"]), 100)


def test_files_without_rows_are_an_error() -> None:
    def no_rows(_: bytes) -> Outcome:
        return []

    with pytest.raises(AssertionError, match="100 of 100 files failed, or had no row"):
        DrawnFiles(ScriptedParity(no_rows, no_rows), 1).same(HOW, TEXTS, 100)


def test_a_difference_that_the_list_has_is_none_and_another_name_is_an_error() -> None:
    drawn = DrawnFiles(ScriptedParity(rows, rows_but(b"xc", [])), 1)
    found = drawn.same(HOW, TEXTS, 100, may_differ={"variants": lambda content, *_: b"xc" in content})
    assert [] in found
    with pytest.raises(AssertionError):
        drawn.same(HOW, TEXTS, 100, may_differ={"no such": lambda content, *_: b"xc" in content})


def test_read_one_by_one_the_simplest_file_is_left_out() -> None:
    parity = ScriptedParity(rows, rows)
    found = DrawnFiles(parity, 1).same(HOW, TEXTS, 20, one_by_one=True)
    assert parity.reads == [1] * 20
    assert [(b"a",)] not in found
