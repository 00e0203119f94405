"""``headwater new-source NAME``: a project with a working source, its test, and its entry point."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

from headwater.connector.sources.registry import is_built_in

_PYPROJECT: Final = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$name"
version = "0.1.0"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["headwater"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."headwater.sources"]
$name = "$module:$cls"

[tool.setuptools]
py-modules = ["$module"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""

_SOURCE: Final = '''\
"""The source $name: the lines of the text files in a folder.

Replace the parts that read files by your own system.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

import headwater as hw


class $cls(hw.SimpleSource, hw.Heads):
    """A split is a file, a position is the number of a line.

    Without ``hw.Heads`` and ``head``, the source is read in barrier mode.
    """

    name = "$name"
    schema = pa.schema((("file", pa.string()), ("line", pa.string())))
    OPTIONS = (hw.options.Option("folder", hw.options.text, None, "Where the files are.", required=True),)

    def discover(self) -> list[hw.NamedSplit]:
        """Which splits are there now?"""
        return [hw.NamedSplit(file.name) for file in sorted(Path(self.options["folder"]).glob("*.txt"))]

    def head(self, split: hw.NamedSplit) -> int:
        """Which position will the next record of this split have?"""
        return Path(self.options["folder"], split.name).read_bytes().count(b"\\n")

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        """Which rows are there from ``position`` to before ``stop``?"""
        with Path(self.options["folder"], split.name).open() as lines:
            rows = islice(lines, position, stop)
            while page := [(split.name, line.rstrip("\\n")) for line in islice(rows, 10_000)]:
                position += len(page)
                yield hw.Page(page, position)
'''

_TEST: Final = '''\
"""The source $name keeps its contracts."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from headwater import testing
from $module import $cls


class Test$cls(testing.SourceTests):
    source = $cls

    def options(self) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        (folder / "one.txt").write_text("".join(f"line {number}\\n" for number in range(9)))
        (folder / "two.txt").write_text("the only line\\n")
        return {"folder": str(folder)}

    def grow(self, options: Mapping[str, str]) -> None:
        with Path(options["folder"], "one.txt").open("a") as file:
            file.write("one more line\\n")

    def arrive_late(self, options: Mapping[str, str]) -> Iterator[None]:
        """Add rows as late as the outside lets them arrive: yield where a query may look in between."""
        with Path(options["folder"], "one.txt").open("a") as file:
            file.write("half a line")
            file.flush()
            yield
            file.write(" and its end\\n")

    def many_splits(self, count: int) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        for number in range(count):
            (folder / f"{number:06}.txt").write_text("a line\\n")
        return {"folder": str(folder)}
'''


_README: Final = """\
# $name

A source for [headwater](https://pypi.org/project/headwater/): lines of the text files in a folder, until you
replace what reads files by your own system.

```python
spark.readStream.format("headwater").option("source", "$name").option("folder", "/data").load()
```

Install it on the driver and on every executor, and start Spark again. `pytest` holds it against the
contracts.
"""

_GITIGNORE: Final = """\
__pycache__/
.pytest_cache/
.venv/
build/
dist/
*.egg-info/
"""


def new_source(name: str, parent: Path) -> Path:
    """Write the project of a new source, and return its folder.

    Args:
        name: the name in ``option("source", ...)``, for example ``my-source``.
        parent: where the folder is made, which gets the same name.

    Raises:
        ValueError: the name is not small letters, digits and hyphens, means something in Python, or is one of
            headwater's own sources.
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
    words: Mapping[str, str] = {
        "name": name,
        "module": module,
        "cls": "".join(part.capitalize() for part in name.split("-")),
    }
    folder = parent / name
    folder.mkdir()
    (folder / "tests").mkdir()
    for file, template in (
        ("README.md", _README),
        (".gitignore", _GITIGNORE),
        ("pyproject.toml", _PYPROJECT),
        (f"{module}.py", _SOURCE),
        (f"tests/test_{module}.py", _TEST),
    ):
        (folder / file).write_text(Template(template).substitute(words))
    return folder


def add_new_source(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of ``headwater``."""
    parser = commands.add_parser(
        "new-source", help="write the project of a new source, with a test that passes"
    )
    parser.add_argument("name", help="what users write in option('source', ...), for example my-source")
    parser.add_argument("--folder", type=Path, default=Path(), help="where to make it (default: here)")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        folder = new_source(arguments.name, arguments.folder)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"headwater new-source: {error}\n")
        return 1
    sys.stdout.write(f"{folder} is ready:\n  cd {folder}\n  pip install -e '.[test]'\n  pytest\n")
    return 0
