"""An asynchronous function for queries in processes that tests kill: it asks a service about each item."""

from __future__ import annotations

import json
from typing import Any

import aiohttp

from headwater.readers.async_io.function import AsyncFunction, OpenContext

__all__ = ["Ask", "AskAboutMessage", "AskAboutTime"]


class Ask(AsyncFunction):
    """Every 25th request is slow, in a way that is said.

    Args:
        url: of a `tests.connector.async_io.service.SlowService`.
        slow: one of its behaviours.
    """

    schema = "answer string"

    def __init__(self, url: str, slow: str = "late") -> None:
        self.url = url
        self.slow = slow

    async def open(self, context: OpenContext) -> None:
        self.session = aiohttp.ClientSession()

    async def close(self) -> None:
        await self.session.close()

    async def async_invoke(self, row: Any) -> tuple[str]:
        return await self.ask(json.loads(row.item)["id"])

    async def ask(self, number: int) -> tuple[str]:
        behaviour = self.slow if number % 25 == 0 else "quick"
        async with self.session.get(f"{self.url}/{behaviour}/{number}") as answer:
            return ((await answer.json())["name"],)


class AskAboutMessage(Ask):
    """The same about messages."""

    async def async_invoke(self, row: Any) -> tuple[str]:
        return await self.ask(json.loads(row.payload)["number"])


class AskAboutTime(Ask):
    """Asks about rows of a list and a time; about every fifth minute the slow way."""

    async def async_invoke(self, row: Any) -> tuple[str]:
        behaviour = self.slow if row.at.minute % 5 == 0 else "quick"
        async with self.session.get(f"{self.url}/{behaviour}/{row.list}-{row.at.timestamp()}") as answer:
            return ((await answer.json())["name"],)
