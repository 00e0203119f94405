"""How JSON is written, and how its schema is inferred."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.readers.formats.json import documents_layout as layout


@dataclass(frozen=True, kw_only=True)
class JsonSettings:
    r"""What is taken for JSON, by the names and defaults of Spark's options.

    Attributes:
        multi_line: whether a file is one document, which may have several lines; such files are not split.
        comments: whether ``/* */`` and ``//`` are passed over.
        unquoted_names: whether names may stand without quotation marks.
        single_quotes: whether ``'`` may stand around names and strings.
        leading_zeros: whether numbers may begin with needless zeros.
        non_numeric: whether ``NaN``, ``Infinity``, ``-INF`` and the like are numbers.
        any_escape: whether any character may stand behind a backslash.
        control_characters: whether strings may hold control characters as they are.
        primitives_as_string: whether numbers and booleans are inferred as strings.
        prefers_decimal: whether numbers with a fraction are inferred as decimals, if they fit.
        drop_all_null: whether an inferred schema leaves out fields that are never more than null.
        infer_timestamp: whether strings that are times are inferred as such.
    """

    multi_line: bool = False
    comments: bool = False
    unquoted_names: bool = False
    single_quotes: bool = True
    leading_zeros: bool = False
    non_numeric: bool = True
    any_escape: bool = False
    control_characters: bool = False
    primitives_as_string: bool = False
    prefers_decimal: bool = False
    drop_all_null: bool = False
    infer_timestamp: bool = False

    @property
    def rules(self) -> int:
        """What is taken for JSON, as the kernel has it."""
        said = {
            layout.ALLOW_COMMENTS: self.comments,
            layout.ALLOW_UNQUOTED_NAMES: self.unquoted_names,
            layout.ALLOW_SINGLE_QUOTES: self.single_quotes,
            layout.ALLOW_LEADING_ZEROS: self.leading_zeros,
            layout.ALLOW_NON_NUMERIC: self.non_numeric,
            layout.ALLOW_ANY_ESCAPE: self.any_escape,
            layout.ALLOW_CONTROL_CHARACTERS: self.control_characters,
        }
        return sum(rule for rule, holds in said.items() if holds)
