"""Options of the tried query: the command line beats the file, and secrets are elsewhere and not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.core.errors import OptionError, SourceError
from headwater.core.redaction import redacted
from headwater.tools.commands.trial.try_query import query_options


def test_secrets_are_taken_from_where_they_are_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_PASSWORD", "of-the-environment")
    (tmp_path / "secret").write_text("of-a-file\n")
    file = tmp_path / "options"
    file.write_text(
        "# a remark\n\nsubscribe = orders\nkafka.sasl.password=env:BROKER_PASSWORD\n"
        f"kafka.sasl.jaas.config=file:{tmp_path / 'secret'}\npath=file:/data\nquery=a=b\n"
    )
    found = query_options(str(file), [("Subscribe", "returns")])
    assert found == {
        "subscribe": "returns",
        "kafka.sasl.password": "of-the-environment",
        "kafka.sasl.jaas.config": "of-a-file",
        "path": "file:/data",
        "query": "a=b",
    }
    shown = redacted("failed with of-the-environment and of-a-file")
    assert "of-the-environment" not in shown
    assert "of-a-file" not in shown


def test_what_is_no_option_is_refused_without_showing_it(tmp_path: Path) -> None:
    file = tmp_path / "options"
    file.write_text("a=b\nsecret-without-its-name\n")
    with pytest.raises(OptionError, match="line 2, is not name=value") as refused:
        query_options(str(file), [])
    assert "secret-without-its-name" not in str(refused.value)
    with pytest.raises(OptionError, match="cannot be read"):
        query_options(str(tmp_path / "none"), [])
    with pytest.raises(SourceError, match=r"option 'kafka\.sasl\.password'.*NOT_SET_HERE"):
        query_options(None, [("kafka.sasl.password", "env:NOT_SET_HERE")])
