"""An answer is whole when its coding says so, and is never more than the limit."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from headwater.core.errors import CorruptRecordError, TransientSourceError
from headwater.readers.http.codings import TooLargeError, decoded
from tests.readers.http.scripted import Answer, Scripted, read

MOST = 1 << 20
ITEMS = [{"id": number, "name": f"n{number * 7919}"} for number in range(200)]
LINES = "".join(f"{json.dumps(item)}\n" for item in ITEMS).encode()


def raw_deflate(content: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(content) + compressor.flush()


CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "two members of gzip": ("gzip", lambda text: gzip.compress(text[:50]) + gzip.compress(text[50:])),
    "deflate": ("deflate", zlib.compress),
    "deflate without its header": ("deflate", raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstandard.compress),
    "two frames of zstd": (
        "zstd",
        lambda text: zstandard.compress(text[:50]) + zstandard.compress(text[50:]),
    ),
    "gzip in br": ("gzip, br", lambda text: brotli.compress(gzip.compress(text))),
}


def undone(content: bytes, codings: str) -> bytes:
    return decoded(content, codings, MOST, display_url="http://x/a")


@pytest.mark.parametrize("name", CODINGS)
def test_a_content_that_breaks_off_anywhere_is_asked_for_again(name: str, rng: random.Random) -> None:
    codings, encode = CODINGS[name]
    coded = encode(LINES)
    assert undone(coded, codings) == LINES
    ends = {len(gzip.compress(LINES[:50])), len(zstandard.compress(LINES[:50]))} if "two" in name else set()
    cuts = {1, len(coded) - 1, *(rng.randrange(1, len(coded)) for _ in range(60))} - ends
    for cut in sorted(cuts):
        with pytest.raises(TransientSourceError, match="breaks off"):
            undone(coded[:cut], codings)


@pytest.mark.parametrize("name", CODINGS)
def test_what_is_not_coded_as_the_header_says_is_a_bad_page(name: str) -> None:
    with pytest.raises(CorruptRecordError, match="cannot be decompressed"):
        undone(b"\x07neither of them\xff" * 9, CODINGS[name][0])
    with pytest.raises(CorruptRecordError, match=r"coded as 'zip'.* asked for were gzip"):
        undone(LINES, "zip")


@pytest.mark.parametrize("name", CODINGS)
def test_no_more_than_the_limit_is_decompressed(name: str) -> None:
    codings, encode = CODINGS[name]
    assert len(undone(encode(bytes(MOST)), codings)) == MOST
    bomb = encode(bytes(64 * MOST))
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError):
            undone(bomb, codings)
        assert tracemalloc.get_traced_memory()[1] < 8 * MOST
    finally:
        tracemalloc.stop()


def test_no_line_is_lost_where_an_answer_is_shorter_than_its_length_says(server: Scripted) -> None:
    """Cut between two lines: nothing but the header shows it."""
    server.lacks = len(LINES.splitlines(keepends=True)[-1])
    server.say("/a", LINES)
    whole = server.answer

    def answer(path: str) -> Answer:
        server.lacks = 0 if server.paths.count(path) > 1 else server.lacks
        return whole(path)

    server.answer = answer
    assert read(f"{server.origin}/a", pageFormat="ndjson") == ITEMS
    assert len(server.asked) == 2


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_no_line_is_lost_where_an_answer_breaks_off(server: Scripted, coding: str) -> None:
    coded = CODINGS[coding][1](LINES)
    server.say("/a", coded[: len(coded) // 2], Content_Encoding=coding)
    server.say("/a", coded, Content_Encoding=coding)
    items = read(f"{server.origin}/a", pageFormat="ndjson")
    assert items == ITEMS
    assert len(server.asked) == 2
