"""Runs bulk calls: an element is a list of rows, asked together, and each row has its own fate."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from headwater.core.errors import ContractError
from headwater.readers.async_io.cache import MISSING
from headwater.readers.async_io.call import Call, Failure
from headwater.readers.async_io.call_runner import CallRunner, hashable
from headwater.readers.async_io.stream_element_queue import StreamElement

__all__ = ["BatchCallRunner"]


class _BatchCall(Call):
    """A bulk call.

    Attributes:
        results: one for each row, MISSING until there is one.
        unresolved: how many are missing.
        asked: the indexes of the rows in ``question``.
        leading: the indexes of the rows whose keys' flights it leads.
    """

    __slots__ = ("asked", "leading", "results", "unresolved")

    def __init__(self, element: StreamElement, cache_keys: Sequence[Hashable]) -> None:
        super().__init__(element, None, cache_keys)
        self.unresolved = len(element.value)
        self.results: list[Any] = [MISSING] * self.unresolved
        self.asked: Sequence[int] = range(self.unresolved)
        self.leading: set[int] = set()

    def ask(self, indexes: Sequence[int]) -> None:
        """Let the next attempt ask for these rows only."""
        self.asked = indexes
        self.question = [self.element.value[index] for index in indexes]


class BatchCallRunner(CallRunner):
    """Failures, retries, timeouts, cache and single flight row by row.

    Capacity, rate limit and circuit breaker call by call.
    """

    def _call(self, element: StreamElement) -> Call:
        cache = self._settings.cache
        return _BatchCall(element, [hashable(cache.key, row) for row in element.value] if cache else ())

    def _admit(self, call: Call) -> bool:
        """Fill in what is known; return whether anything is left to ask."""
        assert isinstance(call, _BatchCall)
        assert self._flights is not None
        now, ask = self._loop.time(), []
        for index, key in enumerate(call.cache_key):
            result = self._flights.known(key, now)
            if result is not MISSING:
                self._metrics.cache_hits += 1
                call.results[index] = result
                call.unresolved -= 1
            elif self._flights.join(key, (call, index)):
                self._metrics.joined += 1
            else:
                ask.append(index)
        call.leading = set(ask)
        call.ask(ask)
        if not call.unresolved:
            self._conclude(call, call.results)
        return bool(ask)

    def _returned(self, call: Call, result: Any) -> None:
        assert isinstance(call, _BatchCall)
        if not isinstance(result, list | tuple) or len(result) != len(call.asked):
            was = (
                f"{len(result)} results" if isinstance(result, list | tuple) else f"a {type(result).__name__}"
            )
            self._failed(
                call,
                ContractError(
                    f"{self._name}.async_invoke_batch returned {was} for {len(call.asked)} rows; it must return one per row"
                ),
            )
        elif len(result) == len(call.results) and self._all_count(result):
            self._conclude(call, result)
        else:
            self._sort_out(call, result)

    def _all_count(self, results: Sequence[Any]) -> bool:
        """Return whether the results need no look at each."""
        simple = self._flights is None and self._policy.believes_all
        return simple and not any(issubclass(kind, BaseException) for kind in set(map(type, results)))

    def _sort_out(self, call: _BatchCall, results: Sequence[Any]) -> None:
        again = []
        for index, result in zip(call.asked, results, strict=True):
            failed = isinstance(result, BaseException)
            if (
                self._policy.is_worth_a_retry(call.attempts, result)
                if failed
                else self._policy.is_not_believed(call.attempts, result)
            ):
                again.append(index)
            else:
                self._resolve(call, index, Failure(result, call.attempts) if failed else result)
        if again:
            call.ask(again)
            self._ask_again(call)

    def _settle(self, call: Call, result: Any) -> None:
        """The call as a whole failed: so did each row that it asked for."""
        assert isinstance(call, _BatchCall)
        for index in call.asked:
            self._resolve(call, index, result)

    def _settle_expired(self, call: Call) -> None:
        assert isinstance(call, _BatchCall)
        for index, result in enumerate(call.results):
            if result is MISSING:
                self._resolve_expired(call, index)

    def _resolve_expired(self, call: _BatchCall, index: int) -> None:
        followers = self._land_row(call, index)
        self._resolve(call, index, self._substitute(call.element.value[index], call.attempts))
        for other, place in followers:
            if other.results[place] is MISSING:
                self._resolve_expired(other, place)

    def _resolve(self, call: _BatchCall, index: int, result: Any) -> None:
        """Give a row, and those that joined it, its result. The first one wins."""
        if call.results[index] is not MISSING:
            return
        call.results[index] = (
            self._policy.outcome(call.element.value[index], result) if isinstance(result, Failure) else result
        )
        call.unresolved -= 1
        for other, place in self._land_row(call, index, result):
            self._resolve(other, place, result)
        if not call.unresolved and not call.settled:  # settled: by a row of this very call that had joined
            self._conclude(call, call.results)

    def _land_row(
        self, call: _BatchCall, index: int, result: Any = MISSING
    ) -> Sequence[tuple[_BatchCall, int]]:
        if index not in call.leading:
            return ()
        call.leading.discard(index)
        assert self._flights is not None
        return self._flights.land(call.cache_key[index], result, self._loop.time())
