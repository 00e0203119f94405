"""Loads machine code into this process, and calls it.

It needs llvmlite alone, which takes a small part of the time and memory that numba takes.
"""

from __future__ import annotations

import ctypes

import llvmlite
import llvmlite.binding as llvm

_POINTER = ctypes.c_void_p
_INT64 = ctypes.c_int64


class CompiledFunction:
    """One C function of 64-bit integers, addresses among them.

    Any thread may call; the function runs on that thread, without the GIL.

    Args:
        name: of the function in the machine code.
        machine_code: the object file that `headwater.readers.kernels.compiling.compile_function` made. It is
            run as it is, so it must come from there.
        arguments: how many the function takes.
    """

    def __init__(self, name: str, machine_code: bytes, arguments: int) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)  # owns the code's memory
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
        self._engine.finalize_object()
        entry = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, *[_INT64] * arguments)
        self._entry = entry(self._engine.get_function_address(name))

    def __call__(self, *arguments: int) -> int:
        result = _INT64()
        exception = _POINTER()
        status = self._entry(ctypes.byref(result), ctypes.byref(exception), *arguments)
        assert status == 0, "kernels raise nothing"
        return result.value


def processor() -> str:
    """Return the dependencies of machine code beside its source, as a part of the key of the cache.

    The processor with its features, and the version of llvmlite, each of which goes with one numba.
    """
    return " ".join(
        [
            llvmlite.__version__,
            llvm.get_process_triple(),
            llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(),
        ]
    )
