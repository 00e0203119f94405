"""Failures that name the contract, and where it is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, cast

_ROOT = Path(__file__).resolve().parent.parent.parent


class BrokenContractError(AssertionError):
    """A source does not keep a promise of its contract."""


def keeps(contract: Any, condition: object, message: str) -> None:
    """Return if a condition holds.

    Args:
        contract: the method, property or class whose docstring makes the promise.
        condition: the promise.
        message: the promise, and the violation.

    Raises:
        BrokenContractError: it does not hold.
    """
    if not condition:
        name, where = _written(contract)
        raise BrokenContractError(f"{name}: {message}. The contract is written in {where}")


def _written(contract: Any) -> tuple[str, str]:
    function = inspect.unwrap(cast("Any", contract.fget if isinstance(contract, property) else contract))
    file = Path(inspect.getfile(function)).resolve()
    line = inspect.getsourcelines(function)[1]
    return function.__qualname__, f"{file.relative_to(_ROOT) if file.is_relative_to(_ROOT) else file}:{line}"
