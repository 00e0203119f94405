"""PyFlink's asynchronous operator, driven without a JVM.

``PYTHON_WITH_APACHE_FLINK benchmarks/async_io_pyflink.py``.

Run by ``async_io.py --pyflink PYTHON``, since apache-flink does not go together with this project's own
libraries. It is PyFlink's queue, emitter thread, loop thread and result handler, put together as its
``AsyncOperation`` does; Beam and the JVM, which cost more, are left out. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from typing import Any

from pyflink.fn_execution.datastream.process.async_function.operation import (
    AsyncFunctionRunner,
    AsyncOperation,
    Emitter,
)
from pyflink.fn_execution.datastream.process.async_function.queue import (
    OrderedStreamElementQueue,
    UnorderedStreamElementQueue,
)

CAPACITY = 100
TIMEOUT_S = 5.0
NO_WATERMARK = -(2**63)


async def at_once(row: int) -> list[int]:
    return [row]


async def in_10_ms(row: int) -> list[int]:
    await asyncio.sleep(0.01)
    return [row]


async def one_in_a_hundred_in_1_s(row: int) -> list[int]:
    await asyncio.sleep(1.0 if row % 100 == 0 else 0.01)
    return [row]


def fail_at_timeout(row: int) -> list[int]:
    raise TimeoutError(row)


class Operation(AsyncOperation):  # type: ignore[misc]
    """PyFlink's, made of a function instead of what a JVM sends."""

    def __init__(self, call: Any, *, ordered: bool) -> None:
        self.class_name = "Function"
        self.async_invoke_func = call
        self.timeout_func = fail_at_timeout
        self._timeout = TIMEOUT_S
        self._retry_enabled = False
        self._exception: Exception | None = None
        queue = OrderedStreamElementQueue if ordered else UnorderedStreamElementQueue
        self._queue = queue(CAPACITY, self._raise_exception_if_exists)
        self.done = 0

    def run(self, rows: int) -> int:
        """Ask for so many rows and wait for all."""
        self._emitter = Emitter(self._mark_exception, self, self._queue)
        self._async_function_runner = AsyncFunctionRunner()
        for thread in (self._emitter, self._async_function_runner):
            thread.daemon = True
            thread.start()
        self._async_function_runner.wait_ready()
        for row in range(rows):
            self.process_element(None, (0, NO_WATERMARK, row))
        self._wait_for_in_flight_inputs_finished()
        self._emitter.stop()
        self._async_function_runner.stop()
        return self.done

    def process_outputs(self, windowed_value: Any, results: Any) -> None:
        """Take what the emitter hands on."""
        self.done += sum(1 for _ in results)


VARIANTS = [
    ("answers at once: PyFlink, unordered", 10_000, at_once, False),
    ("10 ms: PyFlink, unordered", 10_000, in_10_ms, False),
    ("10 ms: PyFlink, ordered", 10_000, in_10_ms, True),
    ("1 % in 1 s: PyFlink, unordered", 5_000, one_in_a_hundred_in_1_s, False),
    ("1 % in 1 s: PyFlink, ordered", 1_000, one_in_a_hundred_in_1_s, True),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rows")
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--only", default="", help="variants whose names begin so")
    args = parser.parse_args()
    medians = {}
    for name, most, call, ordered in VARIANTS:
        if name.startswith(args.only):
            rows = max(100, int(most * args.scale))
            samples = []
            for _ in range(args.repeat):
                began = time.perf_counter()
                done = Operation(call, ordered=ordered).run(rows)
                assert done == rows
                samples.append(rows / (time.perf_counter() - began))
            medians[name] = statistics.median(samples)
    print(json.dumps(medians))


if __name__ == "__main__":
    main()
