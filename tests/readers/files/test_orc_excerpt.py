"""Stripes of ORC as two files beside what pyarrow reads of the whole one, where it can."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from headwater.readers.files.orc_excerpt import OrcExcerpt, with_fractions
from headwater.readers.files.orc_tail import OrcTail
from tests.readers.files.test_orc_tail import COMPRESSIONS

COLUMNS = ("n", "t", "nested", "s")


def content(rng: random.Random, compression: Any) -> bytes:
    moments = [None if rng.random() < 0.1 else rng.randrange(-(10**17), 10**17) * 10 for _ in range(6_000)]
    # Equal ones, and such as rise evenly: ORC writes these in other ways.
    moments += [7 * 10**9] * 700 + [at * 1_000 for at in range(700)]
    times = pa.array(moments, pa.timestamp("ns"))
    lists = pa.ListArray.from_arrays(pa.array(range(0, len(times) + 1, 2), pa.int32()), times)
    nested = pa.StructArray.from_arrays([lists, pa.array(range(len(lists)))], names=["l", "n"])
    columns = {"t": times[: len(nested)], "n": pa.array(range(len(nested))), "nested": nested}
    table = pa.table({**columns, "s": [str(at) for at in range(len(nested))]})
    out = io.BytesIO()
    orc.write_table(table, out, compression=compression, stripe_size=1 << 10, batch_size=500)
    return out.getvalue()


def only_batch(file: bytes, columns: Any) -> pa.RecordBatch:
    source = orc.ORCFile(io.BytesIO(file))
    assert source.nstripes == 1
    return source.read_stripe(0, columns=columns)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_seconds_and_fractions_make_the_times_of_each_stripe(
    compression: Any, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    data = content(rng, compression)
    whole = orc.ORCFile(io.BytesIO(data))
    tail = OrcTail(io.BytesIO(data), len(data))
    assert whole.nstripes == len(tail.stripes)
    assert whole.nstripes > 1 or compression != "uncompressed"
    for stripe in range(whole.nstripes):
        excerpt = OrcExcerpt(tail, stripe, COLUMNS)
        assert excerpt.time_columns == ["t", "nested"]
        found = with_fractions(
            only_batch(excerpt.seconds(), list(COLUMNS)),
            only_batch(excerpt.fractions(), excerpt.time_columns),
        )
        expected = whole.read_stripe(stripe, columns=list(COLUMNS))
        assert found.equals(expected.cast(found.schema, safe=False))
