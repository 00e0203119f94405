"""Differences from Spark's own readers that are meant: CSV."""

from __future__ import annotations

from headwater.tools.commands.kafka_differences import Difference, Reason

__all__ = ["DIFFERENCES"]

DIFFERENCES: dict[str, Difference] = {
    "a blank first value": Difference(
        "With `ignoreTrailingWhiteSpace` alone, the first value of a line has nothing but white space.",
        "fails: its parser looks for the value's end before the beginning of its buffer",
        "null",
        Reason.BUG,
    ),
    "white space at the end of a line with a long separator": Difference(
        "With `ignoreTrailingWhiteSpace` and a `sep` of several characters, a line ends with white space.",
        "keeps it, or leaves it out if an earlier line that the same task has read had a quote that was not "
        "escaped",
        "keeps it",
        Reason.VARIES,
    ),
    "a part of a long separator behind quotes": Difference(
        "`sep` has several characters, and behind a quoted value, and white space, stand some of them; or "
        "behind text that follows a quoted value, where `sep` ends in white space.",
        "puts these behind the text that follows, or before a value of the next record, or loses them",
        "takes them for a part of the value, where they stand",
        Reason.BUG,
    ),
    "a part of a long separator behind white space": Difference(
        "With `ignoreLeadingWhiteSpace` and a `sep` of several characters, a value is nothing but white "
        "space and a part of `sep`.",
        "puts that part before the value that comes next, also of the next record",
        "takes it for the value",
        Reason.BUG,
    ),
    "a mark of the byte order alone": Difference(
        "The first record has nothing but a byte order mark.",
        "takes the end of the input for the character 0: a record with that value, and a column of that name "
        "with `header`",
        "no record",
        Reason.BUG,
    ),
    "a line feed that ends no line": Difference(
        "`lineSep` has two characters, without `multiLine`, and a value begins with a line feed.",
        "ends the record there, and takes the rest for the next line; elsewhere in a value it is text",
        "takes it for a part of the value",
        Reason.BUG,
    ),
    "the record before one that cannot be read": Difference(
        "With `ignoreCorruptFiles`, and `multiLine` or an inferred schema, a record has too many columns, or "
        "too long a value; or, with `multiLine`, a compressed file breaks off.",
        "leaves it out, with all records behind it, and good records before it that its parser still holds; "
        "fails where it infers a schema",
        "leaves it out, with all records behind it",
        Reason.BUG,
    ),
    "quotes that are not escaped on several lines": Difference(
        "`unescapedQuoteHandling` is `BACK_TO_DELIMITER`, and `multiLine` is on.",
        "reads the lines of a value with such a quote as records, whose own quotes are gone",
        "fails, and names the option",
        Reason.REFUSED,
    ),
    "a comment that begins as a quoted value": Difference(
        "`comment` and `quote` are the same character, and `multiLine` is on.",
        "takes records that begin with it for comments, and loses the text of some bad ones",
        "fails, and names the option",
        Reason.REFUSED,
    ),
    "quotes that are not escaped with a long separator": Difference(
        "`unescapedQuoteHandling` is `BACK_TO_DELIMITER` or `SKIP_VALUE`, and `sep` has several characters.",
        "reads well-written records, and fails, or finds no separator, where a quote is not escaped",
        "fails, and names the option",
        Reason.REFUSED,
    ),
    "a time without a date in CSV": Difference(
        "A `timestamp` is written as `12:30`; or such a column is inferred.",
        "takes the day on which the query runs: a replay gives another row",
        "null, and the record is bad; `string` where it is inferred",
        Reason.VARIES,
    ),
    "numbers in digits of other scripts": Difference(
        "An integer or a decimal has digits that are not ASCII; or a column of such integers is inferred.",
        "takes them: Java's `Integer.parseInt` and `BigDecimal` know each digit of the Unicode version that "
        "the JVM has; `double`, dates and times take none of them",
        "null, and the record is bad; `string` where it is inferred",
        Reason.JVM,
    ),
    "a part of the records of CSV": Difference(
        "A schema is inferred with a `samplingRatio` below 1.",
        "looks at records that depend on how the files are cut into tasks",
        "looks at evenly spread ones",
        Reason.VARIES,
    ),
    "columns of some files that a folder hides": Difference(
        "A schema is inferred, and a folder `key=value` has the name of a column that not all of the files "
        "have as their last one; or, without `header`, of the one that would come next: `_c1`.",
        "goes by the columns of the file that its tasks read first, often the largest: a record of another "
        "number of values is bad, also where the header of its own file names that number",
        "goes by the header of each file, and without one takes records with and without that value: a "
        "Python source gets the schema, not the part of it that the files have",
        Reason.JVM,
    ),
    "times of day without the type": Difference(
        "A column is `time`, and `spark.sql.timeType.enabled` is off, as by default.",
        "refuses the type",
        "reads it: only the JVM has that setting, and does not ask for it here",
        Reason.JVM,
    ),
    "parts of intervals and of times of day in CSV": Difference(
        "A column is an interval of other units than `day to second`, or a `time` of other digits than 6.",
        "reads it",
        "fails, and names the type that it can have",
        Reason.REFUSED,
    ),
    "bad values in columns that are not selected": Difference(
        "The mode is `DROPMALFORMED`, and a value is bad in a column that the query does not select.",
        "does not parse that column, and keeps the row: `count()` keeps nearly all",
        "drops the row: a Python source is not told which columns are selected. Leave the column out of the "
        "schema, or name the others in `columns`",
        Reason.JVM,
    ),
}
