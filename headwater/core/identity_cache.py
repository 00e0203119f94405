"""One-entry cache keyed by the identity of the arguments."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class IdentityCache(Generic[P, T]):
    """A pure function that remembers its last result.

    It returns that for as long as its arguments are the very same objects, which must not change meanwhile.
    To compare thousands of entries would cost about as much as to compute anew. Not thread-safe.
    """

    def __init__(self, function: Callable[P, T]) -> None:
        self._function = function
        self._last: tuple[tuple[str, ...], tuple[object, ...], T] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of the function for these arguments."""
        names = tuple(kwargs)
        values = (*args, *kwargs.values())
        if self._last is not None:
            known_names, arguments, result = self._last
            if names == known_names and len(values) == len(arguments) and all(map(is_, values, arguments)):
                return result
        result = self._function(*args, **kwargs)
        # The arguments too: while they live, no other object is the same.
        self._last = (names, values, result)
        return result
