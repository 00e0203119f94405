"""The files of a new project that are the same in each mode. Templates of `string.Template`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["GITIGNORE", "LINES_TEST", "PYPROJECT", "README", "Project"]


@dataclass(frozen=True)
class Project:
    """What differs between the modes.

    Attributes:
        about: for the README: what is read, until the user replaces it.
        mode: for the README: what the mode means, and what it wants.
        options: for the README: the calls that set what a stream needs.
        source: the module.
        test: its tests.
    """

    about: str
    mode: str
    options: str
    source: str
    test: str


PYPROJECT: Final = """\
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

README: Final = """\
# $name

A source for [headwater](https://pypi.org/project/headwater/): $about, until you replace what reads them by
your own system.

```python
rows = (
    spark.readStream.format("headwater")
    .option("source", "$name")
$options
    .load()
)
```

$mode

Install it on the driver and on every executor, and start Spark again. `pytest` holds it against the
contracts.
"""

GITIGNORE: Final = """\
__pycache__/
.pytest_cache/
.venv/
build/
dist/
*.egg-info/
"""

LINES_TEST: Final = '''\
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
        (folder / "one.log").write_text("".join(f"line {number}\\n" for number in range(9)))
        (folder / "two.log").write_text("the only line\\n")
        return {"folder": str(folder)}

    def grow(self, options: Mapping[str, str]) -> None:
        with Path(options["folder"], "one.log").open("a") as file:
            file.write("one more line\\n")

    def arrive_late(self, options: Mapping[str, str]) -> Iterator[None]:
        """Add rows as late as the outside lets them arrive: yield where a query may look in between."""
        with Path(options["folder"], "one.log").open("a") as file:
            file.write("half a line")
            file.flush()
            yield
            file.write(" and its end\\n")

    def many_splits(self, count: int) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        for number in range(count):
            (folder / f"{number:06}.log").write_text("a line\\n")
        return {"folder": str(folder)}
'''
"""The test of a source of lines in the files of a folder, which end with ``.log``."""
