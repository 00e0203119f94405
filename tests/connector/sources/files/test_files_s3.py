"""A query on an S3 server: listed in pages, throttled, read, and cleaned up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.core.errors import AuthorizationError, DataLossError, UnknownSplitError
from headwater.enumerators.files import listing
from headwater.enumerators.files.filesystem import open_file_system
from tests.connector.sources.files.files_queries import Query, batch_and_tasks
from tests.s3_server import S3Server

URL = "s3://spark/in"


@pytest.fixture
def fs(s3: S3Server) -> Iterator[Any]:
    fs, _ = open_file_system(URL, s3.storage_options)
    yield fs
    fs.invalidate_cache()
    if fs.exists(URL):
        fs.rm(URL, recursive=True)


def test_a_stream_reads_each_object_once_and_deletes_what_is_committed(
    s3: S3Server, fs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_PAGE_FILES", 2)
    for number in range(5):
        fs.pipe(f"{URL}/day={number % 2}/{number}.json", json.dumps({"n": number}).encode())
    options: dict[str, Any] = {
        "format": "json",
        "path": URL,
        "storageOptions": json.dumps(s3.storage_options),
    }
    with Query(available_now=True, maxFilesPerTrigger="3", cleanSource="delete", **options) as query:
        s3.throttle(2)
        rows = [row for _ in range(2) for row in query.step().to_pylist()]  # type: ignore[union-attr]
        assert sorted((row["n"], row["day"]) for row in rows) == [(number, number % 2) for number in range(5)]
        assert s3.throttled == 2
        splits: Any = query.log[-1]["splits"]
        assert [len(file) for file in splits["files"]] == [4, 4], "an etag is part of the identity"
        assert query.step() is None
        fs.invalidate_cache()
        assert fs.find(URL) == []


def test_an_object_that_was_overwritten_under_a_planned_batch_is_noticed_by_its_etag(
    s3: S3Server, fs: Any
) -> None:
    fs.pipe(f"{URL}/a", b"one\n")
    options: dict[str, Any] = {
        "format": "text",
        "path": URL,
        "storageOptions": json.dumps(s3.storage_options),
    }
    with Query(pa.schema([pa.field("value", pa.string())]), **options) as query:
        query.step()
        fs.pipe(f"{URL}/a", b"two\n")
        with pytest.raises(DataLossError, match="not what was planned"):
            query.replay()


def test_a_batch_of_parquet_is_cut_into_tasks(s3: S3Server, fs: Any) -> None:
    with fs.open(f"{URL}/f.parquet", "wb") as file:
        pq.write_table(pa.table({"n": range(1_000)}), file, row_group_size=100)
    rows, tasks = batch_and_tasks(
        format="parquet", path=URL, storageOptions=json.dumps(s3.storage_options), minPartitions="3"
    )
    assert rows.sort_by("n").column("n").to_pylist() == list(range(1_000))
    assert len(tasks) == 3


def test_a_bucket_that_is_not_there_is_an_error(s3: S3Server) -> None:
    with pytest.raises((UnknownSplitError, AuthorizationError)):
        batch_and_tasks(
            format="text", path="s3://not-there/in", storageOptions=json.dumps(s3.storage_options)
        )
