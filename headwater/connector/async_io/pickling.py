"""Pickles functions before Spark does: names those that cannot be pickled, and makes an id of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from pyspark import cloudpickle

from headwater.core.errors import OptionError
from headwater.readers.async_io.function import Function
from headwater.readers.async_io.settings import AsyncSettings


def check_picklable(value: Any, name: str) -> None:
    """Pickle a value as Spark will, before Spark does, to name a member that cannot be pickled.

    Args:
        value: the function, or a setting.
        name: the user's name for it.

    Raises:
        OptionError: it cannot be pickled; names the attribute that cannot.
    """
    error = _error(value)
    if error is None:
        return
    attributes = getattr(value, "__dict__", {})
    culprits = [attribute for attribute, member in attributes.items() if _error(member) is not None]
    where = f": its attribute {', '.join(map(repr, culprits))}" if culprits else ""
    raise OptionError(
        f"{name} cannot be pickled to the tasks{where} ({type(error).__name__}: {error}). "
        "Make clients, locks and loops in open(), not in __init__",
        option="function",
    ) from error


def _error(value: Any) -> Exception | None:
    try:
        cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 - pickling runs the code of any class
        return error
    return None


def derived_id(function: Function, settings: AsyncSettings, columns: Sequence[str]) -> str:
    """Return the default of ``share_id``: the same for the same function, in each plan that is made of it.

    A function that holds other values is another one. Two that are equal may share a client and a cache.
    """
    pickled = cloudpickle.dumps((function, settings.cache, list(columns)))  # type: ignore[no-untyped-call]
    return hashlib.sha256(pickled).hexdigest()
