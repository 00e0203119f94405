"""Makes sure that Python finds headwater's own packages: their names are ordinary words, and a user's folder may be called the same.

Stands beside the packages and imports none of them, so that it is there whatever hides them.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

__all__ = ["check_package", "check_packages"]


def check_packages() -> None:
    """Call before anything else of headwater is imported. Imports next to nothing: Spark does so in every session.

    Raises:
        ImportError: ``headwater_core`` is not the one beside this file; there are no classes of errors then.
        InstallationError: another package is not.
    """
    check_package("headwater_core", ImportError)
    from headwater_core.errors import InstallationError

    for package in ("enumerators", "readers", "connector"):
        check_package(package, InstallationError)


def check_package(package: str, error: type[ImportError]) -> None:
    """Raise ``error`` if ``package`` is not the one beside this file."""
    if package in sys.modules:
        found = getattr(sys.modules[package], "__file__", None)
    else:
        spec = importlib.util.find_spec(package)
        found = spec.origin if spec else None
    here = Path(__file__).resolve().parent
    if found is None or Path(found).resolve().parent.parent != here:
        advice = "rename that one, or start Python from another folder" if found else "install headwater anew"
        raise error(f"headwater needs its own package {package!r} in {here}, but Python finds {found or 'none'}: {advice}")
