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
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headwater.core.imports import importing
from headwater.core.local_files import removed_on_failure
from headwater.core.redaction import logger_of

if TYPE_CHECKING:
    from headwater.readers.kernels.machine_code import CompiledFunction

log = logger_of(__name__)

_TELLING_S: Final = 10.0
_COMPILER: Final = "headwater.readers.kernels.compiling"
_IMPORT: Final = re.compile(r"^from (headwater\.[\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


class Kernel:
    """A function that is compiled once per host. It is loaded with its first call in a process.

    Its arguments and its result are 64-bit integers, addresses among them. Any thread may call; the function
    runs on that thread, without the GIL.

    Args:
        module: the dotted name of its module. That and all that it imports are imported only where the
            function has to be compiled. Their text is part of the key under which the machine code is kept.
        function: its name.
        arguments: how many the function takes.
        needed_for: the user of the kernel, for example ``the kafka source``.
        extra: the extra of this package that installs numba for it.
    """

    def __init__(
        self, module: str, function: str, *, arguments: int, needed_for: str, extra: str = "formats"
    ) -> None:
        self._module = module
        self._name = function
        self._arguments = arguments
        self._needed_for = needed_for
        self._extra = extra
        self._loaded: CompiledFunction | None = None

    def __call__(self, *arguments: int) -> int:
        # Threads that come here first at once load it twice, which does no harm.
        return (self._loaded or self.load())(*arguments)

    def load(self) -> CompiledFunction:
        """Load the machine code again, and return it.

        Called on executors, with the first data of a process, and by ``headwater compile``. It takes 0.05 s.
        On a host without the machine code it takes 4 to 8 s of processor time, and 20 s for JSON and CSV.
        Processes that start together wait for the one that compiles. If there is no folder to keep the result
        in, each process compiles for itself, after a warning.

        Raises:
            MissingDependencyError: numba is not installed in this process.
        """
        self._loaded = self._load()
        # Spark's Python daemon collects garbage after every task. Frozen objects, of which the imports made
        # many, are left out of that.
        gc.freeze()
        return self._loaded

    def modules(self) -> Mapping[str, bytes]:
        """Return the text of the function's module and of all of headwater that it imports, by its name."""
        texts: dict[str, bytes] = {}
        queue = [_COMPILER, self._module]
        while queue:
            name = queue.pop()
            if name not in texts and (text := _text_of(name)) is not None:
                texts[name] = text
                for package, names in _IMPORT.findall(text.decode()):
                    queue += [package, *(f"{package}.{name}" for name in re.findall(r"\w+", names))]
        return texts

    def compile(self) -> tuple[str, bytes]:
        """Return the name of the C function, and an object file that holds it."""
        with importing(self._needed_for, extra=self._extra):
            from headwater.readers.kernels.compiling import compile_function

            function = getattr(importlib.import_module(self._module), self._name)
        return compile_function(function, self._arguments)

    def _load(self) -> CompiledFunction:
        with importing(self._needed_for, extra=self._extra):
            from headwater.readers.kernels.machine_code import CompiledFunction, processor
        folder = cache_folder()
        if folder is not None:
            try:
                return CompiledFunction(*self._cached_in(folder, processor()), self._arguments)
            except OSError as error:
                log.warning("%s cannot hold the compiled kernel: %s", folder, error)
        log.warning(
            "there is no place to keep the compiled kernel; "
            "every Python worker compiles it anew, which takes seconds"
        )
        return CompiledFunction(*self.compile(), self._arguments)

    def _cached_in(self, folder: Path, processor: str) -> tuple[str, bytes]:
        digest = hashlib.sha256(f"{processor} {self._module}.{self._name}".encode())
        for _, text in sorted(self.modules().items()):
            digest.update(text)
        path = folder / f"kernel-{digest.hexdigest()[:32]}"
        if machine_code := _read(path):
            return machine_code
        with _locked(folder / "lock"):
            # Again, under the lock: another process may have compiled it while this one waited.
            if machine_code := _read(path):
                return machine_code
            # At once: on a busy machine it takes minutes, in which a query would show nothing.
            log.warning(
                "compiling %s for this host, once: seconds of processor time, more on a busy machine "
                "(before the first query: headwater compile)",
                self._needed_for,
            )
            with _telling(f"compiling {self._needed_for}"):
                machine_code = self.compile()
            _write(path, *machine_code)
            return machine_code


@contextlib.contextmanager
def _telling(what: str) -> Iterator[None]:
    """Say every few seconds that something goes on, and at its end how long it took."""
    began_s = time.monotonic()
    is_over = threading.Event()

    def tell() -> None:
        while not is_over.wait(_TELLING_S):
            log.warning("still %s, after %.0f s", what, time.monotonic() - began_s)

    # Where another process compiles, this one waits for the lock: one process tells, for all.
    threading.Thread(target=tell, name="headwater-telling", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
    log.warning("%s took %.0f s; it is kept", what, time.monotonic() - began_s)


def _text_of(module: str) -> bytes | None:
    """Return the text of a module; None if it is a package or no module."""
    file = importlib.resources.files("headwater").joinpath(*module.split(".")[1:-1])
    file = file.joinpath(f"{module.rpartition('.')[2]}.py")
    return file.read_bytes() if file.is_file() else None


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
    with removed_on_failure(partial):
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
            status = candidate.lstat()
        except OSError as error:
            log.info("%s cannot hold compiled kernels: %s", candidate, error)
            continue
        reason = _refusal(candidate, status)
        if reason is None:
            return candidate
        log.warning("%s is not used for compiled kernels: %s", candidate, reason)
    return None


def _refusal(folder: Path, status: os.stat_result) -> str | None:
    """Return why machine code in a folder is not run, None if it may be."""
    if not stat.S_ISDIR(status.st_mode):
        return "it is a link, or no folder"
    if status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write to it: chmod 700 {folder}"
    return None if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else "it cannot be written"


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
