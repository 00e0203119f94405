"""Codecs: every framing in use, bounded output, clear errors."""

from __future__ import annotations

import gzip
import json
import random
import struct
import subprocess
import sys
from pathlib import Path

import cramjam
import lz4.frame
import numpy as np
import pytest

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.readers.kafka.codecs import decompress
from headwater.readers.kafka.settings import KafkaReadSettings
from headwater.readers.kernels.arenas import ArenaPool, Scratch
from tests.patience import PATIENCE_S
from tests.readers.kafka.record_sets import COMPRESS, GZIP, LZ4, NO_CODEC, SNAPPY, ZSTD, xerial

MIB = 1 << 20
CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
NAMES = {GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}


def inflated(
    codec: int,
    body: bytes,
    scratch: Scratch | None = None,
    *,
    most_bytes: int = KafkaReadSettings().most_inflated_bytes,
) -> bytes:
    scratch = scratch or Scratch(ArenaPool())
    before = scratch.size
    decompress(codec, memoryview(body), scratch, "orders-3", 7, most_bytes)
    return scratch.bytes()[before:].tobytes()


def zeros(codec: int, size: int) -> bytes:
    """As large blocks, which the real compressors make of so many fastest."""
    module = getattr(cramjam, NAMES[codec])
    return bytes((module.compress_raw if codec == SNAPPY else module.compress)(bytes(size)))


@pytest.mark.parametrize("codec", [NO_CODEC, *CODECS])
@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 5_000, 3 * MIB])
def test_what_goes_in_comes_out(codec: int, size: int, rng: random.Random) -> None:
    plain = bytes(rng.choices(b"abcd", k=min(size, 10_000))) * (1 + size // 10_000)
    assert inflated(codec, COMPRESS[codec](plain[:size])) == plain[:size]


def test_snappy_comes_with_and_without_the_java_clients_framing(rng: random.Random) -> None:
    plain = bytes(rng.choices(b"abcd", k=100_000))
    assert inflated(SNAPPY, bytes(cramjam.snappy.compress_raw(plain))) == plain
    assert inflated(SNAPPY, xerial(plain, 32 << 10)) == plain


def test_frames_one_after_the_other_belong_together() -> None:
    assert inflated(GZIP, gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"
    assert inflated(ZSTD, COMPRESS[ZSTD](b"one") + COMPRESS[ZSTD](b"two")) == b"onetwo"


def java_outcomes() -> list[tuple[int, int, bytes, str]]:
    numbers = {name: codec for codec, name in NAMES.items()}
    lines = Path(__file__).with_name("java_decompression.txt").read_text().splitlines()
    words = [line.split() for line in lines]
    return [(numbers[codec], int(size), bytes.fromhex(body), outcome) for codec, size, body, outcome in words]


@pytest.mark.parametrize("codec", CODECS)
def test_what_the_java_consumer_reads_is_read_with_any_bytes_behind_the_end_and_wrong_checks_of_the_whole(
    codec: int,
) -> None:
    readable = [
        (size, body) for each, size, body, outcome in java_outcomes() if (each, outcome) == (codec, "read")
    ]
    assert len(readable) >= 3
    sizes = [(size, len(inflated(codec, body)), body.hex()) for size, body in readable]
    assert [each for each in sizes if each[0] != each[1]] == []


@pytest.mark.parametrize("tail", [b"", b"\0" * 200_000, b"x" * 200_000])
def test_members_of_gzip_are_read_to_their_end_however_long_they_are(rng: random.Random, tail: bytes) -> None:
    plain = rng.randbytes(MIB)
    body = gzip.compress(plain) + gzip.compress(b"two")
    assert inflated(GZIP, body + tail) == plain + b"two"
    for broken in (body[:-1], body[:-12] + b"abcd" + body[-8:]):
        with pytest.raises(CorruptRecordError, match="gzip"):
            inflated(GZIP, broken)


def test_batches_are_laid_down_one_after_the_other() -> None:
    scratch = Scratch(ArenaPool())
    for codec in (NO_CODEC, *CODECS):
        inflated(codec, COMPRESS[codec](b"%d" % codec * 3), scratch)
    assert scratch.bytes().tobytes() == b"000111222333444"


def test_memory_is_used_again() -> None:
    scratch = Scratch(ArenaPool())
    inflated(ZSTD, COMPRESS[ZSTD](b"x" * MIB), scratch)
    first = scratch.bytes()
    scratch.clear()
    inflated(ZSTD, COMPRESS[ZSTD](b"y" * MIB), scratch)
    assert np.shares_memory(first, scratch.bytes())


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("limit", [1, 5_000, MIB, 10 * MIB + 1])
def test_the_limit_is_exact_and_what_goes_beyond_it_is_not_called_broken(codec: int, limit: int) -> None:
    scratch = Scratch(ArenaPool())
    inflated(NO_CODEC, b"before", scratch)
    assert inflated(codec, zeros(codec, limit), scratch, most_bytes=limit) == b"\x00" * limit
    body = zeros(codec, limit + 1)
    before = scratch.bytes().tobytes()
    with pytest.raises(SourceError) as caught:
        inflated(codec, body, scratch, most_bytes=limit)
    assert type(caught.value) is SourceError
    assert str(caught.value) == (
        f"the record batch at offset 7 has {len(body)} bytes of {NAMES[codec]}, which are more than {limit} "
        "bytes when they are decompressed. Whole batches are held in memory, so option "
        "'maxInflatedBatchBytes' bounds them: raise it, up to 2000000000, if there is memory for three times "
        "as much in each Python worker [source kafka, split orders-3, position 7]"
    )
    assert scratch.bytes().tobytes() == before


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4])
@pytest.mark.parametrize("size", [100, 3 * MIB])
def test_bytes_that_are_cut_short_are_not_called_too_large(codec: int, size: int, rng: random.Random) -> None:
    whole = COMPRESS[codec](rng.randbytes(size))
    with pytest.raises(CorruptRecordError, match=f"cannot be decompressed with {NAMES[codec]}"):
        inflated(codec, whole[: len(whole) // 2])


@pytest.mark.parametrize("size", [100, 3 * MIB])
def test_zstd_that_is_cut_short_ends_where_it_ends(size: int, rng: random.Random) -> None:
    """The batch's count of records tells then that some are missing."""
    plain = rng.randbytes(size)
    whole = COMPRESS[ZSTD](plain)
    assert plain.startswith(inflated(ZSTD, whole[: len(whole) // 2]))


def test_broken_bytes_are_looked_at_twice_at_most(
    monkeypatch: pytest.MonkeyPatch, rng: random.Random
) -> None:
    calls: list[int] = []
    original = cramjam.lz4.decompress_into

    def counted(body: memoryview, room: memoryview) -> int:
        calls.append(len(room))
        return int(original(body, room))

    monkeypatch.setattr(cramjam.lz4, "decompress_into", counted)
    whole = bytes(cramjam.lz4.compress(rng.randbytes(MIB)))
    with pytest.raises(CorruptRecordError, match="cannot be decompressed with lz4"):
        inflated(LZ4, whole[:-100])
    assert len(calls) <= 2


def test_blocks_of_lz4_that_need_the_blocks_before_them_are_read(rng: random.Random) -> None:
    """As the Python client writes them."""
    plain = bytes(rng.choices(b"abcd", k=300_000))
    assert inflated(LZ4, lz4.frame.compress(plain, block_linked=True)) == plain


def test_snappy_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken() -> None:
    claim = b"\xff\xff\xff\xff\x0f" + b"\x00" * 20
    for body in (claim, b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(claim)) + claim):
        with pytest.raises(
            CorruptRecordError, match="it claims 4294967295 bytes of records, more than 25 bytes"
        ):
            inflated(SNAPPY, body)


def test_memory_grows_with_the_content_and_ends_at_the_limit() -> None:
    """The peak of processes of their own: a record of 70 MiB of zeros, and bombs, with a limit of 100 MiB.

    The records are in memory as they were decompressed, and once more as Arrow's. The smaller rooms, out of
    which a batch has grown, are kept to be used again.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.readers.kafka.peak_memory"],
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    peaks = json.loads(done.stdout)
    kept_mib = 150
    assert all(peak <= 2 * 70 + kept_mib for peak in peaks["zeros"].values()), peaks
    assert all(peak <= 100 + kept_mib for peak in peaks["bombs"].values()), peaks


@pytest.mark.parametrize(
    "rest",
    [
        struct.pack(">i", 5) + b"abcd",
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        b"\x82SNAPPY\x00",
        b"\x82SNA" * 4,
    ],
)
def test_broken_java_framing_is_an_error(rest: bytes) -> None:
    with pytest.raises(CorruptRecordError, match="snappy"):
        inflated(SNAPPY, xerial(b"hello") + rest)


@pytest.mark.parametrize("codec", CODECS)
def test_cut_and_broken_input_is_an_error_or_something_else_of_bounded_size(
    codec: int, rng: random.Random
) -> None:
    whole = COMPRESS[codec](bytes(rng.choices(b"abcdefgh", k=2_000)))
    scratch = Scratch(ArenaPool())
    for _ in range(300):
        broken = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.randrange(4)):
            if broken:
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        limit = rng.choice([1, 1_000, 2_000, 10_000, KafkaReadSettings().most_inflated_bytes])
        scratch.clear()
        inflated(NO_CODEC, b"before", scratch)
        try:
            found = inflated(codec, bytes(broken), scratch, most_bytes=limit)
        except SourceError as error:
            assert scratch.bytes().tobytes() == b"before"
            if type(error) is SourceError:
                assert limit < KafkaReadSettings().most_inflated_bytes
        else:
            assert len(found) <= min(limit, 64 * MIB)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_an_error(codec: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"does not exist \\({codec}\\)"):
        inflated(codec, b"anything")
