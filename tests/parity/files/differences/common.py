"""Differences from Spark's own readers that are meant: What files of all formats have in common."""

from __future__ import annotations

from tests.parity.differences import Difference, Reason

__all__ = ["DIFFERENCES"]

DIFFERENCES: dict[str, Difference] = {
    "a file that several paths select": Difference(
        "Two of the paths of a batch select the same file.",
        "reads it once for each of them; in a stream once",
        "reads it once; the same path twice is refused",
        Reason.BUG,
    ),
    "a file beside folders of columns": Difference(
        "A file lies beside folders `key=value`.",
        "leaves it out, without a word, once there are such folders",
        "reads it, with null for `key`",
        Reason.BUG,
    ),
    "columns of folders beside a given schema": Difference(
        "The schema that is given lacks the columns of folders `key=value`.",
        "adds them to the schema",
        "has the columns of the schema, which is all that Spark lets a Python source have",
        Reason.JVM,
    ),
    "times of files without a zone": Difference(
        "`modifiedAfter` or `modifiedBefore` has no zone, and `timeZone` is not given.",
        "takes the session's zone",
        "fails, and names the option",
        Reason.REFUSED,
    ),
    "a schema from empty files": Difference(
        "A schema is inferred from CSV or JSON, and no file has a single byte.",
        "makes a frame without columns, which shows nothing of what is written later",
        "fails, and names the paths",
        Reason.REFUSED,
    ),
    "names and numbers of other languages": Difference(
        "`locale` is not `en-US`.",
        "reads names of months and numbers as the data of its JVM has them for that language",
        "fails, and names the option",
        Reason.JVM,
    ),
}
