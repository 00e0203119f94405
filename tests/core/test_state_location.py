"""Objects are whole or absent, and one writer wins: in memory, on disk, and on an S3 server."""

from __future__ import annotations

import os
import pickle
import re
import resource
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError, ReadTimeoutError

from headwater.core.errors import StateLocationError
from headwater.core.object_state_store import ObjectStateStore
from headwater.core.state_location import (
    LocalStateStore,
    check_state_store,
    open_state_store,
    state_location,
)
from headwater.core.state_store import MemoryStateStore, StateStore
from headwater.readers.formats.bad_records import BadRecordLines, BadRecordsLocation
from headwater.readers.kernels.cache import _write
from headwater.tools.commands.checkpoint_folder import FolderError, LocalFolder
from tests.s3_server import S3Server


@pytest.fixture(params=["memory", "local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    if request.param == "memory":
        return MemoryStateStore()
    if request.param == "local":
        return open_state_store(f"file://{tmp_path}/state")
    return open_state_store(f"s3://state/{tmp_path.name}", request.getfixturevalue("s3").storage_options)


def test_the_first_put_wins_and_the_second_learns_what_is_there(store: StateStore) -> None:
    assert store.put_if_absent("q/e/place", b"mine") == b"mine"
    assert store.put_if_absent("q/e/place", b"yours", durable=False) == b"mine"
    assert store.get("q/e/place") == b"mine"


def test_of_many_writers_at_once_one_wins_and_all_agree_on_it(store: StateStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(
                lambda number: store.put_if_absent("q/place", b"%d" % number * 1000, durable=False), range(40)
            )
        )
    assert len(set(found)) == 1


def test_what_is_not_there_is_none_and_an_empty_list(store: StateStore) -> None:
    assert store.get("q/nothing") is None
    assert store.list("q") == []
    store.delete("q/nothing")
    store.delete_folder("q")


def test_listing_shows_one_level_and_deleting_takes_all(store: StateStore) -> None:
    for name in ("q/b/1", "q/b/2", "q/a", "other/c"):
        store.put(name, b"x")
    assert store.list("q") == ["a", "b"]
    assert store.list("q/b") == ["1", "2"]
    store.delete("q/a")
    store.delete_folder("q/b")
    assert store.list("q") == []
    assert store.get("other/c") == b"x"


def test_many_objects_are_deleted_at_once_and_those_that_are_not_there_do_not_matter(
    store: StateStore,
) -> None:
    for number in range(40):
        store.put(f"q/{number:02d}", b"x")
    store.delete_all(f"q/{number:02d}" for number in range(1, 50))
    store.delete_all([])
    assert store.list("q") == ["00"]


def test_put_writes_over_what_is_there(store: StateStore) -> None:
    store.put("q/beat", b"1")
    store.put("q/beat", b"2")
    assert store.get("q/beat") == b"2"


def test_the_probe_leaves_nothing_behind(store: StateStore) -> None:
    check_state_store(store)
    assert store.list("") == []


def test_a_store_travels_to_executors(store: StateStore) -> None:
    if not isinstance(store, MemoryStateStore):
        store.put("q/place", b"x")
        assert pickle.loads(pickle.dumps(store)).get("q/place") == b"x"


def test_a_location_whose_put_if_absent_writes_over_is_refused() -> None:
    class CheckThenWrite(MemoryStateStore):
        def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
            self.put(name, data)
            return data

    with pytest.raises(StateLocationError, match="let a second writer win"):
        check_state_store(CheckThenWrite())


def test_a_service_that_ignores_the_precondition_is_refused(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "ignores_preconditions", True)
    with pytest.raises(StateLocationError, match="let a second writer win"):
        check_state_store(open_state_store(f"s3://state/{tmp_path.name}", s3.storage_options))


def test_a_bucket_that_is_not_there_says_so(s3: S3Server) -> None:
    with pytest.raises(StateLocationError, match="s3://not-there/state: cannot be used from here"):
        check_state_store(open_state_store("s3://not-there/state", s3.storage_options))


@pytest.mark.parametrize("url", ["memory://state", "ftp://host/state", "hdfs://name/state"])
def test_a_file_system_without_atomic_put_if_absent_is_refused(url: str) -> None:
    with pytest.raises(StateLocationError, match="not known to have an atomic put-if-absent"):
        open_state_store(url)
    with pytest.raises(ValueError, match=f"not known to have an atomic put-if-absent.*, not '{url}'"):
        state_location(url)


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(StateLocationError, match="must be an absolute path"):
        open_state_store("state")
    with pytest.raises(ValueError, match="must be an absolute path"):
        state_location("state")


@pytest.mark.parametrize("url", ["/srv/state", "file:/srv/state", "file:///srv/state", "s3://bucket/state"])
def test_an_option_for_a_location_opens_nothing(url: str) -> None:
    assert state_location(f" {url}") == url


def test_a_location_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        StateLocationError, match=re.escape(f"{tmp_path}/file/state: cannot be used from here")
    ):
        check_state_store(open_state_store(str(tmp_path / "file" / "state")))


def test_a_file_system_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(StateLocationError, match="no hard links"):
        check_state_store(LocalStateStore(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_writer_killed_half_way_leaves_nothing_that_is_listed_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    store = LocalStateStore(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        store.put_if_absent("q/place", b"half")
    assert store.get("q/place") is None
    assert store.list("q") == []


@contextmanager
def a_full_disk() -> Iterator[None]:
    """No file of this process grows beyond 10 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def write_bad_record(folder: Path) -> None:
    lines = BadRecordLines()
    lines.add({"value": "x" * 99})
    lines.write(BadRecordsLocation(path=str(folder)), ".", "a")


WRITES: dict[str, Callable[[Path], object]] = {
    "put": lambda folder: LocalStateStore(folder).put("a", bytes(99)),
    "put if absent": lambda folder: LocalStateStore(folder).put_if_absent("a", bytes(99)),
    "checkpoint": lambda folder: LocalFolder(folder).write("a", bytes(99)),
    "machine code": lambda folder: _write(folder / "a", "name", bytes(99)),
    "bad records": write_bad_record,
}


@pytest.mark.parametrize("name", WRITES)
def test_a_file_that_cannot_be_written_as_a_whole_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    with a_full_disk(), pytest.raises((OSError, StateLocationError, FolderError)):
        WRITES[name](tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class FailingFileSystem:
    """Fails with an error of a library below fsspec's."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            raise self._error

        return call


STORE_CALLS: dict[str, Callable[[StateStore], object]] = {
    "get": lambda store: store.get("a"),
    "put": lambda store: store.put("a", b""),
    "put if absent": lambda store: store.put_if_absent("a", b""),
    "list": lambda store: store.list("a"),
    "delete": lambda store: store.delete("a"),
    "delete folder": lambda store: store.delete_folder("a"),
}


@pytest.mark.parametrize("call", STORE_CALLS)
@pytest.mark.parametrize(
    "error", [NoCredentialsError(), ReadTimeoutError(endpoint_url="http://s3"), TypeError("x")], ids=type
)
def test_errors_of_libraries_below_the_store_say_which_location_cannot_be_used(
    call: str, error: Exception
) -> None:
    store = ObjectStateStore("s3://bucket/state", {})
    store._opened = (FailingFileSystem(error), "bucket/state")
    with pytest.raises(StateLocationError, match="cannot be used from here") as raised:
        STORE_CALLS[call](store)
    assert "s3://bucket/state" in str(raised.value)
    assert str(error) in str(raised.value)


@pytest.mark.parametrize("below", ["", "/state", "/a/b"])
def test_an_option_that_is_a_file_or_lies_in_one_is_refused_before_anything_starts(
    below: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=f"must be a folder, and {tmp_path}/file is none"):
        state_location(f"file://{tmp_path}/file{below}")


@pytest.mark.parametrize("place", ["/proc/x", "/proc/1/state", "/sys/state"])
def test_an_option_where_no_folder_can_be_made_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="must be a folder that can be written"):
        state_location(place)


def test_an_option_that_is_a_folder_of_someone_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(ValueError, match="by the user who runs the driver"):
        state_location(str(tmp_path))
    assert state_location(f"{tmp_path}/missing") == f"{tmp_path}/missing"
    assert not list(tmp_path.iterdir()), "nothing is made"
