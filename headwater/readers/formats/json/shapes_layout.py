"""Inferred shapes of JSON: numbers that their kernel and Python share.

These values are compiled into machine code, and are part of the key under which that is kept.
"""

from __future__ import annotations

KIND_STRUCT = 1
KIND_LIST = 2
KIND_BOOLEAN = 4
KIND_LONG = 8
KIND_DOUBLE = 16
KIND_DECIMAL = 32
KIND_STRING = 64
KIND_TWICE = 128
"""An object had two members of this name."""
KIND_AS_STRING = KIND_STRING | KIND_BOOLEAN
"""Of a value that is read as a string: never a time, as fields of nothing but strings may be."""

SHAPE_NAME = 0
"""Where the name begins in the names."""
SHAPE_NAME_SIZE = 1
SHAPE_PARENT = 2
SHAPE_FIRST_CHILD = 3
"""0 if there is none; children are chained. The element of a list is the child without a name."""
SHAPE_NEXT = 4
SHAPE_KINDS = 5
"""Which of ``KIND_...`` its values had."""
SHAPE_RANGE = 6
"""Of decimals: the most digits before the dot."""
SHAPE_SCALE = 7
"""Of decimals: the most digits behind the dot."""
SHAPE_SEEN = 8
"""The number of the last object that had it."""
SHAPE_ELEMENT = 9
"""The child that is the element of a list; 0 if there is none."""
SHAPE_FIELDS = 10

STATE_STOP = 0
"""0 if all is done, else there is not enough room."""
STATE_SHAPES = 1
"""The address of the shapes."""
STATE_COUNT = 2
"""How many shapes there are; the first one is the root."""
STATE_MOST = 3
"""For how many there is room."""
STATE_NAMES = 4
"""The address of the names."""
STATE_NAMES_SIZE = 5
STATE_NAMES_MOST = 6
STATE_TABLE = 7
"""The address of a hash table of the children that have names: their numbers, 0 where it is empty."""
STATE_TABLE_MASK = 8
"""Its size, a power of two, less 1."""
STATE_SERIAL = 9
"""The number of the last object."""
STATE_STACK = 10
"""The address of two numbers for each open object or list: see `shapes`."""
STATE_LEVELS = 11
STATE_SCRATCH = 12
STATE_SCRATCH_SIZE = 13
STATE_PRIMITIVES_AS_STRING = 14
STATE_PREFERS_DECIMAL = 15
STATE_BROKEN = 16
"""How many values were not JSON."""
STATE_OTHER = 17
"""How many values were JSON, and neither objects nor nulls."""
STATE_REBUILD = 18
"""1 if the hash table is empty, and the shapes that there are must be put into it."""
STATE_FIELDS = 19

MOST_DECIMAL = 38
"""Digits."""
