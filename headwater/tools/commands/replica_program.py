"""The program that ``headwater replicate`` writes: tables of PostgreSQL, followed by tables with MERGE."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Final

from headwater.connector.compat import quoted
from headwater.tools.commands.replica_target import ReplicaTarget

_PROGRAM: Final = Template('''\
"""$follows

First come the rows that are there, then every change.

    python $file                    # until Ctrl-C; the next run goes on where it was
    python $file --available-now    # what has come since the last run, then it ends: for cron

Written by `headwater replicate`, and yours to change.
"""

import sys
import time

import headwater as hw

$copies

hw.install_excepthook()
spark = hw.session(
    $app,
    # For one host. spark-submit wants the packages as its own argument --packages.
    conf={
$conf
    },
)
${schema}\
$creation

changes = (
    spark.readStream.format("headwater")
$options
    .load()
)


$merge

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
_CREATION_OF_ONE: Final = Template("""\
spark.sql(
    f"CREATE TABLE IF NOT EXISTS {INTO} ("
$columns
    $provider
)""")
_MERGE_OF_ONE: Final = '''\
def merge(batch, number):
    """A batch may come twice, after a crash: the second time changes nothing."""
    hw.apply_changes(batch, into=INTO, key=KEY)
    print(f"batch {number} is in {INTO}", flush=True)


# A table with other columns is refused here, before the server has a slot.
hw.apply_changes(spark.createDataFrame([], changes.schema), into=INTO, key=KEY)'''
_CREATION_OF_SEVERAL: Final = """\
for _, into, _, columns, using in COPIES:
    spark.sql(f"CREATE TABLE IF NOT EXISTS {into} ({columns}) {using}")"""
_MERGE_OF_SEVERAL: Final = '''\
def apply(batch):
    for table, into, key, columns, _ in COPIES:
        hw.apply_changes(hw.changes_of(batch, table, schema=columns), into=into, key=key)


def merge(batch, number):
    """A batch may come twice, after a crash: the second time changes nothing."""
    batch.persist()  # else each table would read it from the server again
    apply(batch)
    batch.unpersist()
    print(f"batch {number} is in {len(COPIES)} tables", flush=True)


# A table with other columns is refused here, before the server has a slot.
apply(spark.createDataFrame([], changes.schema))'''
_ONE_HOST: Final = {
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


@dataclass(frozen=True, kw_only=True)
class ReplicaCopy:
    """A table, and the one that follows it.

    Attributes:
        table: the table that is followed, with its schema.
        target: where its changes go.
        columns: the types of its columns by their names, in Spark's words.
        key: the columns by which a change finds its row.
    """

    table: str
    target: ReplicaTarget
    columns: Mapping[str, str]
    key: Sequence[str]

    @property
    def provider(self) -> str:
        """The clause behind the columns in CREATE TABLE."""
        return self.target.properties(self.columns)

    def column_lines(self, indent: int) -> str:
        """Return the columns as SQL, in literals of Python that stand below each other."""
        *first, last = (f"{quoted(name)} {kind}" for name, kind in self.columns.items())
        return _lines(indent, map(_literal, [*(f"{each}, " for each in first), last]))

    def fields(self) -> str:
        """Return the table as the program for several has it: one field below the other."""
        name, into, provider = map(_literal, (self.table, self.target.sql, self.provider))
        before = _lines(8, (f"{each}," for each in (name, into, _names(self.key))))
        return f"{before}\n{self.column_lines(8)},\n        {provider},"


@dataclass(frozen=True, kw_only=True)
class ReplicaProgram:
    """The parts of the program that differ.

    Attributes:
        file: its name.
        copies: the tables, one at least.
        into: where they go, as the user says.
        options: of the source.
        checkpoint: of the query.
    """

    file: str
    copies: Sequence[ReplicaCopy]
    into: str
    options: Mapping[str, str]
    checkpoint: str

    def text(self) -> str:
        """Return the program."""
        target = self.copies[0].target
        conf = {**_ONE_HOST, **target.session_conf()}
        schema = f"spark.sql({_literal(f'CREATE SCHEMA IF NOT EXISTS {target.schema}')})\n"
        options = {"source": "postgres", **self.options}
        return _PROGRAM.substitute(
            self._of_one(self.copies[0]) if len(self.copies) == 1 else self._of_several(),
            file=self.file,
            app=_literal(self.file.removesuffix(".py")),
            conf=_lines(8, (f"{_literal(key)}: {_literal(value)}," for key, value in conf.items())),
            schema=schema if target.schema else "",
            options=_lines(
                4, (f".option({_literal(key)}, {_literal(value)})" for key, value in options.items())
            ),
            checkpoint=_literal(self.checkpoint),
        )

    def _of_one(self, copy: ReplicaCopy) -> dict[str, str]:
        """Return the parts of a program for one table, whose changes have its columns."""
        creation = _CREATION_OF_ONE.substitute(
            columns=copy.column_lines(4), provider=_literal(f") {copy.provider}")
        )
        return {
            "follows": f"{self.into} follows {copy.table} of PostgreSQL.",
            "copies": f"INTO = {_literal(copy.target.sql)}\nKEY = {_names(copy.key)}",
            "creation": creation,
            "merge": _MERGE_OF_ONE,
        }

    def _of_several(self) -> dict[str, str]:
        """Return the parts of a program for several tables, whose changes are one stream."""
        copies = "\n".join(f"    (\n{each.fields()}\n    )," for each in self.copies)
        return {
            "follows": f"The tables in {self.into} follow those of PostgreSQL.",
            "copies": "# Of each table: its name, the copy, the key, the columns, the format.\n"
            f"COPIES = [\n{copies}\n]",
            "creation": _CREATION_OF_SEVERAL,
            "merge": _MERGE_OF_SEVERAL,
        }


def _names(names: Sequence[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)


def _literal(text: str) -> str:
    """Return a string of Python: it has the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _lines(indent: int, lines: Iterable[str]) -> str:
    return "\n".join(" " * indent + each for each in lines)
