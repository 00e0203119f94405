"""How workers share the tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.workers import ROOT, group_of

MODULES = ("core/test_jsons.py", "core/test_retry.py", "scripts/test_local_kafka_orders.py")


def test_tests_of_a_module_run_in_one_worker_and_one_begins_with_the_programs() -> None:
    options = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder", "-v", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(f"tests/{module}" for module in MODULES)],
        cwd=ROOT.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "waiting" not in ran.stderr, "xdist explains each of its steps"
    ran_by: dict[str, list[str]] = {}
    for worker, module in re.findall(r"\[(gw\d)\].* PASSED tests/(\S+?)::", ran.stdout):
        modules = ran_by.setdefault(worker, [])
        if module not in modules:
            modules.append(module)
    assert sorted(each for modules in ran_by.values() for each in modules) == sorted(MODULES), ran.stdout
    (programs,) = (modules for modules in ran_by.values() if MODULES[2] in modules)
    assert programs[0] == MODULES[2]
    assert re.search(r"^the workers were done after \d+, \d+ s$", ran.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("module", "needs", "group"),
    [
        ("core/test_a.py", {"tmp_path"}, "core/test_a.py"),
        ("parity/files/test_a.py", {"spark", "kafka"}, "spark parity/files/test_a.py"),
        ("connector/test_a.py", {"kafka"}, "kafka connector/test_a.py"),
        ("examples/test_a.py", {"spark"}, "programs examples/test_a.py"),
        ("connector/test_a.py", {"spark", "postgres"}, "postgres"),
    ],
)
def test_a_group_is_what_needs_the_same_server(module: str, needs: set[str], group: str) -> None:
    assert group_of(Path(ROOT, module), needs) == group
