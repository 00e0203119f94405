"""Connections that outlive tasks: a Python worker process keeps them from one micro-batch to the next."""

from __future__ import annotations

import os
from typing import Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.tls import TlsSettings
from headwater.readers.http.connections import ConnectionPools

_MOST_AGE_MS: Final = 60_000
"""Certificates are read when a pool is made: those that rotate count after so long at the latest."""
_MOST: Final = 32


class KeptPools:
    """The pools of readers that have ended, for those that come. Any thread.

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
        kept = self._kept.setdefault(tls, [])
        while True:
            try:
                # The ones that came back last: their connections are the least likely to be closed.
                pools = kept.pop()
            except IndexError:
                return ConnectionPools(tls, self._clock.monotonic_ms())
            if self._is_young(pools):
                return pools
            pools.close()

    def give_back(self, pools: ConnectionPools) -> None:
        """Take pools back that nobody uses any more."""
        kept = self._kept.setdefault(pools.tls, [])
        if self._is_young(pools) and len(kept) < _MOST:
            kept.append(pools)
        else:
            pools.close()

    def clear(self) -> None:
        """Close all."""
        while self._kept:
            _, kept = self._kept.popitem()
            for pools in kept:
                pools.close()

    def _is_young(self, pools: ConnectionPools) -> bool:
        return self._clock.monotonic_ms() - pools.made_ms < _MOST_AGE_MS


POOLS: Final = KeptPools()
"""Those of this process."""

# A child has its parent's connections, on which both would talk.
os.register_at_fork(after_in_child=POOLS.clear)
