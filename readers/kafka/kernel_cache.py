"""Compiles the kernel once per host, and loads it from then on.

The kernel's source is copied into a private folder, under a name made of its own digest, and imported from there. So numba's cache beside it is
found again wherever headwater was unpacked this time: Spark puts ``--py-files`` and ``--archives`` into a new folder for every application.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import gc
import hashlib
import importlib.resources
import importlib.util
import logging
import os
import pickle
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from headwater_core.imports import importing
from readers.kafka.layout import BatchArray, ByteArray, Int64Array, RowBuffers

__all__ = ["Kernel", "cache_folder", "kernel"]

log = logging.getLogger(__name__)
_MODULE = "readers.kafka.kernel"


class Kernel(NamedTuple):
    """The compiled functions; their contracts stand in `readers.kafka.kernel`. They run without the GIL, on the thread that calls them."""

    scan: Callable[[ByteArray, BatchArray], int]
    decode: Callable[[ByteArray, BatchArray, int, int, int, RowBuffers, Int64Array], int]


@functools.cache
def kernel() -> Kernel:
    """Return the compiled kernel: 0.1 s in a process that is the first to ask, some seconds in the first process of a host.

    Called late, on executors, by whoever meets the first record set; numba is imported here and nowhere before. Processes that start together
    wait for the one that compiles. Without a folder to keep the result in, each process compiles for itself, after a warning.

    Raises:
        MissingDependencyError: numba is not installed in this process.
    """
    loaded = _load()
    gc.freeze()  # Spark's Python daemon collects garbage after every task, and would look through all of numba each time
    return loaded


def _load() -> Kernel:
    with importing("the kafka source", extra="kafka"):
        import numba
    folder = cache_folder()
    if folder is not None:
        try:
            return _cached_in(folder, numba.__version__)
        except OSError as error:
            log.warning("%s cannot hold the compiled kernel: %s", folder, error)
    log.warning("there is no place to keep the compiled kernel; every Python worker compiles it anew, which takes seconds")
    return _compile(importlib.import_module(_MODULE), cached=False)


def _cached_in(folder: Path, numba_version: str) -> Kernel:
    package = importlib.resources.files("readers.kafka")
    source, layout = (package / "kernel.py").read_bytes(), (package / "layout.py").read_bytes()
    place = folder / f"{hashlib.sha256(source + layout).hexdigest()[:16]}-numba-{numba_version}"
    with _locked(folder / "lock"), _numba_cache_in(place):
        try:
            return _compile(_relocated(place, source), cached=True)
        except (EOFError, pickle.UnpicklingError):  # a power cut left a file in halves
            shutil.rmtree(place)
            return _compile(_relocated(place, source), cached=True)


def cache_folder() -> Path | None:
    """Return a folder that belongs to this user and that nobody else can write to, made if need be; None if there is none.

    What lies there is run, so a folder of someone else, or one that others may write to, is passed over with a warning.
    ``$XDG_CACHE_HOME/headwater`` or ``~/.cache/headwater`` comes first, then ``headwater-<uid>`` in the folder for temporary files.
    """
    for candidate in _candidates():
        try:
            candidate.parent.mkdir(parents=True, exist_ok=True)
            candidate.mkdir(mode=0o700, exist_ok=True)
            found = candidate.lstat()
        except OSError as error:
            log.debug("%s cannot hold the compiled kernel: %s", candidate, error)
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            if os.access(candidate, os.R_OK | os.W_OK | os.X_OK):
                return candidate
        else:
            log.warning("%s is not used for the compiled kernel: it belongs to someone else or others can write to it", candidate)
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
    """Hold a lock that ends with the process at the latest."""
    with path.open("ab") as file:
        with contextlib.suppress(OSError):  # a network file system without locks: compile twice rather than never
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Make numba cache what is compiled meanwhile in this folder, whatever its environment says."""
    import numba

    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _relocated(place: Path, source: bytes) -> ModuleType:
    place.mkdir(mode=0o700, exist_ok=True)
    path = place / "kernel.py"
    if not path.exists() or path.read_bytes() != source:
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(source)
        partial.replace(path)
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[_MODULE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compile(module: ModuleType, *, cached: bool) -> Kernel:
    import numba

    njit: Any = numba.njit
    # The kernel allocates nothing: without numba's runtime it counts no references either, which would take most of its time.
    options = {"nogil": True, "cache": cached, "_nrt": False}
    return Kernel(njit([module.SCAN_SIGNATURE], **options)(module.scan), njit([module.DECODE_SIGNATURE], **options)(module.decode))
