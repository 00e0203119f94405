"""A real HTTP service on a thread of the test: slow, failing, hanging or throttling, as each request asks.

And it counts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

from aiohttp import web

from tests.patience import PATIENCE_S

__all__ = ["SlowService"]


class SlowService:
    """``GET /{behaviour}/{key}`` answers ``{"key": ..., "name".

    ...}`` in a few milliseconds, or as the behaviour says.

    ``fail``: status 500, always. ``flaky``: status 503 for the first request of a key. ``hang``: no answer.
    ``throttle``: status 429 while another such request is being answered. ``gated...``: no answer until
    `release`. ``late``: after a second. ``again``: no answer to the first request of a key.
    ``PUT`` and ``GET /cache/{key}`` keep and return text. Every other behaviour is only a name to count by.

    Attributes:
        calls: requests by behaviour and key.
        asked: each request's key with the time when it came, in seconds since 1970.
        running: requests that are being answered now.
        peak: how many there were at once, at most, by behaviour.
    """

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.asked: list[tuple[str, float]] = []
        self.running: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()
        self._cache: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        self._gate = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="slow-service", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.url = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def release(self) -> None:
        """Let gated requests be answered, those to come too."""
        self._loop.call_soon_threadsafe(self._gate.set)

    def count(self, behaviour: str) -> int:
        """Return the requests of a behaviour."""
        return sum(calls for (asked, _), calls in list(self.calls.items()) if asked == behaviour)

    async def _start(self) -> str:
        app = web.Application()
        app.add_routes(
            [
                web.get("/cache/{key}", self._get),
                web.put("/cache/{key}", self._put),
                web.get("/{behaviour}/{key}", self._answer),
            ]
        )
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def _answer(self, request: web.Request) -> web.Response:
        behaviour = request.match_info["behaviour"]
        key = request.match_info["key"]
        self.calls[behaviour, key] += 1
        self.asked.append((key, time.time()))
        self.running[behaviour] += 1
        self.peak[behaviour] = max(self.peak[behaviour], self.running[behaviour])
        try:
            return web.json_response(
                {"key": key, "name": f"name {key}"}, status=await self._status(behaviour, key)
            )
        finally:
            self.running[behaviour] -= 1

    async def _status(self, behaviour: str, key: str) -> int:
        if behaviour == "throttle" and self.running[behaviour] > 1:
            return 429
        if behaviour == "hang" or (behaviour == "again" and self.calls[behaviour, key] == 1):
            await asyncio.Event().wait()
        if behaviour.startswith("gated"):
            await self._gate.wait()
        await asyncio.sleep(1 if behaviour == "late" else 0.005)
        if behaviour == "fail" or (behaviour == "flaky" and self.calls[behaviour, key] == 1):
            return 500 if behaviour == "fail" else 503
        return 200

    async def _get(self, request: web.Request) -> web.Response:
        text = self._cache.get(request.match_info["key"])
        return web.Response(status=404) if text is None else web.Response(text=text)

    async def _put(self, request: web.Request) -> web.Response:
        self._cache[request.match_info["key"]] = await request.text()
        return web.Response()
