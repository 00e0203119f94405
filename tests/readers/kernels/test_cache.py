"""The kernel is compiled once per host, and nothing that others could have written is run."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from headwater.readers.formats.avro import decoder as avro
from headwater.readers.formats.json import json_decoder
from headwater.readers.formats.protobuf import decoder as protobuf
from headwater.readers.kafka import record_set
from headwater.readers.kafka.layout import BATCH
from headwater.readers.kafka.record_set import KERNEL
from headwater.readers.kernels import cache
from headwater.readers.kernels import machine_code as machine_codes
from headwater.readers.kernels.cache import Kernel, cache_folder
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]

LOAD = """
import sys
sys.path.insert(0, sys.argv[1])
from headwater.readers.kafka.record_set import KERNEL
KERNEL.load()
print("compiled" if "numba" in sys.modules else "loaded")
"""


@pytest.fixture(scope="module")
def first_loads(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A host on which two processes, started at once, were the first to load the kernel.

    And what they said.
    """
    host = tmp_path_factory.mktemp("host")
    return host, [said(process) for process in [start(host), start(host)]]


@pytest.fixture
def warm(
    first_loads: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A host with a compiled kernel, which the test may spoil: the kernel is restored afterwards."""
    cache = first_loads[0] / "cache"
    shutil.copytree(cache, tmp_path / "saved")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    yield first_loads[0]
    shutil.rmtree(cache)
    shutil.copytree(tmp_path / "saved", cache)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def start(home: Path, root: Path = ROOT, **environment: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(home / "cache"), "PYTHONPATH": "", **environment}
    return subprocess.Popen(
        [sys.executable, "-c", LOAD, str(root)], env=environment, stdout=subprocess.PIPE, text=True, cwd=home
    )


def said(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    return output.strip()


def test_processes_that_start_together_compile_once(first_loads: tuple[Path, list[str]]) -> None:
    assert sorted(first_loads[1]) == ["compiled", "loaded"]


def test_a_compiled_kernel_is_loaded_without_numba(warm: Path) -> None:
    assert said(start(warm)) == "loaded"


def test_the_kernel_is_private(first_loads: tuple[Path, list[str]]) -> None:
    host, _ = first_loads
    folder = host / "cache" / "headwater"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(file.name.partition("-")[0] for file in folder.iterdir()) == ["kernel", "lock"]


def test_the_cache_is_found_wherever_headwater_was_unpacked_this_time(warm: Path) -> None:
    moved = warm / "somewhere" / "else"
    moved.mkdir(parents=True)
    (moved / "headwater").symlink_to(ROOT / "headwater")
    assert said(start(warm, moved)) == "loaded"


def test_a_compilation_that_takes_long_says_that_it_goes_on_and_how_long_it_took(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = threading.Event()
    monkeypatch.setattr(cache, "_TELLING_S", 0.001)

    def hear(_: logging.LogRecord) -> bool:
        told.set()
        return True

    monkeypatch.setattr(cache.log, "filters", [hear])
    with cache._telling("compiling JSON"):
        assert told.wait(PATIENCE_S)
    assert caplog.messages[0].startswith("still compiling JSON, after ")
    assert caplog.messages[-1].startswith("compiling JSON took ")


@pytest.mark.parametrize("kernel", [KERNEL, avro.KERNEL, json_decoder.KERNEL, protobuf.KERNEL])
def test_the_key_covers_every_module_that_becomes_machine_code(kernel: Kernel) -> None:
    program = """
import importlib, sys
importlib.import_module(sys.argv[1])
for name, module in sys.modules.items():
    if name.startswith("headwater.readers.") and not hasattr(module, "__path__"):
        print(name)
"""
    module = kernel._module
    result = subprocess.run(
        [sys.executable, "-c", program, module], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = kernel.modules()
    assert set(result.stdout.split()) <= set(modules)
    assert modules[module] == (ROOT / f"{module.replace('.', '/')}.py").read_bytes()


def test_another_processor_has_machine_code_of_its_own(warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set((warm / "cache" / "headwater").iterdir())
    monkeypatch.setattr(machine_codes, "processor", lambda: "a processor that can do less")
    KERNEL.load()
    assert len(set((warm / "cache" / "headwater").iterdir()) - before) == 1


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
def test_a_folder_that_others_can_write_to_is_passed_over(
    mode: int, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine = home / "cache" / "headwater"
    mine.mkdir(parents=True)
    mine.chmod(mode)
    with caplog.at_level(logging.WARNING):
        assert cache_folder() == home / "tmp" / f"headwater-{os.getuid()}"
    assert "others can write to it" in caplog.text


def test_a_link_is_passed_over(home: Path) -> None:
    (home / "elsewhere").mkdir(mode=0o700)
    (home / "cache").mkdir()
    (home / "cache" / "headwater").symlink_to(home / "elsewhere")
    assert cache_folder() == home / "tmp" / f"headwater-{os.getuid()}"


def test_a_folder_of_another_user_is_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "cache" / "headwater").mkdir(parents=True, mode=0o700)
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert cache_folder() is None


def test_without_xdg_it_is_the_home_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(home))
    assert cache_folder() == home / ".cache" / "headwater"


def test_without_any_folder_the_kernel_is_compiled_for_this_process(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("cache", "tmp"):
        (home / name).rmdir() if (home / name).exists() else None
        (home / name).write_text("a file stands where a folder should be")
    with caplog.at_level(logging.WARNING):
        KERNEL.load()
    assert record_set.scan_headers(np.zeros(100, np.uint8), np.empty(0, BATCH)) == 1
    assert "compiles it anew" in caplog.text


def test_the_machine_code_wants_nothing_of_numba_or_python() -> None:
    _, machine_code = KERNEL.compile()
    # Whatever is called is named in the object file: to count a reference takes ten times as long as decoding
    # does.
    assert b"memcpy\0" in machine_code
    for foreign in (b"NRT_", b"numba_gil_ensure", b"PyErr_"):
        assert foreign not in machine_code


@pytest.mark.parametrize("kept", [50, 5000])
def test_a_broken_cache_is_made_anew(kept: int, warm: Path) -> None:
    (file,) = (warm / "cache" / "headwater").glob("kernel-*")
    file.write_bytes(file.read_bytes()[:kept])
    assert said(start(warm)) == "compiled"
    assert said(start(warm)) == "loaded"


def test_a_process_loads_the_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    record_set.scan_headers(np.zeros(100, np.uint8), np.empty(0, BATCH))
    monkeypatch.setattr(KERNEL, "load", lambda: pytest.fail("loaded again"))
    record_set.scan_headers(np.zeros(100, np.uint8), np.empty(0, BATCH))


@pytest.mark.parametrize("missing", ["numba", "llvmlite"])
def test_without_numba_the_first_record_set_says_what_to_install(missing: str, tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["{missing}"] = None
from headwater.core.errors import MissingDependencyError
from headwater.readers.kafka.record_set import RecordSet, next_offset
try:
    next_offset(RecordSet(bytes(100)), "orders-3")
except MissingDependencyError as error:
    print(error)
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert f"needs {missing}" in found.stdout
    assert "pip install 'headwater[kafka]'" in found.stdout


def test_nothing_that_the_driver_imports_imports_numba() -> None:
    program = """
import sys
import headwater.readers.kafka.columns, headwater.readers.kafka.record_set, headwater.readers.kafka.emitter
print({"numba", "llvmlite"} & set(sys.modules) or None)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "None"
