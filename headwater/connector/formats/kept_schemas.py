"""The schemas of a registry that a frame was made of: kept with it, so that its columns stay what they are.

Spark makes a reader of a stream twice, in two processes, the second time when the first batch has rows: that
may be hours later. Both must come to the same columns, whatever the registry has by then, and if it is away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from headwater.readers.formats.registry.client import RegisteredSchema

Question: TypeAlias = tuple[str, str, bool]
"""A subject, a version such as ``latest``, and whether Protobuf is asked for as its descriptor."""
KeptSchemas: TypeAlias = "dict[Question, RegisteredSchema]"

_KEPT: ContextVar[KeptSchemas | None] = ContextVar("kept_schemas", default=None)


@contextmanager
def keeping(kept: KeptSchemas) -> Iterator[None]:
    """Take what is kept in place of asking for it, and keep what is asked for, until the end of the block."""
    before = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(before)


def kept_or_asked(question: Question, ask: Callable[[], RegisteredSchema]) -> RegisteredSchema:
    """Return the answer to a question, which is asked once for each frame."""
    kept = _KEPT.get()
    if kept is None:
        return ask()
    if question not in kept:
        kept[question] = ask()
    return kept[question]
