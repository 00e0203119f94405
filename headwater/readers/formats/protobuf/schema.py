"""The columns of a message, as Spark's ``from_protobuf`` makes them.

Source: `org.apache.spark.sql.protobuf.utils.SchemaConverters`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from headwater.core.errors import OptionError

_TYPES: Mapping[int, pa.DataType] = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.int64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
    FieldDescriptor.CPPTYPE_STRING: pa.string(),
}
_TIMES: Mapping[str, pa.DataType] = {
    "Timestamp": pa.timestamp("us", tz="UTC"),
    "Duration": pa.duration("us"),
}


class MessageSchema:
    """Which fields of messages become columns, and their types.

    Args:
        upcast_unsigned: uint32 becomes a long and uint64 a decimal(20, 0); else they keep their bits, and
            large ones are negative.
        enums_as_ints: enums become their numbers, not their names.
    """

    def __init__(self, *, upcast_unsigned: bool, enums_as_ints: bool) -> None:
        self._special: dict[int, pa.DataType] = {FieldDescriptor.TYPE_BYTES: pa.binary()}
        if upcast_unsigned:
            self._special[FieldDescriptor.TYPE_UINT32] = pa.int64()
            self._special[FieldDescriptor.TYPE_UINT64] = pa.decimal128(20, 0)
        if enums_as_ints:
            self._special[FieldDescriptor.TYPE_ENUM] = pa.int32()

    def of(self, message: Descriptor, path: Sequence[Descriptor] = ()) -> list[pa.Field[Any]]:
        """Return the columns of a message.

        Left out are fields whose message has no fields, as Spark has it: it knows no struct without any.

        Args:
            message: whose columns.
            path: the messages around it.

        Raises:
            OptionError: a message contains itself.
        """
        around = [*path, message]
        kinds = [(field.name, self._type(field, around)) for field in message.fields]
        return [pa.field(name, kind) for name, kind in kinds if kind is not None]

    def _type(self, field: FieldDescriptor, around: Sequence[Descriptor]) -> pa.DataType | None:
        """Return the type of a field's column; None: it is left out."""
        if not is_message(field):
            kind = self.value_type(field)
        elif is_time(field):
            kind = _TIMES[field.message_type.name]
        elif any(field.message_type.full_name == each.full_name for each in around):
            names = " in ".join(each.full_name for each in reversed(around))
            raise OptionError(
                f"the field {field.name} of message {names} is of type {field.message_type.full_name} again, "
                f"and columns cannot be recursive. Remove the field from the descriptor set: values with "
                f"it are read all the same, without it"
            )
        else:
            members = self.of(field.message_type, around)
            if is_map(field):
                if len(members) < 2:
                    return None
                key, value = members
                return pa.map_(key.type, value.type)
            if not members:
                return None
            kind = pa.struct(members)
        return pa.list_(kind) if field.is_repeated else kind

    def value_type(self, field: FieldDescriptor) -> pa.DataType:
        """Return the type of one value of a field that is no message."""
        return self._special.get(field.type) or _TYPES[field.cpp_type]


def is_message(field: FieldDescriptor) -> bool:
    """Return whether the field's values are messages or groups."""
    return bool(field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE)


def is_map(field: FieldDescriptor) -> bool:
    """Return whether the field is a map."""
    return is_message(field) and bool(field.is_repeated and field.message_type.GetOptions().map_entry)


def is_time(field: FieldDescriptor) -> bool:
    """Return whether the field's messages become a timestamp or an interval: by its name and fields."""
    if not is_message(field) or field.message_type.name not in _TIMES:
        return False
    fields = [(each.name, each.type, each.is_repeated) for each in field.message_type.fields]
    return fields == [
        ("seconds", FieldDescriptor.TYPE_INT64, False),
        ("nanos", FieldDescriptor.TYPE_INT32, False),
    ]
