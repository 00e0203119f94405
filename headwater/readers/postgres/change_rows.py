"""The rows of a stream of changes: their schema, and how changes become batches of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import OptionError, SourceError
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.split import WalSplit, lsn_text
from headwater.enumerators.postgres.stream_settings import ChangeColumns, Reaction
from headwater.readers.kernels.arrays import Int64Array
from headwater.readers.postgres import wal_layout as L
from headwater.readers.postgres.binary_values import binary_columns, misfit_error
from headwater.readers.postgres.copy_emitter import CopiedRows
from headwater.readers.postgres.text_values import MisfitTextError, text_column
from headwater.readers.postgres.types import PostgresColumn
from headwater.readers.postgres.wal_changes import Changes, Tuples
from headwater.readers.rescued import RESCUED_COLUMN, json_objects

OP: Final = "_op"
LSN: Final = "_lsn"
SEQ: Final = "_seq"
XID: Final = "_xid"
COMMIT_TIME: Final = "_commit_ts"
SYNC: Final = "_sync"
UNCHANGED: Final = "_unchanged"
BEFORE: Final = "before"

_UTC: Final = pa.timestamp("us", tz="UTC")
_NAMES: Final = pa.list_(pa.field("element", pa.string()))
META: Final[Mapping[str, pa.DataType]] = {
    OP: pa.string(),
    LSN: pa.int64(),
    SEQ: pa.int32(),
    XID: pa.int64(),
    COMMIT_TIME: _UTC,
    SYNC: pa.int32(),
    UNCHANGED: _NAMES,
}
"""The columns that describe a change, before those of the table."""

OPS: Final = ("c", "u", "d", "t", "u")
"""By kinds of changes: created, updated, deleted, truncated. Rows of the beginning are ``r``."""
READ: Final = "r"
"""What a row is that was there: Spark's changelogs know no word but ``insert``."""
_BEFORE_ALL: Final = -1
"""The place of such a row in a transaction: before the changes at the same LSN."""
_SPARK_OPS: Final = ("insert", "update_postimage", "delete", "truncate", "update_preimage")
_SPARK_NAMES: Final = {OP: "_change_type", LSN: "_commit_version", COMMIT_TIME: "_commit_timestamp"}


ColumnMaker: TypeAlias = Callable[[str, Any, npt.NDArray[np.int64]], Any]
"""Makes a column of a table: of its name, the type of values, and some changes; NULL where one has none."""


class ChangeRule(Protocol):
    """Decides which changes of a table are emitted: for rows that a snapshot of it has read already.

    Called in tasks, on one thread, for each batch in the order of the log.
    """

    def __call__(
        self, xids: Int64Array, is_truncate: npt.NDArray[np.bool_], column: ColumnMaker
    ) -> npt.NDArray[np.bool_] | None:
        """Return whether each change is emitted; None for all of them.

        A pure function of the changes and the split: a batch that is read again has the same
        rows.

        Args:
            xids: the transactions of the changes.
            is_truncate: whether each is a TRUNCATE.
            column: makes columns of the others. A change of a key is two: ``d`` with the old row, ``c`` with
                the new one.
        """


@dataclass(frozen=True)
class ChangeRows:
    """The form of rows. Picklable.

    Attributes:
        columns: of the table.
        names: how the columns of `META` are called.
        includes_before: whether the last column is `BEFORE`.
        on_truncate: the reaction to a TRUNCATE.
        on_toast: the reaction to a value that the log does not have.
        rescues: whether a column behind those of the table, `RESCUED_COLUMN`, has all others as JSON.
    """

    columns: tuple[PostgresColumn, ...]
    names: ChangeColumns = ChangeColumns.HEADWATER
    includes_before: bool = False
    on_truncate: Reaction = Reaction.EMIT
    on_toast: Reaction = Reaction.MARK
    rescues: bool = False

    @cached_property
    def schema(self) -> pa.Schema:
        """Of all rows.

        Raises:
            OptionError: a column of the table has the name of another column.
        """
        renamed = _SPARK_NAMES if self.names is ChangeColumns.SPARK else {}
        fields = [pa.field(renamed.get(name, name), kind) for name, kind in META.items()]
        fields += self._fields
        if self.includes_before:
            fields.append(pa.field(BEFORE, pa.struct(self._fields)))
        _check_names([field.name for field in fields])
        return pa.schema(fields)

    @property
    def _fields(self) -> list[pa.Field[Any]]:
        fields = [pa.field(each.name, each.arrow_type) for each in self.columns]
        return [*fields, pa.field(RESCUED_COLUMN, pa.string())] if self.rescues else fields

    @property
    def has_preimages(self) -> bool:
        """Whether an update is two rows where the old one is known."""
        return self.names is ChangeColumns.SPARK

    def batch(
        self, changes: Changes, split: WalSplit, table: str, rule: ChangeRule | None = None
    ) -> pa.RecordBatch:
        """Return changes as rows.

        Args:
            changes: of the table.
            split: they are of.
            table: the table's name, for errors.
            rule: leaves some out.

        Raises:
            SourceError: a value has no place in its column, or there is a change that the user does not want.
        """
        self._check(changes, table)
        values = self._values(changes, changes.rows, table)
        mask = None
        if rule is not None:
            by_name = {field.name: each for field, each in zip(self._fields, values, strict=True)}
            mask = rule(
                changes.xids,
                changes.kinds == L.OP_TRUNCATE,
                lambda name, _, rows: by_name[name].take(pa.array(rows, pa.int64())),
            )
        arrays = self._meta(changes, split, _SPARK_OPS if self.has_preimages else OPS)
        arrays += values
        if self.includes_before:
            arrays.append(self._before(changes, table))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return batch if mask is None else batch.filter(pa.array(mask))

    def read(self, record: CopiedRows, start: int | None, sync: int) -> pa.RecordBatch:
        """Return rows of the table that were there.

        Args:
            record: some.
            start: where the stream begins.
            sync: how often the table was read anew.
        """
        count = record.rows.rows
        op = _SPARK_OPS[L.OP_INSERT] if self.has_preimages else READ
        values = binary_columns(record.rows, record.columns, record.table)
        names = (column.name for column in record.columns)
        arrays = read_columns(count, op, start, sync)
        arrays += self.values(dict(zip(names, values, strict=True)), count)
        if self.includes_before:
            arrays.append(pa.nulls(count, self.schema.field(BEFORE).type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _check(self, changes: Changes, table: str) -> None:
        if self.on_truncate is Reaction.FAIL:
            at = np.flatnonzero(changes.kinds == L.OP_TRUNCATE)
            if at.size:
                raise self._refused(
                    f"table {table} was truncated, and option onTruncate=fail. Set onTruncate=emit to go "
                    f"on, or "
                    "begin with a new checkpointLocation",
                    changes,
                    int(at[0]),
                )
        if self.on_toast is Reaction.FAIL and changes.has_unchanged:
            columns, rows = np.nonzero(changes.rows.lengths == L.UNCHANGED)
            first = int(rows.argmin())
            raise self._refused(
                f"table {table}, column {self._names(changes)[columns[first]]!r}: an update has not changed "
                f"a large "
                "value, which the log does not have then, and option onToast=fail. ALTER TABLE ... REPLICA "
                "IDENTITY FULL logs it from now on; onToast=mark goes on",
                changes,
                int(rows[first]),
            )

    def values(self, arrays_by_name: Mapping[str, pa.Array[Any]], rows: int) -> list[pa.Array[Any]]:
        """Return the columns of the table, and the one that has all columns which the query does not have.

        Args:
            arrays_by_name: values by the names of their columns. A column without any is NULL.
            rows: how many there are.
        """
        arrays = [
            arrays_by_name[each.name] if each.name in arrays_by_name else pa.nulls(rows, each.arrow_type)
            for each in self.columns
        ]
        if self.rescues:
            # By their names: places differ from range to range, and a row must be the same in each.
            others = sorted(arrays_by_name.keys() - {each.name for each in self.columns})
            arrays.append(json_objects({name: arrays_by_name[name] for name in others}, rows))
        return arrays

    def _values(self, changes: Changes, tuples: Tuples, table: str) -> list[pa.Array[Any]]:
        types = [each.arrow_type for each in self.columns] + [pa.string()] * len(changes.others)
        arrays = {}
        for at, (name, kind) in enumerate(zip(self._names(changes), types, strict=True)):
            starts = np.ascontiguousarray(tuples.starts[at])
            lengths = np.ascontiguousarray(tuples.lengths[at])
            try:
                arrays[name] = text_column(kind, tuples.data, starts, lengths)
            except MisfitTextError as error:
                message = misfit_error(f"the value {error.text}", self.columns[at], table).message
                raise self._refused(message, changes, error.row) from None
        return self.values(arrays, len(changes))

    def _names(self, changes: Changes) -> list[str]:
        return [*(each.name for each in self.columns), *changes.others]

    def _meta(self, changes: Changes, split: WalSplit, ops: tuple[str, ...]) -> list[pa.Array[Any]]:
        names = self._names(changes) if changes.has_unchanged else []
        return meta_columns(changes, split, ops, unchanged_names(changes.rows.lengths[: len(names)], names))

    def _before(self, changes: Changes, table: str) -> pa.Array[Any]:
        assert changes.old is not None, "it was asked for"
        arrays = self._values(changes, changes.old, table)
        is_unknown = pa.array(changes.has_old == 0)
        return pa.StructArray.from_arrays(arrays, fields=self._fields, mask=is_unknown)

    def _refused(self, message: str, changes: Changes, row: int) -> SourceError:
        return SourceError(message, source=SOURCE, split="wal", position=lsn_text(int(changes.lsns[row])))


def meta_columns(
    changes: Changes, split: WalSplit, ops: tuple[str, ...], unchanged: pa.Array[Any]
) -> list[pa.Array[Any]]:
    """Return the columns `META` of changes.

    Args:
        changes: some.
        split: they are of.
        ops: the name of each kind.
        unchanged: the last column.
    """
    kinds: Any = pa.array(changes.kinds)
    return [
        pa.array(ops, pa.string()).take(kinds),
        pa.array(changes.lsns),
        pa.array(changes.sequences),
        pa.array(changes.xids),
        pa.array(changes.times).view(_UTC),
        pa.array(np.full(len(changes), split.sync, np.int32)),
        unchanged,
    ]


def read_columns(count: int, op: str, start: int | None, sync: int) -> list[pa.Array[Any]]:
    """Return the columns `META` of rows that were there.

    Args:
        count: of the rows.
        op: the name of their kind.
        start: where the stream begins; None without one.
        sync: how often their table was read anew.
    """
    values: dict[str, Any] = {OP: op, LSN: start, SEQ: _BEFORE_ALL, SYNC: sync, UNCHANGED: []}
    scalars: list[Any] = [pa.scalar(values.get(name), kind) for name, kind in META.items()]
    return [pa.repeat(each, count) for each in scalars]


def unchanged_names(lengths: npt.NDArray[np.int32], names: Sequence[str]) -> pa.Array[Any]:
    """Return for each row the names of the columns whose values it does not have.

    Args:
        lengths: of the values, for each of these columns and each row.
        names: of the columns.
    """
    marks = np.ascontiguousarray((lengths == L.UNCHANGED).T)
    ends = marks.sum(axis=1).cumsum()
    offsets: Any = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    places: Any = pa.array(np.nonzero(marks)[1])
    every = pa.array(names, pa.string()).take(places)
    unchanged: pa.Array[Any] = pa.ListArray.from_arrays(offsets, every, type=_NAMES)
    return unchanged


def _check_names(names: Sequence[str]) -> None:
    """Refuse a table whose columns have the names of others.

    Raises:
        OptionError: it says which.
    """
    twice = sorted({name for name in names if [each.lower() for each in names].count(name.lower()) > 1})
    if any(name.lower() == RESCUED_COLUMN for name in twice):
        raise OptionError(
            f"=rescue adds a column {RESCUED_COLUMN}, and the table has one: rename that one, or set "
            "onSchemaChange=fail or ignore",
            option="onSchemaChange",
        )
    if twice:
        raise OptionError(
            f"leaves no room for a column of the table: {', '.join(twice)} would come twice. Choose other "
            "names of the columns that describe a change, or leave the table's out (option columns)",
            option="includeBefore" if twice == [BEFORE] else "changeColumns",
        )
