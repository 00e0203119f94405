"""Files that hypothesis draws, read by both readers: of those that differ the smallest one is shown.

hypothesis asks about one file after the other, and a read by Spark takes a third of a second. So it draws all
files first, both readers read them together, and it is only asked again, with the same seed, when a file
differs: to find a smaller one, of which each is a read of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import hypothesis
from hypothesis import Phase
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from tests.parity.files.files_parity import Failed, FilesParity, Meant, Outcome, Reading, difference, is_meant

__all__ = ["DrawnFiles"]

_READS = 100
"""How often files are read again, at most, to find what differs and a smaller file that differs too."""
_LEAST_DISTINCT = 0.8
"""Of all files that are drawn. Fewer: what is counted is not what is compared."""
_MOST_WITHOUT_ROWS = 0.5
"""Of all files. More: most files compare nothing but that there is no row."""


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
            count: how many are drawn. Of equal ones one is read.
            one_by_one: each file is a read of its own, as in `FilesParity.same`.
            streaming: both read a stream.
            may_differ: as in `FilesParity.same`.
        """
        drawn: list[bytes] = []
        self._first(files, count, drawn.append)
        distinct = list(dict.fromkeys(drawn))
        comparison = _Comparison(self._parity, how, streaming=streaming, may_differ=may_differ or {})
        for contents in [[content] for content in distinct] if one_by_one else [distinct]:
            comparison.read(contents)
        if comparison.differing:
            raise AssertionError(self._smallest(comparison, files, count, of=len(distinct)))
        _assert_that_much_is_compared(len(drawn), comparison.ours)
        return comparison.ours

    def _smallest(self, comparison: _Comparison, files: SearchStrategy[bytes], count: int, *, of: int) -> str:
        differing = comparison.differing
        smallest = self._first(files, count, comparison.differs) or min(differing, key=len)
        return f"{len(differing)} of {of} files differ; a small one:\n{comparison.differing[smallest]}"

    def _first(
        self, files: SearchStrategy[bytes], count: int, condition: Callable[[bytes], object]
    ) -> bytes | None:
        """Return the smallest file that can be found of which a condition holds, if it holds of any."""
        settings = hypothesis.settings(
            max_examples=count, phases=[Phase.generate, Phase.shrink], database=None, deadline=None
        )
        try:
            return hypothesis.find(
                files,
                lambda content: bool(condition(content)),
                settings=settings,
                random=random.Random(self._seed),
            )
        except NoSuchExample:
            return None


class _Comparison:
    """What both readers make of files. No file is read again whose result is known."""

    def __init__(
        self, parity: FilesParity, how: Reading, *, streaming: bool, may_differ: Mapping[str, Meant]
    ) -> None:
        self.differing: dict[bytes, str] = {}
        """What differs, in words for people, by the content of the file."""
        self.ours: list[Outcome] = []
        self._parity = parity
        self._how = how
        self._streaming = streaming
        self._may_differ = may_differ
        self._same: set[bytes] = set()
        self._reads_left = _READS

    def read(self, contents: Sequence[bytes]) -> None:
        """Compare what both make of files that they read together."""
        try:
            sparks, ours = self._parity.both(self._how, contents, streaming=self._streaming)
        except AssertionError as error:  # The schemas differ.
            self.differing.update(dict.fromkeys(contents, str(error)))
            return
        failed = next((each for each in (sparks[0], ours[0]) if isinstance(each, Failed)), None)
        if failed is None or len(contents) == 1:
            self._compare(contents, sparks, ours)
        elif self._reads_left > 0:
            # One bad file fails the read of all: it is looked for.
            self._reads_left -= 2
            middle = len(contents) // 2
            self.read(contents[:middle])
            self.read(contents[middle:])
        else:
            said = f"{len(contents)} files are not compared, since the read of them failed: {failed.said}"
            self.differing.update(dict.fromkeys(contents, said))

    def differs(self, content: bytes) -> bool:
        """Return whether a file differs. When all reads are used up, a file that is not known does not."""
        if content not in self.differing and content not in self._same and self._reads_left > 0:
            self._reads_left -= 1
            self.read([content])
        return content in self.differing

    def _compare(self, contents: Sequence[bytes], sparks: Sequence[Outcome], ours: Sequence[Outcome]) -> None:
        self.ours += ours
        for content, one, other in zip(contents, sparks, ours, strict=True):
            if is_meant(content, one, other, self._may_differ):
                self._same.add(content)
            else:
                self.differing[content] = difference(self._how, content, one, other)


def _assert_that_much_is_compared(drawn: int, ours: Sequence[Outcome]) -> None:
    assert len(ours) >= drawn * _LEAST_DISTINCT, f"only {len(ours)} of {drawn} files are not equal to others"
    empty = sum(isinstance(each, Failed) or not each for each in ours)
    assert empty <= len(ours) * _MOST_WITHOUT_ROWS, f"{empty} of {len(ours)} files failed, or had no row"
