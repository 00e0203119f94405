"""The program that ``headwater replicate`` writes: a table of PostgreSQL, followed by a table with MERGE."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Final

from headwater.connector.compat import quoted
from headwater.tools.commands.replica_target import ReplicaTarget

_PROGRAM: Final = Template('''\
"""$into follows $table of PostgreSQL.

First come the rows that are there, then every change.

    python $file                    # until Ctrl-C; the next run goes on where it was
    python $file --available-now    # what has come since the last run, then it ends: for cron

Written by `headwater replicate`, and yours to change.
"""

import sys
import time

import headwater as hw

INTO = $target
KEY = $key

hw.install_excepthook()
spark = hw.session(
    $app,
    # For one host. spark-submit wants the packages as its own argument --packages.
    conf={
$conf
    },
)
${schema}\
spark.sql(
    f"CREATE TABLE IF NOT EXISTS {INTO} ("
$columns
    $provider
)

changes = (
    spark.readStream.format("headwater")
$options
    .load()
)


def merge(batch, number):
    """A batch may come twice, after a crash: the second time changes nothing."""
    hw.apply_changes(batch, into=INTO, key=KEY)
    print(f"batch {number} is in {INTO}", flush=True)


# A table with other columns is refused here, before the server has a slot.
hw.apply_changes(spark.createDataFrame([], changes.schema), into=INTO, key=KEY)

trigger = {"availableNow": True} if "--available-now" in sys.argv else {"processingTime": "2 seconds"}
query = (
    changes.writeStream.foreachBatch(merge)
    .queryName($app)
    .option("checkpointLocation", $checkpoint)
    .trigger(**trigger)
    .start()
)
try:
    # Ctrl-C in the middle of a call of the JVM would show pages of tracebacks.
    while query.isActive:
        time.sleep(0.5)
except KeyboardInterrupt:
    sys.exit("stopped; the next run goes on where it was")
query.awaitTermination()
spark.stop()
''')
_ONE_HOST: Final = {
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


@dataclass(frozen=True, kw_only=True)
class ReplicaProgram:
    """The parts of the program that differ.

    Attributes:
        file: its name.
        table: the table that is followed, for people.
        target: where the changes go.
        columns: the types of its columns by their names, in Spark's words.
        key: the columns by which a change finds its row.
        options: of the source.
        checkpoint: of the query.
    """

    file: str
    table: str
    target: ReplicaTarget
    columns: Mapping[str, str]
    key: Sequence[str]
    options: Mapping[str, str]
    checkpoint: str

    def text(self) -> str:
        """Return the program."""
        target = self.target
        conf = {**_ONE_HOST, **target.session_conf()}
        schema = f"spark.sql({_literal(f'CREATE SCHEMA IF NOT EXISTS {target.schema}')})\n"
        *first, last = (f"{quoted(name)} {kind}" for name, kind in self.columns.items())
        options = {"source": "postgres", **self.options}
        return _PROGRAM.substitute(
            file=self.file,
            into=target.into,
            table=self.table,
            target=_literal(target.sql),
            key=json.dumps(list(self.key), ensure_ascii=False),
            app=_literal(self.file.removesuffix(".py")),
            conf=_lines(8, (f"{_literal(key)}: {_literal(value)}," for key, value in conf.items())),
            schema=schema if target.schema else "",
            columns=_lines(4, map(_literal, [*(f"{each}, " for each in first), last])),
            provider=_literal(f") {target.properties(self.columns)}"),
            options=_lines(
                4, (f".option({_literal(key)}, {_literal(value)})" for key, value in options.items())
            ),
            checkpoint=_literal(self.checkpoint),
        )


def _literal(text: str) -> str:
    """Return a string of Python: it has the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _lines(indent: int, lines: Iterable[str]) -> str:
    return "\n".join(" " * indent + each for each in lines)
