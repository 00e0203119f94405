"""The kernel's state and codes: numbers that the kernel and Python share.

These values are compiled into machine code, and are part of the key under which that is kept.
"""

from __future__ import annotations

STATE_CORRUPT = 8
"""The node of the column for corrupt values; 0 if there is none."""
STATE_FIELDS_OF_ROOT = 9
"""How many children of the root are fields of the schema. Others follow them."""
STATE_SCRATCH = 10
"""The address of `SCRATCH_BYTES` bytes, for names, texts and numbers that must be unescaped."""
STATE_STACK = 11
"""The address of the frames of open containers, `FRAME_BYTES` each, as deep as the schema."""
STATE_LEVELS = 12
"""The address of `LEVEL_BYTES` bytes, for the kinds of open containers that are skipped."""
STATE_NAME_INDEX = 13
"""The address of the index of names in wide structs: addresses of their nodes, 0 for none.

A node stands at the place that `NAME_FACTOR` makes of its parent and name, or behind it.
"""
STATE_NAME_MASK = 14
"""The size of the index, a power of 2, less 1."""
STATE_PLAIN_NAMES = 18
"""1 if no name in the schema has a character that JSON escapes: names are compared as they stand."""
STATE_REASON = 17
"""Why the current row is bad so far; 0 if it is not."""
STATE_PASSED_COUNT = 19
STATE_PASSED = 20
"""The addresses of lists and maps in the current row that do not fit, and must not replace earlier ones."""
MOST_PASSED = 8
"""The most in one row, which is decoded anew for each of them. Beyond that the value is null."""
STATE_RESCUE = 29
"""The node of the column of rescued fields; 0 if there is none."""
STATE_RESCUE_END = 30
"""Where the rescued text of the current row ends; 0 if nothing was rescued."""
STATE_RESCUE_DEPTH = 31
"""How many frames are open in that text."""
STATE_EXACT = 32
"""1 if a column of strings takes other values as they stand; else it takes them as Jackson writes them."""
STATE_NO_SPECIALS = 33
"""1 if texts such as ``NaN`` are no numbers."""
STATE_DATE_FALLBACK = 34
"""1 if dates that do not follow their pattern are read as Spark casts text, or as a number of days."""
STATE_TIMESTAMP_FALLBACK = 35
"""1 if times that do not follow their pattern are read as Spark casts text."""
STATE_PLACES = 36
"""The address of the places from which the tokens of rewritten values come; 0 if they are as they were."""
STATE_TEXT = 37
"""The address of the first byte that such a place is noted for."""
STATE_SOURCE = 38
"""The address from which places count."""
STATE_MISFIT = 39
"""The address of the first text of the current row that does not fit its column."""

SCRATCH_BYTES = 1 << 16
LEVEL_BYTES = 256
MOST_DEPTH = 1000
"""How deep values may be nested: as in Jackson."""
MOST_NUMBER_BYTES = 1000
"""How long a number may be: as in Jackson."""

FEW_FIELDS = 16
"""Up to this number of fields in a struct a name is compared with each; else it is looked up in the index."""
NAME_FACTOR = 0x2545F4914F6CDD1D
"""By this a number is multiplied after each byte of a name has changed it; it begins as the parent's."""
NAME_SHIFT = 40
"""Which bits of that are the place in the index."""

FRAME_NODE = 0
FRAME_NEXT = 1
"""The address of the child that is expected next: of a list or map, its only one."""
FRAME_KIND = 2
FRAME_REPLACED = 3
"""Of a list or map that replaces an earlier one of its name: where it begins; else 0."""
FRAME_BEGIN = 4
"""Where the value begins. This and the following numbers count only where fields are rescued."""
FRAME_WRITTEN = 5
"""How many members the rescued text has, if it has this object or list."""
FRAME_RESCUE_END = 6
"""`STATE_RESCUE_END` at the time when this frame was opened."""
FRAME_RESCUE_DEPTH = 7
"""`STATE_RESCUE_DEPTH` at that time."""
FRAME_RESCUE_WRITTEN = 8
"""`FRAME_WRITTEN` of the innermost frame in the rescued text at that time."""
FRAME_BYTES = 72

REASON_NOT_JSON = 1
REASON_MISMATCH = 2
REASON_NOT_AN_OBJECT = 3
REASON_BITS = 8
"""Behind the bits of the reason `REASON_MISMATCH` are the number of the node, and where the text begins."""
REASON_AND_NODE_BITS = 28


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
"""The rules of Spark's default options and of the kernel of the format."""
AS_IT_IS = -1
"""In the place of rules: documents are not rewritten."""

DOCUMENTS_RULES = 0
"""The rules of syntax: some of ``ALLOW_...``, or `AS_IT_IS`."""
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
"""The most bytes of a rewritten document for each of its own: a control character becomes an escape."""
TEXT_EXTRA = 16
"""The most bytes that it has beyond that."""
BEHIND = 64
"""How many bytes behind a document the kernel may load."""
