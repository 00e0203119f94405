"""Requests that end in time: redirects, credentials, answers that are read whole, and the rate of a query.

Connections outlive tasks: a Python worker process keeps them from one micro-batch to the next.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from urllib3 import BaseHTTPResponse, Timeout
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.exceptions import TimeoutError as SocketTimeoutError
from urllib3.util import make_headers

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import CorruptRecordError, NoConnectionError, SourceError, TransientSourceError
from headwater.core.secrets import TlsSettings, lasting_tls_failure
from headwater.enumerators.http.origins import absolute, hidden, origin, with_parameters, without_parameters
from headwater.enumerators.http.split import PageCursor
from headwater.readers.connections import ConnectionPools, Exchange
from headwater.readers.http.codings import ACCEPTED, TooLargeError, decoded
from headwater.readers.http.credentials import Credentials
from headwater.readers.http.response import HttpResponse
from headwater.readers.http.settings import HttpSettings

_MOST_AGE_MS: Final = 60_000
"""A pool is made anew after this time: certificates that rotate are read then."""
_MOST: Final = 32


class IdlePools:
    """The pools of readers that have ended, for later readers of the process. Any thread.

    Without it each micro-batch would connect anew, and read all certificates, which takes longer than most
    requests. A connection that its server has closed meanwhile is noticed, and made again.

    Args:
        clock: time.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        # Each step is one operation of a dict or list, so no lock is needed, which a fork could leave held.
        self._kept: dict[TlsSettings, list[ConnectionPools]] = {}
        self._clock = clock or SystemClock()

    def borrow(self, tls: TlsSettings) -> ConnectionPools:
        """Return pools for one thread. Opens nothing."""
        idle = self._kept.setdefault(tls, [])
        while True:
            try:
                # The ones that came back last: their connections are the least likely to be closed.
                pools = idle.pop()
            except IndexError:
                return ConnectionPools(tls, self._clock.monotonic_ms())
            if self._is_young(pools):
                return pools
            pools.close()

    def give_back(self, pools: ConnectionPools) -> None:
        """Take pools back from a reader that has ended."""
        idle = self._kept.setdefault(pools.tls, [])
        if self._is_young(pools) and len(idle) < _MOST:
            idle.append(pools)
        else:
            pools.close()

    def clear(self) -> None:
        """Close all."""
        while self._kept:
            _, idle = self._kept.popitem()
            for pools in idle:
                pools.close()

    def _is_young(self, pools: ConnectionPools) -> bool:
        return self._clock.monotonic_ms() - pools.made_ms < _MOST_AGE_MS


POOLS: Final = IdlePools()
"""The idle pools of this process."""

# A child has its parent's connections, on which both would talk.
os.register_at_fork(after_in_child=POOLS.clear)


_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER: Final = 303
"""The page is elsewhere, and to be got from there, whatever the method was (RFC 9110, 15.4.4)."""
_MOST_REDIRECTS: Final = 5
_TLS_ALERT: Final = "BadStatusLine('\\x15\\x03"
_MOST_TOKEN_BYTES: Final = 1 << 20
_OWN_HEADERS: Final = {
    **make_headers(accept_encoding=ACCEPTED, user_agent="headwater"),
    "Accept": "application/json, application/x-ndjson;q=0.9, */*;q=0.1",
}
_BODY: Final = "body:"
_LEAST_S: Final = 0.001
"""Nothing is asked for in no time at all."""


class HttpClient:
    """Belongs to one thread. Connects with the first request, and keeps a connection for each host.

    Also beyond its end, for the next client with the same settings.

    Links and redirects may lead elsewhere than to the URLs that the user named. Credentials, the body and the
    certificate of this client are for their origins only: scheme, host and port.

    Args:
        settings: the user's settings.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._timeout_s = settings.timeout_ms / 1000
        self._until_s = 0.0
        self._pools = POOLS.borrow(settings.tls)
        self._credentials = Credentials(settings.credentials, self._post_form)
        self._exchange = Exchange()
        self._is_closed = False

    def ask(self, url: str, cursor: PageCursor | None = None) -> HttpResponse:
        """Ask for a page, following redirects.

        Args:
            url: of the page.
            cursor: goes into the body, where `PagingSettings.cursor_param` says so.

        Raises:
            TransientSourceError: the server is away, breaks off, or takes too long.
            CorruptRecordError: the answer cannot be decompressed, or is too large.
            AuthenticationError: no token is given out, or a certificate is not accepted.
            TokenLaterError: none is now.
            SourceError: redirects do not end, or lead nowhere; or a secret or certificate cannot be read in
                this process.
        """
        # Redirects, and a token that is to be got, are part of the request.
        self._until_s = time.monotonic() + self._timeout_s
        answer = self._followed(url, cursor)
        if answer.status == 401 and self._credentials.refused():
            answer = self._followed(url, cursor)
        return answer

    def servers(self, url: str) -> list[str]:
        """Return the origins that are asked for a page: its own, and that of a token which it needs first."""
        own = origin(url)
        others = self._credentials.token_servers if own in self._settings.origins else []
        return [own, *others]

    def close(self) -> None:
        """Give the connections back. Nothing is asked any more."""
        if not self._is_closed:
            self._is_closed = True
            POOLS.give_back(self._pools)

    def hidden(self, text: str) -> str:
        """Return a text without the secrets that were sent."""
        return self._credentials.hidden(hidden(text, self._settings.credentials.parameters))

    def interrupt(self) -> None:
        """Let a request that is under way fail. The only method that another thread calls."""
        self._exchange.break_off()

    def _followed(self, url: str, cursor: PageCursor | None) -> HttpResponse:
        at = url
        method = self._settings.method
        for _ in range(1 + _MOST_REDIRECTS):
            answer = self._ask_page(method, at, cursor)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                return answer
            try:
                target = absolute(at, location)
            except ValueError as error:
                raise SourceError(f"a redirect leads nowhere: {error}", source="http", split=url) from error
            at = without_parameters(target, self._settings.credentials.parameters)
            if answer.status == _SEE_OTHER:
                method = "GET"
        raise SourceError(f"more than {_MOST_REDIRECTS} redirects", source="http", split=url)

    def _ask_page(self, method: str, url: str, cursor: PageCursor | None) -> HttpResponse:
        if not self._settings.may_ask(url):
            raise SourceError(
                f"a link or a redirect leads to {origin(url)}, which option allowedHosts does not have",
                source="http",
                split=url,
            )
        if origin(url) not in self._settings.origins:
            return self._ask("GET", url, _OWN_HEADERS, None, display_url=url)
        own_headers, parameters = self._credentials.read()
        headers = {**_OWN_HEADERS, **own_headers}
        body = self._body(cursor) if method == self._settings.method else None
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        target = with_parameters(url, parameters)
        return self._ask(method, target, headers, body, display_url=url)

    def _ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        display_url: str,
        most_bytes: int | None = None,
    ) -> HttpResponse:
        most_bytes = self._settings.most_bytes if most_bytes is None else most_bytes
        manager = self._pools.manager(url, is_named=origin(url) in self._settings.origins)
        exchange = Exchange()
        self._exchange = exchange
        left_s = max(_LEAST_S, self._until_s - time.monotonic())
        try:
            with exchange.within(left_s):
                answer = manager.request(
                    method,
                    url,
                    body=body,
                    headers=headers,
                    redirect=False,
                    retries=False,
                    preload_content=False,
                    timeout=Timeout(connect=left_s, read=left_s),
                )
                content = _read(answer, most_bytes)
        except (HTTPError, http.client.HTTPException, OSError) as error:
            self._pools.close()
            self._check_lasting(error, display_url)
            raise self._no_answer(error, exchange, display_url) from None
        except (ValueError, UnicodeError) as error:
            # Its text may hold a header, which may be a secret.
            raise SourceError(
                f"the request cannot be written ({type(error).__name__}): look at headers and parameters",
                source="http",
                split=display_url,
            ) from None
        try:
            content = decoded(
                content, answer.headers.get("content-encoding", ""), most_bytes, display_url=display_url
            )
        except TooLargeError:
            self._pools.close()
            raise CorruptRecordError(
                f"the answer has more than {most_bytes} bytes (option maxPageBytes bounds pages): ask for "
                "smaller pages",
                source="http",
                split=display_url,
            ) from None
        return HttpResponse(display_url, answer.status, answer.headers, content)

    def _no_answer(self, error: Exception, exchange: Exchange, display_url: str) -> TransientSourceError:
        # Whichever comes first: the socket's limit is what was left of the request's.
        # A connection that is refused is a kind of time-out to urllib3.
        is_refused = isinstance(error, NewConnectionError)
        is_timeout = isinstance(error, SocketTimeoutError) and not is_refused
        is_late = exchange.is_broken_off or is_timeout
        took = f" within {self._settings.timeout_ms} ms" if is_late else ""
        reason = self.hidden(f"{type(error).__name__}: {error}")
        kind = NoConnectionError if is_refused and not exchange.is_broken_off else TransientSourceError
        return kind(f"no answer{took}: {reason}", source="http", split=display_url)

    def _check_lasting(self, error: Exception, display_url: str) -> None:
        """Return if a request may be answered later.

        Raises:
            AuthenticationError: a certificate is not accepted.
            SourceError: the port speaks another protocol.
        """
        failure = lasting_tls_failure(error)
        if failure is not None:
            kind, reason = failure
            hint = "see the options tlsCa (whose certificates are trusted), tlsCertificate and 'url'"
            raise kind(f"no connection: {reason}; {hint}", source="http", split=display_url) from None
        # An alert of TLS in the place of a status.
        if _TLS_ALERT in str(error):
            raise SourceError(
                "the server speaks TLS at this port: write https:// in option 'url'",
                source="http",
                split=display_url,
            ) from None

    def _body(self, cursor: PageCursor | None) -> bytes | None:
        body = self._settings.body
        if body is None:
            return None
        where = self._settings.paging.cursor_param or ""
        if cursor is None or not where.startswith(_BODY):
            return body.encode()
        whole = json.loads(body)
        *outer, last = where.removeprefix(_BODY).split(".")
        at = whole
        for name in outer:
            # What is null is an object now; that it is nothing else was checked with the options.
            at[name] = at.get(name) or {}
            at = at[name]
        at[last] = cursor
        return json.dumps(whole, ensure_ascii=False).encode()

    def _post_form(
        self, url: str, headers: Mapping[str, str], form: Sequence[tuple[str, str]]
    ) -> HttpResponse:
        all_headers = {**_OWN_HEADERS, "Content-Type": "application/x-www-form-urlencoded", **headers}
        content = urlencode(form).encode()
        return self._ask("POST", url, all_headers, content, display_url=url, most_bytes=_MOST_TOKEN_BYTES)


def _read(answer: BaseHTTPResponse, most_bytes: int) -> bytes:
    try:
        # Its codings are undone here: urllib3 takes one that breaks off for a whole one. And it compares the
        # length with the header only when a read finds nothing more.
        content = bytearray()
        while len(content) <= most_bytes:
            chunk = answer.read(most_bytes + 1 - len(content), decode_content=False)
            if not chunk:
                break
            content += chunk
    except BaseException:
        # What breaks off leaves its connection open.
        answer.close()
        raise
    answer.release_conn()
    return bytes(content)


class RequestRate:
    """The share of a task in the rate of its query. Any thread: all connections of a task share one.

    The tasks of an epoch begin one after the other, the last of them a whole interval after its start. So
    epochs that follow each other at once do not exceed the rate either. A batch read has one epoch: its first
    task begins at once.

    Args:
        requests_per_s: of the query; None for no limit.
        number: of the task.
        tasks: how many there are.
        has_epochs: whether another epoch may have ended just now.
    """

    def __init__(
        self, requests_per_s: float | None, *, number: int = 0, tasks: int = 1, has_epochs: bool = True
    ) -> None:
        self._interval_ms = 1000 * tasks / requests_per_s if requests_per_s else 0.0
        self._offset_ms = self._interval_ms * (number + has_epochs) / tasks
        self._lock = threading.Lock()
        self._next_ms: float | None = None

    def take(self, now_ms: float) -> float:
        """Reserve the next moment for one request, and return it."""
        with self._lock:
            if self._next_ms is None:
                self._next_ms = now_ms + self._offset_ms
            moment_ms = max(now_ms, self._next_ms)
            self._next_ms = moment_ms + self._interval_ms
            return moment_ms
