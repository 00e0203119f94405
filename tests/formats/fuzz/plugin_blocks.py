"""What producers wrote and brokers only keep: chunks of RabbitMQ, messages of AMQP, records of Kinesis."""

from __future__ import annotations

import hashlib
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.plugins.kinesis_records import user_records
from headwater.plugins.rabbitmq_chunks import Chunks, bound_of, message_bytes
from headwater.plugins.rabbitmq_payloads import beside, messages_of, payload, payloads
from headwater.readers.formats.format import Spans
from headwater.readers.formats.text import TextValueFormat
from tests.formats.fuzz.blocks import BlockChecker
from tests.formats.fuzz.subject import Subject

_GOOD_VALUES: Final = 200
_PAIRS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_KEYS: Final = ("0", str((1 << 128) - 1))
_TOKENS: Final = (
    *(struct.pack(">I", size) for size in (0, 1, 5, 300, 1 << 31, (1 << 32) - 1)),
    *(
        bytes([form])
        for form in (0x00, 0x40, 0x45, 0x53, 0x80, 0x98, 0xA0, 0xB0, 0xC0, 0xC1, 0xD0, 0xE0, 0xF0)
    ),
    *(b"\0Su\xa0", b"\0Sw\xa1", b"\0Ss\xc0", b"\x73\xff\xff\xff\xff", b"\x83" + b"\x7f" * 8),
    b"\0" * 2_000,  # a value with a description, which has one, which has one
    b"\xf0\0\0\0\x09\xff\xff\xff\xff\x40\0\0\0\0",  # very many nulls, which take no bytes
    b"\xf0\0\0\0\x0b\xff\xff\xff\xff\x45\0\0\0\0\0\0",
    b"\xe0\x02\xff\x41" * 30,
)


class AmqpChecker(BlockChecker):
    """Reads messages of AMQP, alone."""

    def make_subject(self) -> Subject:
        return Subject(TextValueFormat(), [amqp(self.rng) for _ in range(_GOOD_VALUES)], _TOKENS)

    def found(self, values: Spans) -> Any:
        return [_of(payload, values.value(row) or b"") for row in range(len(values.sizes))]


class ChunksChecker(BlockChecker):
    """Takes messages out of chunks, whose checksums are right."""

    def make_subject(self) -> Subject:
        return Subject(TextValueFormat(), [self._entries() for _ in range(_GOOD_VALUES)], _TOKENS)

    def found(self, values: Spans) -> Any:
        return [_of(_messages, values.value(row) or b"") for row in range(len(values.sizes))]

    def _entries(self) -> bytes:
        """Return how many entries and messages there are, and the entries: messages and batches of them."""
        parts = []
        count = 0
        entries = self.rng.randrange(1, 4)
        for _ in range(entries):
            if self.rng.random() < 0.5:
                parts.append(_sized(amqp(self.rng)))
                count += 1
                continue
            number = self.rng.randrange(1, 4)
            raw = b"".join(_sized(amqp(self.rng)) for _ in range(number))
            codec, packed = _packed(self.rng, raw)
            parts.append(struct.pack(">BHII", 0x80 | codec << 4, number, len(raw), len(packed)) + packed)
            count += number
        return struct.pack(">HI", entries, count) + b"".join(parts)


class KinesisRecordsChecker(BlockChecker):
    """Takes users' records out of records, whose digests are right."""

    def make_subject(self) -> Subject:
        return Subject(TextValueFormat(), [self._packed() for _ in range(_GOOD_VALUES)], _TOKENS)

    def found(self, values: Spans) -> Any:
        found = []
        for row in range(len(values.sizes)):
            message = values.value(row) or b""
            data = b"\xf3\x89\x9a\xc2" + message + hashlib.md5(message, usedforsecurity=False).digest()
            record = {"Data": data, "SequenceNumber": "7", "ApproximateArrivalTimestamp": 0}
            found.append([*user_records({**record, "PartitionKey": "key"}, _KEYS)])
        return found

    def _packed(self) -> bytes:
        rng = self.rng
        keys = [rng.choice([b"", b"key", "schlüssel".encode()]) for _ in range(rng.randrange(1, 3))]
        parts = [_field(1, key) for key in keys]
        parts += [_field(2, str(rng.getrandbits(128)).encode()) for _ in range(rng.randrange(2))]
        for _ in range(rng.randrange(1, 4)):
            record = b"\x08" + bytes([rng.randrange(len(keys))])
            record += _field(3, rng.randbytes(rng.randrange(9)))
            parts.append(_field(3, record))
        return b"".join(parts)


def _of(read: Callable[[bytes], Any], data: bytes) -> Any:
    """Return what is read, or why it cannot be: no other error may come."""
    try:
        return read(data)
    except ValueError as error:
        return str(error)


def _messages(value: bytes) -> Any:
    entries, records = struct.unpack(">HI", value[:6].ljust(6, b"\0"))
    data = value[6:]
    head = struct.pack(
        ">BBHIqQQIIII", 0x50, 0, entries, records, 5, 1, 100, zlib.crc32(data), len(data), 0, 0
    )
    chunk = memoryview(head + data)
    bound = bound_of(chunk)
    chunks = Chunks()
    mean = message_bytes(chunk)
    chunks.add(chunk, bound.first, bound.end)
    messages = messages_of(chunks)
    assert len(chunks) == records
    found = payloads(messages)
    found.validate(full=True)
    more = [column.to_pylist() for column in beside(messages, _PAIRS)]
    return mean, messages.offsets.tolist(), found.to_pylist(), more


def amqp(rng: random.Random) -> bytes:
    """Return a message: properties and annotations now and then, and a payload of any kind."""
    parts = []
    if rng.random() < 0.3:
        parts.append(b"\0Ss" + rng.choice([b"\x45", b"\xc0\x06\x02\xa1\x02id\x40"]))
    if rng.random() < 0.3:
        parts.append(b"\0Sr\xc1\x08\x02\xa3\x01k\xa1\x02xy")
    body = rng.randbytes(rng.randrange(20))
    long_body = struct.pack(">I", len(body)) + body
    values = (
        b"\x40",
        b"\x41",
        b"\x54\x07",
        b"\xa1\x02hi",
        b"\xc0\x03\x01\x54\x07",
        b"\xe0\x04\x02\x54\x01\x02",
    )
    kinds = [b"\0Su\xa0" + bytes([len(body)]) + body, b"\0Su\xb0" + long_body, b"\0Sw" + rng.choice(values)]
    parts += [rng.choice(kinds) for _ in range(rng.choice([1, 1, 1, 2]))]
    return b"".join(parts)


def _packed(rng: random.Random, raw: bytes) -> tuple[int, bytes]:
    """Return a codec of RabbitMQ's, and what it makes of bytes."""
    codec = rng.randrange(5)
    if codec == 0:
        return codec, raw
    if codec == 1:
        packer = zlib.compressobj(wbits=31)
        return codec, packer.compress(raw) + packer.flush()
    if codec == 2:
        block: bytes = pa.Codec("snappy").compress(raw, asbytes=True)
        return codec, b"\xff\x06\0\0sNaPpY" + b"\0" + (len(block) + 4).to_bytes(3, "little") + bytes(
            4
        ) + block
    packed: bytes = pa.Codec("lz4" if codec == 3 else "zstd").compress(raw, asbytes=True)
    return codec, packed


def _sized(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


CHECKERS: Final[dict[str, Callable[[random.Random, np.random.Generator], BlockChecker]]] = {
    "amqp": AmqpChecker,
    "rabbitmq-chunks": ChunksChecker,
    "kinesis-records": KinesisRecordsChecker,
}
