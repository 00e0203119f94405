"""Files on a server with SFTP, through fsspec and paramiko: OpenSSH's own server answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from headwater.core import retry
from headwater.core.errors import AuthenticationError, DeadlineError, HeadwaterError, OptionError
from headwater.core.source import Boundedness
from headwater.enumerators.files.filesystem import open_file_system, status_url
from headwater.testing import engine
from headwater.testing.making import configured
from local_kafka_config import free_port
from local_sftp import LocalSftp
from tests.parity.golden.local_reads import LocalStream, read_batch

SCHEMA = StructType(
    [StructField("a", IntegerType()), StructField("b", StringType()), StructField("k", IntegerType())]
)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalSftp]:
    with LocalSftp() as running:
        yield running


@pytest.fixture
def options(server: LocalSftp, tmp_path: Path) -> dict[str, str]:
    for name, content in {"k=1/a b.csv": "1,x\n2,y\n", "k=2/b.csv": "3,\u00e9\n"}.items():
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(content)
    return {
        "source": "files",
        "format": "csv",
        "path": server.url(tmp_path),
        "storageOptions": json.dumps(server.storage_options),
    }


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_a_batch_reads_what_is_there(options: dict[str, str]) -> None:
    assert rows(read_batch(options, SCHEMA, {})[1]) == [(1, "x", 1), (2, "y", 1), (3, "\u00e9", 2)]
    assert rows(read_batch(options, None, {})[1]) == [("1", "x", 1), ("2", "y", 1), ("3", "\u00e9", 2)]


def test_a_stream_reads_each_file_once_also_after_the_server_was_away(
    server: LocalSftp, options: dict[str, str], tmp_path: Path
) -> None:
    def available(start: Any) -> tuple[Any, list[tuple[Any, ...]]]:
        """Go on with a query up to what is there now; return where it stands, and the rows."""
        stream = LocalStream(options, SCHEMA, {})
        read: list[tuple[Any, ...]] = []
        try:
            stream.reader.prepareForTriggerAvailableNow()
            start = start or stream.initial_offset()
            while (end := stream.latest_offset(start)) != start:
                read += rows(stream.table(stream.reader.partitions(start, end)))
                start = end
        finally:
            stream.close()
        return start, sorted(read)

    first, read = available(None)
    assert [row[0] for row in read] == [1, 2, 3]
    server.stop()
    (tmp_path / "k=2" / "c.csv").write_text("4,z\n")
    server.start()
    second, read = available(first)
    assert read == [(4, "z", 2)]
    # The offset holds what opens the file on any host, and nothing of the log-in.
    assert "127.0.0.1" in json.dumps(second)
    assert "user" not in json.dumps(second)


def test_a_log_in_that_is_refused_is_told_with_what_mends_it(
    server: LocalSftp, options: dict[str, str]
) -> None:
    wrong = {**server.storage_options, "username": "nobody-of-that-name"}
    with pytest.raises(AuthenticationError, match=r'storageOptions, such as \{"username"'):
        read_batch({**options, "storageOptions": json.dumps(wrong)}, SCHEMA, {})


def test_a_user_in_the_url_is_refused(server: LocalSftp, options: dict[str, str]) -> None:
    given = options["path"].replace("sftp://", "sftp://somebody:s3cret@")
    with pytest.raises(HeadwaterError) as caught:
        read_batch({**options, "path": given}, SCHEMA, {})
    assert "s3cret" not in str(caught.value)
    mine = options["path"].replace("sftp://", f"sftp://{server.storage_options['username']}@")
    keys = {name: value for name, value in server.storage_options.items() if name != "username"}
    with pytest.raises(OptionError, match="must hold no user: give it in option storageOptions"):
        read_batch({**options, "path": mine, "storageOptions": json.dumps(keys)}, SCHEMA, {})


@pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])
def test_where_nothing_has_ever_answered_it_is_said_in_seconds(
    stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "_FIRST_ANSWER_MS", 200)
    url = f"sftp://127.0.0.1:{free_port()}/x"
    options = {"path": url, "format": "text", "storageOptions": json.dumps({"username": "x"})}

    def read() -> None:
        if stream:
            engine.MicroBatchEngine.of("files", options).run()
        else:
            engine.read_batch(configured("files", options, Boundedness.BOUNDED))

    with pytest.raises(DeadlineError, match=r"nothing has ever answered there, .* check the address"):
        read()


@pytest.mark.parametrize("url", ["file:///a/b", "memory://a/b"])
def test_urls_of_file_systems_without_a_host_are_as_they_were(url: str) -> None:
    fs, path = open_file_system(url, {})
    assert status_url(fs, path) == fs.unstrip_protocol(path)
