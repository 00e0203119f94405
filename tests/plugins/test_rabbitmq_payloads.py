"""Chunks and messages of RabbitMQ as columns: beside what rstream, the broker's own client, makes of them."""

from __future__ import annotations

import random
import struct
import uuid
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from rstream import AMQPMessage, amqp_decoder
from rstream._pyamqp.message import Properties  # type: ignore[attr-defined]  # its types lack it

from headwater.plugins.rabbitmq_chunks import Chunks, bound_of, message_bytes
from headwater.plugins.rabbitmq_payloads import beside, messages_of, payloads, whole
from headwater.plugins.rabbitmq_values import raw, sections, text

PAIRS = pa.list_(pa.struct((("key", pa.string()), ("value", pa.binary()))))
HEADER = struct.Struct(">BBHIqQQIIII")


def chunk_of(entries: Sequence[bytes], records: int, first: int = 0, time_ms: int = 5) -> memoryview:
    data = b"".join(entries)
    checksum = zlib.crc32(data)
    header = HEADER.pack(0x50, 0, len(entries), records, time_ms, 1, first, checksum, len(data), 0, 0)
    return memoryview(header + data)


def alone(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def packed(messages: Sequence[bytes], codec: int) -> bytes:
    block = b"".join(map(alone, messages))
    if codec == 1:
        made = zlib.compressobj(wbits=31)
        small = made.compress(block) + made.flush()
    elif codec == 2:
        small = b"\xff\x06\x00\x00sNaPpY"
        for at in range(0, len(block), 100):
            piece = block[at : at + 100]
            body = pa.Codec("snappy").compress(piece, asbytes=True)
            small += bytes([0]) + (len(body) + 4).to_bytes(3, "little") + bytes(4) + body
            small += bytes([0xFE]) + (1).to_bytes(3, "little") + bytes(1)
        small += bytes([1]) + (4).to_bytes(3, "little") + bytes(4)
    elif codec in (3, 4):
        small = pa.Codec("lz4" if codec == 3 else "zstd").compress(block, asbytes=True)
    else:
        small = block
    return struct.pack(">BHII", 0x80 | codec << 4, len(messages), len(block), len(small)) + small


def drawn(rng: random.Random) -> bytes:
    """Return a message as a client may publish it."""
    body = rng.randbytes(rng.choice([0, 1, 200, 300, 70_000]))
    if rng.random() < 0.5:
        return bytes(AMQPMessage(body=body))
    properties = Properties(
        message_id=rng.choice([None, "id", b"id", uuid.UUID(int=7), 2**40]),
        content_type=rng.choice([None, "text/plain"]),
        creation_time=rng.choice([None, 1_700_000_000_123]),
        group_sequence=rng.choice([None, 0, 300]),
    )
    headers: Any = {
        key: rng.choice([1, -1, 2**40, True, False, None, 1.5, "ü", b"\xff", [1, "a"], {"a": [None]}])
        for key in rng.sample(["a", "b", "c" * 300], rng.randrange(4))
    }
    message = AMQPMessage(
        body=body,
        properties=rng.choice([None, properties]),
        application_properties=rng.choice([None, headers]),
        message_annotations=rng.choice([None, {"x-stream-filter-value": "v"}]),
    )
    return bytes(message)


def value_of(message: Any) -> bytes | None:
    # An empty body is not sent at all.
    return None if message.body is None else bytes(message.body)


def added(*chunks: memoryview) -> Chunks:
    made = Chunks()
    for each in chunks:
        bound = bound_of(each)
        made.add(each, bound.first, bound.end)
    return made


def test_any_messages_in_any_chunks_are_what_the_client_of_the_broker_makes_of_them(
    rng: random.Random,
) -> None:
    for _ in range(30):
        chunks = []
        messages: list[bytes] = []
        for _ in range(rng.randrange(1, 5)):
            entries: list[bytes] = []
            first = len(messages)
            for _ in range(rng.randrange(1, 6)):
                some = [drawn(rng) for _ in range(rng.choice([1, 1, 5]))]
                entries += [packed(some, rng.randrange(5))] if rng.random() < 0.5 else map(alone, some)
                messages += some
            chunks.append(chunk_of(entries, len(messages) - first, first))
        made = messages_of(added(*chunks))
        assert whole(made).to_pylist() == messages
        assert made.offsets.tolist() == list(range(len(messages)))
        decoded = [amqp_decoder(each) for each in messages]
        assert payloads(made).to_pylist() == [value_of(each) for each in decoded]
        properties, annotations, headers = (column.to_pylist() for column in beside(made, PAIRS))
        for number, each in enumerate(decoded):
            assert as_pairs(headers[number]) == {
                key.decode(): raw(texts(value)) for key, value in (each.application_properties or {}).items()
            }
            assert as_pairs(annotations[number]) == {
                key.decode(): raw(value) for key, value in (each.message_annotations or {}).items()
            }
            assert properties[number] is None or each.properties is not None


def texts(value: Any) -> Any:
    """Return a value with texts where rstream has bytes, inside of what is nested."""
    if isinstance(value, list):
        return [texts(each.decode() if isinstance(each, bytes) else each) for each in value]
    if isinstance(value, dict):
        return {key.decode(): texts(each) for key, each in value.items()}
    return value


def as_pairs(pairs: Any) -> dict[str, Any]:
    return {each["key"]: each["value"] for each in pairs or ()}


def test_part_of_a_chunk_has_those_offsets(rng: random.Random) -> None:
    messages = [bytes(AMQPMessage(body=b"%d" % number)) for number in range(20)]
    entries = [*map(alone, messages[:7]), packed(messages[7:15], 1), *map(alone, messages[15:])]
    first = rng.randrange(100, 110)
    end = rng.randrange(first, 121)
    made = Chunks()
    made.add(chunk_of(entries, 20, 100), first, end)
    assert len(made) == end - first
    assert payloads(messages_of(made)).to_pylist() == [b"%d" % (each - 100) for each in range(first, end)]


def test_the_mean_size_of_messages_is_that_of_decompressed_ones() -> None:
    messages = [b"x" * 996] * 10
    for entries in ([packed(messages, 1)], [packed(messages, 0)], list(map(alone, messages))):
        assert message_bytes(chunk_of(entries, 10)) in range(1000, 1005)


@pytest.mark.parametrize(
    ("message", "value"),
    [
        (b"\x00\x53\x77\xa1\x02hi", b"hi"),
        (b"\x00\x53\x77\xa0\x02\xff\x00", b"\xff\x00"),
        (b"\x00\x53\x77\x40", None),
        (b"\x00\x53\x77\x54\xfb", b"-5"),
        (b"\x00\x53\x77\x83" + (1_700_000_000_123).to_bytes(8), b"2023-11-14T22:13:20.123000+00:00"),
        (b"\x00\x53\x77\xc1\x05\x02\xa1\x01a\x41", b'{"a": true}'),
        (b"\x00\x53\x76\xc0\x03\x02\x54\x01", None),
        (b"\x00\x53\x75\xa0\x01a\x00\x53\x75\xa0\x01b", b"ab"),
        (b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x75\xa0\x01a", b"a"),
        (b"\x00\x53\x73\x45\x00\x53\x75\xa0\x01a", b"a"),
        (b"\x00\x53\x70\x45", None),
        (b"\x00\x53\x75\xa0\x01a\x00\x53\x78\xc1\x01\x00", b"a"),
    ],
)
def test_other_forms_of_a_payload_become_bytes_or_text(message: bytes, value: bytes | None) -> None:
    if message[2] == 0x76:
        with pytest.raises(ValueError, match="cut off"):
            payloads(messages_of(added(chunk_of([alone(message)], 1))))
        return
    # With a neighbour of the usual form, which is read in another way.
    usual = bytes(AMQPMessage(body=b"usual"))
    made = messages_of(added(chunk_of([alone(usual), alone(message), alone(usual)], 3)))
    assert payloads(made).to_pylist() == [b"usual", value, b"usual"]


def test_a_value_of_each_type_is_read() -> None:
    values = [
        (b"\x56\x01", True),
        (b"\x50\xff", 255),
        (b"\x51\xff", -1),
        (b"\x60\x01\x00", 256),
        (b"\x61\xff\xff", -1),
        (b"\x70\x00\x00\x01\x00", 256),
        (b"\x71\xff\xff\xff\xff", -1),
        (b"\x80" + (2**63).to_bytes(8), 2**63),
        (b"\x81" + b"\xff" * 8, -1),
        (b"\x72\x3f\xc0\x00\x00", 1.5),
        (b"\x82\x3f\xf8" + bytes(6), 1.5),
        (b"\x73\x00\x00\x00\x41", "A"),
        (b"\x74\x01\x02\x03\x04", b"\x01\x02\x03\x04"),
        (b"\x84" + bytes(8), bytes(8)),
        (b"\x94" + bytes(16), bytes(16)),
        (b"\x98" + bytes(15) + b"\x01", uuid.UUID(int=1)),
        (b"\x83" + (0).to_bytes(8), datetime(1970, 1, 1, tzinfo=UTC)),
        (b"\x83" + (2**62).to_bytes(8), 2**62),
        (b"\xb1\x00\x00\x00\x01a", "a"),
        (b"\xa3\x01a", "a"),
        (b"\xb3\x00\x00\x00\x01a", "a"),
        (b"\xd0\x00\x00\x00\x06\x00\x00\x00\x01\x54\x01", [1]),
        (b"\xd1\x00\x00\x00\x09\x00\x00\x00\x02\xa1\x01a\x54\x01", {"a": 1}),
        (b"\xe0\x04\x02\x54\x01\x02", [1, 2]),
        (b"\xf0\x00\x00\x00\x09\x00\x00\x00\x01\x71\x00\x00\x00\x05", [5]),
        (b"\x00\x53\x10\x54\x01", 1),
        (b"\x43", 0),
        (b"\x44", 0),
        (b"\x52\x05", 5),
    ]
    for form, expected in values:
        ((code, value),) = sections(b"\x00\x53\x77" + form)
        assert (code, value) == (0x77, expected)
        assert isinstance(text(value), str)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes_are_an_error_and_never_anything_else(rng: random.Random, seed: int) -> None:
    messages = [drawn(rng) for _ in range(4)]
    made = bytearray(chunk_of([*map(alone, messages[:2]), packed(messages[2:], rng.randrange(5))], 4))
    kept = bytes(made)
    for _ in range(rng.randrange(1, 4)):
        made[rng.randrange(HEADER.size, len(made))] = rng.randrange(256)
    if seed % 2:
        # With the right checksum: what a faulty client publishes.
        struct.pack_into(">I", made, 32, zlib.crc32(bytes(made[HEADER.size :])))
    if bytes(made) == kept:
        return
    try:
        found = messages_of(added(memoryview(bytes(made))))
        assert len(payloads(found)) == 4
        beside(found, PAIRS)
    except ValueError:
        pass
    else:
        assert seed % 2, "a wrong checksum must be noticed"


def test_a_chunk_that_holds_another_number_of_messages_than_it_says_is_damaged() -> None:
    messages = [bytes(AMQPMessage(body=b"a"))] * 3
    for entries, says in ((map(alone, messages), 4), ([packed(messages, 0)], 2)):
        with pytest.raises(ValueError, match="does not hold what it says"):
            added(chunk_of(list(entries), says))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "message",
    [
        bytes(5_000),
        b"\0\xc0\x02\x01\x40\xa0\x01x",
        b"\0\xa3\x04amqp\xa0\x01x",
        b"\0Sw\x73\xff\xff\xff\xff",
        b"\0Sw\xf0\0\0\0\x05\xff\xff\xff\xff\x40",
        b"\0Sw\xf0\0\0\0\x05\xff\xff\xff\xff\x45",
    ],
    ids=["nested", "a list", "a name", "no character", "many nulls", "many lists"],
)
def test_what_no_client_would_publish_is_an_error_that_takes_no_memory(message: bytes) -> None:
    chunks = Chunks()
    chunks.add(chunk_of([alone(message)], 1), 0, 1)
    with pytest.raises(ValueError, match=r"section|nested|character|array"):
        payloads(messages_of(chunks))


def test_a_section_may_say_by_name_what_it_is() -> None:
    chunks = Chunks()
    named = b"\0\xa3\x10amqp:data:binary\xa0\x05bytes"
    chunks.add(chunk_of([alone(named)], 1), 0, 1)
    assert payloads(messages_of(chunks)).to_pylist() == [b"bytes"]


@pytest.mark.parametrize(
    "entries", [b"", b"\0\0\0", b"\x80\0\1", struct.pack(">BHII", 0x80, 1, 3, 3) + b"abc"]
)
def test_a_chunk_whose_entries_are_cut_off_is_damaged_and_its_size_is_estimated_all_the_same(
    entries: bytes,
) -> None:
    chunk = chunk_of([entries], 1)
    with pytest.raises(ValueError, match="does not hold what it says"):
        Chunks().add(chunk, 0, 1)
    assert message_bytes(chunk) <= 3 + len(entries)


@pytest.mark.parametrize("front", [b"\x00\x53\x70\xd0\x7f\xff\xff\xff", b"\x00\x53\x72\xc1\xff"])
def test_a_section_that_says_it_is_longer_than_its_message_ends_in_it(front: bytes) -> None:
    usual = alone(bytes(AMQPMessage(body=b"usual")))
    for entries in ([alone(front)], [alone(front), usual], [usual, alone(front + b"\x00"), usual]):
        with pytest.raises(ValueError, match="cut off"):
            payloads(messages_of(added(chunk_of(entries, len(entries)))))


def test_a_pack_that_grows_beyond_the_bound_is_refused() -> None:
    bomb = struct.pack(">BHII", 0x80 | 1 << 4, 1, (1 << 28) + 1, 4) + b"abcd"
    with pytest.raises(ValueError, match="256 MiB are the most"):
        added(chunk_of([bomb], 1))
    made = zlib.compressobj(wbits=31)
    small = made.compress(bytes(1 << 20)) + made.flush()
    with pytest.raises(ValueError, match="where it says 10"):
        added(chunk_of([struct.pack(">BHII", 0x80 | 1 << 4, 1, 10, len(small)) + small], 1))
