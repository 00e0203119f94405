"""Event times, of any Arrow type that has them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def times_ms(times: pa.Array[Any]) -> pa.Array[Any]:
    """Return times, of any type that has them, in ms since 1970."""
    in_ms: pa.Array[Any] = times.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    return in_ms
