"""Checks of the values of settings."""

from __future__ import annotations

from typing import Any

from headwater.core.errors import OptionError


def check(holds: bool, option: str, message: str) -> None:
    """Refuse a setting unless something holds.

    Raises:
        OptionError: names the option, and says the message.
    """
    if not holds:
        raise OptionError(message, option=option)


def check_whole(value: Any, option: str, least: int) -> None:
    """Refuse a value that is no whole number, or less than ``least``."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    check(is_whole, option, f"must be a whole number, and is {value!r}")
    check(value >= least, option, f"must be at least {least}, is {value}")


def check_number(value: Any, option: str) -> None:
    """Refuse a value that is no number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    check(is_number, option, f"must be a number, and is {value!r}")


def check_function(value: Any, option: str) -> None:
    """Refuse a value that is neither a function nor None."""
    check(value is None or callable(value), option, f"must be a function, and is {value!r}")
