"""Functions that ask `SlowService`; imported by the tests and by Spark's Python workers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import aiohttp
import pyarrow as pa
import pyarrow.compute as pc

from headwater.readers.async_io.function import (
    AsyncArrowFunction,
    AsyncBatchFunction,
    AsyncFunction,
    BlockingFunction,
    OpenContext,
)
from headwater.readers.async_io.shared_cache import SharedCache

__all__ = [
    "AddsOne",
    "BulkLookup",
    "CountsOpenings",
    "HttpCache",
    "Lookup",
    "NoServer",
    "Sleeps",
    "blocks_the_loop",
    "customer",
    "slow_for_some",
    "wrong_type",
]


class _Client:
    """What needs a client session."""

    session: aiohttp.ClientSession

    def __init__(self, url: str, behaviour: str = "slow", column: str = "name") -> None:
        self.url = url
        self.behaviour = behaviour
        self.column = column

    async def open(self, context: OpenContext) -> None:
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=context.capacity))

    async def close(self) -> None:
        await self.session.close()

    async def ask(self, key: Any, behaviour: str) -> dict[str, str]:
        async with self.session.get(f"{self.url}/{behaviour}/{key}") as answer:
            answer.raise_for_status()
            return {self.column: (await answer.json())["name"]}


class Lookup(_Client, AsyncFunction):
    """Asks for a row's first column, with the row's own behaviour if it has one."""

    async def async_invoke(self, row: Any) -> dict[str, str]:
        # A Row has no get.
        behaviour = row["behaviour"] if "behaviour" in row else self.behaviour  # noqa: SIM401
        return await self.ask(row[0], behaviour)


class BulkLookup(_Client, AsyncBatchFunction):
    """Asks for many ids in one request."""

    async def async_invoke_batch(self, rows: Sequence[Any]) -> Sequence[Any]:
        await self.ask(",".join(str(row.id) for row in rows), self.behaviour)
        return [{"name": f"name {row.id}"} if row.id % 2 else None for row in rows]


class Sleeps(BlockingFunction):
    """Blocks a thread."""

    def invoke(self, row: Any) -> tuple[int]:
        time.sleep(0.005)
        return (row.id * 2,)


class CountsOpenings(AsyncFunction):
    """Says how often it was opened in this process."""

    openings = 0

    def __init__(self, name: str) -> None:
        self.name_of_client = name

    async def open(self, context: OpenContext) -> None:
        CountsOpenings.openings += 1

    async def async_invoke(self, row: Any) -> tuple[int]:
        return (CountsOpenings.openings,)


class NoServer(AsyncFunction):
    """Cannot be opened."""

    async def open(self, context: OpenContext) -> None:
        raise ConnectionError("refused")

    async def async_invoke(self, row: Any) -> None:
        return None


class AddsOne(AsyncArrowFunction):
    """Answers whole batches."""

    async def async_invoke_arrow(self, rows: Any) -> Any:
        return pa.table({"more": pc.add(rows.column("id"), pa.scalar(1))})


async def slow_for_some(row: Any) -> tuple[int]:
    """Take longer than a batch waits, for one row in seven."""
    await asyncio.sleep(0.9 if row.id % 7 == 0 else 0.001)
    return (row.id,)


async def doubles(row: Any) -> tuple[int]:
    """Double the first column, whatever its name is."""
    return (row[0] * 2,)


async def wrong_type(row: Any) -> dict[str, Any]:
    """Give one row a text for a number."""
    return {"number": "none" if row.id == 7 else row.id}


async def blocks_the_loop(row: Any) -> tuple[int]:
    """Block it, which no function may."""
    time.sleep(0.3)
    return (row.id,)


def customer(row: Any) -> Any:
    """Return the key of a cache."""
    return row.customer


class HttpCache(SharedCache):
    """Keeps results in the service, as JSON."""

    session: aiohttp.ClientSession

    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self) -> None:
        self.session = aiohttp.ClientSession()

    async def close(self) -> None:
        await self.session.close()

    async def get(self, keys: Sequence[Hashable]) -> Mapping[Hashable, Any]:
        found = {}
        for key in keys:
            async with self.session.get(f"{self.url}/cache/{key}") as answer:
                if answer.status == 200:
                    found[key] = json.loads(await answer.text())
        return found

    async def put(self, results: Mapping[Hashable, Any]) -> None:
        for key, result in results.items():
            async with self.session.put(f"{self.url}/cache/{key}", data=json.dumps(result)):
                pass
