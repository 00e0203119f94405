"""The types that the kernel of inference finds: numbers that it and Python share."""

from __future__ import annotations

DATE_FIRST = 29
"""1 if a date is never taken for a time."""
MIXED = 28
"""The type of a column of dates and times."""
KIND = 30
"""The type that all values so far have in common."""
PRECISION = 31
"""Its digits, if it is `KIND_DECIMAL`."""

KIND_NOTHING = 0
KIND_INT = 1
KIND_LONG = 2
KIND_DECIMAL = 3
"""Of scale 0."""
KIND_DOUBLE = 4
KIND_DATE = 5
KIND_TIMESTAMP = 6
KIND_BOOLEAN = 7
KIND_STRING = 8
