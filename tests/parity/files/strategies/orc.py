"""Files of ORC: tables, written in every way that a writer may choose."""

from __future__ import annotations

import io
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pyarrow import orc

from tests.parity.files.strategies.tables import tables

__all__ = ["orc_files"]

_HOW: Final[SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(("uncompressed", "snappy", "zlib", "lz4", "zstd")),
        "compression_block_size": st.sampled_from((1 << 16, 1 << 18)),
        "batch_size": st.integers(1, 12),
        "stripe_size": st.sampled_from((1, 1 << 26)),
        "row_index_stride": st.sampled_from((1, 5, 10_000)),
        "dictionary_key_size_threshold": st.sampled_from((0.0, 0.5, 1.0)),
        "file_version": st.sampled_from(("0.11", "0.12")),
    }
)
_NEAR: Final = st.integers(-(2**63) // 1_000, (2**63 - 1) // 1_000)
"""Microseconds from 1677-09-22 to 2262-04-11: others are refused, which a test of its own compares."""
_READABLE: Final = _NEAR.map(lambda moment: moment if moment >= 0 else -(-moment // 1_000_000) * 1_000_000)
"""Arrow writes fractions of seconds before 1970 in a way that fails Spark: the list of differences has it."""


@st.composite
def orc_files(draw: st.DrawFn) -> bytes:
    """Return a file with some of the columns of `tables`."""
    out = io.BytesIO()
    orc.write_table(draw(tables(_READABLE)), out, **draw(_HOW))
    return out.getvalue()
