"""The option ``stopAtRecord``: which record is the end of its split. Loads Arrow where rows are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from headwater.core.errors import OptionError
from headwater.core.jsons import JsonObject
from headwater.core.options import json_object

if TYPE_CHECKING:
    import pyarrow as pa

OPTION = "stopAtRecord"
Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class EndCondition:
    """A record is the end of its split if it has all of these values. Immutable and picklable.

    Attributes:
        values: by path: the name of a column, and behind a dot the name of a field of a struct. Behind
            ``headers.`` stands the name of a header.
    """

    values: tuple[tuple[str, Scalar], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return tuple(dict.fromkeys(path.partition(".")[0] for path, _ in self.values))

    def to_json(self) -> JsonObject:
        """Return the value of the option."""
        return dict(self.values)

    def mask(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """Return for each row whether it is the end of its split.

        Raises:
            OptionError: a column is not there, or cannot have the value.
        """
        import pyarrow.compute as pc

        masks: list[Any] = [_has_value(rows, path, value) for path, value in self.values]
        mask = masks[0]
        for other in masks[1:]:
            mask = pc.and_(mask, other)
        return mask  # type: ignore[no-any-return]

    def check(self, schema: pa.Schema) -> None:
        """Raise OptionError if rows of this schema cannot have the values."""
        import pyarrow as pa

        self.mask(pa.RecordBatch.from_arrays([pa.array([], each.type) for each in schema], schema=schema))


def end_condition(raw: str) -> EndCondition:
    """A JSON object with a text, a number, true, false or null for each of some columns."""
    values = json_object(raw)
    if not values:
        raise ValueError('must name a column, such as {"key": "end"}')
    for path, value in values.items():
        if not isinstance(value, Scalar):
            # No TypeError: what the user wrote in the text is wrong.
            expected = f"must be a text, a number, true, false or null for {path!r}"
            raise ValueError(f"{expected}, not {value!r}")  # noqa: TRY004
    return EndCondition(tuple(sorted(values.items())))


def first_end(mask: pa.BooleanArray) -> int | None:
    """Return the first row that is an end; None if none is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    row: int = pc.index(mask, pa.scalar(True)).as_py()
    return row if row >= 0 else None


def _has_value(rows: pa.RecordBatch, path: str, value: Scalar) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    name, _, below = path.partition(".")
    if name not in rows.schema.names:
        raise _refusal(f"{name!r} is no column; there are {', '.join(rows.schema.names)}")
    column: Any = rows.column(name)
    if below and pa.types.is_list(column.type):
        return _has_header(column, below, value)
    while below:
        field, _, below = below.partition(".")
        kind = column.type
        if not pa.types.is_struct(kind) or kind.get_field_index(field) < 0:
            raise _refusal(f"{field!r} of {path!r} is no field of {kind}")
        column = pc.struct_field(column, field)
    return _equals(column, value, path)


def _has_header(headers: Any, name: str, value: Scalar) -> Any:
    """Return whether each record has a header of this name with the value; one of several is enough."""
    import pyarrow as pa
    import pyarrow.compute as pc

    entries = headers.flatten()
    has_name = pc.equal(entries.field("key"), pa.scalar(name))
    hits = pc.and_(has_name, _equals(entries.field("value"), value, name))
    having = pc.list_parent_indices(headers).filter(hits)
    return pc.is_in(pa.array(range(len(headers)), having.type), value_set=having)


def _equals(column: Any, value: Scalar, path: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if value is None:
        return pc.is_null(column)
    if pa.types.is_nested(column.type):
        raise _refusal(f"{path!r} is {column.type}: name a single value in it, behind a dot")
    # Arrow takes each whole number for one of 19 digits, for which few decimals have room.
    values: Any = [str(value) if pa.types.is_decimal(column.type) else value]
    try:
        return pc.equal(column, pa.array(values).cast(column.type)[0])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError) as error:
        raise _refusal(f"{value!r} is no value of {path!r}, which is {column.type}: {error}") from None


def _refusal(message: str) -> OptionError:
    return OptionError(message, option=OPTION)
