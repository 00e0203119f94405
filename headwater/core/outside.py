"""Calls of code that a user wrote.

What it raises becomes an error of the tree, and what it returns is looked at before anybody relies on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headwater.core.errors import ContractError, HeadwaterError, SourceError, TransientSourceError
from headwater.core.jsons import JsonValue, dumps

__all__ = ["MOST_ENUMERATOR_STATE_BYTES", "MOST_POSITION_BYTES", "check_json", "outside"]

MOST_POSITION_BYTES: Final = 16 << 10
"""What a position, or what is known of a split, may have as JSON: each is in every offset."""

MOST_ENUMERATOR_STATE_BYTES: Final = 4 << 20
"""What the state of an enumerator may have as JSON."""


@contextmanager
def outside(call: str, *, source: str, split: str | None = None, position: object = None) -> Iterator[None]:
    """Wrap a call of a user's method.

    Args:
        call: the method, for messages: ``Orders.discover``.
        source: the source's name.
        split: the split's id, where one is concerned.
        position: the next record, where one is concerned.

    Raises:
        TransientSourceError: for ``ConnectionError`` and ``TimeoutError``.
        SourceError: for everything else that is no `HeadwaterError`.
    """
    try:
        yield
    except HeadwaterError:
        raise
    except (ConnectionError, TimeoutError) as error:
        raise TransientSourceError(
            f"{call}: {type(error).__name__}: {error}", source=source, split=split, position=position
        ) from error
    except Exception as error:
        raise SourceError(
            f"{call} failed: {type(error).__name__}: {error}", source=source, split=split, position=position
        ) from error


def check_json(value: JsonValue, what: str, most_bytes: int = MOST_POSITION_BYTES) -> None:
    """Return if a value is JSON and small.

    Raises:
        ContractError: it is not; ``what`` names it, with its contract and split.
    """
    try:
        text = dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"{what} must be JSON: {error}") from error
    if len(text) > most_bytes:
        raise ContractError(
            f"{what} has {len(text)} characters as JSON, and may have {most_bytes}: it is written with every batch"
        )
