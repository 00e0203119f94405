"""Messages of consumers are taken off the wire as nats-py's own parser does, however the wire is cut."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from headwater.plugins.nats_client import NatsMessage, parser_class

LENGTHS = (0, 1, 2, 100, 5_000, 70_000)


class Listener:
    """What a parser calls."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.takes = 0

    def take(self, messages: list[NatsMessage]) -> None:
        self.takes += 1
        self.heard += messages

    async def _process_msg(self, _: int, *message: Any) -> None:
        self.heard.append(message)

    async def _process_ping(self) -> None:
        self.heard.append(("ping",))

    async def _process_pong(self) -> None:
        self.heard.append(("pong",))

    async def _process_err(self, error: str) -> None:
        self.heard.append(("error", error))


def drawn(rng: random.Random) -> bytes:
    """Return something that a server sends. Payloads hold what looks like more of it."""
    kind = rng.choice(["message"] * 6 + ["answer", "ping", "pong", "ok", "error"])
    others = {
        "ping": b"PING\r\n",
        "pong": b"PONG\r\n",
        "ok": b"+OK\r\n",
        "error": b"-ERR 'Slow Consumer'\r\n",
    }
    if kind in others:
        return others[kind]
    reply = (
        b"$JS.ACK.s.c.1.7.3.1700000000000000000.5" if kind == "message" else rng.choice([b"", b"_INBOX.a.b"])
    )
    size = rng.choice(LENGTHS)
    payload = (b"MSG a 1 $JS.ACK.s.c 1\r\nx\r\nPING\r\n" * (size // 20 + 1))[:size]
    headers = rng.choice([b"", b"NATS/1.0\r\nkey: value\r\n\r\n"])
    start = [b"orders.eu", b"3", *([reply] if reply else []), *([b"%d" % len(headers)] if headers else [])]
    line = b" ".join([b"HMSG" if headers else b"MSG", *start, b"%d" % len(headers + payload)])
    return b"\r\n".join([line, headers + payload, b""])


def listened(parser: type[Any], pieces: list[bytes]) -> Listener:
    listener = Listener()
    made = parser(listener)

    async def parse() -> None:
        for piece in pieces:
            await made.parse(piece)

    asyncio.run(parse())
    assert not made.buf
    return listener


@pytest.mark.parametrize("most", [3, 50, 4_096, 32_768])
def test_however_the_wire_is_cut_what_is_heard_is_what_nats_py_hears(most: int, rng: random.Random) -> None:
    from nats.protocol.parser import Parser

    wire = b"".join(drawn(rng) for _ in range(40 if most < 1_000 else 400))
    pieces = []
    done = 0
    while done < len(wire):
        size = rng.randint(1, most)
        pieces.append(wire[done : done + size])
        done += size
    due = listened(Parser, pieces).heard
    assert listened(parser_class(), pieces).heard == due
    assert any(each[0] == b"orders.eu" for each in due)


def test_messages_of_a_piece_of_the_wire_are_taken_at_once() -> None:
    wire = b"MSG orders.eu 3 $JS.ACK.s.c.1.7.3.1700000000000000000.5 5\r\nvalue\r\n" * 500
    pieces = [wire[begin : begin + 4_096] for begin in range(0, len(wire), 4_096)]
    listener = listened(parser_class(), pieces)
    assert (len(listener.heard), listener.takes) == (500, len(pieces))
