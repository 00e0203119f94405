"""Secrets: written as they are, or where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.core.errors import SourceError
from headwater.core.secrets import resolved_secret


def test_a_secret_is_itself_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "from the environment")
    (tmp_path / "secret").write_text("from a file\n")
    assert resolved_secret("plain", "the password") == "plain"
    assert resolved_secret("env:REGISTRY_PASSWORD", "the password") == "from the environment"
    assert resolved_secret(f"file:{tmp_path}/secret", "the password") == "from a file"


@pytest.mark.parametrize("written", ["env:NOT_SET_ANYWHERE", "file:/not/there"])
def test_a_secret_that_is_not_there_is_an_error_that_names_it(written: str) -> None:
    with pytest.raises(SourceError, match="the password"):
        resolved_secret(written, "the password")
