"""The public names: those of ``headwater`` itself, and those of its public modules."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import headwater
from headwater import errors

ROOT = Path(__file__).resolve().parent.parent
MODULES = ("async_io", "contracts", "errors", "options", "read", "read_stream", "testing")
SURFACES = {
    name: importlib.import_module(name) for name in ("headwater", *(f"headwater.{name}" for name in MODULES))
}
MOST = 46
"""How many names may be in ``headwater`` itself: what most programs need, and no more."""

each_surface = pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)


@each_surface
def test_all_is_sorted_and_each_name_is_there(surface: ModuleType) -> None:
    assert [name for name in surface.__all__ if not hasattr(surface, name)] == []
    assert sorted(set(surface.__all__)) == surface.__all__


@each_surface
def test_each_name_says_what_it_is(surface: ModuleType) -> None:
    assert surface.__doc__
    named = {name: getattr(surface, name) for name in surface.__all__}
    spoken = {
        name: value
        for name, value in named.items()
        if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)
    }
    assert [name for name, value in spoken.items() if not value.__doc__] == []


def test_few_names_are_in_the_package_itself_and_all_public_modules_are() -> None:
    assert len(headwater.__all__) <= MOST
    assert set(MODULES) <= set(headwater.__all__)
    files = {file.stem for file in (ROOT / "headwater").glob("*.py")} - {"__init__"}
    assert files == set(MODULES) - {"testing"}, "a module in headwater/ itself is public"


def test_no_name_is_public_in_two_places_but_the_errors_that_every_program_meets() -> None:
    places = [name for surface in SURFACES.values() for name in surface.__all__]
    readers = set(SURFACES["headwater.read"].__all__)
    assert readers == set(SURFACES["headwater.read_stream"].__all__)
    twice = {name for name in places if places.count(name) > 1} - readers
    assert twice == {"HeadwaterError", "TransientSourceError"}


def test_every_error_is_public() -> None:
    found = [errors.HeadwaterError]
    for error in found:
        found += error.__subclasses__()
    assert {error.__name__ for error in found if error.__module__.startswith("headwater.core")} <= set(
        errors.__all__
    )


def test_what_type_checkers_see_is_what_is_loaded() -> None:
    tree = ast.parse((ROOT / "headwater" / "__init__.py").read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        node.module: [alias.name for alias in node.names]
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
    }
    assert seen.pop("headwater") == list(MODULES) == list(headwater._MODULES)
    assert seen == {home: list(names) for home, names in headwater._HOMES.items()}
    assert sorted([*headwater._HOME_OF, *MODULES, "__version__"]) == headwater.__all__


def test_a_name_that_is_not_there_is_an_attribute_error_and_dir_lists_all_that_are() -> None:
    with pytest.raises(AttributeError, match="'headwater' has no attribute 'Sorce'"):
        getattr(headwater, "Sorce")  # noqa: B009 - mypy knows that it is not there
    assert {name for name in dir(headwater) if not name.startswith("__")} == set(headwater.__all__) - {
        "__version__"
    }


def test_importing_the_package_loads_nothing_else_of_it() -> None:
    program = "import sys, headwater; print(*(name for name in sys.modules if name.startswith('headwater')))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["headwater"]


def test_docs_examples_and_scripts_name_only_what_is_public() -> None:
    used = {name for file in users_files() for name in re.findall(r"\bhw\.(\w+(?:\.\w+)?)", file.read_text())}
    assert used
    assert sorted(name for name in used if not is_public(name)) == []


def users_files() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield ROOT / "CHANGELOG.md"
    for folder, ending in (
        ("docs", "md"),
        ("examples", "py"),
        ("scripts", "py"),
        ("benchmarks", "py"),
        ("headwater", "py"),
    ):
        yield from (ROOT / folder).rglob(f"*.{ending}")


def is_public(name: str) -> bool:
    first, _, second = name.partition(".")
    if first in MODULES and second:
        return second in SURFACES[f"headwater.{first}"].__all__
    return first in headwater.__all__
