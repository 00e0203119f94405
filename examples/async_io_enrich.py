"""Enrich orders from a slow HTTP service, many requests at once.

Retries, a cache, failures in a column, and what was asked.

    pip install aiohttp
    python examples/async_io_enrich.py

It starts the service itself: 20 ms an answer, every seventh customer fails once, customer 13 does not exist.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import aiohttp
from aiohttp import web

import headwater as hw


class LookupCustomer(hw.async_io.AsyncFunction):
    """One client for each Python process: all its tasks, one after the other, share the connections."""

    scope = hw.async_io.Scope.PROCESS
    session: aiohttp.ClientSession

    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self, context: hw.async_io.OpenContext) -> None:
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=context.capacity))

    async def close(self) -> None:
        await self.session.close()

    async def async_invoke(self, row: Any) -> dict[str, Any]:
        async with self.session.get(f"{self.url}/customers/{row.customer_id}") as answer:
            answer.raise_for_status()
            customer: dict[str, Any] = await answer.json()
            return customer


def is_worth_a_retry(error: BaseException) -> bool:
    return isinstance(error, aiohttp.ClientResponseError) and error.status >= 500


def main() -> None:
    url = start_service()
    spark = hw.session("async_io_enrich", master="local[2]")
    orders = spark.range(0, 2_000, 1, 2).selectExpr("id order_id", "id % 50 customer_id")
    metrics = hw.async_io.AsyncMetrics(spark)
    enriched = hw.unordered_wait(
        orders,
        LookupCustomer(url),
        schema="name string, tier int",
        columns=["customer_id"],
        key_columns=["customer_id"],
        timeout="5s",
        capacity=100,
        retry=hw.async_io.RetryPolicy.exponential(4, first_ms=50, on_error=is_worth_a_retry),
        on_failure="error_column",
        cache=hw.async_io.CacheSettings(ttl_ms=60_000),
        metrics=metrics,
    ).persist()
    good, failed = hw.split_failures(enriched)
    print(f"enriched: {good.count()}, failed: {failed.count()}")
    good.orderBy("order_id").show(3)
    failed.selectExpr("order_id", "error.class", "error.attempts").orderBy("order_id").show(3)
    print(metrics)
    spark.stop()


def start_service() -> str:
    """Run the service on a thread; return its address."""
    asked: Counter[int] = Counter()
    address: list[str] = []
    ready = threading.Event()

    async def answer(request: web.Request) -> web.Response:
        customer = int(request.match_info["customer"])
        asked[customer] += 1
        await asyncio.sleep(0.02)
        if customer == 13:
            return web.Response(status=404)
        if customer % 7 == 0 and asked[customer] == 1:
            return web.Response(status=503)
        return web.json_response({"name": f"customer {customer}", "tier": customer % 3})

    async def serve() -> None:
        app = web.Application()
        app.add_routes([web.get("/customers/{customer}", answer)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        ready.set()
        await asyncio.Event().wait()

    threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
    ready.wait()
    return address[0]


if __name__ == "__main__":
    main()
