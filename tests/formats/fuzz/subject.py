"""What is fuzzed: a format with a random schema, and good values of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headwater.readers.formats.format import Format


class Subject(NamedTuple):
    """A format and its values.

    Attributes:
        format: with its schema and options.
        good: values that were written as the format has it. What the others are made of.
        tokens: what is put into values, beside `mutation.COMMON_TOKENS`.
        ids: of the schemas that values may name; a value that has a header gets one of these. A registry
            that does not know an id is no fault of the value: the query waits.
    """

    format: Format
    good: Sequence[bytes]
    tokens: Sequence[bytes] = ()
    ids: Sequence[int] = ()
