"""The files of a new project that are the same in each mode. Templates of `string.Template`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["GITIGNORE", "PYPROJECT", "README", "Project"]


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
