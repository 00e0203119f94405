"""The table that takes the changes: its columns, and the MERGE that Spark runs on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructField

from headwater.connector.changes.reduction import Reduced
from headwater.connector.changes.rows import GENERATION
from headwater.connector.compat import quoted
from headwater.core.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import DataType

_NO_MERGE: Final = "UNSUPPORTED_FEATURE.TABLE_OPERATION"
_NO_TABLE: Final = "TABLE_OR_VIEW_NOT_FOUND"


@dataclass(frozen=True)
class Target:
    """A table that takes changes.

    Args:
        name: as the user wrote it.
        fields: its columns, in its order.
        is_case_sensitive: whether Spark tells columns apart by case.
    """

    name: str
    fields: tuple[StructField, ...]
    is_case_sensitive: bool

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [field.name for field in self.fields]

    def folded(self, names: Sequence[str]) -> dict[str, str]:
        """Return names by the form in which Spark compares them."""
        return {name if self.is_case_sensitive else name.lower(): name for name in names}

    def check_key(self, key: Sequence[str]) -> list[str]:
        """Return the columns of a key as the table writes them.

        Raises:
            OptionError: the table has no such column, or it is named twice.
        """
        own = self.folded(self.names)
        columns = self.folded(key)
        if missing := [name for folded, name in columns.items() if folded not in own]:
            raise OptionError(
                f"table {self.name} has no column {missing[0]!r} (columns: {', '.join(self.names)})",
                option="key",
            )
        if len(columns) < len(key):
            raise OptionError(f"names a column twice: {', '.join(key)}", option="key")
        return [own[folded] for folded in columns]

    def check_columns(self, names: Sequence[str]) -> dict[str, str]:
        """Return the columns of changes by those of the table, in its order.

        Raises:
            OptionError: one side has a column that the other one has not.
        """
        own = self.folded(self.names)
        columns = self.folded(names)
        more = [name for folded, name in columns.items() if folded not in own]
        fewer = [name for folded, name in own.items() if folded not in columns]
        if more or fewer:
            differences = [f"the table lacks {', '.join(map(repr, more))}"] if more else []
            differences += [f"the changes lack {', '.join(map(repr, fewer))}"] if fewer else []
            raise OptionError(
                f"columns of the changes and of table {self.name} differ: {'; '.join(differences)}. "
                "Select the columns of the table, or ALTER TABLE ... ADD COLUMN",
                option="into",
            )
        return {name: columns[folded] for folded, name in own.items()}

    def check_key_types(self, types: Mapping[str, DataType]) -> None:
        """Return if changes have the key's columns in the types of the table.

        With others, two keys of the changes could be one of the table.

        Args:
            types: the types of the changes, by the names of the table.

        Raises:
            OptionError: one is another type.
        """
        for field in self.fields:
            kind = types.get(field.name, field.dataType)
            if kind != field.dataType:
                raise OptionError(
                    f"column {field.name!r} is {kind.simpleString()} in the changes and "
                    f"{field.dataType.simpleString()} in table {self.name}: cast it before",
                    option="key",
                )

    def check_generation(self, generation: int | None) -> None:
        """Return if the table can tell which of its rows came back when the changed one was read again.

        Args:
            generation: how often it was.

        Raises:
            OptionError: it was, and the table has no column for that.
        """
        if generation and GENERATION not in self.names:
            raise OptionError(
                f"the changed table was read again ({GENERATION} = {generation}), and table {self.name} has "
                "no column of that name, which tells which of its rows did not come back: ALTER TABLE "
                f"{self.name} ADD COLUMN {GENERATION} INT, and start the query again",
                option="into",
            )

    def older_rows(self, session: SparkSession, generation: int) -> Column | None:
        """Return the condition for rows of earlier generations; None if there are none.

        Without it a MERGE need not read the whole table.
        """
        older = F.coalesce(F.col(GENERATION), F.lit(-1)) < generation
        return older if session.table(self.name).where(older).limit(1).count() else None

    def merge(self, reduced: Reduced, key: Sequence[str], *, gone: Column | None) -> None:
        """Write the last state of each key with one MERGE.

        Args:
            reduced: the states.
            key: the columns that identify a row.
            gone: which rows are deleted that no state has; None for none.

        Raises:
            OptionError: the table has no MERGE.
        """
        same = F.lit(True)
        for name in key:
            same = same & (F.col(quoted(name)) == reduced.value(name))
        updates = {quoted(name): reduced.updated(name) for name in self.names if name not in key}
        inserts = {quoted(name): reduced.inserted(name) for name in self.names}
        writer = reduced.rows.mergeInto(self.name, same).whenMatched(reduced.is_gone).delete()
        if updates:
            writer = writer.whenMatched().update(updates)
        writer = writer.whenNotMatched(~reduced.is_gone).insert(inserts)
        if gone is not None:
            writer = writer.whenNotMatchedBySource(gone).delete()
        with _explained(self.name):
            writer.merge()


def target_table(session: SparkSession, name: str) -> Target:
    """Return the table of a name.

    Args:
        session: the one of the batch.
        name: of one, two or three parts, as Spark takes it.

    Raises:
        OptionError: there is none.
    """
    with _explained(name):
        schema = session.table(name).schema
    is_case_sensitive = session.conf.get("spark.sql.caseSensitive") == "true"
    return Target(name, tuple(schema.fields), is_case_sensitive)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Add the remedy where Spark only says no."""
    try:
        yield
    except PySparkException as error:
        condition = error.getCondition()
        if condition == _NO_TABLE:
            raise OptionError(
                f"there is no table {name}: create it first, with the columns of the changed table, in a "
                f"format that has MERGE: CREATE TABLE {name} (...) USING delta",
                option="into",
            ) from error
        if condition == _NO_MERGE:
            raise OptionError(
                f"table {name} has no MERGE: its format must have row-level operations, as Delta Lake "
                "and Apache Iceberg have: create it with USING delta; or append the changes to it as "
                "they are, and read the last one of each key with a query (docs/apply-changes.md)",
                option="into",
            ) from error
        raise
