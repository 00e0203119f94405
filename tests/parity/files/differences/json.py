"""Differences from Spark's own readers that are meant: JSON."""

from __future__ import annotations

from headwater.tools.commands.kafka_differences import Difference, Reason

__all__ = ["DIFFERENCES"]

DIFFERENCES: dict[str, Difference] = {
    "partial rows of what is not JSON": Difference(
        "A document is not JSON: it breaks off, or has an error behind its first members.",
        "in some cases keeps values before the error, and values that it finds behind it, depending on how "
        "deep the error is, and on the parser's place",
        "a row of nulls",
        Reason.JVM,
    ),
    "a time without a date": Difference(
        "A `timestamp` is written as `12:30`; or such a field is inferred with `inferTimestamp`.",
        "takes the day on which the query runs: a replay gives another row",
        "null, and the record is bad; `string` where it is inferred",
        Reason.VARIES,
    ),
    "times of day in JSON": Difference(
        "A column is an interval; or `time`, which `spark.sql.timeType.enabled` allows.",
        "reads it",
        "fails, and names the column",
        Reason.REFUSED,
    ),
    "base64 that breaks off": Difference(
        "Base64 in a `binary` ends behind the first character of four, has one of two equals signs, or a "
        "character that is not ASCII.",
        "its parser loses its place: the whole document is a row of nulls",
        "null for that column, and the record is bad",
        Reason.BUG,
    ),
    "corrupt records alone": Difference(
        "No other column is read than the one for corrupt records, given or inferred.",
        "fails: without the other columns its parser would find no record corrupt",
        "the text of the corrupt records, and null for the others",
        Reason.BUG,
    ),
    "values of files in UTF-16 as text": Difference(
        "A file with `multiLine` is in UTF-16, without `encoding`, and a `string` has a number or an object.",
        "looks for the value's text at a wrong place: null, and the record is bad",
        "the value as JSON",
        Reason.BUG,
    ),
    "prefersDecimal and numbers that no decimal holds": Difference(
        "A schema is inferred with `prefersDecimal`, and a number is written as `1e5`.",
        "fails: a decimal would have a negative scale",
        "`double`",
        Reason.BUG,
    ),
    "a part of the records of JSON": Difference(
        "A schema is inferred with a `samplingRatio` below 1.",
        "looks at records that depend on how the files are cut into tasks",
        "looks at evenly spread ones",
        Reason.VARIES,
    ),
    "names that differ in case": Difference(
        "A schema is inferred, and names of members differ in case alone, in two records.",
        "merges them if the objects have equally many members, else refuses them; it depends on the order in "
        "which its tasks end",
        "refuses them",
        Reason.VARIES,
    ),
    "dates in digits of other scripts": Difference(
        "A `date` is a number of days, or a `decimal` a text, in digits that are not ASCII.",
        "takes it",
        "null, and the record is bad",
        Reason.JVM,
    ),
}
