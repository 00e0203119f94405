"""Compiles a kernel's entry to machine code, as one C function.

Imported only where a kernel has to be compiled, once per host. The machine code needs neither numba nor
Python.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numba
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

log = logging.getLogger(__name__)


def array_of(element: Any) -> Callable[..., Any]:
    """Return a function for compiled code that makes an array of an address and a length."""
    kind = types.Array(element, 1, "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def view(_typing: Any, address: Any, length: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            array = arrayobj.make_array(kind)(context, builder)
            size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(element)))
            data = builder.inttoptr(given[0], array.data.type)
            arrayobj.populate_array(
                array, data=data, shape=[given[1]], strides=[size], itemsize=size, meminfo=None
            )
            return array._getvalue()  # noqa: SLF001 - how numba's own constructors end

        return kind(address, length), codegen

    return view


def compile_function(function: Callable[..., Any], arguments: int) -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it. Takes some seconds.

    By numba's convention the function is ``int32 name(int64 *result, void **exception, ...)``, with the
    arguments of ``function``, each an int64. It returns 0. The machine code is for this kind of processor
    only, and calls nothing but functions of the C library.
    """
    # Without numba's runtime (_nrt) no references are counted. Kernels allocate nothing, and to count would
    # take most of their time.
    options: Any = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    signature = types.int64(*[types.int64] * arguments)
    # The second time only the entry is left to compile, with all that it calls.
    if replacements := _replacements():
        with _replaced(replacements):
            numba.njit([signature], **options)(function)
    compiled: Any = numba.njit([signature], **options)(function).overloads[signature.args]
    _, _, (machine_code, _) = compiled.library.serialize_using_object_code()
    return compiled.fndesc.llvm_func_name, machine_code


class _Replacement(NamedTuple):
    """An attribute of numba, and what takes its place."""

    owner: Any
    name: str
    value: Any


def _replacements() -> Sequence[_Replacement]:
    """Return what lets numba leave functions as LLVM's intermediate code, not optimized, not machine code.

    Else it makes that of each function with all that it calls, again and again, which takes most of the time.
    Nothing calls them but functions that are compiled later, and those take the intermediate code.

    These are internals of numba. Where it has them no more there is nothing to replace: kernels are the same,
    and take longer to compile.
    """
    config: Any = numba.config
    try:
        from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen

        found = [
            _Replacement(config, "OPT", type(config.OPT)(0)),
            _Replacement(CPUCodeLibrary, "_optimize_final_module", _leave),
            _Replacement(CPUCodeLibrary, "_finalize_final_module", _finish),
            _Replacement(JITCPUCodegen, "set_env", _leave),
        ]
        for owner, name, _ in found:
            getattr(owner, name)
    except (AttributeError, ImportError, TypeError) as error:
        log.debug(
            "numba %s has other internals (%s): kernels take longer to compile", numba.__version__, error
        )
        return []
    return found


@contextlib.contextmanager
def _replaced(replacements: Sequence[_Replacement]) -> Iterator[None]:
    from numba.core.compiler_lock import global_compiler_lock

    kept = [getattr(owner, name) for owner, name, _ in replacements]
    with global_compiler_lock:  # no other thread compiles
        for owner, name, value in replacements:
            setattr(owner, name, value)
        try:
            yield
        finally:
            for (owner, name, _), value in zip(replacements, kept, strict=True):
                setattr(owner, name, value)


def _leave(*_arguments: Any) -> None:
    pass


def _finish(library: Any) -> None:
    library._finalized = True  # noqa: SLF001 - as numba's own method ends
