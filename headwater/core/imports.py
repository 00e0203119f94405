"""Late imports.

A system's own library is loaded by the module that needs it, and a missing one is named with its install
line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from headwater.core.errors import MissingDependencyError

__all__ = ["importing", "require"]


@contextmanager
def importing(needed_for: str, *, extra: str) -> Iterator[None]:
    """Wrap the import of a module that needs a library which not every installation has.

    Args:
        needed_for: who needs it, for example ``the kafka source``.
        extra: the extra of this package that installs it.

    Raises:
        MissingDependencyError: the library is not installed in this process.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingDependencyError(error.name or str(error), needed_for=needed_for, extra=extra) from error


def require(library: str, *, needed_for: str, extra: str) -> None:
    """Say now that a library is missing which is needed later, in other processes too.

    Loads nothing: that may take long.

    Args:
        library: the top-level package.
        needed_for: who needs it, for example ``the kafka source``.
        extra: the extra of this package that installs it.

    Raises:
        MissingDependencyError: the library is not installed in this process.
    """
    if find_spec(library) is None:
        raise MissingDependencyError(library, needed_for=needed_for, extra=extra)
