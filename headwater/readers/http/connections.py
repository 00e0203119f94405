"""Connections of urllib3 that another thread may break off, and how they are kept: per host and proxy."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import make_headers

from headwater.core.tls import TlsSettings

_UNDER_WAY: Final = threading.local()
"""The exchange of each thread: what connections tell which socket they use."""


class Exchange:
    """One request with its answer, which any thread may break off. Waits nowhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.is_broken_off = False

    def break_off(self) -> None:
        """Let the thread that asks fail soon, now or as soon as it is connected."""
        with self._lock:
            self.is_broken_off = True
            self._shut_down()

    def uses(self, used: socket.socket | None) -> None:
        """Note the socket of the connection."""
        with self._lock:
            self._socket = used
            if self.is_broken_off:
                self._shut_down()

    @contextlib.contextmanager
    def within(self, timeout_s: float) -> Iterator[None]:
        """Break off what this thread asks if it takes longer as a whole, however slowly it goes on."""
        timer = threading.Timer(timeout_s, self.break_off)
        timer.daemon = True
        timer.start()
        _UNDER_WAY.exchange = self
        try:
            yield
        finally:
            _UNDER_WAY.exchange = None
            timer.cancel()
            timer.join()
            # So that nobody breaks off what follows on the same connection.
            self.uses(None)

    def _shut_down(self) -> None:
        if self._socket is not None:
            # Not closed: closing frees the descriptor, and another socket may get its number while the other
            # thread still reads from it.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def _note(connection: HTTPConnection) -> None:
    exchange: Exchange | None = getattr(_UNDER_WAY, "exchange", None)
    if exchange is not None:
        exchange.uses(connection.sock)


class _PlainConnection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _note(self)

    def request(self, *args: Any, **options: Any) -> None:
        _note(self)
        super().request(*args, **options)


class _EncryptedConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        _note(self)

    def request(self, *args: Any, **options: Any) -> None:
        _note(self)
        super().request(*args, **options)


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _EncryptedPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _EncryptedConnection


class ConnectionPools:
    """The connections of one thread, kept for each host. Proxies are those of the environment.

    Args:
        tls: whom to trust, and who this client is.
        made_ms: the monotonic time now.
    """

    def __init__(self, tls: TlsSettings, made_ms: int) -> None:
        self.tls = tls
        self.made_ms = made_ms
        self._managers: dict[tuple[str | None, bool, bool], urllib3.PoolManager] = {}

    def manager(self, url: str, *, is_named: bool) -> urllib3.PoolManager:
        """Return what asks for a URL.

        Args:
            url: which.
            is_named: whether the user named its origin: only then this client shows its certificate.

        Raises:
            SourceError: a certificate cannot be read on this host.
        """
        proxy = _proxy(url)
        # Certificates are read only where they count: that takes longer than a request.
        is_encrypted = url.startswith("https:") or (proxy or "").startswith("https:")
        key = (proxy, is_encrypted, is_named)
        if key not in self._managers:
            self._managers[key] = self._made(
                proxy, self._context(is_named=is_named) if is_encrypted else None
            )
        return self._managers[key]

    def close(self) -> None:
        """Close every connection."""
        for manager in self._managers.values():
            manager.clear()
        self._managers.clear()

    def _context(self, *, is_named: bool) -> ssl.SSLContext:
        return (self.tls if is_named else replace(self.tls, certificate=None, key=None)).context()

    def _made(self, proxy: str | None, context: ssl.SSLContext | None) -> urllib3.PoolManager:
        if proxy is None:
            manager = urllib3.PoolManager(ssl_context=context)
        else:
            parts = urlsplit(proxy)
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
            headers = make_headers(proxy_basic_auth=login) if login else None
            manager = urllib3.ProxyManager(proxy, proxy_headers=headers, ssl_context=context)
        manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _EncryptedPool}
        return manager


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a URL, None if it is asked directly."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
