"""The ways on which Spark runs the contracts of `docs/contracts.md` while processes are killed.

And what the runs have called, as it was recorded: ``contract_runs.json``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "FOLDERS",
    "PATHS",
    "ROOT",
    "ContractPath",
    "defined_functions",
    "functions",
    "read_runs",
    "write_runs",
]

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "headwater/connector/barrier",
    "headwater/enumerators/http",
    "headwater/readers/runtime/epoch",
    "headwater/readers/runtime/fetchers",
    "headwater/readers/runtime/partitions",
    "headwater/readers/runtime/staging",
)
RUNS = Path(__file__).with_name("contract_runs.json")


@dataclass(frozen=True)
class ContractPath:
    """A shipped source with public options.

    Attributes:
        options: beside those that name the outside.
        then: the options with which the query is started again, if they are others.
        united: whether the stream is united with itself.
    """

    options: dict[str, str] = field(default_factory=dict)
    then: dict[str, str] | None = None
    united: bool = False


PATHS = {
    "http": ContractPath({"childrenField": "comments"}),
    "http connections=3": ContractPath({"connections": "3", "childrenField": "comments"}),
    "http barrierMode=unaligned": ContractPath({"barrierMode": "unaligned", "connections": "2"}),
    "http alignmentTimeout": ContractPath({"alignmentTimeout": "1ms", "connections": "2"}),
    "http shareScans": ContractPath({"shareScans": "true"}, united=True),
    "http united with itself": ContractPath({"childrenField": "comments"}, united=True),
    "http with bad pages": ContractPath({"connections": "2"}),
    "http in a cleaned folder": ContractPath({"shareScans": "true"}, united=True),
    "http aligned, then unaligned": ContractPath(
        {"connections": "2"}, then={"connections": "2", "barrierMode": "unaligned"}
    ),
    "http twice at once": ContractPath(),
    "http checkpointTimeout": ContractPath(
        {"checkpointTimeout": "2s", "barrierRows": "100000", "barrierInterval": "1h"}
    ),
    "http maxEventTimeSkew": ContractPath(
        {
            "maxEventTimeSkew": "2m",
            "eventTimeColumn": "at",
            "valueFormat": "json",
            "valueSchema": "id long, at timestamp",
            "parallelism": "2",
        }
    ),
    "http incrementalField": ContractPath(),
    "http asyncFunction": ContractPath(
        {"asyncFunction": "tests.exactly_once.asking:Ask", "asyncCapacity": "20"},
        then={
            "asyncFunction": "tests.exactly_once.asking:Ask",
            "asyncCapacity": "20",
            "barrierMode": "unaligned",
        },
    ),
    "mqtt": ContractPath({"messageKey": "payload:number", "stateRetainedEpochs": "2"}),
    "mqtt barrierMode=unaligned": ContractPath(
        {"messageKey": "payload:number", "sessions": "2", "barrierMode": "unaligned", "parallelism": "1"}
    ),
    "mqtt alignmentTimeout": ContractPath({"messageKey": "payload:number", "alignmentTimeout": "1ms"}),
    "mqtt united with itself": ContractPath({"messageKey": "payload:number"}, united=True),
    "mqtt maxEventTimeSkew": ContractPath(
        {
            "messageKey": "payload:number",
            "sessions": "2",
            "parallelism": "2",
            "maxEventTimeSkew": "1m",
            "eventTimeColumn": "received",
        }
    ),
    "mqtt asyncFunction": ContractPath(
        {
            "messageKey": "payload:number",
            "asyncFunction": "tests.exactly_once.asking:AskAboutMessage",
            "asyncCapacity": "20",
        }
    ),
    "mqtt shareScans": ContractPath({"messageKey": "payload:number", "shareScans": "true"}, united=True),
}
"""By the names that the page uses."""


def functions(trace: Path) -> list[str]:
    """Return the functions of headwater that a run has called, sorted."""
    return sorted(set(trace.read_text().splitlines()))


def read_runs() -> dict[str, dict[str, list[str]]]:
    """Return the record: ``called``, by path, and ``defined``, by file."""
    runs: dict[str, dict[str, list[str]]] = {"called": {}, "defined": {}}
    if RUNS.exists():
        runs.update(json.loads(RUNS.read_text()))
    return runs


def write_runs(path: str, called: Iterable[str]) -> None:
    """Record what a run has called, and which functions there are at this time."""
    runs = read_runs()
    runs["called"][path] = sorted(called)
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    runs["defined"] = {
        file.relative_to(ROOT).as_posix(): sorted(names)
        for file in files
        if (names := defined_functions(file))
    }
    RUNS.write_text(json.dumps(runs, indent=0, sort_keys=True) + "\n")


def defined_functions(file: Path) -> set[str]:
    """Return the qualified names of the functions of a file, those inside of functions left out."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found
