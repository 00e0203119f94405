"""Values of answers as JSON, and back without a loss."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

__all__ = ["compared", "from_json", "to_json"]


def to_json(value: Any, names: Mapping[str, str]) -> Any:  # noqa: C901, PLR0911 - a kind of value a line
    """Return what JSON has for a value.

    A tuple is an array. Lists, bytes, dictionaries, doubles and dataclasses are objects whose key says which
    of them they are, so that each comes back as what it was.

    Args:
        value: None, a truth value, a number, a string or bytes; or made of these.
        names: text that is another one in each run, and what stands for it in the answers.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _replaced(value, names)
    if isinstance(value, tuple):
        return [to_json(each, names) for each in value]
    if isinstance(value, list):
        return {"list": [to_json(each, names) for each in value]}
    if isinstance(value, set):
        return {"set": sorted((to_json(each, names) for each in value), key=repr)}
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, float):
        return {"double": value.hex()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, Mapping):
        return {"dict": [[to_json(key, names), to_json(each, names)] for key, each in value.items()]}
    if is_dataclass(value):
        parts = [to_json(getattr(value, field.name), names) for field in fields(value)]
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", "fields": parts}
    raise TypeError(f"no answer can hold a {type(value).__name__}: {value!r}")


def from_json(value: Any, names: Mapping[str, str]) -> Any:
    """Return the value that `to_json` was given, with what stands for it in this run in place of ``names``.

    Args:
        value: as JSON has it.
        names: as for `to_json`.
    """
    back = {stand_in: name for name, stand_in in names.items()}
    return _from_json(value, back)


def compared(value: Any) -> Any:
    """Return what counts of a value as JSON has it: no fields that its dataclasses do not compare."""
    if isinstance(value, list):
        return [compared(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"class": name, "fields": parts}:
            named = zip(parts, fields(_class(name)), strict=True)
            return {"class": name, "fields": [compared(part) for part, field in named if field.compare]}
    return {key: compared(each) for key, each in value.items()}


def _class(name: str) -> Any:
    module, _, qualified = name.partition(":")
    return getattr(importlib.import_module(module), qualified)


def _from_json(value: Any, names: Mapping[str, str]) -> Any:  # noqa: C901, PLR0911 - a kind of value a line
    if isinstance(value, str):
        return _replaced(value, names)
    if isinstance(value, list):
        return tuple([_from_json(each, names) for each in value])
    if not isinstance(value, dict):
        return value
    match value:
        case {"list": values}:
            return [_from_json(each, names) for each in values]
        case {"set": values}:
            return {_from_json(each, names) for each in values}
        case {"bytes": text}:
            return text.encode("latin-1")
        case {"double": text}:
            return float.fromhex(text)
        case {"decimal": text}:
            return Decimal(text)
        case {"dict": pairs}:
            return {_from_json(key, names): _from_json(each, names) for key, each in pairs}
        case {"class": name, "fields": parts}:
            return _class(name)(*[_from_json(each, names) for each in parts])
    raise ValueError(f"no value of an answer: {value!r}")


def _replaced(text: str, names: Mapping[str, str]) -> str:
    for name, other in names.items():
        text = text.replace(name, other)
    return text
