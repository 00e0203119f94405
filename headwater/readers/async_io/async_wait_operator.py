"""Flink's ``AsyncWaitOperator`` (FLIP-12): rows in, results out, many calls in between."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.completions import Completions
from headwater.readers.async_io.event_loop import LoopHost, process_loop
from headwater.readers.async_io.function import InputRow
from headwater.readers.async_io.function_calls import as_function, fitted_settings, function_name
from headwater.readers.async_io.garbage import rare_collections
from headwater.readers.async_io.intake import Intake
from headwater.readers.async_io.metrics import Metrics, MetricsSnapshot
from headwater.readers.async_io.opened_calls import opened_calls
from headwater.readers.async_io.settings import AsyncSettings, OnFailure, OutputMode
from headwater.readers.async_io.stream_element_queue import (
    OrderedStreamElementQueue,
    Output,
    StreamElement,
    UnorderedStreamElementQueue,
    Watermark,
    bulk_outputs,
    bulk_values,
    outputs,
)
from headwater.readers.async_io.wait_policy import Linger, WaitPolicy
from headwater.readers.async_io.watchdog import Watchdog


class AsyncWaitOperator:
    """Asks about rows, many at once. Driven by one thread, the task's: it feeds, polls and closes.

    Rows go into a `StreamElementQueue` on the task's thread, their calls run on the loop's thread, results
    come back through `Completions`, and the queue decides whose turn it is to come out. No method but `poll`,
    `drain` and `process` waits for a call.

    An output is a row that went in with its result, which the function returned for it (one row, a
    list of rows, None for none) or a `Failure`; or a `Watermark` that went in.

    Args:
        function: a `Function`, or a plain ``async def`` or ``def`` function of a row.
        settings: see there.
        share_id: tasks with an equal id share, in their process, the cache, and a function of scope PROCESS,
            which the first of them opens. None: this one shares nothing.
        task: names the task, for logs.
        host: the loop. None: the one of the process.
        on_wait: called by the driving thread after each wait, which is never longer than
            ``block_warning_ms``; ends the waiting by raising.

    Raises:
        OptionError: function and settings do not fit together.
    """

    def __init__(
        self,
        function: Any,
        settings: AsyncSettings | None = None,
        *,
        share_id: Hashable = None,
        task: str = "",
        host: LoopHost | None = None,
        on_wait: Callable[[], None] = lambda: None,
    ) -> None:
        self._function = as_function(function)
        self.name = function_name(self._function)
        self._settings = fitted_settings(self._function, settings or AsyncSettings())
        self._share_id = share_id
        self._task = task
        self._given_host = host
        self._on_wait = on_wait
        self._metrics = Metrics()
        # In keyed mode too: the calls of a key are made in sequence, so they also complete in sequence.
        is_ordered = self._settings.mode is OutputMode.ORDERED
        new_queue = OrderedStreamElementQueue if is_ordered else UnorderedStreamElementQueue
        self._queue = new_queue(self._settings.queue_capacity)
        self._completions = Completions()
        self._unanswered = 0
        # Rows that `process` took and that are not in the queue: there is no room, or it is not waited for.
        self._not_fed: deque[Sequence[InputRow] | Watermark] = deque()
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def metrics(self) -> MetricsSnapshot:
        """The counts as they are now, also after `close`. From any thread."""
        return self._metrics.snapshot()

    def open(self) -> None:
        """Open the function. Once, before anything else.

        Raises:
            AsyncCallError: the function's `open` raised.
        """
        with ExitStack() as opening:
            opening.enter_context(rare_collections())
            self._host = self._given_host or opening.enter_context(process_loop())
            self._runner = opening.enter_context(
                opened_calls(
                    self._function,
                    self._settings,
                    self._host,
                    completions=self._completions,
                    metrics=self._metrics,
                    share_id=self._share_id,
                    task=self._task,
                )
            )
            self._intake = Intake(self._queue, self._settings.batching, self._host.loop.time, self._submit)
            self._watchdog = Watchdog(self.name, self._host, self._settings, self._metrics)
            # All is open: from here on `close` ends it. Before, leaving this block does.
            self._resources = opening.pop_all()

    def close(self) -> None:
        """Cancel calls that still run, close the function, leave no thread and no timer.

        Idempotent. Rows that have not come out do not come out any more.
        """
        self._resources.close()

    def feed(self, rows: Sequence[InputRow]) -> int:
        """Take rows, as many of the first as there is room for, and return how many.

        The sequence may be reused, its rows not be changed.

        Raises:
            Exception: of a key function.
        """
        return self._intake.feed(rows)

    def put_watermark(self, watermark: Watermark) -> bool:
        """Take a watermark; it comes out between the rows before and after it. False: there is no room."""
        return self._intake.put_watermark(watermark)

    def poll(self, timeout_s: float = 0.0, at_least: int = 1) -> list[Output]:
        """Return the outputs whose turn it is.

        Args:
            timeout_s: how long to wait while there are fewer than ``at_least``.
            at_least: more at a time mean fewer wake-ups.

        Raises:
            AsyncCallError: a call failed and the failure policy is to fail; raised as soon as the outputs
                that were due are out.
            ContractError: the function broke its contract; the failure policy does not matter.
        """
        now = self._host.loop.time
        deadline = now() + timeout_s
        emitted = self._emit()
        while len(emitted) < at_least and self._may_emit_more():
            left_s = deadline - now()
            if left_s <= 0:
                break
            self._wait(at_least - len(emitted), left_s)
            emitted += self._emit()
        if not emitted:
            self._raise_failure()
        return emitted

    def drain(
        self,
        wait_policy: WaitPolicy | None = None,
        *,
        linger_s: float = 0.05,
        at_least: int = 1000,
    ) -> Generator[list[Output], None, None]:
        """Yield outputs until all are out, or the time is over; the rest is then in `values`.

        Args:
            wait_policy: None: as long as it takes.
            linger_s: no output that is due waits longer than this; less, where batches are cheap.
            at_least: outputs at a time, if they come within ``linger_s``.

        Raises:
            AsyncCallError, ContractError: as `poll`.
        """
        now = self._host.loop.time
        linger = Linger(linger_s)
        wait_policy = wait_policy or WaitPolicy()
        timeout_s = wait_policy.seconds()
        deadline = math.inf if timeout_s is None else now() + timeout_s
        self._intake.flush()
        while len(self._queue) > 0 or self._intake.holds:
            left_s = deadline - now()
            if left_s <= 0 and wait_policy.may_leave(self.rows()):
                break
            emitted = self.poll(min(linger.seconds, left_s) if left_s > 0 else linger.seconds, at_least)
            if emitted:
                yield from linger.hand_on(emitted)
            self._intake.flush()
        # A failure that came with the last outputs: no further `poll` would raise it.
        self._raise_failure()

    def process(
        self,
        batches: Iterable[Sequence[InputRow] | Watermark],
        *,
        linger_s: float = 0.05,
        at_least: int = 1000,
        wait_policy: WaitPolicy | None = None,
        has_room: Callable[[], bool] = lambda: True,
    ) -> Generator[list[Output], None, None]:
        """Feed all batches and yield outputs as in `drain`, until all are out, or the wait policy ends.

        Rows that are then not out are in `values`; so they are when the generator is closed.

        Args:
            batches: rows in their order, and watermarks between them. A batch is taken from the iterable only
                when the one before has found room: so `values` never holds more than ``queue_size`` rows and
                one batch. Where room is not waited for, all are taken, and those without room are not asked.
                An empty batch lets outputs that are due come out while no rows come in.
            linger_s: as in `drain`.
            at_least: as in `drain`.
            wait_policy: how long to wait for room, and for results once all rows are in. None: as long as it
                takes.
            has_room: whether the driver has room for a batch beside the ones that are not out; a limit of its
                own, as in bytes. Asked before a batch is taken, and never while nothing is in.
        """
        # A part of the room: if outputs filled all of it, the calls would have no row left to ask about.
        enough = max(1, min(at_least, self._settings.most_rows // 4))
        linger = Linger(linger_s)
        wait_policy = wait_policy or WaitPolicy()
        for batch in batches:
            self._not_fed.append(batch)
            self._feed_more()
            while (self._not_fed or self._is_full(has_room)) and wait_policy.waits_for_room():
                emitted = self.poll(linger.seconds, enough)
                if emitted:
                    yield from linger.hand_on(emitted)
                self._feed_more()
            emitted = self.poll()
            if emitted:
                yield from linger.hand_on(emitted)
        yield from self.drain(wait_policy, linger_s=linger_s, at_least=at_least)

    def _feed_more(self) -> None:
        """Feed the rows that were not fed, in order, as far as there is room."""
        while self._not_fed:
            first = self._not_fed[0]
            if isinstance(first, Watermark):
                if not self.put_watermark(first):
                    return
            else:
                count = self.feed(first)
                if count < len(first):
                    self._not_fed[0] = first[count:]
                    return
            self._not_fed.popleft()

    def _is_full(self, has_room: Callable[[], bool]) -> bool:
        """Return whether the driver has no room. It has, once nothing is in."""
        return not has_room() and (len(self._queue) > 0 or self._intake.holds)

    def values(self) -> list[Any]:
        """Return every row and watermark that went in and has not come out, done or not, in their order.

        A snapshot stores it.
        """
        elements = self._queue.elements()
        queued = bulk_values(elements) if self._settings.batching else [each.value for each in elements]
        not_fed: list[Any] = []
        for batch in self._not_fed:
            not_fed += [batch] if isinstance(batch, Watermark) else batch
        return [*queued, *self._intake.values(), *not_fed]

    def rows(self) -> list[InputRow]:
        """Return `values` without watermarks."""
        return [value for value in self.values() if not isinstance(value, Watermark)]

    def restore(self, values: Sequence[Any]) -> None:
        """Ask again the rows of `values`, room or not, before anything that is fed later.

        Each has its whole timeout: an answer that takes longer than the way from snapshot to snapshot, or a
        time in which there was no operator, uses up nothing of it.
        """
        self._intake.restore(values)

    def _submit(self, elements: list[StreamElement]) -> None:
        self._unanswered += len(elements)
        self._runner.submit(elements)

    def _may_emit_more(self) -> bool:
        """Return whether anything may come out without more being fed."""
        return self._completions.failure is None and (self._unanswered > 0 or self._intake.holds)

    def _wait(self, at_least: int, timeout_s: float) -> None:
        """Wait for the results of ``at_least`` rows, until the time-out or until gathered rows leave."""
        batching = self._settings.batching
        elements = max(1, at_least // batching.size) if batching else at_least
        # No more than will ever come: with few elements left, the wait would last until its time is over.
        elements = min(elements, max(1, self._unanswered))
        linger_s = max(0.0, self._intake.leave_at - self._host.loop.time())
        timeout_s = min(timeout_s, linger_s, self._settings.block_warning_ms / 1000)
        self._completions.wait(elements, timeout_s, self._host)
        self._watchdog.look()
        self._on_wait()

    def _emit(self) -> list[Output]:
        """Store the results that came, and return the outputs whose turn it is."""
        self._unanswered -= self._queue.complete(self._completions.take())
        due = self._queue.pop_completed()
        # After the pop, which made room; rows that lingered go before restored ones.
        self._intake.flush_due()
        self._intake.refill()
        emitted = bulk_outputs(due) if self._settings.batching else outputs(due)
        if self._completions.failure is not None and self._settings.on_failure is OnFailure.FAIL:
            # The failed row itself is no output: its failure is raised, after the outputs before it.
            return [
                each for each in emitted if isinstance(each, Watermark) or not isinstance(each[1], Failure)
            ]
        return emitted

    def _raise_failure(self) -> None:
        if self._completions.failure is not None:
            raise self._completions.failure
