"""The table into which ``headwater replicate`` copies another one: its name, and Spark's settings for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from headwater.core.errors import OptionError

DELTA: Final = "delta"
_DELTA: Final = "4.4.0"
_DELTA_SPARK: Final = "4.2"
_DELTA_PACKAGE: Final = f"io.delta:delta-spark_{_DELTA_SPARK}_2.13:{_DELTA}"
_DELTA_CONF: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}
_PACKAGES: Final = "spark.jars.packages"
_JARS: Final = (_PACKAGES, "spark.jars", "spark.driver.extraClassPath")
_CATALOG: Final = {"spark.sql.catalogImplementation": "hive"}
"""One that keeps its tables: Spark's other one forgets them when the program ends."""

_PART: Final = r"(?:[^\W\d]\w*|`[^`]+`)"
_NAME: Final = re.compile(rf"(?:{_PART}\.){{0,2}}{_PART}")
_STRANGE: Final = re.compile(r"[ ,;{}()\n\t=.]")
"""Marks that Delta takes in a column's name only where columns are mapped."""


@dataclass(frozen=True, slots=True)
class ReplicaTarget:
    """The table that takes changes.

    Attributes:
        into: as the user says: a path, or one to three names.
        provider: the format that it is made in.
        conf: settings of the session, by the user.
    """

    into: str
    provider: str
    conf: Mapping[str, str]

    def __post_init__(self) -> None:
        if self.is_path:
            if self.provider != DELTA or "`" in self.into:
                raise OptionError(
                    f"a path is for Delta tables: name a table, not {self.into!r}", option="into"
                )
        elif not _NAME.fullmatch(self.into):
            raise OptionError(
                "must be a path, such as /lake/orders, or the name of a table, such as lake.orders, with odd "
                f"names in back-ticks; not {self.into!r}",
                option="into",
            )

    @property
    def is_path(self) -> bool:
        """Whether it is a folder, and no table of a catalogue."""
        return "/" in self.into and not _NAME.fullmatch(self.into)

    @property
    def sql(self) -> str:
        """Its name in Spark."""
        if not self.is_path:
            return self.into
        return f"delta.`{self.into if '://' in self.into else Path(self.into).absolute()}`"

    @property
    def schema(self) -> str:
        """The schema that has it; empty for a path, and for Spark's current one."""
        parts = re.findall(_PART, "" if self.is_path else self.into)
        return ".".join(parts[:-1])

    def of_several(self, tables: Sequence[str]) -> list[ReplicaTarget]:
        """Return the targets of several tables, each of its name: this is the folder, or the schema.

        Raises:
            OptionError: two have the same name.
        """
        twice = [each for at, each in enumerate(tables) if each.lower() in map(str.lower, tables[:at])]
        if twice:
            raise OptionError(
                f"two tables are named {twice[0]}, and each has its name in {self.into}: follow one of them "
                "with a program of its own",
                option="table",
            )
        if self.is_path:
            return [replace(self, into=f"{self.into.rstrip('/')}/{each}") for each in tables]
        return [replace(self, into=f"{self.into}.{_quoted(each)}") for each in tables]

    def session_conf(self) -> dict[str, str]:
        """Return the settings of a session that has it: those of the user, and the missing ones."""
        conf = {}
        if self.provider == DELTA:
            conf = {**({} if self._brings_jars else {_PACKAGES: _DELTA_PACKAGE}), **_DELTA_CONF}
        is_in_session_catalog = not self.is_path and self.into.count(".") < 2
        return {**conf, **(_CATALOG if is_in_session_catalog else {}), **self.conf}

    def properties(self, columns: Iterable[str]) -> str:
        """Return the clause behind the columns in CREATE TABLE."""
        is_strange = self.provider == DELTA and any(map(_STRANGE.search, columns))
        mapping = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" if is_strange else ""
        return f"USING {self.provider}{mapping}"

    def findings(self, spark: str) -> list[str]:
        """Return the obstacles to writing it.

        Args:
            spark: the version of PySpark.
        """
        if self.provider != DELTA or self._brings_jars or spark.startswith(f"{_DELTA_SPARK}."):
            return []
        mend = f"pip install 'pyspark=={_DELTA_SPARK}.*', or name another release: --conf {_PACKAGES}=..."
        return [f"Delta Lake {_DELTA} is for Spark {_DELTA_SPARK}, and this is {spark}: {mend}"]

    @property
    def _brings_jars(self) -> bool:
        return any(name in self.conf for name in _JARS)


def _quoted(name: str) -> str:
    return name if re.fullmatch(_PART, name) else f"`{name}`"
