"""Serves the board over HTTP, with waitress.

Waitress needs no other library and no event loop: a notebook has one of its own, on the same threads.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from headwater.connector.program_arguments import checked_port, checked_text
from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.core.jsons import JsonObject
from headwater.tools.monitoring.board_app import BoardApp
from headwater.tools.monitoring.board_view import ViewRequest

_THREADS: Final = 2
_CLOSE_S: Final = 5.0


class BoardServer:
    """The board's address, and the thread that answers there. It begins at once.

    Args:
        view: returns what the page shows now; called on threads of the server.
        host: the address to listen at.
        port: 0 for any that is free.
        token: what a browser must show; None for none at an address of this host alone, else for a new one.

    Attributes:
        url: where a browser finds it, with the token if there is one.

    Raises:
        MissingDependencyError: waitress is not installed.
        OptionError: the port is taken, the host is none of this machine, or one of the three is of another
            type.
    """

    def __init__(
        self, view: Callable[[ViewRequest], JsonObject], *, host: str, port: int, token: str | None
    ) -> None:
        with importing("the board", extra="board", everywhere=False):
            from waitress import wasyncore
            from waitress.server import create_server
        checked_text(host, "host")
        checked_port(port, "port")
        if token is not None:
            checked_text(token, "token")
        elif not _is_local(host):
            token = secrets.token_urlsafe(24)
        listening = _listening(host, port)
        # Every socket that the server waits for: closing them ends its loop.
        self._sockets: dict[int, Any] = {}
        self._close_all = wasyncore.close_all
        self._server = create_server(
            BoardApp(view, token), map=self._sockets, sockets=[listening], threads=_THREADS, ident=None
        )
        # Waitress warns when more requests wait than it has threads: a page asks once a second.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        shown = f"[{host}]" if ":" in host else host
        bound_port = listening.getsockname()[1]
        self.url = f"http://{shown}:{bound_port}/" + (f"?token={token}" if token else "")
        self._thread = threading.Thread(target=self._server.run, name="headwater-board", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more. Idempotent; from any thread."""
        if self._thread.is_alive():
            # On the loop's own thread: it may just be waiting for these sockets. One that wakes by itself
            # may have closed them, the trigger too, before it is pulled.
            with suppress(OSError):
                self._server.trigger.pull_trigger(lambda: self._close_all(self._sockets))
            self._thread.join(_CLOSE_S)
            self._server.task_dispatcher.shutdown()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        said = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        raise OptionError(
            f"cannot listen at {host}, port {port}: {said}. Give another port, or 0 for any that is free",
            option="port",
        ) from error


def _is_local(host: str) -> bool:
    """Whether only this host can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
