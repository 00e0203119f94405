"""nats-py's client for `headwater.plugins.nats`, which keeps messages of consumers as they are on the wire.

nats-py makes a message object, and a turn of its event loop, for each message, and its parser copies the rest
of the buffer after each. Here one expression takes all whole messages of a buffer, as bytes. Long messages
and all other commands are left to nats-py.
"""

from __future__ import annotations

import asyncio
import functools
import re
from typing import Any, Final, TypeAlias

import headwater as hw

NatsMessage: TypeAlias = tuple[bytes, bytes, bytes, bytes | None]
"""Subject, reply subject, payload, headers."""
ACK_DOTS: Final = 8
"""The dots of a reply subject; it has more where it names the domain and the account."""
_MESSAGE: Final = re.compile(rb"H?MSG (\S+) \d+ (\$JS\.ACK\.\S+) (?:(\d+) )?(\d+)\r\n")
_LONG: Final = 1 << 16
"""A longer message is not looked at again with each piece of it: nats-py collects it."""


def is_last(reply: bytes) -> bool:
    """Whether a consumer had no further message when it sent this one."""
    return reply.endswith(b".0") or (reply.count(b".") > ACK_DOTS and reply.split(b".")[10] == b"0")


def whole_messages(wire: bytes) -> tuple[list[NatsMessage], int, bool]:
    """Return the messages at the front, where they end, and whether the next one has only begun."""
    messages: list[NatsMessage] = []
    done = 0
    while match := _MESSAGE.match(wire, done):
        subject, reply, header, size = match.groups()
        begin = match.end()
        end = begin + int(size)
        if end + 2 > len(wire):
            return messages, done, end - done <= _LONG
        body = begin + int(header or 0)
        messages.append((subject, reply, wire[body:end], wire[begin:body] or None))
        done = end + 2
    return messages, done, False


@functools.cache
def client_class() -> Any:
    """Return the class; made when it is asked for, as few need nats-py."""
    try:
        from nats.aio.client import Client
    except ImportError as error:
        raise hw.errors.MissingDependencyError(
            "nats-py", needed_for="the nats source", extra="nats"
        ) from error

    class PullClient(Client):
        def __init__(self) -> None:
            super().__init__()
            self._ps = parser_class()(self)
            self.begin(0)

        def begin(self, rows: int) -> None:
            self.taken: list[NatsMessage] = []
            self.status: tuple[str, str] | None = None
            self.is_over = False
            self.arrived = asyncio.Event()
            self._rows = rows

        def take(self, messages: list[NatsMessage]) -> None:
            self.taken += messages
            if len(self.taken) >= self._rows or is_last(self.taken[-1][1]):
                self.is_over = True
                self.arrived.set()

        async def take_status(self, message: Any) -> None:
            header = message.headers or {}
            if header.get("Status") != "100":  # that one only says that all is well
                self.status = (header.get("Status", ""), header.get("Description", ""))
                self.is_over = True
                self.arrived.set()

        async def _process_msg(
            self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: Any
        ) -> None:
            if reply.startswith(b"$JS.ACK."):
                self.take([(subject, reply, data, headers)])
            else:
                await super()._process_msg(sid, subject, reply, data, headers)

    return PullClient


@functools.cache
def parser_class() -> Any:
    """Return the class of its parser, which gives all whole messages to the client's `take`."""
    from nats.protocol.parser import AWAITING_CONTROL_LINE, Parser

    class PageParser(Parser):
        async def parse(self, data: bytes = b"") -> None:
            if self.state == AWAITING_CONTROL_LINE:
                wire = bytes(self.buf) + data
                messages, done, has_begun = whole_messages(wire)
                if messages:
                    self.nc.take(messages)
                data = wire[done:]
                self.buf = bytearray(data) if has_begun else bytearray()
                if has_begun or not data:
                    return
            await super().parse(data)

    return PageParser
