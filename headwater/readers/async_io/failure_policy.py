"""Failures and timeouts of calls lead to another attempt, a result, or the end of the task."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from headwater.core.errors import AsyncCallError, ContractError, HeadwaterError
from headwater.core.outside import place_of
from headwater.core.redaction import logger_of
from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.completions import Completions
from headwater.readers.async_io.function_calls import FunctionCalls
from headwater.readers.async_io.metrics import Metrics
from headwater.readers.async_io.settings import AsyncSettings, OnFailure, RetryPolicy

log = logger_of(__name__)


class FailurePolicy:
    """Retry policy and failure policy of one operator.

    Owned by the loop's thread. It calls the user's predicates, ``timeout`` and ``describe_row``; their
    errors fail the row or the task, and are never raised here.

    Args:
        function: its name, for errors, and its ``timeout``.
        settings: all of them.
        completions: takes the error that fails the task.
        metrics: counts rows that failed or timed out.
    """

    def __init__(
        self, function: FunctionCalls, settings: AsyncSettings, completions: Completions, metrics: Metrics
    ) -> None:
        self._name = function.name
        self._timeout = function.timeout
        self._settings = settings
        self._completions = completions
        self._metrics = metrics
        self._retry = settings.retry or RetryPolicy(attempts=1, first_ms=0)
        self._random = random.Random(settings.seed)

    @property
    def believes_all(self) -> bool:
        """Whether every result counts, so that `is_not_believed` need not be asked."""
        return self._retry.on_result is None

    def wait_s(self, attempts: int, error: BaseException | None) -> float:
        """Return how long a row waits after some attempts; no less than the last one's error asks for."""
        wait_s = self._retry.wait_s(attempts, self._random.random())
        return wait_s if error is None else max(wait_s, retry_after_s(error))

    def is_worth_a_retry(self, attempts: int, error: BaseException) -> bool:
        """Return whether a row is asked again after an attempt that raised."""
        if attempts >= self._retry.attempts or not isinstance(error, Exception):
            return False
        return self._retry.on_error is None or self._ask("on_error", self._retry.on_error, error)

    def is_not_believed(self, attempts: int, result: Any) -> bool:
        """Return whether a row is asked again though there is a result."""
        on_result = self._retry.on_result
        return (
            on_result is not None
            and attempts < self._retry.attempts
            and self._ask("on_result", on_result, result)
        )

    def substitute(self, row: Any, attempts: int) -> Any:
        """Return the result of a row that has none in time: from ``timeout``, or a `Failure`."""
        self._metrics.timeouts += 1
        try:
            result = self._timeout(row)
        except BaseException as raised:  # noqa: BLE001 - goes to the row that it concerns
            return Failure(raised, attempts)
        if asyncio.iscoroutine(result):
            result.close()  # else Python warns that it was never awaited
            error = ContractError(f"{self._name}.timeout must be a plain def function, not async def")
            self._completions.fail(error)
            return Failure(error, attempts)
        return result

    def outcome(self, row: Any, failure: Failure) -> Failure | None:
        """Return the result of a row that failed for good; fail the task if that is the policy."""
        self._metrics.failures += 1
        policy = self._settings.on_failure
        if policy is OnFailure.FAIL:
            self._completions.fail(self._error(row, failure))
        return None if policy is OnFailure.DROP else failure

    def _ask(self, name: str, predicate: Callable[[Any], bool], value: Any) -> bool:
        try:
            return predicate(value)
        except Exception as error:  # noqa: BLE001 - fails the task, not the worker
            message = f"the retry policy's {name} for {self._name} raised {type(error).__name__}: {error}"
            self._completions.fail(ContractError(message))
            return False

    def _error(self, row: Any, failure: Failure) -> AsyncCallError:
        kind = type(failure.error) if isinstance(failure.error, AsyncCallError) else AsyncCallError
        # Where a time-out was found out says nothing of the user's function.
        place = "" if isinstance(failure.error, HeadwaterError) else place_of(failure.error)
        error = kind(
            f"{self._name} failed{self._which(row)}, attempt {failure.attempts}: "
            f"{failure.error_class}: {failure.message}{place}"
        )
        error.__cause__ = failure.error
        return error

    def _which(self, row: Any) -> str:
        describe = self._settings.describe_row
        try:
            return f" for {describe(row)}" if describe else ""
        except Exception:
            log.exception("%s: a row cannot be described", self._name)
            return ""


def retry_after_s(error: BaseException, now: datetime | None = None) -> float:
    """Return how many seconds a service wants to be left alone, as far as a failure says so; else 0.

    It says so by an attribute ``retry_after``, in seconds or a timedelta, or by the header ``Retry-After``,
    in seconds or as a date, of the exception or of its ``response``: so do aiohttp's, httpx's, requests' and
    urllib's.

    Args:
        error: of a call.
        now: the time; None: the clock's.
    """
    wait: Any = getattr(error, "retry_after", None)
    if wait is None:
        headers: Any = getattr(error, "headers", None) or getattr(
            getattr(error, "response", None), "headers", None
        )
        wait = _header(headers) if hasattr(headers, "items") else None
    if isinstance(wait, timedelta):
        wait = wait.total_seconds()
    try:
        seconds = float(wait)
    except (TypeError, ValueError):
        seconds = _until(wait, now or datetime.now(UTC)) if isinstance(wait, str) else 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _header(headers: Any) -> Any:
    return next((value for name, value in headers.items() if str(name).lower() == "retry-after"), None)


def _until(date: str, now: datetime) -> float:
    try:
        until = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - now.timestamp()
