"""Kernels become machine code, also with a numba that is another one inside."""

from __future__ import annotations

import logging
from typing import Any

import numba
import pytest
from numba.core import codegen, dispatcher

from headwater.readers.kernels.compiling import compile_function
from headwater.readers.kernels.machine_code import CompiledFunction
from headwater.readers.kernels.memory import called


@called
def _twice(number: int) -> int:
    return 2 * number


def _sum(one: int, other: int) -> int:
    return _twice(one) + other


@pytest.fixture(autouse=True)
def _started() -> None:
    """Let numba have all that it needs of its own internals."""
    numba.njit("int64(int64)")(lambda number: number)


def test_the_numba_that_is_installed_has_the_internals_that_are_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, "headwater.readers.kernels.compiling"):
        assert CompiledFunction(*compile_function(_sum, 2), 2)(20, 2) == 42
    assert not caplog.records


@pytest.mark.parametrize("name", ["CPUCodeLibrary", "JITCPUCodegen"])
def test_without_these_internals_kernels_are_compiled_all_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(codegen, name)
    with caplog.at_level(logging.DEBUG, "headwater.readers.kernels.compiling"):
        compiled = compile_function(_sum, 2)
    assert CompiledFunction(*compiled, 2)(20, 2) == 42
    (said,) = caplog.messages
    assert f"numba {numba.__version__} has other internals" in said
    assert name in said


def test_a_function_is_compiled_once_for_all_constants() -> None:
    @called
    def times(number: int, factor: int) -> int:
        return factor * number

    def twice_and_thrice(number: int) -> int:
        return times(number, 2) + times(number, 3)

    assert CompiledFunction(*compile_function(twice_and_thrice, 1), 1)(7) == 35
    compiled: Any = times
    assert len(compiled.overloads) == 1


def test_numba_is_as_it_was_after_a_kernel_was_compiled() -> None:
    kept = _internals()
    compile_function(_sum, 2)
    assert _internals() == kept


def _internals() -> list[Any]:
    config: Any = numba.config
    return [
        config.OPT,
        codegen.CPUCodeLibrary.finalize,
        codegen.JITCPUCodegen.set_env,
        dispatcher.Dispatcher.get_call_template,
    ]
