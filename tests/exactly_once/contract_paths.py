"""The ways on which Spark runs the contracts of `docs/contracts.md` while processes are killed.

And what the runs have called, as it was recorded: ``contract_runs.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["PATHS", "ContractPath", "functions", "read_runs", "write_runs"]

RUNS = Path(__file__).with_name("contract_runs.json")


@dataclass(frozen=True)
class ContractPath:
    """A shipped source with public options.

    Attributes:
        options: beside those that name the outside.
        united: whether the stream is united with itself.
    """

    options: dict[str, str] = field(default_factory=dict)
    united: bool = False


PATHS = {
    "http": ContractPath({"childrenField": "comments"}),
    "http connections=3": ContractPath({"connections": "3", "childrenField": "comments"}),
    "http barrierMode=unaligned": ContractPath({"barrierMode": "unaligned", "connections": "2"}),
    "http alignmentTimeout": ContractPath({"alignmentTimeout": "1ms", "connections": "2"}),
    "http barrierMode=at-least-once": ContractPath({"barrierMode": "at-least-once", "connections": "2"}),
    "http shareScans": ContractPath({"shareScans": "true"}, united=True),
    "mqtt": ContractPath({"messageKey": "payload:number"}),
}
"""By the names that the page uses."""


def functions(trace: Path) -> list[str]:
    """Return the functions of headwater that a run has called, sorted."""
    return sorted(set(trace.read_text().splitlines()))


def read_runs() -> dict[str, list[str]]:
    """Return what each path has called when it was recorded."""
    runs: dict[str, list[str]] = json.loads(RUNS.read_text()) if RUNS.exists() else {}
    return runs


def write_runs(path: str, called: Iterable[str]) -> None:
    """Record a run."""
    runs = {**read_runs(), path: sorted(called)}
    RUNS.write_text(json.dumps(runs, indent=0, sort_keys=True) + "\n")
