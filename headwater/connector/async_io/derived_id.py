"""What names the things that tasks of one process share, where the user gave no name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pyspark import cloudpickle

from headwater.readers.async_io.function import Function
from headwater.readers.async_io.settings import AsyncSettings


def derived_id(function: Function, settings: AsyncSettings, columns: Sequence[str]) -> str:
    """Return an id that is the same for the same function, in each plan that is made of it.

    A function that holds other values is another one. Two that are equal may share a client and a cache.
    """
    pickled = cloudpickle.dumps((function, settings.cache, list(columns)))  # type: ignore[no-untyped-call]
    return hashlib.sha256(pickled).hexdigest()
