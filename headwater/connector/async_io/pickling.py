"""What is pickled to the tasks: checked before Spark does it, to name what cannot be."""

from __future__ import annotations

from typing import Any

from pyspark import cloudpickle

from headwater.core.errors import OptionError


def check_picklable(value: Any, name: str) -> None:
    """Pickle a value as Spark will, before Spark does, to name what cannot be pickled.

    Args:
        value: the function, or a setting.
        name: what the user calls it.

    Raises:
        OptionError: it cannot be pickled; names the attribute that cannot.
    """
    error = _error(value)
    if error is None:
        return
    attributes = getattr(value, "__dict__", {})
    culprits = [attribute for attribute, held in attributes.items() if _error(held) is not None]
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
