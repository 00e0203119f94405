"""The programs that patterns of times become, and the fields that they fill: numbers shared with the kernel.

A program is a table of 64-bit numbers, a row a step. The kernel walks through it beside the text.
"""

from __future__ import annotations

STEP_FIELDS = 7
STEP_BYTES = 8 * STEP_FIELDS

STEP_DONE = 0
"""The text must end here."""
STEP_NUMBER = 1
"""Field, fewest digits, most digits, digits of the numbers that follow without a gap, sign, base."""
STEP_FRACTION = 2
"""Most digits of a fraction of a second; one at least."""
STEP_BYTE = 3
"""A byte, and 1 if it is a letter, in lower case, that stands for both cases."""
STEP_WORDS = 4
"""Field, and how many steps ``STEP_WORD`` follow, of which one must fit."""
STEP_WORD = 5
"""Value, size, and the lower and upper 8 bytes of a word in lower case."""
STEP_OFFSET = 6
"""1 for colons between the parts, `PART_...` of minutes and seconds, size and bytes of the text for 0."""
STEP_OPEN = 7
"""The number of the step behind the matching `STEP_CLOSE`."""
STEP_CLOSE = 8

SIGN_MINUS = 0
"""A minus is taken."""
SIGN_BEYOND = 1
"""As that, and a plus where there are more than the fewest digits, then and only then."""
SIGN_NONE = 2

PART_NEVER = 0
PART_MAY = 1
PART_MUST = 2

MOST_OPEN = 8
"""How many optional sections may be inside of each other."""

# Where a text has put which value: a mask of the fields that have one, and the values.
FOUND = 0
YEAR = 1
MONTH = 2
DAY = 3
DAY_OF_YEAR = 4
AM_PM = 5
CLOCK_HOUR_OF_HALF = 6
"""1 to 12."""
HOUR_OF_HALF = 7
"""0 to 11."""
CLOCK_HOUR = 8
"""1 to 24."""
HOUR = 9
MINUTE = 10
SECOND = 11
NANOS = 12
OFFSET = 13
"""In seconds."""
FIELDS = 14
WORK_BYTES = 8 * (FIELDS + 2) * (MOST_OPEN + 1)
"""For the fields, and for copies of them before each optional section that is open."""

PATTERN_TIMESTAMP = 0
PATTERN_LOCAL_TIMESTAMP = 1
PATTERN_DATE = 2
PATTERN_WORK = 3
"""Not a program, but room for the fields that one finds."""
PATTERN_FIELDS = 4

ZONE_NAME = 0
ZONE_NAME_SIZE = 1
ZONE_UNTIL = 2
"""The address of local times in microseconds, ascending: until then an offset holds."""
ZONE_OFFSETS = 3
"""The address of the offsets in microseconds."""
ZONE_COUNT = 4
"""How many offsets there are; 0 where there is no such zone, or no default."""
ZONE_BYTES = 40

CYCLE_FROM = 13_569_465_600_000_000
"""2400-01-01 in microseconds: from then on the offsets repeat every `CYCLE`."""
CYCLE = 146_097 * 86_400_000_000
"""400 years: after them the days of the week are the same."""
