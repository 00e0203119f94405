"""The form of a table in the log beside the columns of the query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, NoReturn

import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.core.redaction import logger_of
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.split import WAL_PATH, lsn_text
from headwater.enumerators.postgres.stream_settings import Reaction
from headwater.enumerators.postgres.table import TableColumn, TableDescription
from headwater.readers.postgres.relation import Relation, RelationColumn
from headwater.readers.postgres.types import column_of
from headwater.readers.rescued import RESCUED_COLUMN

log = logger_of(__name__)

_FIRST_OWN_OID: Final = 16_384
"""Types with this oid or a later one are users' own: enums, domains, those of extensions."""


class TableForm:
    """Compares each form of a table that comes in the log with the columns of the query.

    The log has the columns of the rows that follow. A form that differs may be older than the query's
    columns: its rows have NULL where they lack a column, and columns that the table has lost are left out or
    rescued. Or it is newer: then the query fails, or leaves out or rescues the new columns. The catalogue
    tells which one it is.

    Args:
        columns: of the query, by their names.
        as_text: of these, those whose text the user wants.
        selected: the columns that the user has chosen; None for all.
        reaction: to a newer form.
        describe: asks the catalogue about the table now.
    """

    def __init__(
        self,
        columns: Mapping[str, pa.DataType],
        *,
        as_text: Collection[str],
        selected: Collection[str] | None,
        reaction: Reaction,
        describe: Callable[[], TableDescription],
    ) -> None:
        self._columns = columns
        self._as_text = {name.lower() for name in as_text}
        self._selected = selected
        self._reaction = reaction
        self._describe = describe
        self._told: set[str] = set()

    def check(self, relation: Relation, lsn: int) -> None:
        """Take a form, before the first row that has it.

        Raises:
            SourceError: the table has changed since the query learnt its columns.
        """
        names = {column.name for column in relation.columns}
        extra = [] if self._selected is not None else [each for each in names if each not in self._columns]
        missing = [name for name in self._columns if name not in names]
        retyped = [column for column in relation.columns if self._has_changed(column)]
        if not extra and not missing and not retyped:
            return
        now = {column.name: column for column in self._describe().columns}
        for column in retyped:
            if column.name not in now or self._type_of(now[column.name]) != self._columns[column.name]:
                self._fail(relation, lsn, f"the type of column {column.name!r} has changed")
            if not holds(self._columns[column.name], self._listed(column)):
                raise self._unreadable(relation, lsn, column)
        added = sorted(name for name in extra if name in now)
        dropped = [name for name in missing if name not in now]
        if not added and not dropped:
            return
        what = " and ".join(
            f"{verb} {', '.join(map(repr, changed))}"
            for verb, changed in (("has the new columns", added), ("has lost the columns", dropped))
            if changed
        )
        if self._reaction is Reaction.FAIL:
            self._fail(relation, lsn, f"it {what}")
        if what not in self._told:
            self._told.add(what)
            log.warning(
                "table %s %s, from %s on: new ones are %s, lost ones are NULL (onSchemaChange=%s)",
                relation.full_name,
                what,
                lsn_text(lsn),
                f"in {RESCUED_COLUMN}" if self._reaction is Reaction.RESCUE else "left out",
                self._reaction.value,
            )

    def _has_changed(self, column: RelationColumn) -> bool:
        if column.name not in self._columns or column.type_oid >= _FIRST_OWN_OID:
            return False
        return self._listed(column) != self._columns[column.name]

    def _listed(self, column: RelationColumn) -> pa.DataType:
        """Return the type of a column as the log has it."""
        return self._type_of(TableColumn(0, column.name, column.type_oid, "b", column.typmod, "", True, ""))

    def _type_of(self, column: TableColumn) -> pa.DataType:
        kind: pa.DataType = column_of(column, as_text=column.name.lower() in self._as_text).arrow_type
        return kind

    def _unreadable(self, relation: Relation, lsn: int, column: RelationColumn) -> SourceError:
        return SourceError(
            f"table {relation.full_name}: column {column.name!r} was {self._listed(column)} in earlier rows "
            f"of the log, and is {self._columns[column.name]} now, which cannot hold all of these. Read the "
            f"column as text (option textColumns={column.name})",
            source=SOURCE,
            split="-".join(WAL_PATH),
            position=lsn_text(lsn),
        )

    def _fail(self, relation: Relation, lsn: int, what: str) -> NoReturn:
        raise SourceError(
            f"table {relation.full_name}: {what}, which this query does not know. Start it again: it "
            "learns the columns anew, and reads the batch again, with NULL where earlier rows lack a column. "
            "Columns that are new or lost need not stop it: option onSchemaChange=ignore, or rescue",
            source=SOURCE,
            split="-".join(WAL_PATH),
            position=lsn_text(lsn),
        )


def holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Whether each value of one type, as text, is read as the same value of another one."""
    kinds = pa.types
    if kinds.is_string(wide):
        return True
    if kinds.is_timestamp(wide):
        return kinds.is_date(narrow) and wide == pa.timestamp("us")
    if isinstance(wide, pa.Decimal128Type):
        scale = narrow.scale if isinstance(narrow, pa.Decimal128Type) else 0
        digits = narrow.precision if isinstance(narrow, pa.Decimal128Type) else _DIGITS.get(narrow)
        return digits is not None and scale <= wide.scale and digits - scale <= wide.precision - wide.scale
    both = (kinds.is_integer, kinds.is_floating)
    return any(each(wide) and each(narrow) for each in both) and wide.bit_width >= narrow.bit_width


_DIGITS: Final[Mapping[pa.DataType, int]] = MappingProxyType({pa.int16(): 5, pa.int32(): 10, pa.int64(): 19})
"""The most digits of a type."""
