"""Libraries that not every installation has: loaded late, and missing ones named with their install line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from headwater.core.errors import MissingDependencyError


@contextmanager
def importing(needed_for: str, *, extra: str, everywhere: bool = True) -> Iterator[None]:
    """Wrap the import of a module that needs a library which not every installation has.

    Args:
        needed_for: the part that needs it, for example ``the kafka source``.
        extra: the extra of this package that installs it.
        everywhere: whether executors need it too, or this process alone.

    Raises:
        MissingDependencyError: the library is not installed in this process.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = error.name or str(error)
        raise MissingDependencyError(
            library, needed_for=needed_for, extra=extra, everywhere=everywhere
        ) from error


def require(library: str, *, needed_for: str, extra: str) -> None:
    """Check on the driver that a library is installed which executors will load.

    Loads nothing: that may take long.

    Args:
        library: the top-level package.
        needed_for: the part that needs it, for example ``the kafka source``.
        extra: the extra of this package that installs it.

    Raises:
        MissingDependencyError: the library is not installed in this process.
    """
    if find_spec(library) is None:
        raise MissingDependencyError(library, needed_for=needed_for, extra=extra)
