"""Arguments of headwater's functions beside options: one check for each kind of thing.

Without it a slip comes to light inside headwater or Spark, as a missing attribute that says nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from headwater.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN: Final = (str, int, float, type(None))
"""Types of values that messages show; of others the type, since they may be long."""
_SHOWN_CHARS: Final = 60


def checked_session(value: object) -> SparkSession:
    """Return the argument ``spark``: a session, classic or of Spark Connect, that runs.

    Raises:
        OptionError: it is something else, or was stopped.
    """
    if not _has(value, "dataSource"):
        hint = ": call .getOrCreate() of it" if _has(value, "getOrCreate") else ""
        raise misfit("spark", "a SparkSession, such as hw.session() returns", value, hint)
    context = getattr(value, "_sc", None)
    is_classic_stopped = context is not None and getattr(context, "_jsc", True) is None
    if is_classic_stopped or getattr(value, "is_stopped", False) is True:
        raise OptionError("was stopped: make another session, with hw.session()", option="spark")
    return value  # type: ignore[return-value]


def checked_frame(value: object) -> DataFrame:
    """Return the argument ``df``: a frame, classic or of Spark Connect. As `checked_session` otherwise."""
    if not _has(value, "mapInArrow"):
        raise misfit("df", "a DataFrame of Spark", value)
    return value  # type: ignore[return-value]


def checked_mapping(value: object, argument: str) -> Mapping[str, Any]:
    """Return a mapping whose keys are texts. As `checked_session` otherwise."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise misfit(argument, "a dict with texts as keys", value)
    return value


def checked_port(value: object, argument: str) -> int:
    """Return the number of a port; 0 stands for any that is free. As `checked_session` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 65535:
        raise misfit(argument, "a whole number from 0 to 65535", value)
    return value


def cannot_listen(error: OSError, host: str, port: int, argument: str) -> OptionError:
    """Return what is wrong where a server cannot listen: the host, or the port, whose argument is named."""
    number = error.errno or 0
    # Numbers below 0 are those of the look-up of a name.
    if number < 0 or number == errno.EADDRNOTAVAIL:
        return OptionError(f"{host!r} is no address of this host", option="host")
    reason = os.strerror(number) if number else error
    return OptionError(
        f"cannot listen at {host}, port {port}: {reason}. Give another port, or 0 for any that is free",
        option=argument,
    )


def checked_text(value: object, argument: str) -> str:
    """Return a text that is not empty. As `checked_session` otherwise."""
    if not isinstance(value, str) or not value.strip():
        raise misfit(argument, "a text", value)
    return value


def checked_names(value: object, argument: str) -> Sequence[str]:
    """Return a list of names, one at least. As `checked_session` otherwise."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        names: Sequence[str] = value
        if names and all(isinstance(name, str) for name in names):
            return names
    raise misfit(argument, "a list of names, one at least", value)


def misfit(argument: str, expected: str, value: object, hint: str = "") -> OptionError:
    """Return the error of a value that an argument does not take.

    Args:
        argument: its name.
        expected: the accepted values.
        value: the argument.
        hint: the remedy, where there is a better one.
    """
    return OptionError(f"must be {expected}, not {_shown(value)}{hint}", option=argument)


def _has(value: object, name: str) -> bool:
    """Whether the class of a value has an attribute. Frames make columns of those that they do not have."""
    return hasattr(value.__class__, name)


def _shown(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    written = repr(value)
    if isinstance(value, _SHOWN) and len(written) <= _SHOWN_CHARS:
        return written
    return f"a value of the type {value.__class__.__name__}"
