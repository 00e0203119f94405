"""Which columns go in and which come out, checked on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from headwater.connector import compat
from headwater.core.errors import OptionError, nearest

_ERROR = StructType(
    [
        StructField("class", StringType()),
        StructField("message", StringType()),
        StructField("attempts", IntegerType()),
    ]
)


def result_schema(schema: str | StructType, extra: Sequence[str]) -> StructType:
    """Return the result columns that a user describes, as DDL or as Spark's type.

    All may be null: a call may fail.

    Args:
        schema: as the user gave it.
        extra: the columns for failures and for unknown members, if there are such.

    Raises:
        OptionError: it does not parse, has no columns, or names one twice.
    """
    if isinstance(schema, str):
        try:
            parsed = StructType.fromDDL(schema)
        except PySparkException as error:
            raise OptionError(f"is not a schema: {error}", option="schema") from error
    else:
        parsed = schema
    if not isinstance(parsed, StructType) or not parsed.fields:
        raise OptionError(
            f"must be DDL such as 'name string, tier int', or a StructType with columns, and is {schema!r}",
            option="schema",
        )
    if twice := _twice([*parsed.names, *extra]):
        raise OptionError(f"names {_text(twice)} twice, the error column included", option="schema")
    return StructType(
        [StructField(field.name, field.dataType, nullable=True, metadata=field.metadata) for field in parsed]
    )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return Arrow's form of the result columns.

    Raises:
        OptionError: it has a type that cannot travel in Arrow.
    """
    try:
        return compat.arrow_schema(schema)
    except PySparkException as error:
        raise OptionError(f"has a type that cannot travel in Arrow: {error}", option="schema") from error


def output_schema(
    df: DataFrame,
    result: StructType,
    rescue_column: str | None,
    error_column: str | None,
    *,
    keep_input: bool,
) -> StructType:
    """Return the columns of the output: the input's, the result's, unknown members, failures.

    All but the result's only if they are asked for.

    Raises:
        OptionError: the result has a column that the input has too.
    """
    fields = list(result.fields)
    if rescue_column is not None:
        fields.append(StructField(rescue_column, StringType()))
    if error_column is not None:
        fields.append(StructField(error_column, _ERROR))
    if keep_input:
        names = [*df.columns, *(field.name for field in fields)]
        if twice := _twice(names):
            raise OptionError(
                f"clashes with the input: {_text(twice)} would be there twice; "
                "rename the result's, drop the input's, or say keep_input=False",
                option="schema",
            )
        fields = [*df.schema.fields, *fields]
    return StructType(fields)


def check_columns(df: DataFrame, columns: Sequence[str], option: str) -> list[str]:
    """Return the columns as a list, each of them one of the frame's.

    Raises:
        OptionError: one of them is not there, or there twice.
    """
    is_list = isinstance(columns, Sequence) and not isinstance(columns, str)
    if not is_list or not all(isinstance(name, str) for name in columns):
        raise OptionError(f"must be a list of column names, and is {columns!r}", option=option)
    for name in columns:
        if df.columns.count(name) != 1:
            if name in df.columns:
                raise OptionError(f"{name!r} is there more than once", option=option)
            near = nearest(name, df.columns)
            hint = f"did you mean {near!r}?" if near else f"it has {_text(df.columns)}"
            raise OptionError(f"{name!r} is no column of the input; {hint}", option=option)
    return list(columns)


def _twice(names: Iterable[str]) -> list[str]:
    counts = Counter(name.lower() for name in names)  # as Spark compares names
    return [name for name, count in counts.items() if count > 1]


def _text(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
