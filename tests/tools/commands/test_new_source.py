"""``headwater new-source`` writes a project whose tests pass and whose source is found by name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.tools.commands.main import main
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]


# Each test of a staged source starts receivers: a few of them say in each run that the project works.
FEW_OF_STAGED = "receivers_die or small_batches or added_while or removed"


@pytest.mark.parametrize(
    ("mode", "chosen", "least"),
    [
        ("planned", "", 29),
        ("barrier", "", 31),
        ("staged", FEW_OF_STAGED, 4),
        pytest.param("staged", "", 36, marks=pytest.mark.long),
    ],
)
def test_the_project_of_each_mode_passes_its_own_tests(
    mode: str, chosen: str, least: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-source", "my-source", "--mode", mode, "--folder", str(tmp_path)]) == 0
    assert f"{tmp_path}/my-source is ready" in capsys.readouterr().out
    project = tmp_path / "my-source"
    assert 'my-source = "my_source:MySource"' in (project / "pyproject.toml").read_text()
    readme = (project / "README.md").read_text()
    assert '.option("source", "my-source")' in readme
    assert f"{mode} mode" in readme or f"is {mode}" in readme
    assert ('"stateLocation"' in readme) == (mode != "planned")
    assert "__pycache__/" in (project / ".gitignore").read_text()
    for file in project.rglob("*.*"):
        assert not file.is_file() or "$" not in file.read_text(), file
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "-k", chosen]
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout[-4_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-4_000:]
    assert int(passed[1]) >= least


def test_the_project_without_a_mode_is_planned_and_other_modes_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-source", "one", "--folder", str(tmp_path)]) == 0
    assert "def head(" in (tmp_path / "one" / "one.py").read_text()
    with pytest.raises(SystemExit):
        main(["new-source", "two", "--mode", "micro", "--folder", str(tmp_path)])
    assert "planned, barrier, staged" in capsys.readouterr().err.replace("'", "")
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("name", ["My-Source", "1st", "a--b", "import", "json", "../x", ""])
def test_a_name_that_is_no_good_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-source", name, "--folder", str(tmp_path)]) == 1
    assert "something like my-source" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["headwater", "pyspark", "pyarrow"])
def test_a_source_does_not_hide_a_module_that_is_installed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-source", name, "--folder", str(tmp_path)]) == 1
    assert f"'{name}' is a module that is installed here" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    assert main(["new-source", "mine", "--folder", str(tmp_path)]) == 1
    assert "exists" in capsys.readouterr().err


def test_the_name_of_a_built_in_source_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-source", "kafka", "--folder", str(tmp_path)]) == 1
    assert "'kafka' is one of headwater's own sources" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
