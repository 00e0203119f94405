"""Serves the board over HTTP, with waitress: the page, its files, and the view as JSON (WSGI).

Waitress needs no other library and no event loop: a notebook has one of its own, on the same threads.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from headwater.connector.program_arguments import cannot_listen, checked_port, checked_text
from headwater.core.imports import importing
from headwater.core.jsons import JsonObject
from headwater.tools.monitoring.board_view import ViewRequest

Answer: TypeAlias = tuple[HTTPStatus, list[tuple[str, str]], bytes]
"""Status, headers and body."""

_PAGE: Final = {
    "/": ("board.html", "text/html; charset=utf-8"),
    "/board.css": ("board.css", "text/css; charset=utf-8"),
    "/board.js": ("board.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_VIEW: Final = "/view"
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HEADERS: Final = (
    # Nothing from outside, nothing inline, in nobody's frame.
    ("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
)


class BoardApp:
    """Answers GET requests, and changes nothing. Called on threads of the server, several at once.

    Args:
        view: returns the present content of the page.
        token: the secret that a browser must send, once in the address and then as a cookie; None if there is
            none. Then only names of this host are answered: a page of the web whose name leads to 127.0.0.1
            is not.
    """

    def __init__(self, view: Callable[[ViewRequest], JsonObject], token: str | None) -> None:
        self._view = view
        self._token = token
        page = files(__package__).joinpath("page")
        self._page = {path: (page.joinpath(name).read_bytes(), kind) for path, (name, kind) in _PAGE.items()}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request (PEP 3333)."""
        status, headers, body = self._answer(environ)
        start_response(
            f"{status.value} {status.phrase}",
            [*headers, *_HEADERS, ("Content-Length", str(len(body)))],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _answer(self, environ: dict[str, Any]) -> Answer:
        parameters = dict(parse_qsl(environ.get("QUERY_STRING", "")))
        path = environ.get("PATH_INFO") or "/"
        refused = self._refusal(environ, parameters)
        if refused is not None:
            return refused
        if path == _VIEW:
            view = json.dumps(self._view(ViewRequest.parse(parameters)), default=str, allow_nan=False)
            return HTTPStatus.OK, [("Content-Type", "application/json")], view.encode()
        if path in self._page:
            body, kind = self._page[path]
            return HTTPStatus.OK, [("Content-Type", kind)], body
        return _told(HTTPStatus.NOT_FOUND, "no such page")

    def _refusal(self, environ: dict[str, Any], parameters: Mapping[str, str]) -> Answer | None:
        """Return the refusal of a request; None where the page is for it."""
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _told(HTTPStatus.METHOD_NOT_ALLOWED, "the board only shows", ("Allow", "GET, HEAD"))
        if self._token is None:
            if _host_name(environ) in _LOCAL_NAMES:
                return None
            return _told(HTTPStatus.FORBIDDEN, "without a token the board answers to localhost only")
        if self._is_token(parameters.get("token", "")):
            # The token leaves the address bar, and with it the history.
            cookie = f"{_cookie_name(environ)}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            return _told(HTTPStatus.SEE_OTHER, "", ("Location", "/"), ("Set-Cookie", cookie))
        if self._is_token(_cookie(environ)):
            return None
        return _told(HTTPStatus.FORBIDDEN, "open the address that the board gave, with its token")

    def _is_token(self, text: str) -> bool:
        return self._token is not None and hmac.compare_digest(text.encode(), self._token.encode())


def _told(status: HTTPStatus, message: str, *headers: tuple[str, str]) -> Answer:
    return status, [("Content-Type", "text/plain; charset=utf-8"), *headers], f"{message}\n".encode()


def _host_name(environ: Mapping[str, Any]) -> str:
    """Return by which name this host was asked for."""
    return re.sub(r":\d+$", "", environ.get("HTTP_HOST", "").lower())


def _cookie_name(environ: dict[str, Any]) -> str:
    # Cookies are shared by all ports of a host, and each board has its own token.
    return f"headwater-board-{environ['SERVER_PORT']}"


def _cookie(environ: dict[str, Any]) -> str:
    try:
        cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(_cookie_name(environ))
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


_THREADS: Final = 2
_CLOSE_S: Final = 5.0
_MOST_CONNECTIONS: Final = 500
"""Those that have sent half a request count too: beyond it the board takes none until one is closed."""
_SILENT_S: Final = 5
"""A connection on which nothing comes is closed after this time. Pages of the board ask once a second."""


class BoardServer:
    """The board's address, and the thread that answers there. It begins at once.

    Args:
        view: returns the present content of the page; called on threads of the server.
        host: the address to listen at.
        port: 0 for any that is free.
        token: the secret that a browser must send; None for none at an address of this host alone, else for a
            new one.

    Attributes:
        url: where a browser finds it, with the token if there is one.

    Raises:
        MissingDependencyError: waitress is not installed.
        OptionError: the port is taken, the host is not one of this machine, or one of the three is of another
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
            BoardApp(view, token),
            map=self._sockets,
            sockets=[listening],
            threads=_THREADS,
            ident=None,
            connection_limit=_MOST_CONNECTIONS,
            channel_timeout=_SILENT_S,
            cleanup_interval=1,
            asyncore_use_poll=True,
        )
        # Waitress warns when more requests wait than it has threads: a page asks once a second.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        display_host = f"[{host}]" if ":" in host else host
        bound_port = listening.getsockname()[1]
        self.url = f"http://{display_host}:{bound_port}/" + (f"?token={token}" if token else "")
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
        raise cannot_listen(error, host, port, "port") from error


def _is_local(host: str) -> bool:
    """Whether only this host can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
