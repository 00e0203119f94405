"""Connections of urllib3 that another thread may break off, and how they are kept: per host and proxy."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
)
from urllib3.util import make_headers
from urllib3.util.connection import allowed_gai_family

from headwater.core.secrets import TlsSettings

Addresses: TypeAlias = list[tuple[Any, ...]]
"""As `socket.getaddrinfo` returns them."""


class Lookups:
    """Look-ups of hosts that are under way. Any thread.

    They run on threads of their own, since the system's resolver takes no time limit.

    A look-up that hangs keeps its thread until the system gives up, and no process alive. Who asks for the
    same host meanwhile waits for the same one: so there is one such thread for each host at the most.
    """

    def __init__(self) -> None:
        # Each step is one operation of the dict, so no lock is needed, which a fork could leave held.
        self._under_way: dict[tuple[str, int], Future[Addresses]] = {}

    def begin(self, host: str, port: int) -> Future[Addresses]:
        """Look a host up. Does not block.

        Returns:
            A future of its addresses, or of an OSError, or of a UnicodeError where it is no name of a host.
        """
        own: Future[Addresses] = Future()
        current = self._under_way.setdefault((host, port), own)
        if current is own:
            try:
                threading.Thread(
                    target=self._run, args=(host, port, own), name=f"look-up of {host}", daemon=True
                ).start()
            except RuntimeError:
                self._under_way.pop((host, port), None)
                raise
        return current

    def clear(self) -> None:
        """Forget all of them."""
        self._under_way.clear()

    def _run(self, host: str, port: int, future: Future[Addresses]) -> None:
        try:
            addresses = socket.getaddrinfo(host.strip("[]"), port, allowed_gai_family(), socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            self._under_way.pop((host, port), None)
            future.set_exception(error)
        else:
            self._under_way.pop((host, port), None)
            future.set_result(addresses)


LOOKUPS: Final = Lookups()
"""The look-ups of this process."""

# A child has none of the threads that its parent waits for.
os.register_at_fork(after_in_child=LOOKUPS.clear)


_LEAST_S: Final = 0.001
"""A time limit of nothing would be none."""
_UNDER_WAY: Final = threading.local()
"""The exchange of each thread: connections tell it their socket."""


class Exchange:
    """One request with its answer, which any thread may break off. Waits nowhere but in `connected`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._until_s = math.inf
        self._broken_off: Future[None] = Future()

    @property
    def is_broken_off(self) -> bool:
        """Whether it failed, or will soon, because it was broken off."""
        return self._broken_off.done()

    def break_off(self) -> None:
        """Let the thread that asks fail soon, now or as soon as it is connected."""
        with self._lock:
            if not self._broken_off.done():
                self._broken_off.set_result(None)
            self._shut_down()

    def uses(self, connection: socket.socket | None) -> None:
        """Note the socket of the connection."""
        with self._lock:
            self._socket = connection
            if self.is_broken_off:
                self._shut_down()

    @contextlib.contextmanager
    def within(self, timeout_s: float) -> Iterator[None]:
        """Break off the request of this thread if it takes longer as a whole, however slowly it goes on.

        Raises:
            TimeoutError: it was broken off. Where the end of an answer is that of its connection, nothing
                else tells what was broken off from what is whole.
        """
        self._until_s = time.monotonic() + timeout_s
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
        if self.is_broken_off:
            raise TimeoutError("the request was broken off")

    def connected(self, host: str, port: int, options: Iterable[Any]) -> socket.socket:
        """Return a socket that is connected to a host, with the time that is left as its limit.

        Args:
            host: as a URL names it.
            port: of the host.
            options: of the socket.

        Raises:
            OSError: the host is not known or not there, or this was broken off.
            UnicodeError: this is no name of a host.
        """
        lookup = LOOKUPS.begin(host, port)
        either: list[Future[Any]] = [lookup, self._broken_off]
        wait(either, return_when=FIRST_COMPLETED)
        if not lookup.done():
            raise TimeoutError(f"the look-up of the name {host} hangs")
        addresses = lookup.result()
        for number, (family, kind, protocol, _, address) in enumerate(addresses, 1):
            connection = socket.socket(family, kind, protocol)
            try:
                for option in options:
                    connection.setsockopt(*option)
                # Addresses that do not answer leave time for those behind them.
                connection.settimeout(self._left_s() / (1 + len(addresses) - number))
                self.uses(connection)
                connection.connect(address)
                connection.settimeout(self._left_s())
            except OSError:
                self.uses(None)
                connection.close()
                if number == len(addresses) or self.is_broken_off:
                    raise
            else:
                return connection
        raise OSError(f"{host} has no address")

    def _left_s(self) -> float:
        return max(_LEAST_S, self._until_s - time.monotonic())

    def _shut_down(self) -> None:
        if self._socket is not None:
            # Not closed: closing frees the descriptor, and another socket may get its number while the other
            # thread still reads from it.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _PlainConnection(HTTPConnection):
    """Connects within an exchange, and tells it which socket it uses."""

    def _new_conn(self) -> socket.socket:
        assert self.port is not None
        exchange: Exchange = _UNDER_WAY.exchange
        try:
            return exchange.connected(self._dns_host, self.port, self.socket_options or ())
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            raise ConnectTimeoutError(self, f"no connection to {self.host}: {error}") from error
        except OSError as error:
            raise NewConnectionError(self, f"no connection to {self.host}: {error}") from error
        except UnicodeError:
            raise LocationParseError(f"{self.host!r} is no name of a host") from None

    def connect(self) -> None:
        super().connect()
        self._tell()

    def request(self, *args: Any, **options: Any) -> None:
        self._tell()
        super().request(*args, **options)

    def _tell(self) -> None:
        exchange: Exchange | None = getattr(_UNDER_WAY, "exchange", None)
        if exchange is not None:
            exchange.uses(self.sock)


class _EncryptedConnection(_PlainConnection, HTTPSConnection):
    pass


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _EncryptedPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _EncryptedConnection


def bounded(manager: urllib3.PoolManager) -> urllib3.PoolManager:
    """Let the requests of a pool belong to the exchange of the thread that makes them; return the pool."""
    manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _EncryptedPool}
    return manager


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
        """Return the pool for a URL.

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
            return bounded(urllib3.PoolManager(ssl_context=context))
        parts = urlsplit(proxy)
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
        headers = make_headers(proxy_basic_auth=login) if login else None
        return bounded(urllib3.ProxyManager(proxy, proxy_headers=headers, ssl_context=context))


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a URL, None if it is asked directly."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
