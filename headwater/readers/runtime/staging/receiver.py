"""Keeps a queue connected and stages its messages, whether a task is there or not."""

from __future__ import annotations

import threading
from typing import Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import HeadwaterError, QueueTakenError, SourceError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.core.retry import Retry
from headwater.readers.runtime.staging.receiver_task import ReceiverAnswer, ReceiverTask, TaskQuestion
from headwater.readers.runtime.staging.stager import Stager

_MOST_TAKEN: Final = 2
"""A queue that is taken away more often has a stranger, and no receivers that have not noticed their end."""
_FIGHT_MS: Final = 60_000
_MOST_LOST: Final = 5
"""A connection that is lost more often in this time may have one."""

log = logger_of(__name__)


class Receiver:
    """Stages the messages of one queue until it is stopped, fenced, or gives up.

    `run` belongs to one thread, which owns the log and the connection. `hear` and `stop` are called by any
    thread.

    A connection that is lost is made again, with back-off, for as long as the task's `Backoff` says. A
    receiver whose connection is lost because another one has the queue now finds itself fenced before it
    connects again, and ends: two receivers never take a queue from each other in turns.

    Attributes:
        end_told: set once a task has heard that the receiver has ended, and why.

    Args:
        task: the work.
        clock: time.
    """

    def __init__(self, task: ReceiverTask, clock: Clock | None = None) -> None:
        self.end_told = threading.Event()
        self._task = task
        self._clock = clock or SystemClock()
        self._stager = Stager(task.staging, task.queue, task.split, task.client, task.remedy)
        self._stopped = threading.Event()
        # Guards what follows: the receiving thread tells, and any number of threads wait to hear.
        self._changed = threading.Condition()
        self._end: int | None = None
        self._is_quiet = False
        self._begun = 0
        self._settled = 0
        self._error: HeadwaterError | None = None
        self._is_finished = False
        self._is_over = False
        self._asking = 0
        self._asked_ms = self._clock.monotonic_ms()
        self._taken = 0
        self._lost_ms: list[int] = []

    def run(self) -> None:
        """Receive until the end. Raises nothing: `hear` tells of errors."""
        try:
            self._stager.take_over()
            self._tell(quiet=False)
            self._receive()
        except HeadwaterError as error:
            self._fail(error)
        except Exception as error:
            log.exception("the receiver of %s failed", self._task.split.split_id)
            self._fail(
                SourceError(
                    f"the receiver failed: {type(error).__name__}: {error}", split=self._task.split.split_id
                )
            )
        finally:
            self._stager.disconnect()
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def stop(self, error: HeadwaterError | None = None) -> None:
        """Let `run` return soon.

        Args:
            error: the error for tasks that still ask this receiver; it is not kept for later ones.
        """
        with self._changed:
            if error is not None and self._error is None:
                self._error = error
                self.end_told.set()
        self._stopped.set()
        self._stager.wake_up()

    @property
    def is_over(self) -> bool:
        """Whether `run` has ended."""
        with self._changed:
            return self._is_over

    @property
    def has_news(self) -> bool:
        """Whether tasks are to hear how `run` has ended, or will: with an error, or with the queue."""
        with self._changed:
            return self._error is not None or self._is_finished

    @property
    def unasked_ms(self) -> int:
        """The time since the last question; 0 while a task waits for an answer."""
        with self._changed:
            return 0 if self._asking else self._clock.monotonic_ms() - self._asked_ms

    def hear(self, question: TaskQuestion) -> ReceiverAnswer:
        """Answer a task; blocks as the question says."""
        with self._changed:
            self._asking += 1
            if question.begins:
                self._begun += 1
            turn = self._begun
        if question.begins:
            self._stager.wake_up()
        until_ms = self._clock.monotonic_ms() + question.timeout_ms
        with self._changed:
            while not self._is_answered(question, turn):
                left_ms = until_ms - self._clock.monotonic_ms()
                if left_ms <= 0:
                    break
                self._changed.wait(left_ms / 1000)
            self._asking -= 1
            self._asked_ms = self._clock.monotonic_ms()
            if self._settled < turn and not self._is_over:
                return ReceiverAnswer(None)
            return ReceiverAnswer(self._end, self._is_quiet, self._is_finished, self._error)

    def _fail(self, error: HeadwaterError) -> None:
        with self._changed:
            self._error = self._error or error

    def _is_answered(self, question: TaskQuestion, turn: int) -> bool:
        if self._is_over:
            return True
        if self._settled < turn or self._end is None:
            return False
        return self._end > question.number or self._is_quiet

    def _receive(self) -> None:
        question = f"receiving {self._task.split.split_id}"
        # A log without a record of an earlier receiver: nothing has ever answered there.
        is_first = self._stager.end <= 1
        backoff = self._task.backoff.of_first_answer() if is_first else self._task.backoff
        retry = Retry(backoff, self._clock, question)
        while not self._stopped.is_set():
            is_connected = False
            try:
                self._stager.connect()
                is_connected = True
                if is_first:
                    is_first = False
                    retry = Retry(self._task.backoff, self._clock, question)
                self._take_turns(retry)
            except SourceError as error:
                self._tell(quiet=False)
                self._stager.disconnect()
                # Before it connects again: one that has lost the queue to another receiver must not take it
                # back.
                self._stager.check()
                if not isinstance(error, TransientSourceError):
                    raise
                if is_connected:
                    self._note_lost(error)
                self._wait(retry.failed(error))

    def _note_lost(self, error: TransientSourceError) -> None:
        """Let the queue be taken by receivers that have not noticed their end; then it is a stranger.

        A receiver that was replaced takes it once, since it looks at the log behind that. A stranger takes it
        again and again, however rarely, and each time messages with it. Not every outside says that this is
        why a connection is lost: many losses in a short time say it too.

        Raises:
            SourceError: there is a stranger.
        """
        if isinstance(error, QueueTakenError):
            self._taken += 1
            if self._taken > _MOST_TAKEN:
                raise SourceError(
                    f"{error.message}: {self._taken} times while this query reads {self._task.queue}, and "
                    f"each time it may have taken messages. {self._task.remedy}",
                    split=self._task.split.split_id,
                ) from error
            return
        now_ms = self._clock.monotonic_ms()
        self._lost_ms = [at_ms for at_ms in self._lost_ms if now_ms - at_ms < _FIGHT_MS] + [now_ms]
        if len(self._lost_ms) > _MOST_LOST:
            raise SourceError(
                f"{error.message}: {len(self._lost_ms)} times within a minute, each time after it had been "
                f"made. Another client may take {self._task.queue} from this query, and messages with it. "
                f"{self._task.remedy}",
                split=self._task.split.split_id,
            ) from error

    def _take_turns(self, retry: Retry) -> None:
        idle_ms = self._task.staging.idle_ms
        quiet_from_ms = self._clock.monotonic_ms() + idle_ms
        while not self._stopped.is_set():
            self._settle()
            left_ms = quiet_from_ms - self._clock.monotonic_ms()
            delivery = self._stager.poll(left_ms if left_ms > 0 else idle_ms)
            if delivery is not None:
                # Before it is durable: a queue is not caught up while some of it is on its way to the log.
                self._tell(quiet=False)
                self._stager.stage(delivery)
                self._tell(quiet=False)
                quiet_from_ms = self._clock.monotonic_ms() + idle_ms
            # Also when a task has ended the wait early: the queue was looked at after the time had passed.
            elif self._clock.monotonic_ms() >= quiet_from_ms:
                if self._stager.retire_if_drained():
                    self._finish()
                    return
                self._tell(quiet=True)
            else:
                continue
            # A connection that was lost at once was none. This one brought something, or lasted.
            retry.succeeded()

    def _wait(self, wait_ms: int) -> None:
        """Wait with the next connection, and serve tasks that begin meanwhile."""
        until_ms = self._clock.monotonic_ms() + wait_ms
        while (left_ms := until_ms - self._clock.monotonic_ms()) > 0 and not self._stopped.is_set():
            self._settle()
            self._clock.wait(self._stopped, min(left_ms, self._task.staging.idle_ms))

    def _settle(self) -> None:
        """Do the work that beginning tasks have asked for."""
        with self._changed:
            begun = self._begun
        if begun == self._settled:
            return
        self._stager.check()
        self._stager.keep_window()
        with self._changed:
            self._settled = begun
            self._changed.notify_all()

    def _finish(self) -> None:
        self._stopped.set()
        with self._changed:
            self._is_finished = True
            self._is_quiet = True
            self._changed.notify_all()

    def _tell(self, *, quiet: bool) -> None:
        with self._changed:
            self._end = self._stager.end
            self._is_quiet = quiet
            self._changed.notify_all()
