"""``headwater try CHECKPOINT``: proof on a user's own query, of Spark's Kafka or file source."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headwater.core.errors import HeadwaterError, OptionError
from headwater.core.secrets import is_elsewhere, kept_secret
from headwater.tools.commands.checkpoint_folder import FolderError, add_storage_options, open_folder
from headwater.tools.commands.offset_forms import OffsetForm, form_of
from headwater.tools.commands.peek import key_and_value, whole_number
from headwater.tools.commands.spark_checkpoint import CheckpointError
from headwater.tools.commands.trial.batches import MOST_OFFSETS, TriedQuery, chosen_source, last_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCHES: Final = 10
_PATHS: Final = frozenset({"path", "paths", "basepath", "sourcearchivedir", "badrecordspath"})
"""Options that are paths themselves: ``file:/data`` is one."""


def add_try(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line ``headwater``."""
    parser = commands.add_parser(
        "try",
        help="read what a query on Spark's own source has read again, through both sources, and compare",
        description="Takes the last committed batches of a query of Spark's own Kafka or file source, "
        "running or stopped, from its checkpoint, reads them again through that source and through headwater "
        "as batches in one local Spark, compares all rows, and says what each costs. Commits, writes and "
        "locks nothing.",
        epilog="Exit status: 0 if the rows are the same, 1 if they are not, or nothing could be compared, "
        "2 for a mistake in this command line.",
    )
    parser.add_argument(
        "checkpoint", metavar="CHECKPOINT", help="the query's checkpointLocation, on any fsspec file system"
    )
    parser.add_argument(
        "-o",
        "--option",
        action="append",
        default=[],
        type=key_and_value,
        metavar="KEY=VALUE",
        help="an option of the query's source, as .option(...) has it; may be repeated. A value env:NAME or "
        "file:PATH is taken from there",
    )
    parser.add_argument(
        "--options-file", metavar="FILE", help="the same, one KEY=VALUE in each line: for secrets"
    )
    parser.add_argument("--source", metavar="ID", help="in a query with several: its number or its name")
    parser.add_argument(
        "--schema", metavar="DDL", help="of files: the columns that the query gives to .schema(...)"
    )
    parser.add_argument(
        "--batches",
        type=whole_number,
        metavar="N",
        help=f"how many of the last batches ({_BATCHES}, or fewer with {MOST_OFFSETS:,} offsets)",
    )
    parser.add_argument(
        "--rounds", type=whole_number, default=3, metavar="N", help="how often each is timed (3)"
    )
    parser.add_argument("--cores", default="*", metavar="N", help="how many cores this Spark has (all)")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        type=key_and_value,
        metavar="KEY=VALUE",
        help="a setting of this Spark, such as spark.jars.packages=...; may be repeated",
    )
    add_storage_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    # Late: the command line is made of this module, and other commands need no Spark.
    from headwater.tools.commands.trial.reading import MissingPackageError, ReadError

    try:
        return 0 if _try(arguments) else 1
    except (CheckpointError, FolderError, HeadwaterError, MissingPackageError, ReadError) as error:
        sys.stderr.write(f"headwater try: {arguments.checkpoint}: {error}\n")
        return 1


def _try(arguments: argparse.Namespace) -> bool:
    from headwater.tools.commands.trial.files_trial import is_of_files, try_files
    from headwater.tools.commands.trial.kafka_trial import try_kafka
    from headwater.tools.commands.trial.report import Report

    options = query_options(arguments.options_file, arguments.option)
    folder = open_folder(arguments.checkpoint, arguments.storage_options, writes=False)
    batches = last_batches(folder, max(1, arguments.batches or _BATCHES))
    kinds = {
        name: try_files if is_of_files(text) else try_kafka
        for name, text in batches.last.offsets.items()
        if is_of_files(text) or form_of(text) is OffsetForm.SPARK_KAFKA
    }
    source = chosen_source(batches.last, arguments.source, kinds)
    if arguments.batches is None:
        batches = batches.of_few_offsets(source)
    report = Report(max(1, arguments.rounds))
    with _session(arguments) as spark:
        return kinds[source](spark, TriedQuery(batches, source, options, arguments.schema), report)


@contextmanager
def _session(arguments: argparse.Namespace) -> Iterator[SparkSession]:
    """Lend the session of this process, or one of its own that writes nowhere but to a temporary folder."""
    from pyspark.sql import SparkSession

    from headwater.connector.spark.session import session

    if running := SparkSession.getActiveSession():
        yield running
        return
    with tempfile.TemporaryDirectory(prefix="headwater-try-") as folder:
        conf = {
            "spark.log.level": "ERROR",
            "spark.sql.warehouse.dir": folder,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            **dict(arguments.conf),
        }
        spark = session("headwater try", master=f"local[{arguments.cores}]", conf=conf)
        try:
            yield spark
        finally:
            spark.stop()


def query_options(file: str | None, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the options of a source, keys in lower case.

    A value ``env:NAME`` is that of an environment variable, ``file:PATH`` the content of a file. Neither is
    shown from then on, in errors or in the output.

    Args:
        file: with an option in each line, ``name=value``; lines that are empty or begin with ``#`` count for
            nothing. None: there is none.
        pairs: on the command line; they beat those of the file.

    Raises:
        OptionError: the file cannot be read, or a line of it is no option.
        SourceError: a variable is not set, or a file of a secret cannot be read.
    """
    written = {**(_of_file(file) if file else {}), **{name.lower(): value for name, value in pairs}}
    return {
        name: kept_secret(value, f"option {name!r}") if _is_secret(name, value) else value
        for name, value in written.items()
    }


def _is_secret(name: str, value: str) -> bool:
    return name not in _PATHS and is_elsewhere(value)


def _of_file(file: str) -> Mapping[str, str]:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{file} cannot be read: {error}", option="--options-file") from error
    options = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            # The line is not shown: it may be a secret without its name.
            raise OptionError(f"{file}, line {number}, is not name=value", option="--options-file")
        options[name.strip().lower()] = value.strip()
    return options
