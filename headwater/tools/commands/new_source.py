"""``headwater new-source NAME``: a project with a working source, its test, and its entry point."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

from headwater.connector.sources.registry import is_built_in
from headwater.tools.commands.projects.barrier import BARRIER
from headwater.tools.commands.projects.planned import PLANNED
from headwater.tools.commands.projects.shared import GITIGNORE, PYPROJECT, README, Project
from headwater.tools.commands.projects.staged import STAGED

MODES: Final[Mapping[str, Project]] = {"planned": PLANNED, "barrier": BARRIER, "staged": STAGED}
"""The first one is the default."""


def new_source(name: str, parent: Path, mode: str = "planned") -> Path:
    """Write the project of a new source, and return its folder.

    Args:
        name: the name in ``option("source", ...)``, for example ``my-source``.
        parent: where the folder is made, which gets the same name.
        mode: one of `MODES`.

    Raises:
        ValueError: the name is not small letters, digits and hyphens, means something in Python, is one of
            headwater's own sources, or that of a module that is installed.
        FileExistsError: there is something of this name already.
    """
    if is_built_in(name):
        raise ValueError(f"{name!r} is one of headwater's own sources, which would be read in its place")
    module = name.replace("-", "_")
    if (
        not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name)
        or keyword.iskeyword(module)
        or module in sys.stdlib_module_names
    ):
        raise ValueError(
            "a source is called something like my-source: small letters, digits and hyphens, no word of "
            f"Python's own; not {name!r}"
        )
    if importlib.util.find_spec(module) is not None:
        raise ValueError(
            f"{module!r} is a module that is installed here: the source's would hide it, or be hidden"
        )
    project = MODES[mode]
    words: Mapping[str, str] = {
        "name": name,
        "module": module,
        "cls": "".join(part.capitalize() for part in name.split("-")),
        "about": project.about,
        "mode": project.mode,
        "options": project.options,
    }
    folder = parent / name
    folder.mkdir()
    (folder / "tests").mkdir()
    for file, template in (
        ("README.md", README),
        (".gitignore", GITIGNORE),
        ("pyproject.toml", PYPROJECT),
        (f"{module}.py", project.source),
        (f"tests/test_{module}.py", project.test),
    ):
        (folder / file).write_text(Template(template).substitute(words))
    return folder


def add_new_source(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of ``headwater``."""
    parser = commands.add_parser(
        "new-source", help="write the project of a new source, with a test that passes"
    )
    parser.add_argument("name", help="what users write in option('source', ...), for example my-source")
    parser.add_argument(
        "--mode",
        choices=[*MODES],
        default="planned",
        help="planned (default): the end of a split is known before it is read; barrier: it is not; "
        "staged: a queue that forgets what was acknowledged",
    )
    parser.add_argument("--folder", type=Path, default=Path(), help="where to make it (default: here)")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        folder = new_source(arguments.name, arguments.folder, arguments.mode)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"headwater new-source: {error}\n")
        return 1
    sys.stdout.write(f"{folder} is ready:\n  cd {folder}\n  pip install -e '.[test]'\n  pytest\n")
    return 0
