"""What `open_file_system` says of file systems that do not open."""

from __future__ import annotations

import pytest

from headwater.core.errors import OptionError
from headwater.enumerators.files import filesystem


def failing(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    """Let each file system fail where it is made, as those do that connect there."""

    def url_to_fs(url: str) -> None:
        raise error

    monkeypatch.setattr(filesystem, "url_to_fs", url_to_fs)


def test_a_file_system_without_its_native_library_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing(monkeypatch, OSError("Unable to load libjvm\ndlopen(/a/libjvm.so) failed\ndlopen(/b) failed"))
    with pytest.raises(
        OptionError, match="cannot be opened in this process: Unable to load libjvm"
    ) as raised:
        filesystem.open_file_system("hdfs://host/x", {})
    assert "dlopen" not in str(raised.value)


def test_a_file_system_that_is_away_stays_an_error_that_may_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ConnectionRefusedError("away"))
    with pytest.raises(ConnectionRefusedError):
        filesystem.open_file_system("sftp://host/x", {})
