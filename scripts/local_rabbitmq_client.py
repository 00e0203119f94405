"""A connection of rstream, the Python client of RabbitMQ streams, with what tests and benchmarks need.

It tells at once that the broker has ended it, and it closes at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from rstream import schema
from rstream.client import Client
from rstream.compression import CompressionHelper, CompressionType
from rstream.exceptions import LeaderNotAvailable, StreamNotAvailable

from local_server import TIMEOUT_S

__all__ = ["StreamClient", "connected"]

T = TypeVar("T")

FRAME_BYTES = 1_048_576
"""Brokers take no larger frame, as they are set up by default."""
MESSAGE_BYTES = 12
"""So many come on top of each message."""
MOST_CHUNKS = 65_535
"""So many chunks can be asked for at once."""
NO_PUBLISHER = 18
"""The code of an answer: of one that was declared before the leader moved."""
SLOT = 0
"""Of the one publisher or subscription that a connection has at a time."""


class StreamClient(Client):
    """A connection. Each request is an OSError if the broker ends the connection before it answers."""

    def __init__(self, port: int, user: str, password: str) -> None:
        super().__init__(
            "127.0.0.1",
            port,
            frame_max=FRAME_BYTES,
            heartbeat=0,
            connection_closed_handler=lambda _: None,  # otherwise it is logged
        )
        self._login = {"vhost": "/", "username": user, "password": password}

    async def log_in(self) -> None:
        await self.answer(self.authenticate(**self._login))

    async def close(self) -> None:
        for task in list(self._tasks):
            with suppress(Exception):  # `answer` has told it
                await self.stop_task(task)
        if self._conn is not None:
            with suppress(OSError):
                await self._conn.close()

    async def answer(self, request: Coroutine[Any, Any, T]) -> T:
        """Return what a request gives."""
        asked = asyncio.create_task(request)
        await asyncio.wait({asked, self._tasks["listener"]}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            asked.cancel()
            raise ConnectionResetError("the connection has ended") from self._tasks["listener"].exception()
        return asked.result()

    async def wait_for_leader(self, stream: str) -> None:
        """Wait until a stream can be used, which takes a moment when it is new, or the broker."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                with suppress(LeaderNotAvailable, StreamNotAvailable):
                    await self.answer(self.query_leader_and_replicas(stream))
                    return
                await asyncio.sleep(0.02)

    async def publish_all(self, stream: str, values: Sequence[bytes]) -> None:
        """Publish messages, and wait until all are stored."""
        frames = (
            schema.Publish(SLOT, [schema.Message(number, None, value) for number, value in some])
            for some in _fitting(values)
        )
        await self._publish(stream, frames, len(values))

    async def publish_batches(self, stream: str, batches: Sequence[Sequence[bytes]], codec: str) -> None:
        """Publish batches, each of which is one entry, and wait until all are stored."""
        packed = [CompressionHelper.compress(batch, CompressionType[codec]) for batch in batches]
        frames = (
            schema.PublishSubBatching(
                publisher_id=SLOT,
                number_of_root_messages=1,
                publishing_id=number,
                compress_type=0x80 | each.compression_type() << 4,
                subbatching_message_count=each.messages_count(),
                uncompressed_data_size=each.uncompressed_size(),
                compressed_data_size=each.compressed_size(),
                messages=each.data(),
            )
            for number, each in enumerate(packed)
        )
        await self._publish(stream, frames, len(packed))

    async def _publish(self, stream: str, frames: Iterable[schema.Frame], count: int) -> None:
        """Send frames with so many entries, and wait for as many answers.

        A broker that has just started may say that the leader is there, and then move it.
        """
        await self.wait_for_leader(stream)
        left = count
        refused: list[schema.PublishingError] = []
        moved: list[schema.MetadataUpdate] = []
        is_done = asyncio.Event()

        def count_down(answers: Sequence[Any]) -> None:
            nonlocal left
            left -= len(answers)
            if left <= 0:
                is_done.set()

        def refuse(frame: schema.PublishError) -> None:
            refused.extend(frame.errors)
            count_down(frame.errors)

        def leave(frame: schema.MetadataUpdate) -> None:
            moved.append(frame)
            is_done.set()

        self.add_handler(schema.MetadataUpdate, leave, "leave")
        self.add_handler(schema.PublishConfirm, lambda frame: count_down(frame.publishing_ids), "confirm")
        self.add_handler(schema.PublishError, refuse, "refuse")
        await self.answer(self.declare_publisher(stream, None, SLOT))
        for frame in frames:
            if isinstance(frame, schema.Publish):
                await self.send_publish_frame(frame)
            else:
                await self.send_frame(frame)
        async with asyncio.timeout(TIMEOUT_S):
            await self.answer(_wait(is_done))
        if moved or any(each.response_code == NO_PUBLISHER for each in refused):
            raise ConnectionResetError(f"the leader of {stream} has moved")
        if refused:
            raise RuntimeError(f"the broker did not take {len(refused)} messages of {stream}: {refused[0]}")
        await self.answer(self.delete_publisher(SLOT))

    async def stored(self, stream: str) -> list[tuple[int, int, bytes]]:
        """Return offset, time in milliseconds, and bytes of all messages of a stream.

        A broker sends what there is before it answers the next request.
        """
        await self.wait_for_leader(stream)
        chunks: list[schema.Deliver] = []
        self.add_handler(schema.Deliver, chunks.append, str(SLOT))
        await self.run_queue_listener_task(SLOT, chunks.append)
        await self.answer(self.subscribe(stream, SLOT, initial_credit=MOST_CHUNKS))
        await self.answer(self.unsubscribe(SLOT))
        if len(chunks) >= MOST_CHUNKS:
            raise RuntimeError(f"{stream} has more chunks than can be asked for at once")
        return [
            (chunk.chunk_first_offset + number, chunk.timestamp, bytes(message))
            for chunk in chunks
            for number, message in enumerate(chunk.get_messages())
        ]


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


def _fitting(values: Sequence[bytes]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield messages with their numbers, so many at a time as fit into a frame."""
    some: list[tuple[int, bytes]] = []
    size = 0
    for number, value in enumerate(values):
        size += MESSAGE_BYTES + len(value)
        if some and size > FRAME_BYTES // 4:
            yield some
            some = []
            size = MESSAGE_BYTES + len(value)
        some.append((number, value))
    if some:
        yield some


@asynccontextmanager
async def connected(port: int, user: str, password: str) -> AsyncIterator[StreamClient]:
    """Connect for a while."""
    client = StreamClient(port, user, password)
    await client.start()
    try:
        await client.log_in()
        yield client
    finally:
        await client.close()
