"""The beginnings and ends of streams of `headwater.plugins.rabbitmq`, as a process saw them last."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import headwater as hw
from headwater.plugins.rabbitmq_chunks import ChunkBounds, bound_of, message_bytes
from headwater.plugins.rabbitmq_frames import FIRST, LAST, at_offset
from headwater.plugins.rabbitmq_server import RabbitConnection

_SOURCE: Final = "rabbitmq"
_LOOK_S: Final = 10
"""The time after which a stream is looked at again without a new chunk: it may have been created anew.
From older brokers its first chunk is read then, too; tasks find losses by themselves."""

_MOST_STALE: Final = 100
"""The most of these in one look: a chunk costs a broker 2 ms."""


class StreamEnds:
    """The first and the last chunks of streams. For one thread."""

    def __init__(self) -> None:
        self._firsts: dict[str, int | None] = {}
        self._lasts: dict[str, ChunkBounds] = {}
        self._sizes: dict[str, int] = {}
        self._looked: dict[str, float] = {}

    def of(self, stream: str) -> tuple[int, int]:
        """Return the offset of the oldest message, and the one behind the newest; 0 if there is none."""
        last = self._lasts.get(stream)
        end = 0 if last is None else last.end
        return min(self._firsts[stream] or 0, end), end

    def row_bytes(self, stream: str) -> int:
        """Return the mean of the last chunk's messages."""
        return self._sizes.get(stream, 0)

    def now(self, server: RabbitConnection, stream: str) -> tuple[int, int]:
        """Look at one stream anew, at its leader."""
        self._looked.pop(stream, None)
        self.look(server, [stream])
        return self.of(stream)

    def look(self, server: RabbitConnection, streams: Sequence[str]) -> None:
        """Find out where streams of one leader begin and end."""
        now = time.monotonic()
        due = [each for each in streams if each not in self._looked]
        looked = [each for each in streams if each in self._looked]
        stale = [each for each in looked if now - self._looked[each] >= _LOOK_S]
        due += sorted(stale, key=self._looked.__getitem__)[:_MOST_STALE]
        self._looked |= dict.fromkeys(due, now)
        new_ends = self._new_ends if server.tells_ends else self._new_ends_by_chunks
        moved = new_ends(server, streams, due)
        for each, chunk in zip(moved, server.chunks_at(list(moved.items())), strict=True):
            if chunk is not None:
                self._lasts[each] = self._checked(each, bound_of(chunk))
                self._sizes[each] = message_bytes(chunk)
            elif self._firsts[each] is None:
                self._lasts.pop(each, None)
            else:
                raise hw.TransientSourceError(
                    "its last chunk is not on enough brokers yet", source=_SOURCE, split=each
                )

    def _checked(self, stream: str, last: ChunkBounds) -> ChunkBounds:
        """Return the last chunk, unless an earlier look saw a later one: then the leader is behind.

        A stream that was created anew has younger chunks: that is a loss, which positions show.
        """
        previous = self._lasts.get(stream)
        if previous is not None and last.end < previous.end and last.timestamp_ms <= previous.timestamp_ms:
            raise hw.TransientSourceError(
                "its leader is new and does not know its end yet", source=_SOURCE, split=stream
            )
        return last

    def _new_ends(
        self, server: RabbitConnection, streams: Sequence[str], due: Sequence[str]
    ) -> dict[str, bytes]:
        """Return the places of new last chunks, as the broker tells them, and of those that are due."""
        moved = {}
        again = set(due)
        for each, chunks in zip(streams, server.chunk_offsets(streams), strict=True):
            self._firsts[each] = None if chunks is None else chunks[0]
            previous = None if each in again else self._lasts.get(each)
            if chunks is None or previous is None or previous.first != chunks[1]:
                moved[each] = LAST if chunks is None else at_offset(chunks[1])
        return moved

    def _new_ends_by_chunks(
        self, server: RabbitConnection, streams: Sequence[str], due: Sequence[str]
    ) -> dict[str, bytes]:
        """Return the streams that are due, and those with a chunk behind the last one that was known."""
        for each, chunk in zip(due, server.chunks_at([(each, FIRST) for each in due]), strict=True):
            self._firsts[each] = None if chunk is None else bound_of(chunk).first
        looked = set(due)
        rest = [each for each in streams if each not in looked]
        behind = [(each, at_offset(self._lasts[each].end if each in self._lasts else 0)) for each in rest]
        moved = [
            each for each, chunk in zip(rest, server.chunks_at(behind), strict=True) if chunk is not None
        ]
        for each in moved:
            # A stream that had no chunk has its first one now.
            self._firsts[each] = self._firsts[each] or 0
        return dict.fromkeys((*due, *moved), LAST)
