"""Files that hypothesis draws, read by both readers: of those that differ the smallest one is shown.

hypothesis asks about one file after the other, and a read by Spark takes a third of a second. So it draws all
files first, both readers read them together, and it is only asked again, with the same seed, when a file
differs: to find a smaller one, of which each is a read of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import hypothesis
from hypothesis import Phase
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from tests.parity.files.files_parity import Failed, FilesParity, Meant, Outcome, Reading, difference, is_meant
from tests.parity.golden.answers import NoAnswerError

__all__ = ["DrawnFiles"]

_READS = 100
"""At most so many, to find the files that fail the read of all; and as many to find a smaller one."""
_MOST_DRAWN = 3
"""For each file that is asked for. With more, most of them are equal to others: the strategy is too small."""
_MOST_WITHOUT_ROWS = 0.8
"""Of twenty files or more. More of them: nearly all compare nothing but that there is no row."""


class DrawnFiles:
    """Files of strategies, read by both readers.

    Args:
        parity: both readers.
        seed: of all that is drawn.
    """

    def __init__(self, parity: FilesParity, seed: int) -> None:
        self._parity = parity
        self._seed = seed

    def same(
        self,
        how: Reading,
        files: SearchStrategy[bytes],
        count: int,
        *,
        one_by_one: bool = False,
        streaming: bool = False,
        may_differ: Mapping[str, Meant] | None = None,
    ) -> list[Outcome]:
        """Return what we made of each file, which must be the same as what Spark made of it.

        Args:
            how: they are read.
            files: what to draw from.
            count: how many are drawn, of which no two are equal.
            one_by_one: each file is a read of its own, as in `FilesParity.same`. The first file that is drawn
                is the simplest one, and is not worth a read.
            streaming: both read a stream.
            may_differ: as in `FilesParity.same`.
        """
        left_out = int(one_by_one)
        distinct = self._parity.drawn(how, count, lambda: self._distinct(files, count + left_out)[left_out:])
        comparison = _Comparison(self._parity, how, streaming=streaming, may_differ=may_differ or {})
        for contents in [[content] for content in distinct] if one_by_one else [distinct]:
            comparison.read(contents)
        if comparison.differing:
            smallest = self._first(files, count, comparison.differs) or min(comparison.differing, key=len)
            said = f"{len(comparison.differing)} of {count} files differ; a small one:"
            raise AssertionError(f"{said}\n{comparison.differing[smallest]}")
        assert not comparison.not_compared, "\n".join(comparison.not_compared)
        _assert_that_some_have_rows(comparison.ours)
        return comparison.ours

    def _distinct(self, files: SearchStrategy[bytes], count: int) -> list[bytes]:
        found: dict[bytes, None] = {}

        def are_enough(content: bytes) -> bool:
            found[content] = None
            return len(found) >= count

        self._first(files, count, are_enough, phases=[Phase.generate])
        assert len(found) >= count, f"{count} files were asked for; only {len(found)} are not equal to others"
        return list(found)

    def _first(
        self,
        files: SearchStrategy[bytes],
        count: int,
        condition: Callable[[bytes], bool],
        phases: Sequence[Phase] = (Phase.generate, Phase.shrink),
    ) -> bytes | None:
        """Return the first file of which a condition holds, or a smaller one; None if it holds of none."""
        settings = hypothesis.settings(
            max_examples=count * _MOST_DRAWN, phases=phases, database=None, deadline=None
        )
        try:
            return hypothesis.find(files, condition, settings=settings, random=random.Random(self._seed))
        except NoSuchExample:
            return None


class _Comparison:
    """What both readers make of files. No file is read again whose result is known."""

    def __init__(
        self, parity: FilesParity, how: Reading, *, streaming: bool, may_differ: Mapping[str, Meant]
    ) -> None:
        self.differing: dict[bytes, str] = {}
        """What differs, in words for people, by the content of the file."""
        self.not_compared: list[str] = []
        """Why files are not compared."""
        self.ours: list[Outcome] = []
        self._parity = parity
        self._how = how
        self._streaming = streaming
        self._may_differ = may_differ
        self._same: set[bytes] = set()
        self._reads_of_parts_left = _READS
        self._reads_left = _READS

    def read(self, contents: Sequence[bytes]) -> None:
        """Compare what both make of files that they read together."""
        try:
            sparks, ours = self._parity.both(self._how, contents, streaming=self._streaming)
        except NoAnswerError:
            raise
        except AssertionError as error:  # The schemas differ.
            self.differing.update(dict.fromkeys(contents, str(error)))
            return
        failed = next((each for each in (sparks[0], ours[0]) if isinstance(each, Failed)), None)
        if failed is None or len(contents) == 1:
            self._compare(contents, sparks, ours)
        elif self._reads_of_parts_left > 0:
            # One bad file fails the read of all: it is looked for.
            self._reads_of_parts_left -= 2
            middle = len(contents) // 2
            self.read(contents[:middle])
            self.read(contents[middle:])
        else:
            self.not_compared.append(
                f"{len(contents)} files are not compared, since the read of them failed: {failed.said}"
            )

    def differs(self, content: bytes) -> bool:
        """Return whether a file differs.

        When all reads are used up, or Spark is not there to be asked, a file that is not known does not.
        """
        if content not in self.differing and content not in self._same and self._reads_left > 0:
            self._reads_left -= 1
            with suppress(NoAnswerError):
                self.read([content])
        return content in self.differing

    def _compare(self, contents: Sequence[bytes], sparks: Sequence[Outcome], ours: Sequence[Outcome]) -> None:
        self.ours += ours
        for content, one, other in zip(contents, sparks, ours, strict=True):
            if is_meant(content, one, other, self._may_differ):
                self._same.add(content)
            else:
                self.differing[content] = difference(self._how, content, one, other)


def _assert_that_some_have_rows(ours: Sequence[Outcome]) -> None:
    empty = sum(isinstance(each, Failed) or not each for each in ours)
    assert len(ours) < 20 or empty <= len(ours) * _MOST_WITHOUT_ROWS, (
        f"{empty} of {len(ours)} files failed, or had no row"
    )
