"""How a Python value becomes the text of an option: one function for each kind of argument."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from headwater.core.errors import OptionError


def _plain(value: object) -> str:
    if not isinstance(value, str):
        raise _misfit("a text", value)
    return value


def _boolean(value: object) -> str:
    if not isinstance(value, bool):
        raise _misfit("True or False", value)
    return "true" if value else "false"


def _whole(value: object) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _misfit("a whole number", value)
    return str(value)


def _whole_or_json(value: object) -> str:
    return _whole(value) if isinstance(value, int) else _json(value)


def _version(value: object) -> str:
    return value if isinstance(value, str) else _whole(value)


def _number(value: object) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _misfit("a number", value)
    return str(value)


def _duration(value: object) -> str:
    if isinstance(value, timedelta):
        return f"{value // timedelta(milliseconds=1)}ms"
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _misfit("a duration such as '10s', a timedelta, or a number of milliseconds", value)
    return str(value)


def _names(value: object) -> str:
    if isinstance(value, str):
        return value
    names = _texts(value, "a text, or a list of texts")
    broken = next((name for name in names if "," in name), None)
    if broken is not None:
        raise ValueError(f"separates names by commas, so none may hold one: {broken!r}")
    return ",".join(names)


def _paths(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(_texts(value, "a path, or a list of paths"))


def _json(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise _misfit("a dict, or a text", value)
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot be written as JSON: {error}") from None


def _moment(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return _plain(value)


def _moment_ms(value: object) -> str:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"needs a time with a zone, such as tzinfo=datetime.UTC, not {value!r}")
        return str(int(value.timestamp() * 1_000))
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _misfit("a datetime with a zone, or milliseconds since 1970", value)
    return str(value)


def _schema(value: object) -> str:
    if isinstance(value, str):
        return value
    to_json: Callable[[], str] | None = getattr(value, "json", None)
    if to_json is None:
        raise _misfit("Spark's DDL, or a StructType", value)
    return to_json()


def _texts(value: object, expected: str) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise _misfit(expected, value)
    return list(value)


def _misfit(expected: str, value: object) -> ValueError:
    return ValueError(f"must be {expected}, not {value!r}")


@dataclass(frozen=True)
class _Kind:
    """A kind of argument.

    Attributes:
        annotation: its type, as a signature writes it.
        to_text: raises ValueError with the expected type.
    """

    annotation: str
    to_text: Callable[[Any], str]


class ArgumentKind(Enum):
    """The type of an argument, and how its value is written as an option."""

    TEXT = _Kind("str", _plain)
    BOOLEAN = _Kind("bool", _boolean)
    WHOLE_NUMBER = _Kind("int", _whole)
    WHOLE_NUMBER_OR_JSON = _Kind("int | str | Mapping[str, int]", _whole_or_json)
    VERSION = _Kind("str | int", _version)
    NUMBER = _Kind("float", _number)
    DURATION = _Kind("str | int | timedelta", _duration)
    NAMES = _Kind("str | Sequence[str]", _names)
    PATHS = _Kind("str | Sequence[str]", _paths)
    JSON = _Kind("str | Mapping[str, Any]", _json)
    MOMENT = _Kind("str | datetime", _moment)
    MOMENT_MS = _Kind("int | datetime", _moment_ms)
    SCHEMA = _Kind("str | StructType", _schema)

    @property
    def annotation(self) -> str:
        """Its type, as a signature writes it."""
        return self.value.annotation

    def text(self, value: object, argument: str) -> str:
        """Return a value as an option has it.

        Raises:
            OptionError: the value is of another type.
        """
        try:
            return self.value.to_text(value)
        except ValueError as error:
            raise OptionError(str(error), option=argument) from None
