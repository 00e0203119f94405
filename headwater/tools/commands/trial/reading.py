"""One thing that both sources read, and how long it takes them."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from headwater.connector.options import OptionTable
from headwater.core.errors import HeadwaterError
from headwater.core.redaction import redacted
from headwater.core.source import Boundedness
from headwater.tools.commands.cpu_time import cpu_time, is_known

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
Load: TypeAlias = Callable[[], "DataFrame"]

_NOT_FOUND: Final = "Failed to find data source"
_SCALA: Final = "2.13"
_PACKAGES: Final = {"kafka": "spark-sql-kafka-0-10", "avro": "spark-avro"}
"""Of Spark's sources that do not come with it, by their formats."""
_NO_FILE: Final = MappingProxyType({"path": "file:/there-is-no/such-file/of-headwater-try"})
_WRITES: Final = frozenset(
    {
        *("badrecordspath", "badrecordsstorageoptions", "checkpointlocation", "cleansource"),
        *("commitoffsetstogroup", "schemaevolutionmode", "schemaname", "statelocation"),
    }
)
"""Options by which a query writes something; a trial reads only."""


class ReadError(Exception):
    """One of the two sources could not read. The message says which one, and its reason."""


class MissingPackageError(Exception):
    """Spark's own source is not there. The message has the setting that brings it."""


@dataclass(frozen=True)
class ComparedReading:
    """The same records, read through both sources as batches.

    Attributes:
        title: for people.
        sparks: makes a frame of Spark's source. Each call plans anew.
        ours: the same of headwater.
        place: the columns that say where a row comes from.
        placed: makes the frames that have these columns, of Spark's source and of headwater, where `sparks`
            and `ours` do not have them.
    """

    title: str
    sparks: Load
    ours: Load
    place: tuple[str, ...]
    placed: tuple[Load, Load] | None = None


@dataclass(frozen=True)
class Cost:
    """The cost of reading all rows once: the median of some rounds.

    Attributes:
        seconds: by the clock.
        cpu_seconds: of this process and all that it started; None where the system does not tell.
    """

    seconds: float
    cpu_seconds: float | None


def costs(loads: Mapping[str, Load], rounds: int) -> dict[str, Cost]:
    """Read through each source, in turn, and hand every row to a sink that does nothing with it.

    Args:
        loads: of the sources, by names of them.
        rounds: how often; the order turns with every one.
    """
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in loads}
    for at in range(rounds):
        for name in sorted(loads, reverse=bool(at % 2)):
            cpu_before = cpu_time(os.getpid())
            began = time.perf_counter()
            read_by(name, partial(_hand_to_noop, loads[name]))
            seconds = time.perf_counter() - began
            seen[name].append((seconds, cpu_time(os.getpid()).since(cpu_before).total))
    by_source = {}
    for name, pairs in seen.items():
        seconds, cpu_seconds = (statistics.median(values) for values in zip(*pairs, strict=True))
        by_source[name] = Cost(seconds, cpu_seconds if is_known() else None)
    return by_source


def _hand_to_noop(load: Load) -> None:
    load().write.format("noop").mode("overwrite").save()


def read_by(name: str, read: Callable[[], T]) -> T:
    """Return the result of a function that reads through a source.

    Raises:
        ReadError: it could not. Without the secrets of this process, which Spark's errors may show.
    """
    try:
        return read()
    except HeadwaterError as error:
        raise ReadError(f"{name} cannot read it: {error}") from error
    except Exception as error:  # Spark's and the JVM's, of any kind
        message = redacted(str(error)).strip()
        raise ReadError(f"{name} cannot read it: {type(error).__name__}: {message[:2000]}") from error


def require_package(spark: SparkSession, name: str, options: Mapping[str, str] = _NO_FILE) -> None:
    """Check that Spark has a source of its own. Reads nothing.

    Args:
        spark: the session.
        name: the format.
        options: with which it can be made; by default those of a file source, which looks for no file.

    Raises:
        MissingPackageError: it has not.
    """
    import pyspark
    from pyspark.errors import AnalysisException

    if name not in _PACKAGES:
        return
    try:
        spark.read.format(name).options(**options).load()
    except AnalysisException as error:
        if _NOT_FOUND not in str(error):
            return
        package = f"org.apache.spark:{_PACKAGES[name]}_{_SCALA}:{pyspark.__version__}"
        raise MissingPackageError(
            f"Spark's own {name} is not here; this brings it: --conf spark.jars.packages={package} (or "
            "--conf spark.jars=... with its jars)"
        ) from error


def options_to_read(options: Mapping[str, str], table: OptionTable, *left_out: str) -> dict[str, str]:
    """Return the options of a query with which a batch reads the same.

    Without those of streams alone, those by which something is written, and some others. Keys are in lower
    case.

    Args:
        options: of the query.
        table: the options of headwater's source.
        left_out: the names of others.
    """
    stream = Boundedness.CONTINUOUS_UNBOUNDED
    of_streams = {row.name.lower() for row in table.rows if row.only is stream}
    without = of_streams | _WRITES | {name.lower() for name in left_out}
    return {name: value for name, value in options.items() if name not in without}
