"""What was made of the same objects the last time: they are many, and change rarely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Memo(Generic[P, T]):
    """A pure function that remembers its last result.

    It returns that for as long as its arguments are the very same objects, which must not change meanwhile.
    To compare thousands of entries would cost about as much as to compute anew. Not thread-safe.

    Args:
        function: takes positional arguments only.
    """

    def __init__(self, function: Callable[P, T]) -> None:
        self._function = function
        self._last: tuple[tuple[object, ...], T] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the function returns for these arguments."""
        if self._last is not None:
            known, result = self._last
            if all(mine is theirs for mine, theirs in zip(known, args, strict=True)):
                return result
        result = self._function(*args, **kwargs)
        self._last = (args, result)  # the arguments too: while they live, no other object is the same
        return result
