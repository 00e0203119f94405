"""Compressed files: Hadoop's codecs, several streams in a file, and what damage does."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import zlib

import lz4.block
import lz4.frame
import pyarrow as pa
import pytest

from headwater.core.errors import CorruptRecordError
from headwater.readers.files.compressed_files import decompressed

TEXT = bytes(random.Random(1).choices(b"abcdefgh\n", k=300_000))
HALF = len(TEXT) // 2


def hadoop_blocks(codec: str) -> bytes:
    """Return what Hadoop writes: blocks, each its size and chunks after their sizes."""
    blocks = b""
    for block in (TEXT[:HALF], TEXT[HALF:]):
        blocks += struct.pack(">i", len(block))
        for chunk in (block[:100_000], block[100_000:]):
            packed = (
                lz4.block.compress(chunk, store_size=False)
                if codec == "lz4"
                else pa.Codec("snappy").compress(chunk, asbytes=True)
            )
            blocks += struct.pack(">i", len(packed)) + packed
    return blocks


FILES = {
    "a.gz": gzip.compress(TEXT),
    "two.gz": gzip.compress(TEXT[:HALF]) + gzip.compress(TEXT[HALF:]),
    "a.GZ": gzip.compress(TEXT),
    "a.deflate": zlib.compress(TEXT),
    "two.deflate": zlib.compress(TEXT[:HALF]) + zlib.compress(TEXT[HALF:]),
    "a.bz2": bz2.compress(TEXT[:HALF]) + bz2.compress(TEXT[HALF:]),
    "a.xz": lzma.compress(TEXT),
    "a.snappy": hadoop_blocks("snappy"),
    "a.lz4": hadoop_blocks("lz4"),
    "frame.lz4": lz4.frame.compress(TEXT),
    "a.zst": pa.Codec("zstd").compress(TEXT, asbytes=True),
    "a.txt": TEXT,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_decompressed_by_the_suffix_of_its_name(name: str) -> None:
    assert decompressed(f"file:///{name}", io.BytesIO(FILES[name])).read(len(TEXT) + 1) == TEXT


@pytest.mark.parametrize("name", [name for name in FILES if name != "a.txt"])
def test_what_is_before_the_end_of_a_cut_file_is_read_and_then_the_file_is_named(name: str) -> None:
    stream = decompressed(f"file:///{name}", io.BytesIO(FILES[name][:-1000]))
    found = stream.read(len(TEXT))
    assert TEXT.startswith(found)
    with pytest.raises(CorruptRecordError, match=rf"split file:///{name}, position {len(found)}\]"):
        stream.read(1)


@pytest.mark.parametrize("size", [0, 1, 10, 64_000, 200_000])
def test_streams_of_bzip2_are_found_behind_any_bytes_as_hadoop_finds_them(size: int) -> None:
    first, second = bz2.compress(b"a\n"), bz2.compress(b"b\n")
    for between in (bytes(size), b"BZh9" * (size // 4), random.Random(size).randbytes(size)):
        # So that the second stream lies on the border of what is read at once, too.
        for begins in range(0, len(second), 3):
            border = bytes((-len(first) - len(between) - begins) % (64 << 10))
            content = first + between + border + bz2.compress(b"") + second + between
            assert decompressed("a.bz2", io.BytesIO(content)).read(100) == b"a\nb\n"


@pytest.mark.parametrize("bit", range(8))
def test_a_block_of_bzip2_that_hadoop_would_read_outside_of_a_stream_is_damage(bit: int) -> None:
    block = bz2.compress(b"b\n")[4:]
    moved = (int.from_bytes(block, "big") << 8 - bit).to_bytes(len(block) + 1, "big")
    stream = decompressed("a.bz2", io.BytesIO(bz2.compress(b"a\n") + b"xyz" + moved))
    assert stream.read(2) == b"a\n"
    with pytest.raises(CorruptRecordError, match="a block of bzip2 stands outside of a stream"):
        stream.read(1)


def test_a_cut_gzip_gives_all_that_it_holds() -> None:
    cut = FILES["a.gz"][:-1000]
    stream = decompressed("a.gz", io.BytesIO(cut))
    assert stream.read(len(TEXT)) == zlib.decompressobj(31).decompress(cut)
