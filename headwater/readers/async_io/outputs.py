"""What comes out of an operator, made of the elements whose turn it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.function import InputRow, Result
from headwater.readers.async_io.stream_element_queue import StreamElement, Watermark

Output: TypeAlias = "tuple[InputRow, Result] | Watermark"
"""A row that went in, with its result; or a watermark that went in."""


def outputs(elements: Iterable[StreamElement]) -> list[Output]:
    """Return the outputs of elements that are a row each."""
    return [
        element.value if type(element.value) is Watermark else (element.value, element.result)
        for element in elements
    ]


def bulk_outputs(elements: Iterable[StreamElement]) -> list[Output]:
    """Return the outputs of elements that are a list of rows each, with a list of results."""
    rows: list[Output] = []
    for element in elements:
        if isinstance(element.value, Watermark):
            rows.append(element.value)
        else:
            rows.extend(zip(element.value, element.result, strict=True))
    return rows


def bulk_values(values: Iterable[Any]) -> list[Any]:
    """Return the rows and watermarks of a queue whose elements are a list of rows each."""
    rows: list[Any] = []
    for value in values:
        if isinstance(value, Watermark):
            rows.append(value)
        else:
            rows.extend(value)
    return rows


def without_failures(found: Sequence[Output]) -> list[Output]:
    """Return the outputs without those of rows whose calls failed."""
    return [output for output in found if isinstance(output, Watermark) or not isinstance(output[1], Failure)]
