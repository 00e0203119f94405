"""Where a receiver and the tasks of its host meet: a private folder with a socket and a lock."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Final

from headwater.core.errors import SourceError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.local_files import make_private_folder
from headwater.readers.runtime.staging.receiver_task import ReceiverTask

_MOST_SOCKET_PATH: Final = 100
"""A Unix socket's path has room for little more."""
_PROTOCOL: Final = 2
"""One more whenever a receiver of an older headwater would not understand a task of a newer one."""
_SHORT: Final = Path("/tmp")  # noqa: S108 - the folder below it is private, and checked to be
_LOG_BYTES: Final = 4_000


class ReceiverPlace:
    """One folder for each receiver of a host, which only this user can enter.

    It holds the socket that the receiver listens at, the lock that the one receiver holds, its last words
    before it died, and which queries it was taken from.

    Args:
        task: of the receiver. Its queue has the place, whichever query reads it.
    """

    def __init__(self, task: ReceiverTask) -> None:
        self._query = task.query
        self._name = hashlib.sha256(dumps([_PROTOCOL, task.queue]).encode()).hexdigest()[:24]
        root = Path(tempfile.gettempdir())
        if len(str(self._folder(root) / "socket")) > _MOST_SOCKET_PATH:
            root = _SHORT
        self.folder = self._folder(root)
        self.lock = self.folder / "lock"
        self.log = self.folder / "log"
        self._socket = self.folder / "socket"
        self._note = self.folder / "taken-from"

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            SourceError: it cannot be made, or other users can enter it.
        """
        root = self.folder.parent
        try:
            # Who can enter it could ask the receiver, or pass for one.
            make_private_folder(root)
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise SourceError(f"no folder for a receiver can be made at {self.folder}: {error}") from error

    def listen(self) -> Listener:
        """Listen at the socket, in place of a receiver that died. Called with the lock held."""
        self._socket.unlink(missing_ok=True)
        return Listener(str(self._socket), "AF_UNIX")

    def connect(self) -> Connection | None:
        """Return a connection to the receiver; None if none listens."""
        with suppress(OSError):
            return Client(str(self._socket), "AF_UNIX")
        return None

    def taken_from(self) -> frozenset[str]:
        """Return the queries from which the one of this place took the queue, while they were at work."""
        with suppress(OSError, ValueError):
            note = json.loads(self._note.read_text())
            if note["by"] == self._query:
                return frozenset(note["from"])
        return frozenset()

    def give_to(self, query: str) -> None:
        """Note that another query takes the queue from the one of this place. Called with the lock held."""
        queries: list[JsonValue] = [*sorted(self.taken_from() | {self._query})]
        note: JsonValue = {"by": query, "from": queries}
        self._note.write_text(dumps(note))

    def last_words(self) -> str:
        """Return the end of a receiver's log."""
        with suppress(OSError):
            return self.log.read_bytes()[-_LOG_BYTES:].decode(errors="replace").strip()
        return ""

    def _folder(self, root: Path) -> Path:
        return root / f"headwater-{os.getuid()}-receivers" / self._name
