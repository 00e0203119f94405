"""What is said of file systems that do not open, and of those that refuse."""

from __future__ import annotations

import pytest
from azure.core.exceptions import ServiceRequestError
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from paramiko.ssh_exception import NoValidConnectionsError

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    NoConnectionError,
    OptionError,
    TransientSourceError,
)
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


@pytest.mark.parametrize(
    ("error", "kind"), [(NoCredentialsError(), AuthenticationError), (PermissionError(), AuthorizationError)]
)
def test_a_store_without_its_credentials_is_told_with_the_option_that_takes_them(
    error: Exception, kind: type[Exception]
) -> None:
    with (
        pytest.raises(kind, match=r"option storageOptions, such as \{\"key\": \.\.\., \"secret\""),
        filesystem.file_errors("listing", "s3://in/x"),
    ):
        raise error


def test_a_local_file_that_may_not_be_read_is_told_without_options_of_stores() -> None:
    with (
        pytest.raises(AuthorizationError) as raised,
        filesystem.file_errors("reading", "file:///in/x"),
    ):
        raise PermissionError("x")
    assert "storageOptions" not in str(raised.value)


def test_a_setting_that_the_library_of_a_store_does_not_know_is_an_error_of_that_option() -> None:
    fs, path = filesystem.open_file_system("s3://in/x", {"kee": "any"})
    with (
        pytest.raises(OptionError, match=r"'storageOptions': s3://in/x: .*argument 'kee'"),
        filesystem.file_errors("listing", "s3://in/x"),
    ):
        fs.ls(path)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
        NoValidConnectionsError({("127.0.0.1", 1): ConnectionRefusedError()}),
        ServiceRequestError("refused"),
    ],
)
def test_an_address_at_which_nothing_listens_is_told_from_a_store_that_is_away(error: Exception) -> None:
    with pytest.raises(NoConnectionError), filesystem.file_errors("listing", "s3://in/x"):
        raise error
    with pytest.raises(TransientSourceError) as raised, filesystem.file_errors("listing", "s3://in/x"):
        raise ConnectionResetError
    assert not isinstance(raised.value, NoConnectionError)
