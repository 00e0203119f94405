"""What blocks: the watchdog names the function that blocks the loop, and what may block runs beside it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from typing import Any

import pytest

from headwater.core.errors import AsyncCallError
from headwater.readers.async_io import event_loop
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import BlockingFunction, InputRow, OpenContext, Result
from headwater.readers.async_io.settings import AsyncSettings, OnFailure
from headwater.readers.async_io.watchdog import where_blocked
from tests.patience import PATIENCE_S
from tests.readers.async_io.counting import ask
from tests.readers.async_io.outputs import drained


@pytest.mark.parametrize("form", ["def", "to_thread"])
def test_a_call_that_hangs_on_a_thread_costs_its_task_nothing_and_is_counted(form: str) -> None:
    release = threading.Event()

    def hangs(row: int) -> int:
        if row == 0:
            release.wait(PATIENCE_S)
        return row

    async def hangs_on_thread(row: int) -> int:
        return await asyncio.to_thread(hangs, row)

    function: Any = hangs if form == "def" else hangs_on_thread
    settings = AsyncSettings(timeout_ms=50, on_failure=OnFailure.NULL, close_timeout_ms=60_000)
    began = time.monotonic()
    with AsyncWaitOperator(function, settings) as operator:
        operator.feed(range(10))
        assert len(drained(operator)) == 10
    assert time.monotonic() - began < 30, "not the time that closing may take"
    assert operator.metrics.left_behind == 1
    release.set()


def test_the_watchdog_blames_no_function_for_many_calls() -> None:
    """The loop is busy with asyncio's own work or ours, on a machine that has other work too."""
    stack = traceback.extract_stack()[:1]
    ours = traceback.FrameSummary(event_loop.__file__, 1, "_run")
    theirs = traceback.FrameSummary(asyncio.base_events.__file__, 1, "run_forever")
    users = traceback.FrameSummary("/users/function.py", 7, "blocks")
    runner = traceback.FrameSummary(event_loop.__file__.replace("event_loop", "call_runner"), 1, "_attempt")
    assert where_blocked([*stack, ours, theirs]) is None
    assert where_blocked([*stack, ours, theirs, ours, theirs]) is None
    blamed = where_blocked([*stack, ours, theirs, runner, users])
    assert blamed == "in blocks (/users/function.py:7), now at blocks (/users/function.py:7)"


@pytest.mark.parametrize("raises", [False, True])
def test_open_and_close_that_block_run_beside_the_loop(raises: bool) -> None:
    threads: list[int] = []

    class Blocking(BlockingFunction):
        def open(self, context: OpenContext) -> None:  # type: ignore[override]
            threads.append(threading.get_ident())
            if raises:
                raise ConnectionError("refused")

        def close(self) -> None:  # type: ignore[override]
            threads.append(threading.get_ident())

        def invoke(self, row: InputRow) -> Result:
            return row

    if raises:
        with pytest.raises(AsyncCallError, match=r"Blocking.open raised ConnectionError: refused"):
            AsyncWaitOperator(Blocking()).open()
    else:
        out, _ = ask(Blocking(), [1])
        assert out == [(1, 1)]
        assert len(threads) == 2
    assert threading.get_ident() not in threads


def test_the_watchdog_names_a_function_that_blocks_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    named = threading.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            named.set()

    async def reads_a_file(row: int) -> int:
        named.wait(PATIENCE_S)  # blocks, as a client without await does
        return row

    log = logging.getLogger("headwater.readers.async_io.watchdog")
    log.addHandler(handler := Handler())
    try:
        out, operator = ask(reads_a_file, [1], block_warning_ms=20)
    finally:
        log.removeHandler(handler)
    assert out == [(1, 1)]
    assert operator.metrics.blocked >= 1
    assert "reads_a_file blocks the event loop" in caplog.text
    assert f"in reads_a_file ({__file__}:" in caplog.text
    assert "now at wait (" in caplog.text


def test_calls_that_wait_are_no_blockade(caplog: pytest.LogCaptureFixture) -> None:
    async def waits(row: int) -> int:
        await asyncio.sleep(1.5)
        return row

    # Long, since a busy machine may keep the loop from turning for a moment too.
    _, operator = ask(waits, [1], block_warning_ms=1_000)
    assert operator.metrics.blocked == 0
    assert not caplog.records
