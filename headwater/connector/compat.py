"""The one place that knows versions of Spark: which are supported, and the parts of them that may change.

* the oldest version: the first with admission control for Python data sources;
* the layouts of the offset log;
* Arrow's types for Spark's, through functions of PySpark that are not public;
* names of columns, which PySpark takes for paths in some calls;
* tables of the catalog, which keep the options of ``CREATE TABLE ... USING headwater`` and pass none;
* the time zone of a session, which Spark tells every Python worker.

Spark imports it in every process that looks for Python data sources, old versions included: so it imports
next to nothing.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from headwater.core.errors import InstallationError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

    _OfBatches: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

OLDEST: Final = (4, 2)
REQUIREMENT: Final = "pyspark>=4.2"
"""For pip."""

OFFSET_LOG_LAYOUTS: Final = ("v1", "v2")
"""The versions of entries of the offset log that Spark 4.2 and 4.3 write."""

_OF_CATALOG: Final = frozenset({"provider", "owner"})
"""The options that Spark's catalog adds to those of ``CREATE TABLE``."""

_INSTEAD: Final = (
    "CREATE TEMPORARY VIEW name USING {name} OPTIONS (source 'kafka', ...) works, once in each session; so "
    "does SELECT * FROM name WITH (`source` = 'kafka', ...) on a table with all columns of the source"
)


def require_spark(version: str) -> None:
    """Refuse a Spark without admission control for Python sources.

    Raises:
        InstallationError: ``version`` is older than 4.2.
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers.group(1)), int(numbers.group(2))) < OLDEST:
        raise InstallationError(
            f"headwater needs Spark 4.2 or newer, this is PySpark {version}: pip install {REQUIREMENT!r}, "
            "on the cluster too"
        )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return a schema as Arrow has it between Spark and its Python workers.

    Raises:
        PySparkException: Arrow has no type for a column.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def arrow_type(kind: DataType) -> pa.DataType:
    """Return a type as Arrow has it between Spark and its Python workers.

    Raises:
        PySparkException: Arrow has no such type.
    """
    from pyspark.sql.pandas.types import to_arrow_type

    return to_arrow_type(kind, timezone="UTC")


def spark_fields(schema: pa.Schema) -> StructType:
    """Return Spark's columns for those of Arrow. A field is nullable where it is in Arrow.

    Raises:
        PySparkException: Spark has no type for a column.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = from_arrow_schema(schema)
    for column, field in zip(columns, schema, strict=True):
        comment = (field.metadata or {}).get(b"comment")
        if comment is not None:
            column.metadata = {**column.metadata, "comment": comment.decode()}
    return columns


def spark_type(kind: pa.DataType) -> DataType:
    """Return Spark's type for one of Arrow.

    Raises:
        PySparkException: Spark has no such type.
    """
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind)


def quoted(name: str) -> str:
    """Return a column's name as Spark takes it where it looks for a path: dots in it lead nowhere."""
    return "`{}`".format(name.replace("`", "``"))


def map_in_arrow(
    df: DataFrame,
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """Call ``df.mapInArrow``, which takes the names of columns for paths: it fails where they have dots."""
    if not any(mark in name for name in df.columns for mark in ".`"):
        return df.mapInArrow(cast("Any", function), schema)
    by_place = df.toDF(*(f"column{at}" for at in range(len(df.columns))))
    return by_place.mapInArrow(cast("Any", partial(_renamed, function, df.columns)), schema)


def _renamed(
    function: _OfBatches, names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    return function(batch.rename_columns(names) for batch in batches)


def worker_zone() -> str | None:
    """Return the session's time zone as Spark told it to this Python worker; None where it told none.

    For a task, on the thread on which Spark calls it. The driver's JVM sends each worker the zone that counts
    (``ArrowPythonRunner.getPythonRunnerConfMap``): the session's, else its own default. PySpark keeps it in
    the ``RunnerConf`` of a function that calls the task, and no public call leads there.
    """
    frame = sys._getframe()  # noqa: SLF001 - the documented way to the callers
    caller = frame.f_back
    while caller is not None:
        zone = getattr(caller.f_locals.get("runner_conf"), "timezone", None)
        if isinstance(zone, str) and zone:
            return zone
        caller = caller.f_back
    return None


def refuse_table(options: Mapping[str, str], name: str) -> None:
    """Refuse ``CREATE TABLE``: called in the planner process, once for each statement.

    Spark 4.2 and 4.3 keep the options of such a table and pass none of them when the table is read
    (``PythonDataSourceV2`` gets an empty map at each ``SELECT``). A temporary view keeps its options.

    Args:
        options: as Spark passes them, keys in any case.
        name: the format after ``USING``.

    Raises:
        OptionError: the options are those of ``CREATE TABLE``.
    """
    keys = {key.lower() for key in options}
    if keys >= _OF_CATALOG and options.get("provider") == name:
        raise OptionError(
            f"CREATE TABLE ... USING {name} would make a table that cannot be read: Spark passes none of a "
            f"table's options when it is read. {_INSTEAD.format(name=name)}"
        )


def refuse_no_options(options: Mapping[str, str], name: str) -> None:
    """Say why there are no options at all, where one is required.

    Raises:
        OptionError: there are none.
    """
    if not options:
        raise OptionError(
            "is required, and no option arrived at all. If this is a table of CREATE TABLE ... USING "
            f"{name}: Spark passes none of a table's options when it is read. {_INSTEAD.format(name=name)}",
            option="source",
        )
