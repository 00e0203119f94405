"""Loads the kernel's machine code into this process, and calls it.

It needs llvmlite alone, which takes a small part of the time and memory that numba takes.
"""

from __future__ import annotations

import ctypes

import llvmlite
import llvmlite.binding as llvm

from headwater.readers.kafka import layout
from headwater.readers.kafka.layout import BatchArray, ByteArray, Int64Array, address

_POINTER = ctypes.c_void_p
_INT64 = ctypes.c_int64
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, *[_INT64] * 9, _POINTER)


class Kernel:
    """The compiled functions of `headwater.readers.kafka.kernel`.

    One per process. Any thread may call; the functions run on that thread, without the GIL.

    Args:
        name: of the function in the machine code.
        machine_code: the object file that `headwater.readers.kafka.kernel_entry.compile_kernel` made. It is
            run as it is, so it must come from there.
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
        """Call `headwater.readers.kafka.kernel.decode`; ``out`` holds `RowBuffers.addresses`."""
        return self._call(
            layout.FUNCTION_DECODE, data, batches, position, stop, rows, address(tally), address(out)
        )

    def _call(self, function: int, data: ByteArray, batches: BatchArray, *more: int) -> int:
        result = _INT64()
        exception = _POINTER()
        ends = (ctypes.byref(result), ctypes.byref(exception))
        status = self._entry(*ends, function, address(data), data.size, address(batches), batches.size, *more)
        assert status == 0, "the kernel raises nothing"
        return result.value


def processor() -> str:
    """Return what machine code depends on beside its source, as a part of the key of the cache.

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
