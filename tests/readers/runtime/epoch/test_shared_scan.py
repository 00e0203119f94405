"""Two scans of one epoch on one host ask the outside once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.core.epoch import EpochState
from headwater.readers.runtime.epoch.open_reader import BlockingPartition, SharedScans, open_epoch_reader
from headwater.readers.runtime.epoch.task import EpochReading, ReadingContext
from tests.pages import Library, PageSource, pages, rows_of, start_of
from tests.readings import epoch_task


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    return tmp_path


def opened(
    source: PageSource, epoch: int = 1, stop_at: EpochState | None = None, *, share: bool = True
) -> EpochReading:
    task = epoch_task([start_of("a")], folder=f"query/epoch-{epoch:03d}-x", share_scans=share)
    return open_epoch_reader(source, task, ReadingContext(stop_at=stop_at))


def files(host: Path) -> list[Path]:
    return [found for found in host.rglob("*") if found.is_file()]


def test_the_second_scan_reads_what_the_first_kept() -> None:
    source = PageSource(Library({"a": pages(5, 3)}))
    first = opened(source)
    rows = rows_of(first)
    asked = len(source.library.fetched)
    for _ in range(2):
        second = opened(source, stop_at=first.state())
        assert rows_of(second) == rows
        assert second.state() == first.state()
        second.close()
    assert len(source.library.fetched) == asked


def test_what_a_reader_that_was_left_early_emitted_is_kept_too(host: Path) -> None:
    source = PageSource(Library({"a": pages(5)}))
    first = opened(source)
    batches = iter(first)
    rows = rows_of([next(batches), next(batches)])
    first.close()
    assert len(files(host)) == 1
    assert rows_of(opened(source, stop_at=first.state())) == rows


def test_rows_of_another_state_are_not_taken_for_those_that_are_asked_for() -> None:
    source = PageSource(Library({"a": pages(5)}))
    whole = opened(source)
    rows_of(whole)
    left = opened(PageSource(Library({"a": pages(5)})), share=False)
    batches = iter(left)
    rows = rows_of([next(batches)])
    left.close()
    again = opened(source, stop_at=left.state())
    asked = len(source.library.fetched)
    assert rows_of(again) == rows
    assert len(source.library.fetched) > asked


def test_rows_are_found_when_all_are_written_and_not_before(host: Path) -> None:
    source = PageSource(Library({"a": pages(5)}))
    first = opened(source)
    for _ in first:
        # Whatever state another attempt has come to: none leads to a file that is written still.
        assert all(re.fullmatch(r"[0-9a-f]{32}\.arrow", file.name) for file in files(host))
    [file] = files(host)
    assert file == SharedScans("query/epoch-001-x", 0).file(source, first.state())


def test_ten_scans_at_once_read_the_same_rows_also_while_the_file_is_deleted(host: Path) -> None:
    source = PageSource(Library({"a": pages(20)}))
    first = opened(source)
    rows = rows_of(first)
    scans = [opened(source, stop_at=first.state()) for _ in range(10)]
    files(host)[0].unlink()
    with ThreadPoolExecutor(10) as threads:
        assert all(found == rows for found in threads.map(rows_of, scans))


def test_an_attempt_whose_disk_is_full_half_way_keeps_nothing_and_goes_on(
    host: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    written = 0

    def add(partition: BlockingPartition, batch: pa.RecordBatch) -> None:
        nonlocal written
        written += 1
        if written == 3:
            raise OSError(28, "No space left on device")
        original(partition, batch)

    original = BlockingPartition.add
    monkeypatch.setattr(BlockingPartition, "add", add)
    source = PageSource(Library({"a": pages(5)}))
    first = opened(source)
    assert len(rows_of(first)) == 5
    assert "are not kept for other scans" in caplog.text
    assert not files(host)
    assert len(rows_of(opened(source, stop_at=first.state()))) == 5


def test_without_the_option_nothing_is_written(host: Path) -> None:
    rows_of(opened(PageSource(Library({"a": pages(5)})), share=False))
    assert not files(host)


def test_a_later_epoch_deletes_what_earlier_ones_kept(host: Path) -> None:
    for epoch in (1, 2, 3):
        rows_of(opened(PageSource(Library({"a": pages(5)})), epoch))
    assert [file.parent.name for file in files(host)] == ["epoch-003-x"]


def test_what_queries_of_long_ago_kept_is_deleted(host: Path) -> None:
    rows_of(opened(PageSource(Library({"a": pages(5)}))))
    [query] = SharedScans("query/epoch-001-x", 0)._root.iterdir()
    old = query.rename(query.with_name("old"))
    os.utime(old, (0, 0))
    rows_of(opened(PageSource(Library({"a": pages(5)}))))
    assert not old.exists()
    assert len(files(host)) == 1


def test_a_reader_that_fails_keeps_nothing(host: Path) -> None:
    def fail(_: object) -> None:
        if library.fetched:
            raise RuntimeError("no")

    library = Library({"a": pages(5)}, before_fetch=fail)
    with pytest.raises(RuntimeError, match="no"):
        rows_of(opened(PageSource(library)))
    assert not files(host)


def test_rows_that_cannot_be_kept_are_read_all_the_same(host: Path, caplog: pytest.LogCaptureFixture) -> None:
    scans = SharedScans("query/epoch-001-x", 0)
    scans._root.mkdir(mode=0o755)
    scans._root.chmod(0o755)
    assert len(rows_of(opened(PageSource(Library({"a": pages(5)}))))) == 5
    assert "are not kept for other scans" in caplog.text
    assert not files(host)


def _overwritten(content: bytes, other: bytes) -> bytes:
    """Overwrite the head of the third message: that of the second batch."""
    at = len(b"\xff\xff\xff\xff".join(content.split(b"\xff\xff\xff\xff")[:3]))
    return content[:at] + other + content[at + len(other) :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:0],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: bytes(len(content)),
        lambda content: _overwritten(content, bytes(64)),
        lambda content: _overwritten(content, b"\xff" * 64),
    ],
    ids=["empty", "cut", "one byte short", "zeroed", "zeroed in the middle", "overwritten in the middle"],
)
def test_kept_rows_that_are_damaged_are_read_again(
    host: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    source = PageSource(Library({"a": pages(5, 3)}))
    first = opened(source)
    rows = rows_of(first)
    [kept] = files(host)
    kept.write_bytes(damage(kept.read_bytes()))
    asked = len(source.library.fetched)
    assert rows_of(opened(source, stop_at=first.state())) == rows
    assert len(source.library.fetched) > asked
    assert "are read again" in caplog.text


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    host: Path, caplog: pytest.LogCaptureFixture
) -> None:
    precious = host / "precious"
    (precious / "documents").mkdir(parents=True)
    os.utime(precious / "documents", (0, 0))
    SharedScans("query/epoch-001-x", 0)._root.symlink_to(precious)
    source = PageSource(Library({"a": pages(5)}))
    first = opened(source)
    assert len(rows_of(first)) == 5
    assert len(rows_of(opened(source, stop_at=first.state()))) == 5
    assert [found.name for found in precious.iterdir()] == ["documents"]
    assert "is a link" in caplog.text
