"""An asynchronous function that counts its clients, and how to ask one."""

from __future__ import annotations

from typing import Any, ClassVar

from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncFunction, InputRow, OpenContext, Result, Scope
from headwater.readers.async_io.settings import AsyncSettings


def ask(function: Any, rows: list[Any], **settings: Any) -> tuple[list[Any], AsyncWaitOperator]:
    operator = AsyncWaitOperator(function, AsyncSettings(**settings))
    with operator:
        return [output for outputs in operator.process([rows]) for output in outputs], operator


class Counting(AsyncFunction):
    """Counts its openings in the process."""

    scope = Scope.TASK
    opened: ClassVar[list[OpenContext]] = []
    closed: ClassVar[list[int]] = []

    async def open(self, context: OpenContext) -> None:
        self.opened.append(context)

    async def close(self) -> None:
        self.closed.append(1)

    async def async_invoke(self, row: InputRow) -> Result:
        return row
