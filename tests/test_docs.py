"""The pages for readers: each path, link and test that they name is there. Lines fit, those of Python too."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import headwater

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]
COLUMNS = 110


def show(offenders: Iterable[str]) -> None:
    """Fail with all offenders, one in a line."""
    lines = list(offenders)
    assert not lines, "\n".join(["", *lines])


def test_every_link_leads_somewhere() -> None:
    show(
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    )


def test_every_path_in_code_style_exists() -> None:
    """A path begins at the top of the repository or in ``tests/``; one that ends in ``/`` is a folder.

    The project that the tutorial makes has files of its own.
    """
    path = r"`([\w.-]+(?:/[\w.-]+)*(?:\.py|\.md|\.toml|/))(?:::\w+[\w\[\] *]*)?`"
    places = (ROOT, ROOT / "tests")
    first = {entry.name for place in places for entry in place.iterdir()}
    show(
        f"{page.name}: {name}"
        for page in PAGES
        for name in re.findall(path, page.read_text())
        if name.split("/")[0] in first and "my_lines" not in name
        if not any((place / name).exists() for place in places)
    )


def test_every_test_that_is_named_exists() -> None:
    test = r"`(?:([\w./-]+\.py)::)?(test_\w+)(?:\[[^`]*\])?(\*?)`"
    show(
        f"{page.name}: {file}::{name}{rest}"
        for page in PAGES
        for file, name, rest in re.findall(test, page.read_text())
        if not any(there.startswith(name) if rest else there == name for there in _tests(file))
    )


def test_the_image_for_kubernetes_has_one_spark_and_the_wheel_of_this_version() -> None:
    page = (ROOT / "docs" / "platforms.md").read_text()
    versions = re.findall(r"(?:FROM apache/spark:|pyspark==)(\d+\.\d+\.\d+)", page)
    assert len(versions) == 2
    assert len(set(versions)) == 1
    wheels = re.findall(r"headwater-(.*?)-py3-none-any\.whl", page)
    assert set(wheels) == {headwater.__version__}


def test_each_page_names_the_extras_of_the_sources_and_formats_in_its_code() -> None:
    def missing(page: Path) -> set[str]:
        code = "\n".join(re.findall(r"```(?:python|sql|bash)\n(.*?)```", page.read_text(), re.DOTALL))
        needed = _extras() & set(re.findall(r"""source["']?(?:, |=| )["'](\w+)["']""", code))
        needed |= {"formats"} if re.search(r"(key|value)Format\b", code) else set()
        needed |= {"kafka"} if "kafka.bootstrap.servers" in code else set()
        return needed - _named_extras(page)

    show(f"{page.name}: {', '.join(sorted(extras))}" for page in PAGES if (extras := missing(page)))


def test_each_extra_is_named_by_a_page() -> None:
    show(_extras() - set[str]().union(*map(_named_extras, PAGES)))


def _extras() -> set[str]:
    """Return the extras for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return set(project["optional-dependencies"]) - {"test"}


def _named_extras(page: Path) -> set[str]:
    lists = re.findall(r"(?:headwater|['\s]\.|\.whl)\[([\w,-]+)\]", page.read_text())
    return {extra for each in lists for extra in each.split(",")}


def test_lines_are_not_too_long() -> None:
    show(f"{page.name}, line {number}: {line}" for page in PAGES for number, line in _long_lines(page))


def test_lines_of_python_are_not_too_long() -> None:
    """Comments for tools count too, which the formatter and the linter let pass."""
    folders = ("benchmarks", "examples", "headwater", "scripts", "tests")
    show(
        f"{module.relative_to(ROOT)}, line {number}"
        for folder in folders
        for module in sorted((ROOT / folder).rglob("*.py*"))
        if module.suffix in {".py", ".pyi"}
        for number, line in enumerate(module.read_text().splitlines(), 1)
        if len(line) > COLUMNS
    )


def _long_lines(page: Path) -> Iterator[tuple[int, str]]:
    code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        code ^= line.startswith("```")
        if not (code or len(line) <= COLUMNS or line.startswith(("|", "#")) or "](" in line):
            yield number, line


def test_contributing_names_what_there_is_to_run() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert {"scripts/setup", "scripts/test"} <= set(re.findall(r"scripts/\w+", text))
    assert text.count("\n| ") > 20, "the table of where to change what"


def _tests(file: str) -> set[str]:
    """Return the names of the test functions in the files of this name; of all files for an empty one."""
    return {
        name
        for path, names in _all_tests().items()
        if path.endswith(f"/{file}" if file else "")
        for name in names
    }


@cache
def _all_tests() -> dict[str, set[str]]:
    return {
        str(path): {
            node.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
        for path in (ROOT / "tests").rglob("test_*.py")
    }


def rooms_of(package: Path) -> set[str]:
    """Return the names of the modules and packages inside a package."""
    modules = {file.stem for file in package.glob("*.py")} - {"__init__"}
    return modules | {file.parent.name for file in package.glob("*/__init__.py")}


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def test_the_docstring_of_each_package_names_its_rooms() -> None:
    show(
        f"{init.relative_to(ROOT)}: {room}"
        for init in sorted((ROOT / "headwater").rglob("__init__.py"))
        for room in sorted(
            rooms_of(init.parent) - names_in(ast.get_docstring(ast.parse(init.read_text())) or "")
        )
    )


def test_the_picture_of_the_design_names_each_folder_of_a_floor() -> None:
    picture = (ROOT / "docs" / "design.md").read_text().split("```")[1]
    floors = {names[0]: names for block in re.split(r"\n -+\n", picture) if (names := block.split()[1:])}
    show(
        f"{floor}: {folder.parent.name}"
        for floor in ("core", "enumerators", "readers", "connector", "tools")
        for folder in sorted((ROOT / "headwater" / floor).glob("*/__init__.py"))
        if folder.parent.name not in floors[floor]
    )
