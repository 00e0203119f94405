"""Compiles the kernel to machine code, as one C function.

Imported only where the kernel has to be compiled, once per host. The machine code needs neither numba nor
Python.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from headwater.readers.kafka.kernel import decode, scan
from headwater.readers.kafka.layout import (
    BATCH,
    FUNCTION_SCAN,
    TALLY_FIELDS,
    BinaryBuffers,
    HeadersBuffers,
    RowBuffers,
)


def _array_of(element: Any) -> Callable[..., Any]:
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


_bytes, _int32s, _int64s, _batches = (
    _array_of(element) for element in (types.uint8, types.int32, types.int64, numba.from_dtype(BATCH))
)


def _enter(  # noqa: PLR0917 - C has no keywords
    function: int,
    data: int,
    data_size: int,
    batches: int,
    batch_count: int,
    position: int,
    stop: int,
    rows: int,
    tally: int,
    out: Any,
) -> int:
    """Call `scan` or `decode` with arrays made of addresses; ``out`` holds `RowBuffers.addresses`."""
    if function == FUNCTION_SCAN:
        return scan(_bytes(data, data_size), _batches(batches, batch_count))
    buffers = RowBuffers(
        BinaryBuffers(_int32s(out[0], out[1]), _bytes(out[2], out[3]), _bytes(out[4], out[5])),
        BinaryBuffers(_int32s(out[6], out[7]), _bytes(out[8], out[9]), _bytes(out[10], out[11])),
        _int64s(out[12], out[13]),
        _int64s(out[14], out[15]),
        _int32s(out[16], out[17]),
        HeadersBuffers(
            _int32s(out[18], out[19]),
            _bytes(out[20], out[21]),
            BinaryBuffers(_int32s(out[22], out[23]), _bytes(out[24], out[25]), _bytes(out[26], out[27])),
            BinaryBuffers(_int32s(out[28], out[29]), _bytes(out[30], out[31]), _bytes(out[32], out[33])),
        ),
    )
    return decode(
        _bytes(data, data_size),
        _batches(batches, batch_count),
        position,
        stop,
        rows,
        buffers,
        _int64s(tally, TALLY_FIELDS),
    )


def compile_kernel() -> tuple[str, bytes]:
    """Return the name of the C function, and an object file that holds it. Takes some seconds.

    By numba's convention the function is ``int32 name(int64 *result, void **exception, ...)``, with the
    arguments of `_enter`, each an int64. It returns 0. The machine code is for this kind of processor only,
    and calls nothing but ``memcpy``.
    """
    # Without numba's runtime (_nrt) no references are counted. The kernel allocates nothing, and to count
    # would take most of its time.
    options: Any = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    signature = types.int64(*[types.int64] * 9, types.CPointer(types.int64))
    compiled: Any = numba.njit([signature], **options)(_enter).overloads[signature.args]
    _, _, (machine_code, _) = compiled.library.serialize_using_object_code()
    return compiled.fndesc.llvm_func_name, machine_code
