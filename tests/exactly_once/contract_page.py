"""The page `docs/contracts.md`: where Spark runs each row, and what the recorded runs have called."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tests.exactly_once.contract_paths import PATHS, ROOT, read_runs
from tests.exactly_once.contract_witnesses import WITNESSES

__all__ = ["PAGE", "cell_of", "kill_tests", "page", "rows", "witnesses_of"]

PAGE = ROOT / "docs" / "contracts.md"
COLUMN = "run in Spark"
COVERAGE = "## What the runs have called"
ABOUT = (
    "Each path above is a stream in Spark, whose Python worker and driver are killed (SIGKILL) at seeded",
    "points, and whose rows are counted. What these processes call is noted while they run. For each file,",
    "how many of its functions that was, when it was last recorded. The rest are errors, waits that did not",
    "happen, and batch reads.",
)
_WHY = {
    "http": "A list can be read again, so nothing of it is staged before it counts.",
    "mqtt": "A session finds no others in what it reads and reports nothing to the driver, its messages are "
    "no pages or lists, and its receiver, not its tasks, waits for the broker.",
}
"""Of what the runs of a source leave out."""
WITHOUT = "Without a meaning on Spark:"


def rows(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that is a row of a contract, and its first cell."""
    for number, line in enumerate(text.splitlines()):
        if line.startswith((WITHOUT, COVERAGE)):
            return
        head = line.startswith(("| mode |", "| contract |", "| case |", "|---"))
        if line.startswith("| ") and not head:
            yield number, line.removeprefix("| ").partition(" | ")[0]


def cell_of(first: str, line: str) -> str:
    """Return what stands in the last column of a row.

    Raises:
        LookupError: nothing says where the row is run.
    """
    if "No meaning" in line:
        return "no meaning"
    for begins, (path, *functions) in WITNESSES.items():
        if first.startswith(begins):
            return f"`{path}`: {', '.join(f'`{name}`' for name in functions)}" if functions else f"`{path}`"
    raise LookupError(f"{first}: tests/exactly_once/contract_witnesses.py does not say where it is run")


def witnesses_of(path: str) -> set[str]:
    """Return the functions that a path's run must call."""
    return {name for where, *functions in WITNESSES.values() if where == path for name in functions}


def kill_tests() -> set[str]:
    """Return the tests that run rows in Spark beside the paths."""
    return {where for where, *_ in WITNESSES.values() if where not in PATHS}


def page(text: str) -> str:
    """Return the page with its last column and its last section as they are to be."""
    lines = text.partition(f"\n{COVERAGE}")[0].splitlines()
    contracts = dict(rows(text))
    out = []
    ends = next(number for number, line in enumerate(lines) if line.startswith(WITHOUT))
    for number, line in enumerate(lines):
        if number in contracts:
            out.append(_with_cell(line, cell_of(contracts[number], line)))
        elif number < ends and line.startswith(("| mode |", "| contract |", "| case |")):
            out.append(_with_cell(line, COLUMN))
        elif number < ends and line.startswith("|---") and not lines[number - 1].endswith(f" {COLUMN} |"):
            out.append(f"{line}---|")
        else:
            out.append(line)
    return "\n".join([*out, "", *_coverage()]) + "\n"


def _with_cell(line: str, cell: str) -> str:
    run = (*(f"`{path}`: " for path in PATHS), *(f"`{test}`" for test in kill_tests()))
    rest, _, last = line.removesuffix(" |").rpartition(" | ")
    kept = rest if last.startswith((COLUMN, "no meaning", *run)) else line.removesuffix(" |")
    return f"{kept} | {cell} |"


def _coverage() -> Iterator[str]:
    runs = read_runs()
    yield COVERAGE
    yield ""
    yield from ABOUT
    yield ""
    yield from _by_source()
    yield f"| file | {' | '.join(f'`{path}`' for path in PATHS)} | together |"
    yield "|---|" + "---|" * (len(PATHS) + 1)
    for name, functions in sorted(runs["defined"].items()):
        if not (ROOT / name).exists():  # it was moved since
            continue
        called = {
            path: _of_file(runs["called"].get(path, []), name).intersection(functions) for path in PATHS
        }
        together = set().union(*called.values())
        counts = " | ".join(str(len(called[path])) for path in PATHS)
        yield f"| `{name.removeprefix('headwater/')}` | {counts} | {len(together)} of {len(functions)} |"


def _by_source() -> Iterator[str]:
    """Yield what the runs of each source have called, of all that stands for a row."""
    called = read_runs()["called"]
    yield "Of the rows above that are run on these paths, by the functions that stand for them:"
    yield ""
    for source in ("http", "mqtt"):
        paths = [path for path in PATHS if path.startswith(source)]
        names = {name.partition(":")[2] for path in paths for name in called.get(path, [])}
        of_paths = {begins: run for begins, (path, *run) in WITNESSES.items() if path in PATHS}
        missing = [begins.strip("` ") for begins, run in of_paths.items() if not names.issuperset(run)]
        said = f": all but {', '.join(missing)}. {_WHY[source]}".rstrip() if missing else "."
        line = f"* `{source}` has run {len(of_paths) - len(missing)} of {len(of_paths)}{said}"
        yield from textwrap.wrap(line, 110, subsequent_indent="  ")
    yield ""


def _of_file(names: list[str], file: str) -> set[str]:
    return {name.partition(":")[2] for name in names if name.startswith(f"{file}:")}
