"""How far streams of RabbitMQ go, by brokers that tell their ends and by older ones that do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from headwater.errors import TransientSourceError
from headwater.plugins import rabbitmq_ends
from headwater.plugins.rabbitmq_ends import StreamEnds
from headwater.plugins.rabbitmq_frames import FIRST, LAST, at_offset
from tests.plugins.test_rabbitmq_payloads import alone, chunk_of


class Broker:
    """What a connection says of one stream: of chunks, each of which begins where the one before it ended.

    Attributes:
        committed: how many chunks are on enough brokers: others are not sent.
        sent: how many chunks were sent.
    """

    def __init__(self, *, tells_ends: bool) -> None:
        self.tells_ends = tells_ends
        self.chunks: list[memoryview] = []
        self.firsts: list[int] = []
        self.committed = 0
        self.sent = 0
        self._end = 0
        self._time_ms = 0

    def write(self, count: int) -> None:
        self._time_ms += 10
        self.firsts.append(self._end)
        self.chunks.append(chunk_of([alone(b"abcd")] * count, count, self._end, self._time_ms))
        self._end += count
        self.committed = len(self.chunks)

    def create_anew(self) -> None:
        self.chunks.clear()
        self.firsts.clear()
        self.committed = self._end = 0

    def chunk_offsets(self, streams: Sequence[str]) -> list[tuple[int, int] | None]:
        return [(self.firsts[0], self.firsts[self.committed - 1]) if self.chunks else None for _ in streams]

    def chunks_at(self, wanted: Sequence[tuple[str, bytes]]) -> Iterator[memoryview | None]:
        for _, offset in wanted:
            number = self._number(offset)
            self.sent += number is not None
            yield None if number is None else self.chunks[number]

    def _number(self, offset: bytes) -> int | None:
        if not self.chunks:
            return None
        if offset == FIRST:
            number = 0
        elif offset == LAST:
            number = len(self.chunks) - 1
        else:
            behind = [
                each for each, first in enumerate((*self.firsts, self._end)) if at_offset(first) == offset
            ]
            number = behind[0] if behind else len(self.chunks)
        return number if number < self.committed else None


def test_of_many_streams_few_are_looked_at_again_in_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rabbitmq_ends, "_LOOK_S", 0)
    monkeypatch.setattr(rabbitmq_ends, "_MOST_STALE", 3)
    broker = Broker(tells_ends=True)
    broker.write(1)
    ends = StreamEnds()
    streams = [f"orders-{number}" for number in range(7)]
    server: Any = broker
    sent = []
    for _ in range(4):
        before = broker.sent
        ends.look(server, streams)
        sent.append(broker.sent - before)
    assert sent == [7, 3, 3, 3]


def looked(ends: StreamEnds, broker: Broker) -> tuple[int, int]:
    server: Any = broker
    ends.look(server, ["orders"])
    return ends.of("orders")


@pytest.mark.parametrize("tells_ends", [True, False])
def test_an_end_is_that_of_the_last_chunk_and_is_looked_for_without_sending_it_again(
    tells_ends: bool,
) -> None:
    broker = Broker(tells_ends=tells_ends)
    ends = StreamEnds()
    assert looked(ends, broker) == (0, 0)
    broker.write(3)
    assert looked(ends, broker) == (0, 3)
    assert ends.row_bytes("orders") == 8
    sent = broker.sent
    for _ in range(3):
        assert looked(ends, broker) == (0, 3)
    assert broker.sent == sent
    broker.write(4)
    broker.write(5)
    assert looked(ends, broker) == (0, 12)


@pytest.mark.parametrize("tells_ends", [True, False])
def test_what_retention_has_taken_shows_at_the_next_look_or_soon(
    tells_ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker(tells_ends=tells_ends)
    ends = StreamEnds()
    for count in (3, 4):
        broker.write(count)
    assert looked(ends, broker) == (0, 7)
    del broker.chunks[0], broker.firsts[0]
    broker.committed = 1
    assert looked(ends, broker) == ((3 if tells_ends else 0), 7)
    monkeypatch.setattr(rabbitmq_ends, "_LOOK_S", 0)
    assert looked(ends, broker) == (3, 7)


@pytest.mark.parametrize("tells_ends", [True, False])
def test_a_leader_that_knows_less_than_the_one_before_it_is_waited_for(
    tells_ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_ends, "_LOOK_S", 0)
    broker = Broker(tells_ends=tells_ends)
    ends = StreamEnds()
    for count in (3, 4):
        broker.write(count)
    assert looked(ends, broker) == (0, 7)
    broker.committed = 1
    with pytest.raises(TransientSourceError, match=r"does not know its end yet|not on enough brokers"):
        looked(ends, broker)
    broker.committed = 2
    assert looked(ends, broker) == (0, 7)


@pytest.mark.parametrize("tells_ends", [True, False])
@pytest.mark.parametrize("count", [0, 2])
def test_a_stream_that_was_created_anew_has_the_end_that_it_has_now(
    tells_ends: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is before the position of a query, which is how a loss is noticed."""
    monkeypatch.setattr(rabbitmq_ends, "_LOOK_S", 0)
    broker = Broker(tells_ends=tells_ends)
    ends = StreamEnds()
    broker.write(3)
    assert looked(ends, broker) == (0, 3)
    broker.create_anew()
    if count:
        broker.write(count)
    assert looked(ends, broker) == (0, count)
