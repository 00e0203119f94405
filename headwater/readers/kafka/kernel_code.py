"""The kernel's machine code in this process.

Loaded with llvmlite alone, which takes a small part of the time and memory that numba takes.
"""

from __future__ import annotations

import ctypes

import llvmlite
import llvmlite.binding as llvm

from headwater.readers.kafka import layout
from headwater.readers.kafka.layout import BatchArray, ByteArray, Int64Array, address

__all__ = ["Kernel", "processor"]

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, *[_INT64] * 9, _POINTER)


class Kernel:
    """The compiled functions; what they do stands in `headwater.readers.kafka.kernel`.

    They run without the GIL, on the thread that calls them.

    One in a process; any thread may call.

    Args:
        name: of the function in the machine code.
        machine_code: an object file, as `headwater.readers.kafka.kernel_entry.compile_kernel` makes it. It is
            run: it must come from there.
    """

    def __init__(self, name: str, machine_code: bytes) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)  # owns the code's memory
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
        self._engine.finalize_object()
        self._entry = _ENTRY(self._engine.get_function_address(name))

    def scan(self, data: ByteArray, batches: BatchArray) -> int:
        """Call `headwater.readers.kafka.kernel.scan`."""
        return self._call(layout.FUNCTION_SCAN, data, batches, 0, 0, 0, 0, 0)

    def decode(  # noqa: PLR0917 - as the kernel has them
        self,
        data: ByteArray,
        batches: BatchArray,
        position: int,
        stop: int,
        rows: int,
        out: Int64Array,
        tally: Int64Array,
    ) -> int:
        """Call `headwater.readers.kafka.kernel.decode`; ``out`` is `RowBuffers.addresses`."""
        return self._call(
            layout.FUNCTION_DECODE, data, batches, position, stop, rows, address(tally), address(out)
        )

    def _call(self, function: int, data: ByteArray, batches: BatchArray, *more: int) -> int:
        result, exception = _INT64(), _POINTER()
        ends = (ctypes.byref(result), ctypes.byref(exception))
        status = self._entry(*ends, function, address(data), data.size, address(batches), batches.size, *more)
        assert status == 0, "the kernel raises nothing"
        return result.value


def processor() -> str:
    """Return what machine code depends on.

    The processor with all that it can do, and what made the code (each llvmlite goes with one numba).
    """
    return f"{llvmlite.__version__} {llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
