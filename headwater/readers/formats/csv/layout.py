"""The kernel's state and codes: numbers that the kernel and Python share.

These values are compiled into machine code, and are part of the key under which that is kept.
"""

from __future__ import annotations

# The first fields are those of `table_layout`.
CORRUPT = 8
"""The node of the column for corrupt records; 0 if there is none."""
COLUMNS = 9
"""How many children of the root are columns of the records. Others follow them."""
OPTIONS = 10
"""The address of the table of options, `OPTION_...`."""
TOKENS = 11
"""The address of the record's values: address and size of each."""
TOKEN_COUNT = 12
SCRATCH = 13
"""The address of memory for values that are put together."""
SCRATCH_SIZE = 14
STREAM = 20
"""1 if records end where they say so, 0 if each lies by itself, as a line does."""
LAST = 21
"""Of a stream: 1 if nothing follows behind the bytes that are there."""
FATAL = 22
"""Why the record in hand cannot be read at all: a reason; 0 if it can."""
AT = 23
"""Of a record: the next character to read. Of a stream, in the end: where the next record begins."""
END = 24
RECORD = 25
"""Where the record in hand begins, behind comments and empty lines."""
READER = 26
"""The address of `READER_FIELDS` numbers of the reader that goes character by character."""

SAW_END = 27
"""1 if it mattered for the record in hand where the bytes end that are there."""

PLACES = 28
"""Of a stream: the address of room for where each record begins and ends."""
ANY_WIDTH = 29
"""1 if a record may have more or fewer values than there are columns."""

READER_FIELDS = 19
CHARACTER = 0
"""The character in hand: a code point, or `WRONG_BYTE` and a byte that is no UTF-8."""
PREVIOUS = 1
UNESCAPED = 2
NORMALIZE = 3
"""Whether line separators become line feeds."""
TRIM = 4
TEXT = 5
"""Where the value in hand begins in the scratch."""
TEXT_END = 6
BLANKS = 7
"""How many bytes at its end are white space that does not count."""
CHARACTERS = 8
"""How many UTF-16 units it has."""
MATCHED = 9
"""How many characters of a separator of several ones were seen."""
SPACE = 10
"""Where the white space behind a quoted value begins in the input."""
VALUE_AT = 11
"""Where the quoted value in hand begins in the input, behind its quote."""
HERE = 12
"""Where the character in hand begins in the input."""
SKIPPED = 13
"""1 if the value in hand is left out: it is null."""

MORE = 14
"""How many separators more the value goes over."""
CLOSED_AT = 15
"""Where the value ended in the scratch before its closing quote, if only white space follows."""
CLOSED_CHARACTERS = 16
CLOSED_FATAL = 17
WHITE_END = 18
"""Where the quote and the white space behind it end, if nothing else follows."""

WRONG_BYTE = 1 << 24

OPTION_SEPARATOR = 0
"""The first character between values; those that follow are at `OPTION_SEPARATORS`."""
OPTION_QUOTE = 1
"""0 for none, and so with the next two."""
OPTION_ESCAPE = 2
OPTION_ESCAPE_ESCAPE = 3
OPTION_COMMENT = 4
"""-1 if there are no comments."""
OPTION_LINE_END = 5
OPTION_LINE_END_TWO = 6
"""The second character of the line separator; 0 if it has only one."""
OPTION_LEADING = 7
"""1 if white space before values is left out."""
OPTION_TRAILING = 8
OPTION_HANDLING = 9
"""The handling of a quote that is not escaped: `HANDLING_...`."""
OPTION_NORMALIZE_QUOTED = 10
"""1 if line separators inside of quotes become line feeds."""
OPTION_MOST_COLUMNS = 11
OPTION_MOST_CHARACTERS = 12
"""-1 for any number."""
OPTION_PLAIN = 13
"""Whether ordinary records may be cut many bytes at a time: special characters are ASCII, no other rules."""
PLAIN = 1
PLAIN_TRIMMED = 2
"""They may, and white space around values is left out as the options say."""
OPTION_DATE_FALLBACK = 14
"""1 if dates that do not fit their pattern are read as Spark casts text."""
OPTION_TIMESTAMP_FALLBACK = 15
OPTION_TEXTS = 16
"""Addresses and sizes of the texts `TEXT_...`."""
OPTION_NEWLINE = 26
"""The character that replaces line separators, and ends a record; `NO_NEWLINE` for none."""
NO_NEWLINE = -2
OPTION_TABLE = 27
"""The address of the entries of the transition table: see `transitions`."""
OPTION_COLUMNS = 28
"""How many columns a row of it has."""
OPTION_CLASS_COUNT = 29
OPTION_CLASSES = 30
"""The address of the class of each character of ASCII, a byte each."""
OPTION_WIDE = 31
"""The address of code points beyond ASCII that have a class of their own, each with the class."""
OPTION_WIDE_COUNT = 32
OPTION_SEPARATORS = 33
"""How many characters the separator has, and their code points."""
MOST_SEPARATORS = 16
OPTION_FIELDS = OPTION_SEPARATORS + 1 + MOST_SEPARATORS

# Entries of the transition table: operations, the next state, and the one for conditions that do not hold.
NEXT_SHIFT = 48
OTHERWISE_SHIFT = 56
# Operations, in the order in which the kernel does them. DO_IF_EMPTY, DO_PLAIN_.. and DO_LESS are conditions:
# they may go to the other state.
DO_BEGIN, DO_IF_EMPTY, DO_QUOTED, DO_PLAIN_TEXT, DO_PLAIN_QUOTED = (1 << bit for bit in range(5))
"""Begin a value; unless it has text, in quotes; take it as a whole, without quotes or with them."""
DO_MATCH, DO_NO_MATCH, DO_SAVE_MATCH = (1 << bit for bit in range(5, 8))
"""Count a character of the separator; forget those that were read; or append them to the value."""
DO_FAIL, DO_UNESCAPED, DO_BACK = (1 << bit for bit in range(8, 11))
"""Of a quote that is not escaped: fail; note it; cut the value at the separators before it."""
DO_MARK, DO_BEGIN_WHITE, DO_APPEND_QUOTE, DO_APPEND_WHITE = (1 << bit for bit in range(11, 15))
"""White space begins; the same, and the quote before it is appended; append these."""
DO_APPEND_ESCAPE, DO_WHITE, DO_APPEND, DO_END_WHITE = (1 << bit for bit in range(15, 19))
"""Append an escape; the next character is white space; append it; take back the white space."""
DO_PREPEND_QUOTE, DO_SKIP = (1 << bit for bit in range(19, 21))
"""Put a quote before the value; make it null."""
DO_MORE, DO_LESS = (1 << bit for bit in range(21, 23))
"""Let the value go over one more separator; go over one, if it does."""
DO_TRIM, DO_TRIM_NOW, DO_CLOSE = (1 << bit for bit in range(23, 26))
"""Let white space at the value's end not count, in the end or now; the quotes are closed."""
DO_END_VALUE, DO_END_IF_ANY, DO_END_OR_NULL, DO_NULL = (1 << bit for bit in range(26, 30))
"""End the value; unless it is empty; with null if it is empty; append null."""
DO_RARE = (1 << 30) - 1
"""All of these. Those that follow are about single characters."""
DO_KEEP_CHARACTER, DO_NO_CHARACTER = (1 << bit for bit in range(30, 32))
"""The character does not become the one in hand, which counts where the input ends; none is in hand."""
DO_PREVIOUS, DO_NO_PREVIOUS = (1 << bit for bit in range(32, 34))
"""The character in hand, or none, becomes the previous one."""
DO_HOLD, DO_STAY, DO_END_RECORD = (1 << bit for bit in range(34, 37))
"""Go on with the same character; stay in a state that appends it; the record ends."""

TEXT_NULL = 0
TEXT_EMPTY = 1
TEXT_NAN = 2
TEXT_POSITIVE = 3
TEXT_NEGATIVE = 4

HANDLING_STOP_AT_DELIMITER = 0
HANDLING_STOP_AT_CLOSING_QUOTE = 1
HANDLING_BACK_TO_DELIMITER = 2
HANDLING_SKIP_VALUE = 3
HANDLING_RAISE_ERROR = 4

NULL_TOKEN = 0
"""In place of an address: nothing stood there."""
EMPTY_TOKEN = 1
"""In place of an address: two quotes with nothing between them."""
TOKEN_BYTES = 16

STOP_MORE_SCRATCH = 5
"""The scratch is too small. The row in hand was taken back."""

REASON_MISMATCH = 1
REASON_BITS = 8
"""Behind the bits of the reason `REASON_MISMATCH` is the number of the node; then, of a value that is decoded
alone, where its text begins, counted from 1, and how long it is. Both are 0 if it is no part of the value."""
REASON_AND_NODE_BITS = 28
PLACE_BITS = 20
MOST_PLACE = (1 << PLACE_BITS) - 1
MOST_TEXT = 255
REASON_COLUMNS = 2
REASON_NOTHING = 3
REASON_FATAL = 16
"""From here on nothing at all can be made of a record."""
REASON_MOST_COLUMNS = 16
REASON_MOST_CHARACTERS = 17
REASON_UNESCAPED = 18
