"""Differences from Spark's own readers that are meant: What files of all formats have in common."""

from __future__ import annotations

from headwater.tools.commands.kafka_differences import Difference, Reason

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
        "leaves it out, silently, once there are such folders",
        "reads it, with null for `key`",
        Reason.BUG,
    ),
    "columns of folders beside a given schema": Difference(
        "The schema that is given lacks the columns of folders `key=value`, or has them not at its end.",
        "adds them to the schema, or moves them to its end",
        "has the columns of the schema in its order, which is all that Spark lets a Python source have",
        Reason.JVM,
    ),
    "times of files in a zone": Difference(
        "`modifiedAfter` or `modifiedBefore`, and the zone of the session, or `timeZone`, is not UTC.",
        "moves the times of the files by the zone, too: up to a day of them more or less is read",
        "compares moments",
        Reason.BUG,
    ),
    "a schema by times without a zone": Difference(
        "A schema is inferred, and `modifiedAfter` or `modifiedBefore` has no zone and decides which files "
        "show it.",
        "takes the zone of the session, or of its JVM",
        "fails, and names the option: the session is not known where a schema is inferred; `timeZone` is",
        Reason.JVM,
    ),
    "settings of the session": Difference(
        "The session has `spark.sql.caseSensitive=true` (Parquet, ORC, Avro; an inferred header of CSV or a "
        "folder with names that differ in case alone), "
        "`spark.sql.legacy.timeParserPolicy=LEGACY` (dates and times of CSV and JSON); or, where a schema is "
        "inferred, `spark.sql.timestampType=TIMESTAMP_NTZ` (CSV, JSON), "
        "`spark.sql.parquet.binaryAsString=true`, `spark.sql.parquet.mergeSchema=true` or "
        "`spark.sql.orc.mergeSchema=true`.",
        "goes by it",
        "fails, and names the setting",
        Reason.REFUSED,
    ),
    "types of folders by the session": Difference(
        "A schema is inferred, with columns of folders `key=value`, and the session has "
        "`spark.sql.sources.partitionColumnTypeInference.enabled=false`.",
        "takes them for strings",
        "infers their types: Spark does not pass the session to a Python source when it asks for the schema",
        Reason.JVM,
    ),
    "a schema from empty files": Difference(
        "A schema is inferred from CSV or JSON, and no file has a single byte.",
        "makes a frame without columns, which shows nothing of later files",
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
