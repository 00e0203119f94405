"""Calls of code that a user wrote: its errors become errors of the tree, and its JSON is checked."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Final

from headwater.core.errors import (
    EVERYWHERE,
    ContractError,
    HeadwaterError,
    NoConnectionError,
    SourceError,
    TransientSourceError,
)
from headwater.core.jsons import JsonValue, dumps

MOST_POSITION_BYTES: Final = 16 << 10
"""The most that a position, or the info of a split, may have as JSON: each offset holds all of them."""

MOST_ENUMERATOR_STATE_BYTES: Final = 4 << 20
"""The most that the state of an enumerator may have as JSON."""


_HEADWATER: Final = str(Path(__file__).resolve().parent.parent)
_LIBRARIES: Final = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


@contextmanager
def outside(call: str, *, source: str, split: str | None = None, position: object = None) -> Iterator[None]:
    """Wrap a call of a user's method.

    Errors that headwater raised pass through as they are.

    Args:
        call: the method, for messages: ``Orders.discover``.
        source: the source's name.
        split: the split's id, where one is concerned.
        position: the next record, where one is concerned.

    Raises:
        NoConnectionError: the method raised a ``ConnectionRefusedError``.
        TransientSourceError: it raised another ``ConnectionError`` or a ``TimeoutError``.
        SourceError: it raised any other ``Exception``.
    """
    try:
        yield
    except HeadwaterError:
        raise
    except (ConnectionError, TimeoutError) as error:
        kind = NoConnectionError if isinstance(error, ConnectionRefusedError) else TransientSourceError
        raise kind(
            f"{call}: {type(error).__name__}: {error}{place_of(error)}",
            source=source,
            split=split,
            position=position,
        ) from error
    except Exception as error:
        raise SourceError(
            f"{call} failed: {type(error).__name__}: {error}{place_of(error)}{_python(error)}",
            source=source,
            split=split,
            position=position,
        ) from error


def place_of(error: BaseException) -> str:
    """Return where the code of the user was: the file, the line and the function, for the end of a message.

    Spark shows no cause of an error, so without it the place would be lost. It is the innermost frame of code
    that was not installed: below it are libraries.
    """
    frames = [
        (frame.f_code, line)
        for frame, line in walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith((_HEADWATER, "<frozen"))
    ]
    own = [place for place in frames if not place[0].co_filename.startswith(_LIBRARIES)]
    if not frames:
        return ""
    code, line = (own or frames)[-1]
    return f", at {Path(code.co_filename).name}:{line} in {code.co_name}"


def _python(error: Exception) -> str:
    """Return which Python lacks the module that is missing: those of driver and executors may differ."""
    return f", in {sys.executable}{EVERYWHERE}" if isinstance(error, ModuleNotFoundError) else ""


def check_json(value: JsonValue, what: str, most_bytes: int = MOST_POSITION_BYTES) -> None:
    """Return if a value is JSON, and small.

    Args:
        value: the value.
        what: its name in the error, with its contract and split.
        most_bytes: how long it may be.

    Raises:
        ContractError: it is not.
    """
    try:
        text = dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"{what} must be JSON: {error}") from error
    if len(text) > most_bytes:
        raise ContractError(
            f"{what} has {len(text)} characters as JSON, and may have {most_bytes}: it is written with "
            "every batch"
        )
