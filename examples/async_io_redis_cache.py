"""A cache in Redis, shared by all processes and kept over restarts: what one task asked, no other asks again.

    pip install redis
    redis-server &
    python examples/async_io_redis_cache.py redis://localhost:6379

The second run does not ask the service at all. Any store will do: a `SharedCache` is two methods. If they
raise, the service is asked instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

import headwater as hw


class RedisCache(hw.async_io.SharedCache):
    """Results as JSON, so they must be made of what JSON has; each ends after some time.

    Args:
        url: of the server.
        prefix: what this cache's keys begin with.
        ttl_s: how long a result counts.
    """

    redis: Redis

    def __init__(self, url: str, prefix: str, ttl_s: int) -> None:
        self.url = url
        self.prefix = prefix
        self.ttl_s = ttl_s

    async def open(self) -> None:
        self.redis = Redis.from_url(self.url)

    async def close(self) -> None:
        await self.redis.aclose()

    async def get(self, keys: Sequence[Hashable]) -> Mapping[Hashable, Any]:
        found = await self.redis.mget([self._name(key) for key in keys])
        return {key: json.loads(text) for key, text in zip(keys, found, strict=True) if text is not None}

    async def put(self, results: Mapping[Hashable, Any]) -> None:
        async with self.redis.pipeline(transaction=False) as pipeline:
            for key, result in results.items():
                pipeline.set(self._name(key), json.dumps(result), ex=self.ttl_s)
            await pipeline.execute()

    def _name(self, key: Hashable) -> str:
        return f"{self.prefix}:{key}"


async def look_up(row: Any) -> dict[str, str]:
    """Stand in for a slow service."""
    await asyncio.sleep(0.02)
    return {"name": f"customer {row.customer_id}"}


def customer(row: Any) -> int:
    number: int = row.customer_id
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="for example redis://localhost:6379")
    args = parser.parse_args()
    spark = hw.session("async_io_redis_cache", master="local[2]")
    orders = spark.range(0, 2_000, 1, 2).selectExpr("id order_id", "id % 50 customer_id")
    cache = hw.async_io.CacheSettings(key=customer, shared=RedisCache(args.url, "customers", ttl_s=600))
    metrics = hw.async_io.AsyncMetrics(spark)
    enriched = hw.unordered_wait(
        orders, look_up, schema="name string", columns=["customer_id"], cache=cache, metrics=metrics
    )
    enriched.groupBy("name").count().orderBy("name").show(3)
    print(metrics)
    spark.stop()


if __name__ == "__main__":
    main()
