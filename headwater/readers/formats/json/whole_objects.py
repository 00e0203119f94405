"""JSON objects as a whole, in the plain form that every parser of JSON reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa

from headwater.readers.formats.format import Spans
from headwater.readers.formats.format_options import FormatOptions
from headwater.readers.formats.json.json_decoder import JsonDecoder

_COLUMN = "value"


def whole_objects(values: Sequence[bytes]) -> list[str]:
    """Return the objects among values: all that an empty schema rescues.

    Names and strings stand in double quotation marks. Empty objects are left out, and values that the format
    json takes for bad.
    """
    decoder = JsonDecoder(pa.schema({_COLUMN: pa.string()}), FormatOptions(rescued_column=_COLUMN))
    sizes = np.array([len(value) for value in values], np.int64)
    decoder.append(Spans(np.frombuffer(b"".join(values), np.uint8), np.cumsum(sizes) - sizes, sizes))
    (rescued,) = decoder.finish()
    return cast("list[str]", rescued.drop_null().to_pylist())
