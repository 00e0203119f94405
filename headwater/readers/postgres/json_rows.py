"""The rows of several tables: each row of a table as JSON, with the texts that the server sends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import OptionError, SourceError
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.split import WAL_PATH, WalSplit, lsn_text
from headwater.enumerators.postgres.stream_settings import Reaction
from headwater.enumerators.postgres.table import TableColumn
from headwater.readers.postgres import layout
from headwater.readers.postgres import wal_layout as L
from headwater.readers.postgres.change_rows import (
    META,
    OPS,
    READ,
    ChangeRule,
    meta_columns,
    read_columns,
    unchanged_names,
)
from headwater.readers.postgres.copy_emitter import CopiedRows
from headwater.readers.postgres.relation import Relation
from headwater.readers.postgres.text_values import MisfitTextError, text_column
from headwater.readers.postgres.types import PostgresColumn, column_of
from headwater.readers.postgres.wal_changes import Changes, Tuples

TABLE: Final = "_table"
BEFORE: Final = "before"
AFTER: Final = "after"
SCHEMA: Final = pa.schema([*META.items(), *((name, pa.string()) for name in (TABLE, BEFORE, AFTER))])
"""Of all rows, whatever the tables are like."""

_ESCAPED: Final = r'["\\\x00-\x1f]'
_ESCAPES: Final = (
    ("\\", "\\\\"),
    ('"', '\\"'),
    *((chr(code), json.dumps(chr(code))[1:-1]) for code in range(1, 0x20)),
)
"""What JSON does not have as it is in a text, the backslash first. The server has no character 0."""


def check_schema(schema: pa.Schema) -> None:
    """Take no other schema than `SCHEMA`.

    Raises:
        OptionError: the user gave one.
    """
    if not schema.equals(SCHEMA):
        raise OptionError("rows of several tables have columns of their own: load() without .schema(...)")


def columns_as_texts(columns: Sequence[TableColumn]) -> list[PostgresColumn]:
    """Return how columns are read so that each value is the server's text."""
    return [column_of(each, as_text=column_of(each).kind != layout.TEXT) for each in columns]


@dataclass(frozen=True)
class JsonRows:
    """The form of rows. Picklable.

    Attributes:
        on_truncate: the reaction to a TRUNCATE.
        on_toast: the reaction to a value that the log does not have.
    """

    on_truncate: Reaction = Reaction.EMIT
    on_toast: Reaction = Reaction.MARK

    def batch(
        self,
        changes: Changes,
        split: WalSplit,
        forms: Sequence[Relation],
        rules: Mapping[int, ChangeRule] = MappingProxyType({}),
    ) -> pa.RecordBatch:
        """Return changes as rows, in their order.

        Args:
            changes: of tables.
            split: they are of.
            forms: of the tables; the changes say which.
            rules: leave some out, by the oids of tables.

        Raises:
            SourceError: there is a change that the user does not want.
        """
        self._check(changes, forms)
        groups = []
        places = []
        is_emitted = np.ones(len(changes), np.bool_)
        first_lsns = {each.oid: each.since for each in split.tables if each.since}
        for form in np.unique(changes.forms):
            rows = np.flatnonzero(changes.forms == form)
            groups.append(_of_one_form(changes, rows, forms[form]))
            places.append(rows)
            rule = rules.get(forms[form].oid)
            if rule is not None:
                mask = _ruled(rule, changes, rows, forms[form])
                is_emitted[rows] = True if mask is None else mask
            since = first_lsns.get(forms[form].oid, 0)
            if since:
                is_emitted[rows] &= changes.lsns[rows] >= since
        order: Any = pa.array(np.argsort(np.concatenate(places)))
        bodies = [
            arrays[0] if len(groups) == 1 else pa.concat_arrays(arrays).take(order)
            for arrays in zip(*groups, strict=True)
        ]
        meta = meta_columns(changes, split, OPS, bodies[0])
        batch = pa.RecordBatch.from_arrays([*meta, *bodies[1:]], schema=SCHEMA)
        return batch if is_emitted.all() else batch.filter(pa.array(is_emitted))

    def read(self, record: CopiedRows, start: int | None, sync: int) -> pa.RecordBatch:
        """Return rows of a table that were there.

        Args:
            record: some, with `columns_as_texts`.
            start: where the stream begins; None without one.
            sync: how often the table was read anew.
        """
        rows = record.rows
        values = Tuples(rows.data, rows.starts[: rows.rows].T, rows.lengths[: rows.rows].T)
        new = _objects(values, [each.name for each in record.columns], np.zeros(rows.rows, np.bool_))
        table: pa.Array[Any] = pa.repeat(pa.scalar(record.table), rows.rows)
        old = pa.nulls(rows.rows, pa.string())
        meta = read_columns(rows.rows, READ, start, sync)
        return pa.RecordBatch.from_arrays([*meta, table, old, new], schema=SCHEMA)

    def _check(self, changes: Changes, forms: Sequence[Relation]) -> None:
        if self.on_truncate is Reaction.FAIL:
            at = np.flatnonzero(changes.kinds == L.OP_TRUNCATE)
            if at.size:
                table = forms[changes.forms[at[0]]].full_name
                message = (
                    f"table {table} was truncated, and option onTruncate=fail. Set onTruncate=emit to go on, "
                    "or begin with a new checkpointLocation"
                )
                raise _refused(message, changes, int(at[0]))
        if self.on_toast is Reaction.FAIL and changes.has_unchanged:
            columns, rows = np.nonzero(changes.rows.lengths == L.UNCHANGED)
            first = int(rows.argmin())
            form = forms[changes.forms[rows[first]]]
            message = (
                f"table {form.full_name}, column {form.columns[columns[first]].name!r}: an update has not "
                "changed a large value, which the log does not have then, and option onToast=fail. ALTER "
                "TABLE ... REPLICA IDENTITY FULL logs it from now on; onToast=mark goes on"
            )
            raise _refused(message, changes, int(rows[first]))


def _of_one_form(changes: Changes, rows: npt.NDArray[np.int64], form: Relation) -> tuple[pa.Array[Any], ...]:
    """Return the last column of `META`, then `TABLE`, `BEFORE`, `AFTER`, of rows with the same columns."""
    names = [column.name for column in form.columns]
    kinds = changes.kinds[rows]
    has_none = (kinds == L.OP_DELETE) | (kinds == L.OP_TRUNCATE)
    new = _chosen(changes.rows, rows, range(len(names)))
    after = _objects(new, names, has_none)
    assert changes.old is not None, "it was asked for"
    is_full = form.replica_identity == "f"
    sent = [at for at, column in enumerate(form.columns) if is_full or column.is_identity]
    old = _chosen(changes.old, rows, sent)
    before = _objects(old, [names[at] for at in sent], changes.has_old[rows] == 0)
    marked = np.where(has_none, L.NULL, new.lengths)
    table: pa.Array[Any] = pa.repeat(pa.scalar(form.full_name), len(rows))
    return unchanged_names(marked, names), table, before, after


def _ruled(
    rule: ChangeRule, changes: Changes, rows: npt.NDArray[np.int64], form: Relation
) -> npt.NDArray[np.bool_] | None:
    """Return which rows with the same columns are emitted."""
    places = {column.name: at for at, column in enumerate(form.columns)}

    def column(name: str, kind: Any, some: npt.NDArray[np.int64]) -> pa.Array[Any]:
        if name not in places:
            missing: pa.Array[Any] = pa.nulls(len(some), kind)
            return missing
        values = _chosen(changes.rows, rows[some], [places[name]])
        try:
            return text_column(kind, values.data, values.starts[0], values.lengths[0])
        except MisfitTextError as error:
            message = (
                f"table {form.full_name} was read in chunks of its key, and the value {error.text} of column "
                f"{name!r} has no place in their order: the column has another type since, or it is "
                "not finite. Begin again, with a new checkpointLocation and a new slot"
            )
            raise _refused(message, changes, int(rows[some][error.row])) from None

    return rule(changes.xids[rows], changes.kinds[rows] == L.OP_TRUNCATE, column)


def _chosen(tuples: Tuples, rows: npt.NDArray[np.int64], columns: Sequence[int]) -> Tuples:
    at = np.ix_(np.asarray(columns, np.int64), rows)
    return Tuples(tuples.data, tuples.starts[at], tuples.lengths[at])


def _objects(tuples: Tuples, names: Sequence[str], is_missing: npt.NDArray[np.bool_]) -> pa.Array[Any]:
    """Return rows as JSON objects: texts, and null for NULL; a value that was not sent has no field.

    Args:
        tuples: the values.
        names: of their columns.
        is_missing: the rows that are NULL as a whole.
    """
    kinds: Any = pc  # its functions take arrays and scalars alike, which its types do not say
    fields = []
    for at, name in enumerate(names):
        starts = np.ascontiguousarray(tuples.starts[at])
        lengths = np.ascontiguousarray(tuples.lengths[at])
        key = json.dumps(name, ensure_ascii=False)
        texts = _escaped(text_column(pa.string(), tuples.data, starts, lengths))
        field = kinds.binary_join_element_wise(key + ':"', texts, '"', "")
        field = kinds.coalesce(field, key + ":null")
        is_unsent = lengths == L.UNCHANGED
        fields.append(kinds.if_else(is_unsent, None, field) if is_unsent.any() else field)
    inside: Any = pa.repeat(pa.scalar(""), len(is_missing))
    if fields:
        inside = kinds.binary_join_element_wise(*fields, ",", null_handling="skip")
    whole = kinds.binary_join_element_wise("{", inside, "}", "")
    objects: pa.Array[Any] = kinds.if_else(pa.array(is_missing), pa.scalar(None, pa.string()), whole)
    return objects


def _escaped(texts: pa.Array[Any]) -> Any:
    kinds: Any = pc
    if not kinds.any(kinds.match_substring_regex(texts, _ESCAPED)).as_py():
        return texts
    for character, escape in _ESCAPES:
        texts = kinds.replace_substring(texts, character, escape)
    return texts


def _refused(message: str, changes: Changes, row: int) -> SourceError:
    return SourceError(
        message, source=SOURCE, split="-".join(WAL_PATH), position=lsn_text(int(changes.lsns[row]))
    )
