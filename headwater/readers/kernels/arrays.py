"""Types of arrays that kernels read and write, and where they lie."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ByteArray: TypeAlias = npt.NDArray[np.uint8]
Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]


def address(array: npt.NDArray[Any]) -> int:
    """Return the address of a contiguous array. Arrow takes a fifth of the time that numpy takes for it."""
    return pa.py_buffer(array.data).address
