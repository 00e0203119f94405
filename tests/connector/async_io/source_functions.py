"""What ``asyncFunction`` names in tests."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.readers.async_io.function import AsyncArrowFunction, AsyncFunction

__all__ = [
    "Answers",
    "BadSchema",
    "Chatty",
    "ChattyInBulk",
    "Fails",
    "InBulk",
    "NoMethod",
    "NotAsync",
    "answer",
    "nothing",
]

nothing = 7


class Answers(AsyncFunction):
    schema = "answer string, length int"

    def __init__(self, prefix: str = "a") -> None:
        self.prefix = prefix

    async def async_invoke(self, row: Any) -> tuple[str, int]:
        text = f"{self.prefix}{row.id}"
        return text, len(text)


class NoMethod(AsyncFunction):
    schema = "answer string"


class NotAsync(AsyncFunction):
    schema = "answer string"

    def async_invoke(self, row: Any) -> Any:
        return ("plain",)


class BadSchema(Answers):
    schema = "answer strin"


class InBulk(AsyncArrowFunction):
    schema = "answer string"

    async def async_invoke_arrow(self, rows: Any) -> Any:
        [column] = rows.columns  # it gets the columns of the source, and no others
        return pa.table({"answer": column.cast(pa.string())})


class Chatty(AsyncFunction):
    schema = "answer string"

    async def async_invoke(self, row: Any) -> dict[str, Any]:
        return {"answer": str(row.id), "more": row.id}


class ChattyInBulk(AsyncArrowFunction):
    schema = "answer string"

    async def async_invoke_arrow(self, rows: Any) -> Any:
        return pa.table({"answer": rows["id"].cast(pa.string()), "more": rows["id"]})


async def answer(row: Any) -> tuple[str]:
    return (f"a{row.id}",)


class Fails(AsyncFunction):
    schema = "answer string"

    async def async_invoke(self, row: Any) -> tuple[str]:
        if row.id == 3:
            raise ValueError("three")
        return ("",)
