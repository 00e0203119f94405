"""A value that a type cannot hold."""

from __future__ import annotations

from typing import Any


class Misfit(Exception):  # noqa: N818 - it never leaves this package
    """A value that a type cannot hold.

    Attributes:
        why: says so, without the value, which may be confidential.
        path: the member of the column where it stands, such as ``.zip`` or ``[]``.
    """

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.path = path


def misfit_of(value: Any, wanted: str) -> Misfit:
    """Return the `Misfit` of a value that is not of a type."""
    return Misfit(f"a {type(value).__name__} that is no {wanted}")
