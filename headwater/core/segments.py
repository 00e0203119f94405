"""Segments: objects in a state store that never change, named after what they hold.

A segment that is written twice is the same object. So a writer that is repeated after a crash leaves nothing
behind, and a name in a checkpoint always leads to the bytes that it was made for.
"""

from __future__ import annotations

import hashlib

from headwater.core.errors import StateLocationError
from headwater.core.state_store import StateStore

_DIGEST_BYTES = 12


def segment_name(prefix: str, data: bytes) -> str:
    """Return the name of a segment: a prefix that the owner chooses, and a digest of what it holds."""
    return f"{prefix}{hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()}"


def put_segment(store: StateStore, folder: str, name: str, data: bytes) -> None:
    """Keep a segment; return once it is durable.

    What names it is written after this: no checkpoint ever names a segment that is not there.

    Args:
        store: the state location.
        folder: where the owner keeps its segments.
        name: what `segment_name` returned.
        data: what it holds.
    """
    store.put_if_absent(f"{folder}/{name}", data)


def get_segment(store: StateStore, folder: str, name: str) -> bytes | None:
    """Return what a segment holds, None if it is not there.

    Raises:
        StateLocationError: it was cut short or changed.
    """
    data = store.get(f"{folder}/{name}")
    digest = name[-2 * _DIGEST_BYTES :]
    if data is not None and segment_name("", data) != digest:
        raise StateLocationError(
            f"{folder}/{name} is cut short or was changed ({len(data)} bytes): restore stateLocation from "
            "the backup that was taken with the checkpoint",
            location=str(store),
        )
    return data
