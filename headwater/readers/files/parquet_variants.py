"""Columns of Parquet that are variants: refused, since pyarrow shows only the parts that they consist of."""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

from headwater.readers.files.column_types import UnfitTypeError

_COLUMN: Final = re.compile(r"  (?! )\S+ .*?field_id=\S+ (?P<name>.*?)( \(.*\))?( \{|;)$")
_VARIANT_GROUP: Final = re.compile(r" \(Variant\(\d+\)\) \{$")
_VARIANT: Final = (
    "is of the type variant, which cannot be made here: leave it out of the schema, or read it with "
    "Spark's own reader"
)


def check_no_variant(parquet: Any, columns: pa.Schema) -> None:
    """Raise an error if one of the wanted columns is of the type variant.

    Raises:
        UnfitTypeError: it is.
    """
    wanted = {name.lower() for name in columns.names}
    for name in sorted(_variants_of(parquet)):
        if name.lower() in wanted:
            raise UnfitTypeError(f"column {name!r} {_VARIANT}")


def _variants_of(parquet: Any) -> set[str]:
    """Return the columns of an open file that are of the type variant, or have it inside.

    To pyarrow they are structs, of which a part holds the value in pieces; only its text tells them.
    """
    found: set[str] = set()
    column = ""
    for line in str(parquet.schema).splitlines():
        begins = _COLUMN.match(line)
        if begins is not None:
            column = begins["name"]
        if _VARIANT_GROUP.search(line):
            found.add(column)
    return found
