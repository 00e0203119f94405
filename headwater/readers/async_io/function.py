"""Contracts of users' functions: how to ask the service about a row (FLIP-12's ``AsyncFunction``).

A *row* is any object that the driver of the operator feeds; it should be immutable. A *result* is the value
that the function returns for it: one row (a dict, a tuple, any object), many (a list of rows), or none
(``None`` or an empty list).
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from headwater.core.errors import CallTimeoutError

InputRow: TypeAlias = Any
Result: TypeAlias = Any


class Scope(enum.Enum):
    """How long an opened function lives."""

    # Opened by the first task in a process, used by all later ones, closed when none came for a minute or the
    # process ends.
    PROCESS = "process"
    TASK = "task"  # opened when a task starts, closed when it ends


@dataclass(frozen=True, slots=True)
class OpenContext:
    """The facts that a function gets when it is opened.

    Attributes:
        function: its name, as errors and logs call it.
        scope: whether it is opened for one task, or for all tasks in this process.
        capacity: how many calls run at the same time at most, per task: a good size for a connection pool.
        task: names the task that opened it, for logs; empty where there are no tasks.
    """

    function: str
    scope: Scope
    capacity: int
    task: str = ""


class ResultFuture(Protocol):
    """Takes the result of one call, from any thread.

    The first completion wins; later ones, and any after the timeout, are ignored.
    """

    def complete(self, result: Result) -> None:
        """The service answered."""

    def complete_exceptionally(self, error: BaseException) -> None:
        """The call failed; it is asked again if the retry policy says so."""

    def cancelled(self) -> bool:
        """Return whether the result is not waited for any longer (timeout, or the task ends).

        A client that can cancel a request may do so.
        """


class Function:
    """The base of all forms.

    An instance is pickled to the tasks: clients are made in `open`, never in ``__init__``.

    Everything here runs on the one event loop thread of the process. `open` and `close` are written ``async
    def``; as a plain ``def`` they run on a thread of their own, so that they may block.
    """

    scope: ClassVar[Scope] = Scope.PROCESS

    async def open(self, context: OpenContext) -> None:
        """Make clients. Called once before the first call; its errors fail the task.

        Clients serve all tasks of the process, one after the other, unless ``scope`` says otherwise.
        """

    async def close(self) -> None:
        """Close clients.

        Called once after the last call has ended, also after a failure, if `open` was called.
        """

    def timeout(self, row: InputRow) -> Result:
        """Return a substitute for the result that did not come in time, or raise.

        Called once per row at most, on the loop; must not block.

        Raises:
            CallTimeoutError: as it stands here; the failure policy then decides.
        """
        raise CallTimeoutError("no result within the timeout")


class AsyncFunction(Function, ABC):
    """A function for clients with ``async``/``await``."""

    @abstractmethod
    async def async_invoke(self, row: InputRow) -> Result:
        """Return the result for a row.

        Called once per attempt; up to ``capacity`` calls run at once, all on the loop's thread.

        Must not block: a call that does stops all others (pass a plain ``def``, or a `BlockingFunction`, for
        clients that block). At its timeout, or when the task ends, ``asyncio.CancelledError`` is raised at
        the ``await`` where it waits.
        """


class AsyncBatchFunction(Function, ABC):
    """A function for services with bulk look-ups."""

    @abstractmethod
    async def async_invoke_batch(self, rows: Sequence[InputRow]) -> Sequence[Result]:
        """Return one result per row, in the order of the rows.

        An exception *in place of* a result fails that row alone, one raised all of them.

        Called once per attempt with at most ``Batching.size`` rows; an attempt after the first holds only the
        rows that are to be asked again.
        """


class AsyncArrowFunction(Function, ABC):
    """A function for services with bulk look-ups, of whole Arrow batches: no row becomes a Python object.

    A call fails, times out and is retried as a whole; an answer whose values do not all fit fails the rows of
    those. There are no caches and no keys.

    Attributes:
        frames: the form of rows: ``"arrow"`` (a `pyarrow.RecordBatch`), ``"pandas"`` or ``"polars"`` (a
            DataFrame). Any of the three may be returned, whichever came.
    """

    frames: ClassVar[Literal["arrow", "pandas", "polars"]] = "arrow"

    @abstractmethod
    async def async_invoke_arrow(self, rows: Any) -> Any:
        """Return the result columns, in a frame or a `pyarrow.Table`: one row for each row, in their order.

        Called once per attempt with at most ``Batching.size`` rows and ``Batching.most_bytes`` bytes of the
        option ``columns``; up to ``capacity`` calls run at once, all on the loop's thread. Must not block.
        """

    def timeout(self, row: Any) -> Any:
        """Return a substitute for all rows of a call, as an Arrow batch or a DataFrame, or raise."""
        raise CallTimeoutError("no result within the timeout")


class CallbackFunction(Function, ABC):
    """A function for clients that call back, from threads of their own."""

    @abstractmethod
    def async_invoke(self, row: InputRow, result_future: ResultFuture) -> None:
        """Start a request and register ``result_future`` with the client; must not block.

        Its errors complete the call exceptionally.
        """


class BlockingFunction(Function, ABC):
    """A function for clients that block: each call has a thread of a pool as large as the capacity.

    A thread cannot be cancelled: a call past its timeout has its row completed, but keeps its thread until it
    returns.

    `open` and `close` run on other threads. A client that may be used only where it was made, such as
    sqlite3's, is made in `invoke`, once a thread (`threading.local`), or with
    ``check_same_thread=False`` and ``capacity=1``.
    """

    @abstractmethod
    def invoke(self, row: InputRow) -> Result:
        """Return the result for a row. Called once per attempt, on any thread of the pool, many at once."""
