"""Compiles each kernel once per host, and loads its machine code from then on.

The machine code is kept as a file, whose name is a digest of the kernel's source and the processor. So it is
found again wherever headwater was unpacked: Spark puts ``--py-files`` and ``--archives`` into a new folder
for every application. And hosts with different processors may share a home folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import hashlib
import importlib
import importlib.resources
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.core.imports import importing

if TYPE_CHECKING:
    from headwater.readers.kernels.machine_code import CompiledFunction

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class KernelSource:
    """A kernel before it is compiled.

    Attributes:
        modules: dotted names of all modules of which the machine code depends. Their text is part of the key
            under which the machine code is kept.
        entry: the module, one of ``modules``, whose ``compile_kernel()`` returns the name of the function and
            the object file. Imported only where the kernel has to be compiled.
        arguments: how many arguments the function takes.
        needed_for: what needs the kernel, for example ``the kafka source``.
        extra: the extra of this package that installs numba for it.
    """

    modules: tuple[str, ...]
    entry: str
    arguments: int
    needed_for: str
    extra: str


def load_kernel(source: KernelSource) -> CompiledFunction:
    """Return the compiled kernel. Callers keep it: each call loads it again.

    Called on executors, with the first data of a process, and by ``headwater compile``. It takes 0.05 s. On a
    host without the machine code it takes 2 to 4 s of processor time, and 10 s for JSON. Processes that start
    together wait for the one that compiles. If there is no folder to keep the result in, each process
    compiles for itself, after a warning.

    Raises:
        MissingDependencyError: numba is not installed in this process.
    """
    loaded = _load(source)
    # Spark's Python daemon collects garbage after every task. Frozen objects, of which the imports made many,
    # are left out of that.
    gc.freeze()
    return loaded


def _load(source: KernelSource) -> CompiledFunction:
    with importing(source.needed_for, extra=source.extra):
        from headwater.readers.kernels.machine_code import CompiledFunction, processor
    folder = cache_folder()
    if folder is not None:
        try:
            return CompiledFunction(*_cached_in(folder, source, processor()), source.arguments)
        except OSError as error:
            log.warning("%s cannot hold the compiled kernel: %s", folder, error)
    log.warning(
        "there is no place to keep the compiled kernel; "
        "every Python worker compiles it anew, which takes seconds"
    )
    return CompiledFunction(*_compile(source), source.arguments)


def _cached_in(folder: Path, source: KernelSource, processor: str) -> tuple[str, bytes]:
    digest = hashlib.sha256(processor.encode())
    for module in source.modules:
        package, _, name = module.rpartition(".")
        digest.update((importlib.resources.files(package) / f"{name}.py").read_bytes())
    path = folder / f"kernel-{digest.hexdigest()[:32]}"
    if found := _read(path):
        return found
    with _locked(folder / "lock"):
        # Again, under the lock: another process may have compiled it while this one waited.
        if found := _read(path):
            return found
        made = _compile(source)
        _write(path, *made)
        return made


def _compile(source: KernelSource) -> tuple[str, bytes]:
    with importing(source.needed_for, extra=source.extra):
        entry = importlib.import_module(source.entry)
    name, machine_code = entry.compile_kernel()
    return name, machine_code


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
