"""Hostile bytes: the right rows, or a SourceError.

No crash, no hang, no read outside, no memory without bounds.
"""

from __future__ import annotations

import random
import resource
import struct

import pytest

from headwater.core.errors import CorruptRecordError, SourceError
from tests.readers.kafka.record_sets import (
    COMPRESS,
    HEADER,
    LOG_APPEND,
    NO_CODEC,
    NotComparableError,
    Record,
    Row,
    UnreadableError,
    batch,
    emitted,
    reference,
    with_crc,
)

INTERESTING = (0, 1, 2, 5, 6, 7, 0x0C, 0x7F, 0x80, 0x81, 0xFE, 0xFF)


def written(rng: random.Random, codec: int = NO_CODEC) -> bytes:
    """A small record set with some of everything."""

    def payload() -> bytes | None:
        return None if rng.random() < 0.2 else rng.randbytes(rng.choice([0, 1, 5, 70, 200]))

    data = b""
    offset = rng.randrange(100)
    for _ in range(rng.randrange(1, 4)):
        records = [
            Record(
                delta,
                1_000 * rng.randrange(100),
                payload(),
                payload(),
                [("h" * rng.randrange(3), payload()) for _ in range(rng.randrange(3))],
            )
            for delta in range(rng.randrange(1, 6))
        ]
        data += batch(records, offset, attributes=codec | LOG_APPEND * rng.randrange(2))
        offset += 10
    return data


def broken(data: bytes, rng: random.Random) -> bytes:
    """Flip, set, cut, insert, remove, repeat."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(found)) if found else 0
        match rng.randrange(7):
            case 0 if found:
                found[at] ^= 1 << rng.randrange(8)
            case 1 if found:
                found[at] = rng.choice(INTERESTING)
            case 2:
                del found[at:]
            case 3:
                found[at:at] = rng.randbytes(rng.randrange(1, 20))
            case 4:
                del found[at : at + rng.randrange(1, 20)]
            case 5 if len(found) > HEADER.size:
                layout, place = rng.choice(
                    [(">q", 0), (">i", 8), (">i", 23), (">q", 27), (">q", 35), (">i", 57), (">h", 21)]
                )
                number = (
                    rng.choice([-1, 0, 1, 1 << 14, -(1 << 15), rng.getrandbits(15)])
                    if layout == ">h"
                    else rng.getrandbits(31) - (1 << 30)
                )
                struct.pack_into(layout, found, place, number)
            case _:
                found += found[at : at + 100]
    return bytes(found)


def outcome(data: bytes, start: int, stop: int, *, check_crcs: bool) -> list[Row] | None:
    try:
        return emitted(data, start, stop, check_crcs=check_crcs)
    except SourceError as error:
        if (error.source, error.split, type(error.position)) != ("kafka", "orders-3", int):
            raise
        return None


def plainly(data: bytes, start: int, stop: int) -> list[Row] | None:
    try:
        return reference(data, start, stop)
    except UnreadableError:
        return None


def test_without_checksums_the_kernel_accepts_what_the_plain_decoder_accepts_and_nothing_else(
    rng: random.Random,
) -> None:
    compared = 0
    accepted = 0
    for _ in range(6_000):
        data = broken(written(rng), rng)
        start, stop = rng.choice([(0, 1 << 62), (3, 14), (rng.randrange(130), rng.randrange(130))])
        found = outcome(data, start, stop, check_crcs=False)
        try:
            expected = plainly(data, start, stop)
        except NotComparableError:
            continue
        assert found == expected, data.hex()
        compared += 1
        accepted += found is not None
    assert compared > 3_000
    assert accepted > 300


def test_with_checksums_whatever_comes_out_was_written(rng: random.Random) -> None:
    for _ in range(2_000):
        data = written(rng, rng.choice(sorted(COMPRESS)))
        rows = {row.offset: row for row in emitted(data)}
        found = outcome(broken(data, rng), 0, 1 << 62, check_crcs=True) or []
        # A batch's first offset and its leader epoch are the broker's: the producer's checksum does not cover
        # them.
        assert all(
            row._replace(offset=0) in [known._replace(offset=0) for known in rows.values()] for row in found
        )


@pytest.mark.parametrize("codec", sorted(COMPRESS))
def test_records_that_were_broken_before_they_were_sealed(codec: int, rng: random.Random) -> None:
    """A producer that computes its checksum over nonsense."""
    for _ in range(800):
        raw = batch([Record(i, value=rng.randbytes(rng.randrange(50))) for i in range(4)])
        body = broken(raw[HEADER.size :], rng)
        packed = COMPRESS[codec](body)
        if rng.random() < 0.3:
            packed = broken(packed, rng)
        header = list(HEADER.unpack_from(raw))
        header[1] = HEADER.size - 12 + len(packed)
        header[5] = codec
        if rng.random() < 0.3:
            header[12] = rng.choice([0, 3, 5, 1 << 30, (1 << 31) - 1])
        outcome(with_crc(HEADER.pack(*header) + packed), 0, 1 << 62, check_crcs=True)


@pytest.mark.parametrize("codec", sorted(COMPRESS))
def test_a_lying_count_takes_no_memory(codec: int) -> None:
    header = list(HEADER.unpack_from(raw := batch([Record(0)], attributes=codec)))
    header[12] = (1 << 31) - 1
    lying = with_crc(HEADER.pack(*header) + raw[HEADER.size :]) * 1_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CorruptRecordError, match="claims more records"):
        emitted(lying)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


VARINTS = [
    b"\xff" * 4 + b"\x0f",  # -2^31
    b"\xfe" * 4 + b"\x0f",  # 2^31 - 1
    b"\xff" * 9 + b"\x01",
    b"\xfe" * 9 + b"\x01",
    b"\x80" * 11,
    b"\xff" * 30,
    b"\x80" * 4 + b"\x00",
    b"\x80",
    b"",
]


@pytest.mark.parametrize("varint", VARINTS, ids=[varint.hex() or "none" for varint in VARINTS])
@pytest.mark.parametrize("place", range(8))
def test_varints_at_their_borders_in_every_place(varint: bytes, place: int) -> None:
    """Length, timestamp, offset, key length, value length, header count, header key and value length."""
    fields = [b"\x00", b"\x00", b"\x02k", b"\x02v", b"\x02", b"\x02h", b"\x02x"]
    if place:
        fields[place - 1] = varint + fields[place - 1][1:]
    record = b"\x00" + b"".join(fields)
    length = varint if place == 0 else bytes([2 * len(record)])
    data = batch([Record(0)], 5, compress=lambda _: length + record)
    assert outcome(data, 0, 1 << 62, check_crcs=True) == plainly(data, 0, 1 << 62)
