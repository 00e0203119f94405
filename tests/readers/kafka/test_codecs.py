"""Codecs: every framing in use, bounded output, clear errors."""

from __future__ import annotations

import contextlib
import gzip
import random
import struct

import cramjam
import numpy as np
import pytest

from headwater.core.errors import CorruptRecordError
from headwater.readers.kafka.arenas import ArenaPool, Scratch
from headwater.readers.kafka.codecs import decompress, most_inflated_bytes
from tests.readers.kafka.record_sets import COMPRESS, GZIP, LZ4, NO_CODEC, SNAPPY, ZSTD, xerial

MIB = 1 << 20
CODECS = [GZIP, SNAPPY, LZ4, ZSTD]


def inflated(codec: int, body: bytes, scratch: Scratch | None = None) -> bytes:
    scratch = scratch or Scratch(ArenaPool())
    before = scratch.size
    decompress(codec, memoryview(body), scratch, "orders-3", 7)
    return scratch.bytes()[before:].tobytes()


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
def test_what_blows_up_grows_step_by_step(codec: int) -> None:
    assert inflated(codec, COMPRESS[codec](b"\x00" * (20 * MIB))) == b"\x00" * (20 * MIB)


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD])
def test_a_bomb_is_refused(codec: int) -> None:
    bomb = COMPRESS[codec](b"\x00" * (65 * MIB))
    assert most_inflated_bytes(len(bomb)) == 64 * MIB
    scratch = Scratch(ArenaPool())
    with pytest.raises(CorruptRecordError, match="cannot be decompressed"):
        inflated(codec, bomb, scratch)
    assert scratch.size == 0


def test_the_limit_grows_with_the_input_but_not_without_end() -> None:
    assert most_inflated_bytes(0) == 64 * MIB
    assert most_inflated_bytes(MIB) == 128 * MIB
    assert most_inflated_bytes(100 * MIB) == 1024 * MIB


def test_snappy_that_claims_too_much_is_refused_before_memory_is_taken() -> None:
    claim = b"\xff\xff\xff\xff\x0f" + b"\x00" * 20
    for body in (claim, b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(claim)) + claim):
        with pytest.raises(CorruptRecordError, match="more than the limit"):
            inflated(SNAPPY, body)


@pytest.mark.parametrize(
    "rest",
    [b"\x00", b"\x00\x00\x00", struct.pack(">i", 5) + b"abcd", struct.pack(">i", -1), struct.pack(">i", 0)],
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
    for _ in range(100):
        broken = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.randrange(1, 4)):
            if broken:
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        scratch.clear()
        with contextlib.suppress(CorruptRecordError):
            inflated(codec, bytes(broken), scratch)
        assert scratch.size <= 64 * MIB


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_an_error(codec: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"does not exist \\({codec}\\)"):
        inflated(codec, b"anything")
