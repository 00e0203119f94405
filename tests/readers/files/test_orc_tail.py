"""The end of ORC files beside what pyarrow has written, whole and mutated."""

from __future__ import annotations

import io
import random
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from headwater.readers.files.orc_tail import OrcTail

COMPRESSIONS: tuple[Any, ...] = ("uncompressed", "zlib", "snappy", "lz4", "zstd")


def content(compression: Any) -> bytes:
    out = io.BytesIO()
    numbers = pa.array(random.Random(1).choices(range(-(1 << 60), 1 << 60), k=6_000), pa.int64())
    table = pa.table({f"column{at}": numbers for at in range(5)})
    orc.write_table(table, out, compression=compression, stripe_size=1 << 10, batch_size=100)
    return out.getvalue()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_footers_of_stripes_lie_behind_each_other_and_name_their_writers_zone(compression: Any) -> None:
    data = content(compression)
    tail = OrcTail(io.BytesIO(data), len(data))
    assert len(tail.footers) == orc.ORCFile(io.BytesIO(data)).nstripes
    assert len(tail.footers) > 1 or compression != "uncompressed"
    borders = [place for footer in tail.footers for place in footer]
    assert len(b"ORC") < borders[0]
    assert borders == sorted(set(borders))
    assert {tail.writer_zone(at) for at in range(len(tail.footers))} == {"GMT"}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_mutated_end_is_read_or_a_value_error(compression: Any, rng: random.Random) -> None:
    data = content(compression)
    failed = 0
    for _ in range(200):
        mutated = bytearray(data)
        for _ in range(3):
            mutated[-rng.randrange(1, min(700, len(data)))] = rng.randrange(256)
        try:
            tail = OrcTail(io.BytesIO(mutated), len(mutated))
            for at in range(len(tail.footers)):
                tail.writer_zone(at)
        except ValueError:
            failed += 1
    assert failed


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff", b"no orc file"])
def test_what_is_far_too_short_is_a_value_error(data: bytes) -> None:
    with suppress(ValueError):
        assert OrcTail(io.BytesIO(data), len(data)).footers == []
