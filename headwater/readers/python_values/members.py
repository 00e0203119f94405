"""Members of records, and of structs in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any


class Misfit(Exception):  # noqa: N818 - it becomes an error of the caller's
    """A record, or a value in it, that is not of its type.

    Attributes:
        value: describes it.
        path: the member of the column where it stands, such as ``.zip`` or ``[]``.
        remedy: the type, and what to return for it; empty if the record as a whole does not fit.
    """

    def __init__(self, value: str, path: str = "", remedy: str = "") -> None:
        super().__init__(value)
        self.value = value
        self.path = path
        self.remedy = remedy

    def inside(self, parent: str) -> Misfit:
        """Return the same of a value whose path begins with its parent's."""
        return Misfit(self.value, parent + self.path, self.remedy)


class Members:
    """Finds the members of structs, by name where they have names.

    Args:
        exact: a member that is missing, or that the type does not have, is a `Misfit`. Otherwise members that
            are missing are null, and those that are unknown go to ``unknown``.
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
            columns = ", ".join(map(repr, members)) or "none"
            raise Misfit(f"a {kind} with the columns {columns}")
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
    raise Misfit(f"a {type(value).__name__}, and no mapping, dataclass, tuple or Row")
