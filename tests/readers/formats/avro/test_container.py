"""Avro's container files: what a block may become when it is decompressed."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.core.varints import varint_bytes, zigzag
from tests.readers.files.reading import read, settings

COLUMNS = pa.schema([pa.field("a", pa.binary())])
CODECS = ("deflate", "snappy", "bzip2", "xz", "zstandard")
MOST = 1_000_000


def number(value: int) -> bytes:
    return varint_bytes(zigzag(value))


def packed(codec: str, content: bytes) -> bytes:
    match codec:
        case "deflate":
            stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            return stream.compress(content) + stream.flush()
        case "snappy":
            return pa.Codec("snappy").compress(content, asbytes=True) + zlib.crc32(content).to_bytes(4, "big")
        case "bzip2":
            return bz2.compress(content)
        case "xz":
            return lzma.compress(content)
    return pa.Codec("zstd").compress(content, asbytes=True)


def container(path: Path, codec: str, block: bytes, rows: int = 1) -> Path:
    """Write a file with one block of the column `a`."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "bytes"}]}
    header = io.BytesIO()
    header.write(b"Obj\x01" + number(2))
    for text in (b"avro.schema", json.dumps(schema).encode(), b"avro.codec", codec.encode()):
        header.write(number(len(text)) + text)
    header.write(number(0) + b"S" * 16)
    path.write_bytes(header.getvalue() + number(rows) + number(len(block)) + block + b"S" * 16)
    return path


@pytest.mark.parametrize("codec", CODECS)
def test_a_block_of_any_codec_may_become_as_large_as_the_option_says_and_no_larger(
    codec: str, tmp_path: Path
) -> None:
    def how(most: int, **more: Any) -> Any:
        return settings("avro", COLUMNS, most_inflated_bytes=most, **more)

    value = bytes(MOST)
    content = number(MOST) + value
    path = container(tmp_path / "f", codec, packed(codec, content))
    assert read(path, how(len(content))) == [{"a": value}]
    for skips in (False, True):
        with pytest.raises(SourceError, match="option 'maxInflatedBlockBytes' bounds them") as error:
            read(path, how(len(content) - 1, ignore_corrupt=skips))
        assert not isinstance(error.value, CorruptRecordError)
        assert error.value.split == f"file://{path}"
        assert error.value.position == path.read_bytes().index(b"S" * 16) + 16


@pytest.mark.parametrize("codec", CODECS)
def test_memory_ends_at_the_limit_whatever_a_block_would_become(codec: str, tmp_path: Path) -> None:
    path = container(tmp_path / "f", codec, packed(codec, bytes(64 << 20)))
    how = settings("avro", COLUMNS, most_inflated_bytes=MOST)
    with pytest.raises(SourceError, match="maxInflatedBlockBytes"):
        read(path, how)
    tracemalloc.start()
    try:
        with pytest.raises(SourceError, match="maxInflatedBlockBytes"):
            read(path, how)
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz"])
def test_a_block_of_several_pieces_is_whole(codec: str, tmp_path: Path) -> None:
    content = b"".join(number(100_000) + bytes([at]) * 100_000 for at in range(40))
    path = container(tmp_path / "f", codec, packed(codec, content), rows=40)
    assert [row["a"][0] for row in read(path, settings("avro", COLUMNS))] == list(range(40))


def test_snappy_that_claims_more_than_it_can_hold_is_damage(tmp_path: Path) -> None:
    path = container(tmp_path / "f", "snappy", varint_bytes(200 << 20) + b"abcdefgh")
    with pytest.raises(CorruptRecordError, match="cannot be decompressed"):
        read(path, settings("avro", COLUMNS))
