"""Prints the lowest versions that the bounds in pyproject.toml allow, as constraints for pip.

A dependency without a lower bound, of the tests alone, is left to pip, which takes the newest one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

__all__ = ["lowest_versions"]

_OF_THE_BUILD = "setuptools"
"""Not there where headwater runs: other packages may need a newer one."""
_BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[.*?\])?[^;]*?>=\s*(?P<version>[0-9][0-9A-Za-z.]*)")


def lowest_versions(requirements: Iterable[str]) -> list[str]:
    """Return a constraint for each requirement with a lower bound, each once."""
    bounds = (match for each in requirements if (match := _BOUND.match(each)) is not None)
    return sorted(
        {f"{bound['name']}=={bound['version']}" for bound in bounds if bound["name"] != _OF_THE_BUILD}
    )


def main() -> None:
    """Print the constraints."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    print(
        "\n".join(
            lowest_versions([*project["dependencies"], *(each for row in extras.values() for each in row)])
        )
    )


if __name__ == "__main__":
    main()
