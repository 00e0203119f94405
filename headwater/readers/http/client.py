"""One kept-alive connection at a time, GET only, with the standard library."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)

__all__ = ["HttpClient", "HttpResponse", "check_status"]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_OWN_HEADERS = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "headwater"}
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class HttpResponse:
    """An answer, read to its end. Names of headers are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Belongs to one thread. Connects late and keeps the connection.

    After a failure, which may be no more than that the server had closed a kept connection, the next request
    makes a new one.

    Args:
        headers: the user's, sent to ``hosts`` only: links and redirects may lead elsewhere, and headers may
            hold secrets.
        hosts: of the URLs that the user named.
        timeout_ms: for connecting, and for each read.
    """

    def __init__(self, headers: Mapping[str, str], hosts: Collection[str], timeout_ms: int) -> None:
        self._headers, self._hosts = headers, hosts
        self._timeout_s = timeout_ms / 1000
        self._connection: http.client.HTTPConnection | None = None
        self._origin: tuple[str, str] | None = None

    def get(self, url: str) -> HttpResponse:
        """Ask for a URL, following redirects.

        Raises:
            TransientSourceError: the server is away, or broke off.
            SourceError: it sends us round in circles, or to something that is no web page.
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
        connection, self._connection, self._origin = self._connection, None, None
        if connection is not None:
            connection.close()

    def interrupt(self) -> None:
        """Let a request that is under way fail. The only method that another thread calls."""
        connection = self._connection
        if connection is not None and (sock := connection.sock) is not None:
            with contextlib.suppress(OSError):  # closed meanwhile
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
        headers = {**_OWN_HEADERS, **(self._headers if parts.netloc in self._hosts else {})}
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
                    netloc, timeout=self._timeout_s, context=ssl.create_default_context()
                )
            else:
                self._connection = http.client.HTTPConnection(netloc, timeout=self._timeout_s)
            self._origin = (scheme, netloc)
        return self._connection


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
