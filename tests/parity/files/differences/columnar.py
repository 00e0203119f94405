"""Differences from Spark's own readers that are meant: Parquet, ORC, Avro, text and binaryFile."""

from __future__ import annotations

from headwater.tools.commands.kafka_differences import Difference, Reason

__all__ = ["DIFFERENCES"]

DIFFERENCES: dict[str, Difference] = {
    "a cut file of Hadoop's snappy": Difference(
        "A text file `.snappy` ends in the middle of a block.",
        "leaves out the missing part, silently",
        "fails, and names the file and the place",
        Reason.BUG,
    ),
    "a file of Avro without a byte": Difference(
        "A schema is inferred from Avro, and the first file by name has no byte.",
        "fails; where a schema is given it reads the others",
        "goes by the first one that has some",
        Reason.BUG,
    ),
    "damage that one library passes over": Difference(
        "A file of Parquet, ORC or Avro is damaged where only one of two libraries looks, such as in the "
        "encoding of levels that a column of Parquet does not have.",
        "fails where its Java library looks",
        "fails where its own looks, and names the file",
        Reason.JVM,
    ),
    "an empty page in a list of Parquet": Difference(
        "A list in Parquet has a page without values: Arrow writes one where a page may have two bytes.",
        "reads it",
        "fails, and names the file: Arrow's library leaves out the rows behind it",
        Reason.REFUSED,
    ),
    "decimals of Parquet as binary": Difference(
        "A decimal that Parquet keeps as bytes is read as `binary`.",
        "gives the bytes of the unscaled number",
        "fails, and names file and column",
        Reason.REFUSED,
    ),
    "variants": Difference(
        "A column has the type variant.",
        "reads it",
        "fails, and names the column; others of the file are read",
        Reason.REFUSED,
    ),
    "unsigned numbers of Parquet as double": Difference(
        "An unsigned number of 32 bits is read as `double`.",
        "takes it for a signed one: 4294967295 is -1.0",
        "fails, and names file and column",
        Reason.BUG,
    ),
    "old timestamps without the writer's zone": Difference(
        "Parquet has timestamps before 1900, `datetimeRebaseMode=LEGACY`, and no zone of the writer.",
        "takes the zone of its JVM",
        "fails, and names the file",
        Reason.JVM,
    ),
    "old times in zones of another history": Difference(
        "A timestamp in ORC is before 1900, in a zone whose history differs between the JVM and Python.",
        "goes by the time zone data of its JVM",
        "goes by that of Python: in `Europe/Amsterdam` 122 seconds apart",
        Reason.JVM,
    ),
    "ORC timestamps of another zone": Difference(
        "A timestamp in ORC was written where the clock was in another time zone than that of Spark's JVM.",
        "takes the zone of its JVM: the time is as much later or earlier as the clocks differ",
        "the time that was written, wherever it is read",
        Reason.JVM,
    ),
    "negative parts of seconds in ORC": Difference(
        "A timestamp in ORC is before 1970, and has a fraction of a second, which Arrow writes as a negative "
        "one.",
        "fails: its library takes no negative one",
        "the time that was written",
        Reason.BUG,
    ),
    "far timestamps of ORC": Difference(
        "A timestamp in ORC is before 1677-09-22 or after 2262-04-11.",
        "reads it",
        "fails, and names file, stripe and columns; with `ignoreCorruptFiles` too",
        Reason.REFUSED,
    ),
    "ORC as other types": Difference(
        "A column of ORC has text, bytes, dates, or floating-point numbers, and is read as another type, or "
        "another one as a time, or a decimal as text or a floating-point number.",
        "converts nearly everything, often to null",
        "fails, and names file and column; whole numbers and decimals are read as each other",
        Reason.REFUSED,
    ),
    "ORC compressed by LZO": Difference(
        "An ORC file is compressed by LZO.",
        "reads it",
        "fails, and names file and compression",
        Reason.REFUSED,
    ),
    "the order in a map of Avro": Difference(
        "A map of Avro has several keys.",
        "gives them in the order of a Java `HashMap`",
        "gives them in the order in which they stand in the file",
        Reason.JVM,
    ),
    "times of Avro as days": Difference(
        "A timestamp of Avro is read as `date`.",
        "divides it by the milliseconds of a day, in any unit",
        "fails, and names file and column",
        Reason.BUG,
    ),
    "parts of intervals and times that Spark has noted": Difference(
        "A schema is inferred, and Spark has noted in the file that a number of Parquet, ORC or Avro is a "
        "`time`, an interval of years and months, or one of other units than `day to second`.",
        "reads it as that type",
        "fails, and names the column, the type, and one that it can be read as with a schema",
        Reason.REFUSED,
    ),
    "places on the earth": Difference(
        "A column of Parquet is annotated as GEOMETRY or GEOGRAPHY.",
        "reads it as `geometry` or `geography`",
        "fails, and names the column; with a schema it is read as `binary`",
        Reason.REFUSED,
    ),
}
