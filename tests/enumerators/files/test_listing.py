"""Listings of the local disk, of any file system of fsspec, and of S3."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    HeadwaterError,
    NoConnectionError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.core.retry import Backoff, retrying
from headwater.enumerators.files import listing
from headwater.enumerators.files.cleaner import CleanSource, FileCleaner
from headwater.enumerators.files.filesystem import file_errors, open_file_system
from headwater.enumerators.files.listing import FileLister, S3Lister, lister_for, present_status
from headwater.enumerators.files.selection import SelectedPath
from headwater.enumerators.files.settings import MatchingLister
from headwater.enumerators.files.split import FileStatus
from tests.s3_server import S3Server

NAMES = {"a.csv", "k=1/b.csv", "k=1/l=2/c.csv", "_hidden", "k=1/.x"}


def ask(call: Callable[[], Any], what: str) -> Any:
    return retrying(
        call, backoff=Backoff(60_000), clock=ManualClock(), cancelled=threading.Event(), what=what
    )


def listed(lister: FileLister) -> list[FileStatus]:
    return sorted(file for page in lister.pages() for file in page)


def names(lister: FileLister) -> list[str]:
    return [file.url.rpartition("/in/")[2] for file in listed(lister)]


@pytest.fixture(params=["local", "memory", "s3"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    """A folder with files, and how to reach it."""
    url, options = {
        "local": (f"{tmp_path}/in", {}),
        "memory": (f"memory://{tmp_path.name}/in", {}),
        "s3": ("s3://listing/in", {}),
    }[request.param]
    if request.param == "s3":
        options = request.getfixturevalue("s3").storage_options
    fs, path = open_file_system(url, options)
    if fs.exists(path):
        fs.rm(path, recursive=True)
    for name in NAMES:
        fs.makedirs(f"{path}/{name}".rpartition("/")[0], exist_ok=True)
        fs.pipe(f"{path}/{name}", b"x")
    fs.pipe(f"{path}/empty.csv", b"")
    if request.param != "local":
        fs.pipe(f"{path}side/e.csv", b"x")
    return url, options


def test_the_same_files_are_found_everywhere(root: tuple[str, dict[str, Any]]) -> None:
    url, options = root
    assert names(lister_for(SelectedPath(url), options, ask)) == ["a.csv", "k=1/b.csv", "k=1/l=2/c.csv"]
    assert names(lister_for(SelectedPath(url, recursive=True), options, ask)) == [
        "a.csv",
        "k=1/b.csv",
        "k=1/l=2/c.csv",
    ]
    assert names(lister_for(SelectedPath(f"{url}/a.csv"), options, ask)) == ["a.csv"]
    assert names(lister_for(SelectedPath(url, name_filter="b*"), options, ask)) == ["k=1/b.csv"]


def test_files_beside_folders_of_columns_are_refused_as_in_spark_if_these_have_any(
    root: tuple[str, dict[str, Any]],
) -> None:
    url, options = root
    fs, path = open_file_system(url, options)
    fs.makedirs(f"{path}/sub", exist_ok=True)
    fs.pipe(f"{path}/sub/_d.csv", b"x")
    assert "a.csv" in names(lister_for(SelectedPath(url), options, ask))
    fs.pipe(f"{path}/sub/d.csv", b"x")
    said = r"files lie in key=value folders, and elsewhere: .*/k=1/(b|l=2/c)\.csv and .*/sub/d\.csv"
    with pytest.raises(SourceError, match=said):
        names(lister_for(SelectedPath(url), options, ask))
    assert names(lister_for(SelectedPath(url, name_filter="[bc]*"), options, ask)) == [
        "k=1/b.csv",
        "k=1/l=2/c.csv",
    ]
    assert "sub/d.csv" in names(lister_for(SelectedPath(url, recursive=True), options, ask))
    assert names(lister_for(SelectedPath(f"{url}/s*"), options, ask)) == ["sub/d.csv"]
    for name in ("k=1/b.csv", "k=1/l=2/c.csv"):
        fs.rm(f"{path}/{name}")
    assert names(lister_for(SelectedPath(url), options, ask)) == ["a.csv"]


def test_a_pattern_of_a_batch_must_match_a_file_or_a_folder(root: tuple[str, dict[str, Any]]) -> None:
    url, options = root
    for pattern, is_there in (("e*.csv", True), ("k=*", True), ("k=*/n*", False), ("a.c*/x*", False)):
        path = SelectedPath(f"{url}/{pattern}")
        lister = MatchingLister(lister_for(path, options, ask), path, options)
        with nullcontext() if is_there else pytest.raises(UnknownSplitError, match="matches this pattern"):
            listed(lister)


def test_a_file_is_the_same_in_a_listing_and_when_it_is_opened(root: tuple[str, dict[str, Any]]) -> None:
    url, options = root
    for file in listed(lister_for(SelectedPath(url), options, ask)):
        assert file.size_bytes == 1
        assert file.modified_us > 1_700_000_000_000_000
        fs, path = open_file_system(file.url, options)
        assert file.same_content(present_status(fs, path))
        fs.pipe(path, b"longer")
        assert not file.same_content(present_status(fs, path))


def test_committed_files_are_deleted_or_archived_everywhere(
    root: tuple[str, dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    url, options = root
    first, second, third = listed(lister_for(SelectedPath(url), options, ask))
    deleting = FileCleaner(CleanSource(archive_dir=None, storage_options=options))
    moving = FileCleaner(CleanSource(archive_dir=url.replace("/in", "/old"), storage_options=options))
    deleting.clean([first, first, third._replace(size_bytes=7)])
    moving.clean([second])
    assert deleting.wait(30_000)
    assert moving.wait(30_000)
    deleting.close()
    moving.close()
    assert names(lister_for(SelectedPath(url), options, ask)) == ["k=1/l=2/c.csv"]
    old = lister_for(SelectedPath(url.replace("/in", "/old"), recursive=True), options, ask)
    assert [file.url.rpartition("/")[2] for file in listed(old)] == ["b.csv"]
    assert "it stays" in caplog.text


def test_local_folders_come_in_pages_and_what_vanishes_meanwhile_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_PAGE_FILES", 10)
    for number in range(25):
        (tmp_path / f"{number}").write_text("x")
    (tmp_path / "k=1").mkdir()
    pages = lister_for(SelectedPath(str(tmp_path)), {}, ask).pages()
    assert len(next(pages)) == 10
    (tmp_path / "k=1").rmdir()
    assert [len(page) for page in pages] == [10, 5, 0]


def test_s3_comes_in_pages_and_throttling_is_asked_again(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_PAGE_FILES", 10)
    fs, _ = open_file_system("s3://paged", s3.storage_options)
    for number in range(35):
        fs.pipe(f"paged/in/{number:02}", b"x")
    only_ours = {**s3.storage_options, "config_kwargs": {"retries": {"total_max_attempts": 1}}}
    lister = lister_for(SelectedPath("s3://paged/in"), only_ours, ask)
    assert isinstance(lister, S3Lister)
    s3.throttle(7)  # more than the five attempts of s3fs
    assert [len(page) for page in lister.pages()] == [10, 10, 10, 5]
    assert s3.throttled == 7


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FileNotFoundError("x"), UnknownSplitError),
        (PermissionError("x"), AuthorizationError),
        (OSError(16, "slow down"), TransientSourceError),
        (TimeoutError(), TransientSourceError),
        (ConnectionResetError(), TransientSourceError),
        (OSError(27, "too large"), SourceError),
        (
            type("NoCredentialsError", (Exception,), {"__module__": "botocore.exceptions"})(),
            AuthenticationError,
        ),
        (
            type("EndpointConnectionError", (Exception,), {"__module__": "botocore.exceptions"})(),
            NoConnectionError,
        ),
        (SourceError("ours"), SourceError),
        (ZeroDivisionError(), ZeroDivisionError),
    ],
)
def test_errors_of_file_systems_become_those_of_headwater(error: Exception, kind: type[Exception]) -> None:
    # Any type may come out: which one is looked at below.
    with pytest.raises(Exception) as caught, file_errors("listing", "s3://b/x"):  # noqa: PT011
        raise error
    assert type(caught.value) is kind
    assert (
        not isinstance(caught.value, HeadwaterError)
        or error is caught.value
        or "[source files, split s3://b/x]" in str(caught.value)
    )


def test_an_unknown_file_system_is_an_option_error() -> None:
    with pytest.raises(OptionError, match="nope"):
        open_file_system("nope://x", {})
    with pytest.raises(UnknownSplitError):
        listed(lister_for(SelectedPath("memory://not-there"), {}, ask))


@pytest.mark.parametrize("recursive", [False, True])
def test_links_that_lead_to_no_end_end_no_listing(tmp_path: Path, *, recursive: bool) -> None:
    """As far as the system follows links to a folder above, the files there are files, as in Spark."""
    root = tmp_path / "in"
    (root / "sub").mkdir(parents=True)
    (root / "a.csv").write_text("x")
    (root / "sub" / "up").symlink_to(root, target_is_directory=True)
    (root / "self").symlink_to("self")
    (root / "nowhere").symlink_to("gone")
    found = names(lister_for(SelectedPath(str(root), recursive=recursive), {}, ask))
    assert found[0] == "a.csv"
    again = [f"{'sub/up/' * times}a.csv" for times in range(1, 41)] if recursive else []
    assert sorted(found[1:]) == sorted(again)
