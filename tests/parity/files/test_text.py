"""Lines of text, as both readers cut them: line ends, separators, codecs, whole files and damaged ones."""

from __future__ import annotations

import bz2
import gzip
import random
import struct
import zlib
from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.parity.files.files_parity import Failed, FilesParity, Reading, reading

FILES = [b"", b"\n", b"one\ntwo", b"one\r\ntwo\r\n", "gr\u00fc\u00df\n".encode()]
PIECES = (
    b"a",
    b"bc",
    b"\n",
    b"\r",
    b"\r\n",
    b"::",
    b":",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\0",
    "ü".encode(),
    b"aa",
)
SEPARATORS = ("\n", "\r\n", "::", "aa", "ü", "aba")


def texts(rng: random.Random, count: int) -> list[bytes]:
    return [b"".join(rng.choices(PIECES, k=rng.randrange(1, 40))) for _ in range(count)]


def snappy_blocks(data: bytes) -> bytes:
    packed = pa.Codec("snappy").compress(data, asbytes=True)
    return struct.pack(">ii", len(data), len(packed)) + packed


CODECS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".deflate": zlib.compress,
    ".snappy": snappy_blocks,
}


@pytest.mark.parametrize("streaming", [False, True])
def test_lines_are_those_of_spark(parity: FilesParity, streaming: bool) -> None:
    found = parity.same(reading("text", "value string"), FILES, streaming=streaming)
    assert found[2] == [("one",), ("two",)]


def test_lines_end_where_spark_ends_them(parity: FilesParity, rng: random.Random) -> None:
    parity.same(reading("text", "value string"), texts(rng, 300))
    parity.same(reading("text", "value string", wholetext="true"), texts(rng, 50))


def test_lines_end_with_the_separator(parity: FilesParity, rng: random.Random) -> None:
    for separator in SEPARATORS:
        parity.same(reading("text", "value string", lineSep=separator), texts(rng, 100))
    utf_16 = [text.decode("utf-8", "replace").encode("utf-16-le") for text in texts(rng, 50)]
    parity.same(reading("text", "value string", lineSep="\n", encoding="UTF-16LE"), utf_16)


@pytest.mark.parametrize("suffix", CODECS)
def test_compressed_and_damaged_files_are_those_of_spark(
    parity: FilesParity, rng: random.Random, suffix: str
) -> None:
    contents = [CODECS[suffix](text) for text in texts(rng, 20)]
    how = Reading("text", "value string", {}, f".txt{suffix}")
    parity.same(how, contents)
    long = CODECS[suffix](b"".join(rng.choices(PIECES[:5], k=100_000)))
    cut = [long[: rng.randrange(1, len(long))] for _ in range(3)]
    if suffix != ".snappy":
        assert all(isinstance(each, Failed) for each in parity.same(how, cut, one_by_one=True))
    if suffix in {".gz", ".deflate"}:
        # What comes before the damage. Of the others it depends on how Java fills its buffers.
        skipping = Reading("text", "value string", {"ignoreCorruptFiles": "true"}, f".txt{suffix}")
        parity.same(skipping, [long, *cut])


@pytest.mark.parametrize("schema", ["value binary", "value int", "value string, more string"])
def test_another_column_than_one_of_strings_is_refused(parity: FilesParity, schema: str) -> None:
    for skips in ("false", "true"):
        (ours,) = parity.same(reading("text", schema, ignoreCorruptFiles=skips), [b"x"])
        assert isinstance(ours, Failed)
        assert "one column of strings" in ours.said


def test_a_cut_file_of_snappy_differs(parity: FilesParity) -> None:
    content = snappy_blocks(b"one\n" + b"a" * 100)[:-5]
    how = Reading("text", "value string", {}, ".txt.snappy")
    _, ours = parity.differs("a cut file of Hadoop's snappy", how, content)
    assert isinstance(ours, Failed)
