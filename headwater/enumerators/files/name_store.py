"""Names of read files that do not fit into the offset, at ``stateLocation``."""

from __future__ import annotations

from collections.abc import Collection

from headwater.core.errors import OffsetError
from headwater.core.state_store import StateStore
from headwater.enumerators.files.names import NameSegment, segment_of

_FOLDER = "files-seen"


class NameStore:
    """Segments of names, as objects that are named after their content.

    So a segment that is written twice is the same object, and a replayed batch never reads another one.

    Every method blocks, and is called on the coordinator's worker thread, one call at a time.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._known: set[str] = set()

    def write(self, data: bytes) -> NameSegment:
        """Keep packed names; return once they are durable.

        The batch is logged after this: no checkpoint ever names a segment that is not there.
        """
        segment = segment_of(data)
        self._store.put_if_absent(f"{_FOLDER}/{segment.name}", data)
        self._known.add(segment.name)
        return segment

    def read(self, name: str, newest_ms: int) -> NameSegment:
        """Return a segment that a checkpoint names.

        Raises:
            OffsetError: it is not there: without it files would be read twice.
        """
        data = self._store.get(f"{_FOLDER}/{name}")
        if data is None:
            raise OffsetError(
                f"the checkpoint needs {_FOLDER}/{name} at the stateLocation, and it is not there: give the "
                "stateLocation that the query began with"
            )
        self._known.add(name)
        return NameSegment(name, newest_ms, data)

    def prune(self, needed: Collection[str]) -> None:
        """Delete what this process wrote or read and what a committed checkpoint needs no more.

        Other queries may use the same folder: what this process does not know stays.
        """
        for name in self._known.difference(needed):
            self._store.delete(f"{_FOLDER}/{name}")
        self._known.intersection_update(needed)
