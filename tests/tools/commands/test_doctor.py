"""`headwater doctor`: each finding with the command that mends it."""

from __future__ import annotations

import os
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from examples.http_server import Api, serving
from headwater.tools.commands import doctor as checks
from headwater.tools.commands.main import main
from local_kafka import LocalKafka


def program(folder: Path, name: str, text: str) -> str:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return str(made)


def test_a_machine_that_is_ready_is_well(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["doctor", "--state-location", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok      ") for line in lines), lines
    subjects = [line.removeprefix("ok      ").split(":")[0] for line in lines]
    for subject in ("Python", "PySpark", "Spark's Python", "Java", "extra kafka", "Kernels"):
        assert subject in subjects


def test_what_is_not_well_is_told_with_what_mends_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "not ok  Spark's Python: /nowhere/python does not start: " in out
    assert f"        mend it: export PYSPARK_PYTHON={sys.executable}, or make the session with" in out


@pytest.mark.parametrize(
    ("environment", "mark", "said"),
    [
        ({"DATABRICKS_RUNTIME_VERSION": "19.1"}, "ok    ", "Databricks Runtime 19.1; take the session"),
        ({"DATABRICKS_RUNTIME_VERSION": "17.3"}, "not ok", "Databricks Runtime 17.3; take the session"),
        ({"DATABRICKS_RUNTIME_VERSION": "client.4.2"}, "ok    ", "Databricks Runtime client.4.2; take"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "ok    ", "a pod of Kubernetes; mend in its image"),
        ({"DATAPROC_IMAGE_VERSION": "3.0"}, "ok    ", "Dataproc image 3.0; its Spark is that of the cluster"),
    ],
)
def test_advice_that_does_not_apply_on_a_platform_is_left_out(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    mark: str,
    said: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["doctor"]) == (mark == "not ok")
    out = capsys.readouterr().out
    assert f"{mark}  Platform: {said}" in out
    assert ("  Java: " in out) == ("DATABRICKS_RUNTIME_VERSION" not in environment)


def test_a_host_of_emr_is_known_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "extraInstanceData.json"
    assert list(checks.check_platform({}, file)) == []
    for content, name in (('{"releaseLabel": "emr-7.9.0"}', "emr-7.9.0"), ("{}", "without a release label")):
        file.write_text(content)
        (finding,) = checks.check_platform({}, file)
        assert finding.text.startswith(f"EMR {name}; its Spark is that of the cluster and no pip changes it")
        assert finding.mend is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "echo \"ModuleNotFoundError: No module named 'headwater'\" >&2; exit 1",
            "cannot import headwater: Mod",
        ),
        ("exit 3", "cannot import headwater: it says nothing"),
        ("echo 3.9 0.1.0 /x/python", "is Python 3.9, the driver's is"),
        (
            f"echo {sys.version_info[0]}.{sys.version_info[1]} 0.0.7 /x/python",
            "has headwater 0.0.7, the driver has",
        ),
    ],
)
def test_a_python_that_spark_cannot_use_is_not_well(tmp_path: Path, text: str, said: str) -> None:
    python = program(tmp_path, "python", text)
    (finding,) = checks.check_spark_pythons({"PYSPARK_PYTHON": python})
    assert finding.text.startswith(f"{python} {said}")
    assert finding.mend


def test_planning_and_tasks_may_have_two_pythons() -> None:
    found = list(
        checks.check_spark_pythons(
            {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": "/nowhere/python"}
        )
    )
    assert [finding.mend is None for finding in found] == [False, True]


@pytest.mark.parametrize(
    ("version", "is_well"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('java version "1.8.0_392"', False),
        ('openjdk version "21"', True),
    ],
)
def test_java_must_be_17_or_newer(tmp_path: Path, version: str, is_well: bool) -> None:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "java", f"echo '{version}' >&2")
    assert (checks.check_java({"JAVA_HOME": str(tmp_path)}).mend is None) is is_well


def test_without_java_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = checks.check_java({})
    assert missing.text.startswith("not on the path")
    assert "openjdk" in (missing.mend or "")
    assert checks.check_java({"JAVA_HOME": str(tmp_path)}).mend


def test_a_missing_extra_is_no_fault_but_its_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        checks,
        "requires",
        lambda _: ["pyspark", 'no-such-library>=2; extra == "kafka"', 'pytest; extra == "test"'],
    )
    (finding,) = checks.check_extras()
    assert finding.subject == "extra kafka"
    command = f"{sys.executable} -m pip install 'headwater[kafka]'"
    assert finding.text == f"not installed: no-such-library; for the source kafka: {command}"
    assert finding.mend is None


def test_each_extra_says_who_needs_it() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert set(checks.NEEDED_FOR) == set(project["optional-dependencies"]) - {"test"}


def test_kernels_need_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "headwater compile" in checks.check_kernel_cache().text
    (tmp_path / "headwater" / "kernel-1").touch()
    assert checks.check_kernel_cache().text == f"1 compiled in {tmp_path}/headwater"


def test_a_folder_that_cannot_be_made_is_nobodys(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nowhere")
    caplog.set_level("INFO", "headwater")
    found = checks.check_kernel_cache()
    assert (found.text, found.mend) == (
        "no folder can keep compiled ones",
        "export XDG_CACHE_HOME=A_FOLDER_OF_YOURS",
    )
    assert "/proc/nowhere/headwater cannot hold compiled kernels" in caplog.text
    assert "another user" not in caplog.text


def test_a_state_location_is_tried(tmp_path: Path) -> None:
    assert checks.check_state_location(str(tmp_path)).mend is None
    assert checks.check_state_location("relative/folder").mend
    assert checks.check_state_location("ftp://host/state").mend


def test_trying_a_state_location_leaves_nothing_behind_and_takes_nothing_away(tmp_path: Path) -> None:
    assert checks.check_state_location(f"file://{tmp_path}/deep/state").mend is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "there").mkdir()
    assert checks.check_state_location(str(tmp_path / "there")).mend is None
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]
    (tmp_path / "file").touch()
    assert checks.check_state_location(str(tmp_path / "file" / "state")).mend
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


@pytest.mark.slow
def test_a_broker_is_asked(kafka: LocalKafka) -> None:
    assert checks.check_broker(kafka.bootstrap_servers).text.startswith("answers; ")
    missing = checks.check_broker("127.0.0.1:1")
    assert "nothing listens there" in missing.text
    assert missing.mend


def test_a_url_is_asked() -> None:
    api = Api(0, items=1, page=1)
    serving(api)
    try:
        assert checks.check_url(api.url).text == "answers, with status 200"
        assert checks.check_url(f"{api.url}/nowhere").mend is None
    finally:
        api.shutdown()
        api.server_close()
    assert checks.check_url("http://127.0.0.1:1/").mend
    assert checks.check_url("no url").mend


def test_the_environment_of_the_tests_is_the_one_that_is_checked() -> None:
    assert [finding.mend for finding in checks.check_spark_pythons(os.environ)] == [None]
