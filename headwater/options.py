"""How a source declares its options: `Option`, one for each, and parsers of their values."""

from __future__ import annotations

from headwater.connector.options import OptionTable
from headwater.core.options import Option, boolean, duration_ms, integer, json_object, names, one_of, text

__all__ = [
    "Option",
    "OptionTable",
    "boolean",
    "duration_ms",
    "integer",
    "json_object",
    "names",
    "one_of",
    "text",
]
