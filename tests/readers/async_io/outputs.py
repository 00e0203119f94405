"""What an operator gave, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.stream_element_queue import Output, Watermark


def drained(operator: AsyncWaitOperator) -> list[Output]:
    return [output for outputs in operator.drain() for output in outputs]


def pairs(outputs: Sequence[Output]) -> list[tuple[Any, Any]]:
    return [output for output in outputs if not isinstance(output, Watermark)]


def inputs_of(outputs: Sequence[Output]) -> list[Any]:
    return [output if isinstance(output, Watermark) else output[0] for output in outputs]


def results_of(outputs: Sequence[Output]) -> list[Any]:
    return [output if isinstance(output, Watermark) else output[1] for output in outputs]
