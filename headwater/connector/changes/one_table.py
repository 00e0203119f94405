"""``hw.changes_of``: of a stream of several tables the changes of one, with columns of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headwater.connector.compat import quoted
from headwater.connector.program_arguments import checked_frame, checked_text, misfit
from headwater.connector.readable import readable
from headwater.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROW: Final = ("_table", "before", "after")
"""The columns of several tables' rows that those of one do not have."""
_PARSER: Final = {"mode": "FAILFAST", "maxStringLen": str((1 << 31) - 1)}

_MOMENT: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?"
_TEXTS: Final[dict[type[DataType], str]] = {
    BooleanType: "[tf]",
    ShortType: r"-?\d+",
    IntegerType: r"-?\d+",
    LongType: r"-?\d+",
    FloatType: r"\S+",
    DoubleType: r"\S+",
    DateType: r"\d{4}-\d\d-\d\d",
    TimestampNTZType: _MOMENT,
    TimestampType: rf"{_MOMENT}\+00",
    BinaryType: r"\\x([0-9a-f]{2})*",
}
"""The texts of a type. Spark's cast takes others too, and may drop a part of them: a fraction, a time."""


@readable
def changes_of(df: DataFrame, table: str, *, schema: str | StructType) -> DataFrame:
    """Return the changes of one table, of those of several: with columns as a stream of it alone has them.

    For rows of ``source=postgres`` with option ``tables``, in a stream, a batch of ``foreachBatch`` or a
    stored log::

        def merge(df, batch_id):
            orders = hw.changes_of(df, "public.orders", schema="id bigint, item string, amount decimal(10,2)")
            hw.apply_changes(orders, into="lake.orders", key=["id"])

    The columns that describe a change stay, and so do others of the frame. A row from before a column was
    added has NULL there. What does not fit fails the query: a value that has no place in the type of its
    column, and a column of the table that `schema` does not name.

    Args:
        df: rows with `_table`, `before` and `after`.
        table: its schema and name, as they are in `_table`.
        schema: all published columns of the table, with their types: Spark's DDL, or a StructType. A type
            without a place of its own in Spark is ``string``.

    Raises:
        OptionError: the frame has no such rows, or a column has a type that no text of the server has.
    """
    frame = checked_frame(df)
    if "." not in checked_text(table, "table"):
        raise misfit("table", "the schema and the name of a table, such as public.orders", table)
    if missing := [name for name in _ROW if name not in frame.columns]:
        raise misfit("df", "a frame of changes of several tables", df, f": it has no column {missing[0]!r}")
    fields = list(_checked(schema))
    others = [name for name in frame.columns if name not in _ROW]
    other_names = {name.lower() for name in others}
    if twice := [field.name for field in fields if field.name.lower() in other_names]:
        raise OptionError(f"names column {twice[0]!r}, which the frame has: rename it there", option="schema")
    rows = frame.where(F.col("_table") == table).select(
        *map(quoted, others), _row(table, [field.name for field in fields]).alias("after")
    )
    values = [_value(table, field).alias(field.name) for field in fields]
    return rows.select(*map(quoted, others), *values)


def _checked(schema: object) -> StructType:
    """Return the columns of a table.

    Raises:
        OptionError: it is no schema, or has a type that the server has no texts for.
    """
    columns = schema
    if isinstance(schema, str):
        try:
            columns = StructType.fromDDL(schema)
        except PySparkException as error:
            reason = str(error).strip().partition("\n")[0]
            raise OptionError(f"is no schema in Spark's DDL: {reason}", option="schema") from None
    if not isinstance(columns, StructType):
        raise misfit("schema", "Spark's DDL, such as id bigint, or a StructType", schema)
    for field in columns:
        if not isinstance(field.dataType, StringType | DecimalType) and type(field.dataType) not in _TEXTS:
            raise OptionError(
                f"column {field.name!r} cannot be {field.dataType.simpleString()}: the server has no texts "
                "of that type. Name it as string, and parse that",
                option="schema",
            )
    return columns


def _row(table: str, names: list[str]) -> Column:
    """Return the row of a change as a map of texts: as it is now, or what is known of one that is gone."""
    row = F.from_json(F.coalesce("after", "before"), "map<string,string>", _PARSER)
    unknown = F.array_except(F.map_keys(row), F.array(*map(F.lit, names)))
    message = F.concat(
        F.lit(f"hw.changes_of: table {table} has the columns "),
        F.array_join(unknown, ", "),
        F.lit(", which schema does not name: name all that are published, and drop what you do not need"),
    )
    return F.when(F.size(unknown) > 0, _failing(message)).otherwise(row)


def _value(table: str, field: StructField) -> Column:
    """Return the value of a column, which its text gives whole."""
    text = F.try_element_at("after", F.lit(field.name))
    kind = field.dataType
    if isinstance(kind, StringType):
        return text
    value = F.unhex(F.substr(text, F.lit(3))) if isinstance(kind, BinaryType) else text.try_cast(kind)
    form = rf"-?\d+(\.\d{{0,{kind.scale}}}0*)?" if isinstance(kind, DecimalType) else _TEXTS[type(kind)]
    fits = text.rlike(rf"\A({form})\z") & value.isNotNull()
    message = F.concat(
        F.lit(f"hw.changes_of: table {table}, column {field.name!r}: the value "),
        text,
        F.lit(f" has no place in the type {kind.simpleString()}: name the column as string"),
    )
    return F.when(text.isNull() | fits, value).otherwise(_failing(message))


def _failing(message: Column) -> Column:
    """Return an expression that fails with a message, which is a line of its own."""
    return F.raise_error(F.concat(F.lit("\nheadwater: "), message))
