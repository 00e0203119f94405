"""Documents of JSON: numbers that their kernel and Python share.

These values are compiled into machine code, and are part of the key under which that is kept.
"""

from __future__ import annotations

ALLOW_COMMENTS = 1
ALLOW_UNQUOTED_NAMES = 2
ALLOW_SINGLE_QUOTES = 4
ALLOW_LEADING_ZEROS = 8
ALLOW_NON_NUMERIC = 16
ALLOW_ANY_ESCAPE = 32
ALLOW_CONTROL_CHARACTERS = 64
ALLOW_HALVES = 128
"""Halves of surrogate pairs as bytes stay in values: they count only where a value is taken."""
WHOLE_NAMES = 256
"""No name has half a surrogate pair as an escape, as Jackson has it where it reads bytes."""

PLAIN_RULES = ALLOW_SINGLE_QUOTES | ALLOW_NON_NUMERIC
"""What Spark takes unless it is told otherwise, and what the kernel of the format takes."""
AS_IT_IS = -1
"""In the place of rules: documents are not rewritten."""

DOCUMENTS_RULES = 0
"""What is taken for JSON: some of ``ALLOW_...``, or `AS_IT_IS`."""
DOCUMENTS_FILLED = 1
"""How many bytes of notes are filled."""
DOCUMENTS_TEXT = 2
"""The address where the next document is written, if they are rewritten."""
DOCUMENTS_PLACES = 3
"""The address where it is noted from which place the next byte of rewritten text comes: 4 bytes for each.

It is noted of the first byte of each token.
"""
DOCUMENTS_SOURCE = 4
"""The address from which these places count."""
DOCUMENTS_ARE_WHOLE = 5
"""1 if an array of objects is one value, as it stands."""
DOCUMENTS_FIELDS = 6

NOTE_BYTES = 24
"""A note has the address of a value, its size, and the number of its document."""
TEXT_GROWTH = 6
"""A document that is rewritten has at most so many times its bytes: a control character becomes an escape."""
TEXT_EXTRA = 16
"""So many bytes it may have beyond that."""
BEHIND = 64
"""So many bytes behind a document the kernel may load."""
