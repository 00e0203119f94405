"""Files of Parquet: tables, written in every way that a writer may choose."""

from __future__ import annotations

import io
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.parity.files.strategies.tables import tables

__all__ = ["parquet_files"]

_ENCODINGS: Final = (
    (pa.types.is_int32, ("PLAIN", "DELTA_BINARY_PACKED")),
    (pa.types.is_int64, ("PLAIN", "DELTA_BINARY_PACKED")),
    (pa.types.is_string, ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")),
    (pa.types.is_binary, ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")),
)
_HOW: Final[SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(("none", "snappy", "gzip", "zstd", "lz4")),
        "row_group_size": st.integers(1, 12),
        "data_page_version": st.sampled_from(("1.0", "2.0")),
        "data_page_size": st.sampled_from((8, 100, 1 << 20)),  # Below 3 pages may be empty: an entry has it.
        "write_batch_size": st.integers(1, 12),
        "version": st.sampled_from(("1.0", "2.4", "2.6")),
        "write_statistics": st.booleans(),
        "write_page_index": st.booleans(),
        "write_page_checksum": st.booleans(),
        "store_schema": st.booleans(),
        "store_decimal_as_integer": st.booleans(),
        "use_compliant_nested_type": st.booleans(),
    }
)


@st.composite
def _encodings(draw: st.DrawFn, schema: pa.Schema) -> dict[str, Any]:
    """Return a dictionary for all columns, or one of the encodings that each column may have."""
    if draw(st.booleans()):
        return {"use_dictionary": True}
    of_columns = {
        field.name: draw(st.sampled_from(encodings))
        for field in schema
        for fits, encodings in _ENCODINGS
        if fits(field.type)
    }
    return {"use_dictionary": False, "column_encoding": of_columns or None}


@st.composite
def parquet_files(draw: st.DrawFn) -> bytes:
    """Return a file with some of the columns of `tables`."""
    table = draw(tables())
    out = io.BytesIO()
    pq.write_table(table, out, **draw(_HOW), **draw(_encodings(table.schema)))
    return out.getvalue()
