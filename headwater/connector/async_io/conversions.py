"""Python values as values of a Spark type: Spark's cast rules in ANSI mode, for what functions return.

A value that does not fit raises `Misfit`: Spark's cast would fail the query there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import tzinfo
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from headwater.connector.async_io.misfit import Misfit, misfit_of
from headwater.connector.async_io.scalar_casts import (
    to_bool,
    to_bytes,
    to_decimal,
    to_float,
    to_int,
    to_string,
)
from headwater.connector.async_io.time_casts import to_date, to_local_timestamp, to_timestamp

Converter: TypeAlias = Callable[[Any], Any]


class Members:
    """What becomes of members that a struct has and its type does not, or the other way round.

    Args:
        exact: both are a `Misfit`. Otherwise members that are missing are null, and those that are unknown go
            to ``unknown``.
    """

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        self.unknown: dict[str, Any] = {}

    def values(self, value: Any, names: Sequence[str], path: str) -> Sequence[Any]:
        """Return the members of a value in the order of the names.

        Raises:
            Misfit: it has no members, or others.
        """
        members = members_of(value)
        kind = type(value).__name__
        if isinstance(members, tuple):
            if len(members) != len(names):
                raise Misfit(f"a {kind} with {len(members)} values")
            return members
        if len(members) == len(names) and all(name in members for name in names):
            return [members[name] for name in names]
        if self._exact:
            known = ", ".join(map(repr, members)) or "none"
            raise Misfit(f"a {kind} with the columns {known}")
        for name, member in members.items():
            if name not in names:
                self.unknown[f"{path}.{name}".lstrip(".")] = member
        return [members.get(name) for name in names]


def members_of(value: Any) -> Mapping[str, Any] | tuple[Any, ...]:
    """Return the members of a record by name, or by place if it is a plain tuple.

    Raises:
        Misfit: it is no record.
    """
    if isinstance(value, Mapping):
        return value
    names = getattr(value, "__fields__", None) or getattr(value, "_fields", None)
    if isinstance(value, tuple):
        return value if names is None else dict(zip(names, value, strict=True))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    # Records of database drivers: named as mappings are, and nothing else of them.
    if callable(keys := getattr(value, "keys", None)) and hasattr(value, "__getitem__"):
        return {name: value[name] for name in keys()}
    raise Misfit(
        f"a {type(value).__name__}; a result is a mapping, a dataclass, a tuple or a Row, a list of these, "
        "or None"
    )


def converter(field: pa.Field[Any], zone: tzinfo, members: Members, path: str) -> Converter:
    """Return what makes a value of a type of any value; None stays None where it may.

    Args:
        field: the type, and whether there may be nulls.
        zone: of the session: of times without one.
        members: what becomes of members of structs.
        path: the column, for ``members``.
    """
    kind: Any = field.type
    inner = partial(_nested, zone=zone, members=members)
    makers: list[tuple[Callable[[pa.DataType], bool], Callable[[], Converter]]] = [
        (pa.types.is_integer, lambda: partial(to_int, kind.bit_width)),
        (pa.types.is_decimal, lambda: partial(to_decimal, kind.precision, kind.scale)),
        (
            pa.types.is_timestamp,
            lambda: partial(to_local_timestamp if kind.tz is None else to_timestamp, zone),
        ),
        (pa.types.is_date, lambda: partial(to_date, zone)),
        (_is_string, lambda: partial(to_string, zone)),
        (_is_list, lambda: partial(_to_list, inner(kind.value_field, path=f"{path}[]"))),
        (
            pa.types.is_map,
            lambda: partial(
                _to_map,
                inner(kind.key_field, path=f"{path}.key"),
                inner(kind.item_field, path=f"{path}.value"),
            ),
        ),
        (
            pa.types.is_struct,
            lambda: partial(
                _to_struct,
                members,
                path,
                {member.name: inner(member, path=f"{path}.{member.name}") for member in kind.fields},
            ),
        ),
        (pa.types.is_floating, lambda: to_float),
        (pa.types.is_boolean, lambda: to_bool),
        (pa.types.is_binary, lambda: to_bytes),
    ]
    make = next((make for is_kind, make in makers if is_kind(kind)), lambda: partial(_as_arrow, kind))
    return partial(_unless_null, make(), kind=kind, is_nullable=field.nullable)


def _nested(field: pa.Field[Any], *, zone: tzinfo, members: Members, path: str) -> Converter:
    return converter(field, zone, members, path)


def _unless_null(convert: Converter, value: Any, *, kind: pa.DataType, is_nullable: bool) -> Any:
    if value is not None:
        try:
            return convert(value)
        except Misfit:
            raise
        except Exception as error:
            # Values may be objects of any class, whose methods raise what they like.
            raise misfit_of(value, str(kind)) from error
    if not is_nullable:
        raise Misfit("a null where the schema says `not null`")
    return None


def _is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def _as_arrow(kind: pa.DataType, value: Any) -> Any:
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise misfit_of(value, str(kind)) from None
    return value


def _to_list(convert: Converter, value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise misfit_of(value, "array")
    try:
        return [convert(each) for each in value]
    except Misfit as misfit:
        raise Misfit(misfit.why, f"[]{misfit.path}") from None


def _to_map(to_key: Converter, to_value: Converter, value: Any) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        entries = [(key, each) for key, each in pairs]
    except (TypeError, ValueError):
        raise misfit_of(value, "map") from None
    if any(key is None for key, _ in entries):
        raise Misfit("a map with a null key")
    return [(to_key(key), to_value(each)) for key, each in entries]


def _to_struct(
    members: Members, path: str, converters: Mapping[str, Converter], value: Any
) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    values = members.values(value, list(converters), path)
    for (name, convert), member in zip(converters.items(), values, strict=True):
        try:
            converted[name] = convert(member)
        except Misfit as misfit:
            raise Misfit(misfit.why, f".{name}{misfit.path}") from None
    return converted
