"""Lines of text, as both readers cut them: line ends, separators, codecs, whole files and damaged ones."""

from __future__ import annotations

import bz2
import gzip
import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, Reading, reading
from tests.parity.files.strategies.text import texts

FILES = [b"", b"\n", b"one\ntwo", b"one\r\ntwo\r\n", "gr\u00fc\u00df\n".encode()]
SEPARATORS = ("\n", "\r\n", "::", "aa", "ü", "aba")


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


def test_lines_end_where_spark_ends_them(drawn: DrawnFiles) -> None:
    drawn.same(reading("text", "value string"), texts(), 500)
    drawn.same(reading("text", "value string", wholetext="true"), texts(), 250)
    drawn.same(reading("text", "value string"), texts(), 125, streaming=True)


def test_lines_end_with_the_separator(drawn: DrawnFiles) -> None:
    for separator in SEPARATORS:
        drawn.same(reading("text", "value string", lineSep=separator), texts(), 200)
    utf_16 = texts().map(lambda text: text.decode("utf-8", "replace").encode("utf-16-le"))
    drawn.same(reading("text", "value string", lineSep="\n", encoding="UTF-16LE"), utf_16, 200)


@pytest.mark.parametrize("suffix", CODECS)
def test_compressed_files_are_those_of_spark(drawn: DrawnFiles, suffix: str) -> None:
    drawn.same(Reading("text", "value string", {}, f".txt{suffix}"), texts().map(CODECS[suffix]), 20)


@pytest.mark.parametrize(
    "behind",
    [
        *(bytes(10), b"xyz", b"B", b"BZh9", bz2.compress(b"d\n") + b"\0"),
        *(between + bz2.compress(b"d\n") for between in (bytes(10), b"xyz", bz2.compress(b""))),
    ],
)
def test_bytes_behind_a_stream_of_bzip2_are_nothing_up_to_the_next_one_as_to_hadoop(
    parity: FilesParity, behind: bytes
) -> None:
    files = [bz2.compress(b"a\nb\n") + behind]
    for how in (
        Reading("text", "value string", suffix=".txt.bz2"),
        Reading("csv", "value string", suffix=".csv.bz2"),
    ):
        spark, ours = parity.both(how, files)
        assert spark == ours
        assert not isinstance(ours[0], Failed)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".deflate"])
def test_files_that_are_cut_short_fail_or_give_what_spark_gives(
    parity: FilesParity, rng: random.Random, suffix: str
) -> None:
    long = CODECS[suffix](b"".join(rng.choices((b"a", b"bc", b"\n", b"\r", b"\r\n"), k=100_000)))
    cut = [long[: rng.randrange(1, len(long))] for _ in range(3)]
    how = Reading("text", "value string", {}, f".txt{suffix}")
    assert all(isinstance(each, Failed) for each in parity.same(how, cut, one_by_one=True))
    if suffix != ".bz2":
        # What comes before the damage. Of bz2 it depends on how Java fills its buffers.
        parity.same(replace(how, options={"ignoreCorruptFiles": "true"}), [long, *cut])


@pytest.mark.parametrize(
    "how",
    [
        reading("text", "value string", wholetext="true"),
        reading("json", "a int, _corrupt_record string", multiLine="true"),
        reading("json", "a int", multiLine="true", mode="DROPMALFORMED"),
        reading("json", multiLine="true"),
    ],
    ids=str,
)
def test_a_part_of_a_file_that_is_one_record_is_none(parity: FilesParity, how: Reading) -> None:
    whole = b"[" + b",".join(b'{"a":%d}' % at for at in range(10_000)) + b"]"
    files = [gzip.compress(whole)[:5_000], gzip.compress(b'[{"a":1}]')]
    how = replace(how, suffix=".gz")
    assert isinstance(parity.same(how, files[:1])[0], Failed)
    skipping = replace(how, options={**how.options, "ignoreCorruptFiles": "true"})
    assert [len(rows) for rows in parity.same(skipping, files) if isinstance(rows, list)] == [0, 1]


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
