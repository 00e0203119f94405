"""``headwater compile`` leaves compiled kernels where queries look for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.tools.commands.main import main


def test_it_is_compiled_once_for_the_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "headwater"
    assert main(["compile", "kafka"]) == 0
    assert f"kafka: ready in {folder} after " in capsys.readouterr().out
    (kept,) = folder.glob("kernel-*")
    written = kept.stat().st_mtime_ns
    assert main(["compile", "kafka"]) == 0
    assert [each.stat().st_mtime_ns for each in folder.glob("kernel-*")] == [written]


def test_without_a_name_all_are_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == [
        "kafka",
        "json",
        "json-files",
        "json-schemas",
        "csv",
        "csv-types",
        "lines",
        "avro",
        "protobuf",
        "postgres",
        "postgres-values",
        "postgres-changes",
    ]


def test_a_name_that_is_none_of_them_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "xml"]) == 1
    names = (
        "kafka, json, json-files, json-schemas, csv, csv-types, lines, avro, protobuf, "
        "postgres, postgres-values, postgres-changes"
    )
    assert f"there is no 'xml', but {names}" in capsys.readouterr().err


def test_a_host_without_a_folder_for_it_is_told_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.tools.commands.compile_kernels.cache_folder", lambda: None)
    assert main(["compile", "kafka"]) == 1
    assert "set XDG_CACHE_HOME" in capsys.readouterr().err
