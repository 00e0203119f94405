"""Compiles the kernel once per host, and loads its machine code from then on.

The machine code is kept as a file, whose name is a digest of the kernel's source and the processor. So it is
found again wherever headwater was unpacked: Spark puts ``--py-files`` and ``--archives`` into a new folder
for every application. And hosts with different processors may share a home folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import gc
import hashlib
import importlib.resources
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.core.imports import importing

if TYPE_CHECKING:
    from headwater.readers.kafka.kernel_code import Kernel

log = logging.getLogger(__name__)
_SOURCES = ("kernel.py", "kernel_entry.py", "layout.py")


@functools.cache
def kernel() -> Kernel:
    """Return the compiled kernel.

    Called on executors, with the first record set of a process. The first call in a process takes 0.05 s, on
    a host without the machine code some seconds. Processes that start together wait for the one that
    compiles. If there is no folder to keep the result in, each process compiles for itself, after a warning.

    Raises:
        MissingDependencyError: numba is not installed in this process.
    """
    loaded = _load()
    # Spark's Python daemon collects garbage after every task. Frozen objects, of which the imports made many,
    # are left out of that.
    gc.freeze()
    return loaded


def _load() -> Kernel:
    with importing("the kafka source", extra="kafka"):
        from headwater.readers.kafka.kernel_code import Kernel, processor
    folder = cache_folder()
    if folder is not None:
        try:
            return Kernel(*_cached_in(folder, processor()))
        except OSError as error:
            log.warning("%s cannot hold the compiled kernel: %s", folder, error)
    log.warning(
        "there is no place to keep the compiled kernel; "
        "every Python worker compiles it anew, which takes seconds"
    )
    return Kernel(*_compile())


def _cached_in(folder: Path, processor: str) -> tuple[str, bytes]:
    package = importlib.resources.files("headwater.readers.kafka")
    digest = hashlib.sha256(processor.encode())
    for source in _SOURCES:
        digest.update((package / source).read_bytes())
    path = folder / f"kernel-{digest.hexdigest()[:32]}"
    if found := _read(path):
        return found
    with _locked(folder / "lock"):
        # Again, under the lock: another process may have compiled it while this one waited.
        if found := _read(path):
            return found
        made = _compile()
        _write(path, *made)
        return made


def _compile() -> tuple[str, bytes]:
    with importing("the kafka source", extra="kafka"):
        from headwater.readers.kafka.kernel_entry import compile_kernel
    return compile_kernel()


def _read(path: Path) -> tuple[str, bytes] | None:
    """Return the function's name and the machine code; None if there is no file, or only a part of it."""
    with contextlib.suppress(FileNotFoundError):
        digest, _, content = path.read_bytes().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() == digest:
            name, _, machine_code = content.partition(b"\n")
            return name.decode(), machine_code
    return None


def _write(path: Path, name: str, machine_code: bytes) -> None:
    content = name.encode() + b"\n" + machine_code
    # Written beside and renamed: other processes read without the lock, and see the whole file or none.
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    partial.replace(path)


def cache_folder() -> Path | None:
    """Return the folder for machine code, made if it does not exist; None if there is no place for it.

    ``$XDG_CACHE_HOME/headwater`` or ``~/.cache/headwater``, else ``headwater-<uid>`` in the folder for
    temporary files. The files in it are run. So a folder that belongs to another user, or that others may
    write to, is passed over with a warning.
    """
    for candidate in _candidates():
        try:
            candidate.parent.mkdir(parents=True, exist_ok=True)
            candidate.mkdir(mode=0o700, exist_ok=True)
            found = candidate.lstat()
        except OSError as error:
            log.debug("%s cannot hold the compiled kernel: %s", candidate, error)
            continue
        if (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.getuid()
            and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        ):
            if os.access(candidate, os.R_OK | os.W_OK | os.X_OK):
                return candidate
        else:
            log.warning(
                "%s is not used for the compiled kernel: "
                "it belongs to someone else or others can write to it",
                candidate,
            )
    return None


def _candidates() -> Iterator[Path]:
    if configured := os.environ.get("XDG_CACHE_HOME"):
        yield Path(configured) / "headwater"
    else:
        with contextlib.suppress(RuntimeError):  # a user without a home
            yield Path.home() / ".cache" / "headwater"
    yield Path(tempfile.gettempdir()) / f"headwater-{os.getuid()}"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, which the system releases at the latest when the process ends."""
    with path.open("ab") as file:
        # Without it on a network file system that has no locks: then two processes may compile at once.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
