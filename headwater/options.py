"""How a source declares its options: `Option`, one for each, and parsers of their values.

A `Spec` is an object of several options. `TlsSettings` is one: certificates of encrypted connections.
`kept_secret` returns a password that the user wrote as ``env:NAME`` or ``file:PATH``, and keeps it out of
errors and logs.
"""

from __future__ import annotations

from headwater.connector.options import OptionTable
from headwater.core.options import (
    Option,
    Spec,
    boolean,
    duration_ms,
    integer,
    json_object,
    names,
    one_of,
    option,
    text,
)
from headwater.core.secrets import TlsSettings, kept_secret

__all__ = [
    "Option",
    "OptionTable",
    "Spec",
    "TlsSettings",
    "boolean",
    "duration_ms",
    "integer",
    "json_object",
    "kept_secret",
    "names",
    "one_of",
    "option",
    "text",
]
