"""The board's three answers: the page, what it is made of, and what it shows now. A WSGI application."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

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
        view: returns what the page shows now.
        token: what a browser must show, once in the address and then as a cookie; None if there is none.
            Then only names of this host are answered: a page of the web whose name leads to 127.0.0.1 is not.
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
        given = dict(parse_qsl(environ.get("QUERY_STRING", "")))
        path = environ.get("PATH_INFO") or "/"
        refused = self._refusal(environ, given)
        if refused is not None:
            return refused
        if path == _VIEW:
            view = json.dumps(self._view(ViewRequest.parse(given)), default=str, allow_nan=False)
            return HTTPStatus.OK, [("Content-Type", "application/json")], view.encode()
        if path in self._page:
            body, kind = self._page[path]
            return HTTPStatus.OK, [("Content-Type", kind)], body
        return _told(HTTPStatus.NOT_FOUND, "no such page")

    def _refusal(self, environ: dict[str, Any], given: Mapping[str, str]) -> Answer | None:
        """Return what to answer where the page is not for this request; None where it is."""
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _told(HTTPStatus.METHOD_NOT_ALLOWED, "the board only shows", ("Allow", "GET, HEAD"))
        if self._token is None:
            if _host_name(environ) in _LOCAL_NAMES:
                return None
            return _told(HTTPStatus.FORBIDDEN, "without a token the board answers to localhost only")
        if self._is_token(given.get("token", "")):
            # The token leaves the address bar, and with it the history.
            cookie = f"{_cookie_name(environ)}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            return _told(HTTPStatus.SEE_OTHER, "", ("Location", "/"), ("Set-Cookie", cookie))
        if self._is_token(_cookie(environ)):
            return None
        return _told(HTTPStatus.FORBIDDEN, "open the address that the board gave, with its token")

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def _told(status: HTTPStatus, told: str, *headers: tuple[str, str]) -> Answer:
    return status, [("Content-Type", "text/plain; charset=utf-8"), *headers], f"{told}\n".encode()


def _host_name(environ: Mapping[str, Any]) -> str:
    """Return by which name this host was asked for."""
    return re.sub(r":\d+$", "", environ.get("HTTP_HOST", "").lower())


def _cookie_name(environ: dict[str, Any]) -> str:
    # Cookies are shared by all ports of a host, and each board has its own token.
    return f"headwater-board-{environ['SERVER_PORT']}"


def _cookie(environ: dict[str, Any]) -> str:
    try:
        found = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(_cookie_name(environ))
    except CookieError:
        return ""
    return "" if found is None else found.value
