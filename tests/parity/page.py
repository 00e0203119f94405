"""The page ``docs/kafka-differences.md``, made from the lists of differences and of Spark's behaviours."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from headwater.tools.commands.kafka_differences import DIFFERENCES
from tests.parity.behaviours import NOT_SUITES_OF_THE_SOURCE, SUITES

__all__ = ["differing_tests", "files_of_tests", "functions", "render"]

HERE = Path(__file__).parent

HEAD = """# Differences from Spark's own Kafka source

<!-- Written by `scripts/generate`. -->

`tests/parity/` runs the same scenarios on Spark's own Kafka source and on headwater, in one Spark session and
on one broker, and compares rows, positions and errors exactly. Everything is the same but the entries of this
list. Each entry has one of these reasons, and a test that shows what both do:

{reasons}

Options that only headwater has are not differences: they stand in [options.md](options.md). Errors are of the
same kind; their words are not the same.

| case | Spark's source | headwater | reason | shown by |
|---|---|---|---|---|
{differences}

{count} entries. The suite fails on any other difference, and on an entry that no longer differs.

## Spark's behaviours, one by one

Each test of the suites of Spark's source, and the test here that runs the same on both sources, or why there
is none.
"""


@cache
def functions(folder: Path = HERE) -> list[tuple[str, ast.FunctionDef]]:
    """Return the tests of a folder, with the names of their files."""
    return [
        (file.name, node)
        for file in sorted(folder.glob("test_*.py"))
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def files_of_tests() -> dict[str, str]:
    """Return the file of each test."""
    return {node.name: file for file, node in functions()}


def differing_tests(folder: Path = HERE) -> dict[str, list[str]]:
    """Return the tests of a folder that show a difference, by its name in the list."""
    found: dict[str, list[str]] = {}
    for _, function in functions(folder):
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Attribute(attr="differs"), args=[ast.Constant(value=str(name)), *_]):
                    found.setdefault(name, []).append(function.name)
    return found


def render() -> str:
    """Return the page."""
    shown_by = differing_tests()
    rows = [
        f"| {entry.behaviour} | {entry.spark} | {entry.headwater} "
        f"| {entry.reason.value} | {_links(shown_by[name])} |"
        for name, entry in DIFFERENCES.items()
    ]
    reasons = sorted({entry.reason.value for entry in DIFFERENCES.values()})
    page = HEAD.format(
        reasons="\n".join(f"- {reason}" for reason in reasons), differences="\n".join(rows), count=len(rows)
    )
    for suite, behaviours in SUITES.items():
        page += f"\n### {suite}\n\n| Spark's test | here |\n|---|---|\n"
        page += "".join(
            f"| {each.name} | {_links(each.tests) or 'no meaning here: ' + each.reason} |\n"
            for each in behaviours
        )
    page += "\n### Suites that are not about what a source reads\n\n| suite | why |\n|---|---|\n"
    return page + "".join(f"| {suite} | {reason} |\n" for suite, reason in NOT_SUITES_OF_THE_SOURCE.items())


def _links(tests: tuple[str, ...] | list[str]) -> str:
    files = files_of_tests()
    return ", ".join(f"[`{name}`](../tests/parity/{files[name]})" for name in tests)
