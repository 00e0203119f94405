"""Addresses of hosts: looked up on threads of their own, since the system's resolver takes no time limit."""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import Future
from typing import Any, Final, TypeAlias

from urllib3.util.connection import allowed_gai_family

Addresses: TypeAlias = list[tuple[Any, ...]]
"""As `socket.getaddrinfo` returns them."""


class Lookups:
    """Those that are under way. Any thread.

    A look-up that hangs keeps its thread until the system gives up, and no process alive. Who asks for the
    same host meanwhile waits for the same one: so there is one such thread for each host at the most.
    """

    def __init__(self) -> None:
        # Each step is one operation of the dict, so no lock is needed, which a fork could leave held.
        self._under_way: dict[tuple[str, int], Future[Addresses]] = {}

    def begin(self, host: str, port: int) -> Future[Addresses]:
        """Look a host up. Does not block.

        Returns:
            What will have its addresses, or an OSError, or a UnicodeError where it is no name of a host.
        """
        made: Future[Addresses] = Future()
        found = self._under_way.setdefault((host, port), made)
        if found is made:
            try:
                threading.Thread(
                    target=self._run, args=(host, port, made), name=f"look-up of {host}", daemon=True
                ).start()
            except RuntimeError:
                self._under_way.pop((host, port), None)
                raise
        return found

    def clear(self) -> None:
        """Forget those that are under way."""
        self._under_way.clear()

    def _run(self, host: str, port: int, made: Future[Addresses]) -> None:
        try:
            found = socket.getaddrinfo(host.strip("[]"), port, allowed_gai_family(), socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            self._under_way.pop((host, port), None)
            made.set_exception(error)
        else:
            self._under_way.pop((host, port), None)
            made.set_result(found)


LOOKUPS: Final = Lookups()
"""Those of this process."""

# A child has none of the threads that its parent waits for.
os.register_at_fork(after_in_child=LOOKUPS.clear)
