"""Runs bulk calls: an element is a list of rows that are asked together, and each row has its own result."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from headwater.core.errors import ContractError
from headwater.readers.async_io.call import Call, Failure, hashable_key
from headwater.readers.async_io.call_runner import CallRunner
from headwater.readers.async_io.failure_policy import retry_after_s
from headwater.readers.async_io.permits import positive_weight
from headwater.readers.async_io.result_cache import MISSING, SingleFlight
from headwater.readers.async_io.stream_element_queue import StreamElement


class _BatchCall(Call):
    """A bulk call.

    Attributes:
        results: one for each row, MISSING until there is one.
        unresolved: how many are missing.
        asked: the indexes of the rows in ``question``.
        leading: the indexes of the rows whose keys' flights it leads.
        weights: tokens of the rate limit that each row takes; empty if the call takes one.
    """

    __slots__ = ("asked", "leading", "results", "unresolved", "weights")

    def __init__(self, element: StreamElement, cache_keys: Sequence[Hashable]) -> None:
        super().__init__(element, cache_key=cache_keys)
        self.unresolved = len(element.value)
        self.results: list[Any] = [MISSING] * self.unresolved
        self.asked: Sequence[int] = range(self.unresolved)
        self.leading: set[int] = set()
        self.weights: list[float] = []

    def ask(self, indexes: Sequence[int]) -> None:
        """Let the next attempt ask for these rows only."""
        self.asked = indexes
        self.question = [self.element.value[index] for index in indexes]
        if self.weights:
            self.weight = sum(self.weights[index] for index in indexes)


class BatchCallRunner(CallRunner):
    """As `CallRunner`, with failures, retries, timeouts, cache and single flight for each row.

    Capacity, rate limit and circuit breaker count calls, not rows.
    """

    def _new_call(self, element: StreamElement) -> Call:
        cache = self._settings.cache
        return _BatchCall(element, [hashable_key(cache.key, row) for row in element.value] if cache else ())

    def _weigh(self, call: Call, weight: Callable[[Any], float]) -> None:
        assert isinstance(call, _BatchCall)
        call.weights = [positive_weight(weight(row)) for row in call.element.value]
        call.weight = sum(call.weights)

    def _lead(self, call: Call, flight: SingleFlight) -> bool:
        """Fill in results that are known; return whether this call has rows left to ask for."""
        assert isinstance(call, _BatchCall)
        now = self._loop.time()
        ask: list[int] = []
        for index, key in enumerate(call.cache_key):
            result = flight.cache.get(key, now)
            if result is not MISSING:
                self._metrics.cache_hits += 1
                call.results[index] = result
                call.unresolved -= 1
            elif flight.join(key, (call, index)):
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
        if not isinstance(result, list | tuple):
            self._failed(call, self._wrong_answer(call, f"a {type(result).__name__}"))
        elif len(result) != len(call.asked):
            self._failed(call, self._wrong_answer(call, f"{len(result)} results"))
        elif (
            # All of the rows, and nothing asks for a look at each result: they go as they are.
            len(result) == len(call.results)
            and self._single_flight is None
            and self._believes_all
            and not any(issubclass(kind, BaseException) for kind in set(map(type, result)))
        ):
            self._conclude(call, result)
        else:
            self._resolve_each(call, result)

    def _wrong_answer(self, call: _BatchCall, returned: str) -> ContractError:
        return ContractError(
            f"{self._name}.async_invoke_batch returned {returned} for {len(call.asked)} rows; "
            "it must return one per row"
        )

    def _resolve_each(self, call: _BatchCall, results: Sequence[Any]) -> None:
        again: list[int] = []
        errors: list[BaseException] = []
        for index, result in zip(call.asked, results, strict=True):
            failed = isinstance(result, BaseException)
            asks_again = self._policy.is_worth_a_retry if failed else self._policy.is_not_believed
            if asks_again(call.attempts, result):
                again.append(index)
                errors += [result] if failed else []
            else:
                self._resolve(call, index, Failure(result, call.attempts) if failed else result)
        if again:
            call.ask(again)
            # They are asked again together: when the last of them may be.
            self._retry_later(call, max(errors, key=retry_after_s, default=None))

    def _settle(self, call: Call, result: Any) -> None:
        """Give each row that the call asked for the same result: the call failed as a whole."""
        assert isinstance(call, _BatchCall)
        for index in call.asked:
            self._resolve(call, index, result)

    def _settle_expired(self, call: Call) -> None:
        assert isinstance(call, _BatchCall)
        for index, result in enumerate(call.results):
            if result is MISSING:
                self._resolve_expired(call, index)

    def _resolve_expired(self, call: _BatchCall, index: int) -> None:
        # Land the flight first, with no result: a substitute is for one row, and is not remembered.
        followers = self._land_row(call, index)
        self._resolve(call, index, self._policy.substitute(call.element.value[index], call.attempts))
        for other, place in followers:
            if other.results[place] is MISSING:
                self._resolve_expired(other, place)

    def _resolve(self, call: _BatchCall, index: int, result: Any) -> None:
        """Give a row, and the rows that follow it, its result. The first one counts."""
        if call.results[index] is not MISSING:
            return
        call.results[index] = (
            self._policy.outcome(call.element.value[index], result) if isinstance(result, Failure) else result
        )
        call.unresolved -= 1
        for other, place in self._land_row(call, index, result):
            self._resolve(other, place, result)
        # A row of this very call may have followed this one: then the loop above has settled the call.
        if not call.unresolved and not call.settled:
            self._conclude(call, call.results)

    def _land_row(
        self, call: _BatchCall, index: int, result: Any = MISSING
    ) -> Sequence[tuple[_BatchCall, int]]:
        """End the flight that a row leads, if it leads one; return the rows that followed: call and index."""
        if index not in call.leading:
            return ()
        call.leading.discard(index)
        assert self._single_flight is not None
        return self._single_flight.land(call.cache_key[index], result, self._loop.time())
