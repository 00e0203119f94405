"""GET requests over one connection that is kept alive, with the standard library."""

from __future__ import annotations

import contextlib
import functools
import http.client
import socket
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urljoin, urlsplit

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.secrets import resolved_secret
from headwater.readers.http.settings import HttpSettings

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 5
_OWN_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "headwater"}
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class HttpResponse:
    """An answer, read to its end.

    Attributes:
        url: which was answered, after redirects.
        status: as a number.
        headers: their names in lower case.
        body: decompressed.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Belongs to one thread. Connects with the first request, and keeps the connection.

    After a failure the next request makes a new one: the server may just have closed a connection that was
    kept for long.

    Links and redirects may lead elsewhere than to the hosts of the URLs that the user named: headers, which
    may hold secrets, and the certificate of this client are for those hosts only.

    Args:
        settings: what the user says.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._timeout_s = settings.timeout_ms / 1000
        self._connection: http.client.HTTPConnection | None = None
        self._origin: tuple[str, str] | None = None

    def get(self, url: str) -> HttpResponse:
        """Ask for a URL, following redirects.

        Raises:
            TransientSourceError: the server is away, or broke off.
            SourceError: redirects do not end, or lead to something other than http or https; or a secret or
                certificate cannot be read in this process.
        """
        at = url
        for _ in range(1 + _MOST_REDIRECTS):
            answer = self._ask(at)
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return answer
            at = urljoin(at, answer.headers["location"])
        raise SourceError(f"more than {_MOST_REDIRECTS} redirects", source="http", split=url)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._origin = None

    def interrupt(self) -> None:
        """Let a request that is under way fail. The only method that another thread calls."""
        # Read once: the thread of the requests may replace the connection, or close its socket, at any time.
        connection = self._connection
        sock = None if connection is None else connection.sock
        if sock is not None:
            # Shut down, not closed: closing frees the descriptor, and another socket may get its number while
            # the other thread still reads from it.
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _ask(self, url: str) -> HttpResponse:
        try:
            return self._ask_once(url)
        except (OSError, http.client.HTTPException, zlib.error) as error:
            self.close()
            raise TransientSourceError(
                f"no answer: {type(error).__name__}: {error}", source="http", split=url
            ) from error

    def _ask_once(self, url: str) -> HttpResponse:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"}:
            raise SourceError(
                f"a link leads to {url[:200]!r}, which is no http:// or https:// URL",
                source="http",
                split=url,
            )
        headers = {**_OWN_HEADERS, **(self._headers if parts.netloc in self._settings.hosts else {})}
        connection = self._connected(parts.scheme, parts.netloc)
        connection.request(
            "GET", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", headers=headers
        )
        with connection.getresponse() as response:
            body = response.read()
            found = {name.lower(): value for name, value in response.getheaders()}
        if found.get("content-encoding", "").lower() == "gzip":
            body = zlib.decompress(body, wbits=31)
        return HttpResponse(url, response.status, found, body)

    def _connected(self, scheme: str, netloc: str) -> http.client.HTTPConnection:
        if self._connection is None or self._origin != (scheme, netloc):
            self.close()
            if scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    netloc,
                    timeout=self._timeout_s,
                    context=self._context(is_named=netloc in self._settings.hosts),
                )
            else:
                self._connection = http.client.HTTPConnection(netloc, timeout=self._timeout_s)
            self._origin = (scheme, netloc)
        return self._connection

    @functools.cached_property
    def _headers(self) -> Mapping[str, str]:
        written = self._settings.headers
        return {name: resolved_secret(value, f"option 'header.{name}'") for name, value in written.items()}

    def _context(self, *, is_named: bool) -> ssl.SSLContext:
        tls = self._settings.tls
        return (tls if is_named else replace(tls, certificate=None, key=None)).context()


def check_status(answer: HttpResponse) -> None:
    """Return if the answer holds what was asked for.

    Raises:
        TransientSourceError: overloaded, or failing for the moment.
        AuthenticationError, AuthorizationError, UnknownSplitError, SourceError: what the status says.
    """
    if answer.status == 200:
        return
    text = f"HTTP {answer.status}: {answer.body[:200].decode(errors='replace')!r}"
    if answer.status in _TRANSIENT:
        raise TransientSourceError(text, source="http", split=answer.url)
    if answer.status == 401:
        raise AuthenticationError(f"{text}; set option header.Authorization", source="http", split=answer.url)
    if answer.status == 403:
        raise AuthorizationError(text, source="http", split=answer.url)
    if answer.status in {404, 410}:
        raise UnknownSplitError(text, source="http", split=answer.url)
    raise SourceError(text, source="http", split=answer.url)
