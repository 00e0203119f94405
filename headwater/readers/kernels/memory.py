"""Memory by address, for kernels: loads, stores, copies, scans of many bytes at once, and some arithmetic.

Each function is a few instructions of the processor, compiled into its caller. Addresses are int64. They need
no alignment, and nothing is checked: callers know that the bytes are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

int64 = cast("Callable[[Any], int]", numba.int64)
"""Makes an integer of 64 bits with a sign: numba makes a float of one with and one without a sign."""

_INT8 = ir.IntType(8)
_INT16 = ir.IntType(16)
_INT32 = ir.IntType(32)
_INT64 = ir.IntType(64)
_INT128 = ir.IntType(128)
_FLOAT = ir.FloatType()
_DOUBLE = ir.DoubleType()
_CHUNK = ir.VectorType(_INT8, 32)

_OPTIONS: Any = {
    "error_model": "numpy",
    # Only compiled code calls these functions: the wrappers for Python would take time to compile.
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    # There is nothing to rewrite in them, neither operations on arrays nor constant indexes of tuples. To
    # look for that would take a tenth of the time.
    "no_rewrites": True,
}

RARE: list[Any] = []
"""All functions of `rare`."""

CHUNK_BYTES = 32
"""How many bytes `copy_chunk` and `plain_text` take at once. They may lie beyond the end of a value."""


def inlined(function: F) -> F:
    """Compile a function that LLVM makes a part of its callers' machine code if it is short."""
    return cast("F", numba.njit(**_OPTIONS)(function))


def always_inlined(function: F) -> F:
    """Compile a function as a part of its callers' machine code, however large it is.

    For the path of each field of each row: a call costs as much as the work of most of these. With
    many callers it takes long to compile.
    """
    return cast("F", numba.njit(forceinline=True, **_OPTIONS)(function))


def called(function: F) -> F:
    """Compile a function once, to be called: for long or rare code."""
    return cast("F", numba.njit(inline="never", **_OPTIONS)(function))


def rare(function: F) -> F:
    """Compile a function that is hardly ever called, out of the way of its callers.

    LLVM keeps its code apart, and the registers of its callers for what is done each time.
    """
    RARE.append(compiled := numba.njit(inline="never", **_OPTIONS)(function))
    return cast("F", compiled)


def _load(kind: Any, stored: Any, widen: str | None = None) -> Callable[..., Any]:
    @intrinsic  # type: ignore[untyped-decorator]
    def load(_typing: Any, _address: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], stored.as_pointer()), align=1)
            return value if widen is None else getattr(builder, widen)(value, _INT64)

        return kind(types.int64), codegen

    return cast("Callable[..., Any]", load)


def _store(kind: Any, stored: Any, narrow: str | None = None) -> Callable[..., Any]:
    @intrinsic  # type: ignore[untyped-decorator]
    def store(_typing: Any, _address: Any, _value: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = arguments[1] if narrow is None else getattr(builder, narrow)(arguments[1], stored)
            builder.store(value, builder.inttoptr(arguments[0], stored.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.none(types.int64, kind), codegen

    return cast("Callable[..., Any]", store)


load_byte = _load(types.int64, _INT8, "zext")
"""Return a byte, 0 to 255."""
load_int32 = _load(types.int64, _INT32, "sext")
load_int64 = _load(types.int64, _INT64)
load_uint64 = _load(types.uint64, _INT64)
load_float = _load(types.float32, _FLOAT)
store_byte = _store(types.int64, _INT8, "trunc")
"""Store the lowest 8 bits."""
store_int16 = _store(types.int64, _INT16, "trunc")
store_int32 = _store(types.int64, _INT32, "trunc")
store_int64 = _store(types.int64, _INT64)
store_float = _store(types.float32, _FLOAT)
store_double = _store(types.float64, _DOUBLE)


# Intrinsics, because a function would be compiled anew for each constant that it is called with.
@intrinsic  # type: ignore[untyped-decorator]
def _get(_typing: Any, _base: Any, _index: Any) -> Any:
    """Return one of the 64-bit numbers that begin at an address."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(
            builder.gep(builder.inttoptr(arguments[0], _INT64.as_pointer()), [arguments[1]]), align=1
        )

    return types.int64(types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _put(_typing: Any, _base: Any, _index: Any, _value: Any) -> Any:
    """Set one of the 64-bit numbers that begin at an address."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.gep(builder.inttoptr(arguments[0], _INT64.as_pointer()), [arguments[1]])
        builder.store(arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), codegen


get = cast("Callable[[int, int], int]", _get)
put = cast("Callable[[int, int, int], None]", _put)


@intrinsic  # type: ignore[untyped-decorator]
def copy_bytes(_typing: Any, _to: Any, _source: Any, _size: Any) -> Any:
    """Copy bytes, which do not overlap, with the C library's memcpy."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        to, source = (builder.inttoptr(address, _INT8.as_pointer()) for address in arguments[:2])
        cgutils.raw_memcpy(builder, to, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _reallocate(_typing: Any, _address: Any, _size: Any) -> Any:
    """Return larger memory of the C library, with the content of that at an address; 0 if there is none.

    The address 0 stands for no memory yet.
    """

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = _INT8.as_pointer()
        declared = ir.FunctionType(pointer, [pointer, _INT64])
        function = cgutils.get_or_insert_function(builder.module, declared, "realloc")
        memory = builder.call(function, [builder.inttoptr(arguments[0], pointer), arguments[1]])
        return builder.ptrtoint(memory, _INT64)

    return types.int64(types.int64, types.int64), codegen


reallocate = cast("Callable[[int, int], int]", _reallocate)


@intrinsic  # type: ignore[untyped-decorator]
def copy_chunk(_typing: Any, _to: Any, _source: Any) -> Any:
    """Copy `CHUNK_BYTES` bytes."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        to, source = (builder.inttoptr(address, _CHUNK.as_pointer()) for address in arguments)
        builder.store(builder.load(source, align=1), to, align=1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), codegen


def _mask(find: Callable[[Any, Any, Callable[[int], Any]], Any]) -> Callable[..., Any]:
    """Return a function that makes a mask of `CHUNK_BYTES` bytes, bit 0 for the first one."""

    @intrinsic  # type: ignore[untyped-decorator]
    def mask(_typing: Any, _address: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            chunk = builder.load(builder.inttoptr(arguments[0], _CHUNK.as_pointer()), align=1)
            mask_bits = find(builder, chunk, lambda byte: ir.Constant(_CHUNK, [byte] * CHUNK_BYTES))
            return builder.zext(builder.bitcast(mask_bits, _INT32), _INT64)

        return types.int64(types.int64), codegen

    return cast("Callable[..., Any]", mask)


def _ends_json_text(builder: Any, chunk: Any, splat: Callable[[int], Any]) -> Any:
    quote = builder.icmp_unsigned("==", chunk, splat(0x22))
    backslash = builder.icmp_unsigned("==", chunk, splat(0x5C))
    control = builder.icmp_unsigned("<", chunk, splat(0x20))
    return builder.or_(builder.or_(quote, backslash), control)


json_text_ends = _mask(_ends_json_text)
"""Return which bytes end plain text in a JSON string: quotation marks, backslashes, control characters."""
non_ascii = _mask(lambda builder, chunk, splat: builder.icmp_signed("<", chunk, splat(0)))
"""Return which bytes are 0x80 or more."""


@intrinsic  # type: ignore[untyped-decorator]
def any_of_three(_typing: Any, _address: Any, _one: Any, _two: Any, _three: Any) -> Any:
    """Return which of `CHUNK_BYTES` bytes are one of three, as a mask, bit 0 for the first one."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        chunk = builder.load(builder.inttoptr(arguments[0], _CHUNK.as_pointer()), align=1)
        matches = None
        for value in arguments[1:]:
            byte = builder.trunc(value, _INT8)
            one = builder.insert_element(ir.Constant(_CHUNK, ir.Undefined), byte, ir.Constant(_INT32, 0))
            all_same = builder.shuffle_vector(
                one, ir.Constant(_CHUNK, ir.Undefined), ir.Constant(ir.VectorType(_INT32, 32), [0] * 32)
            )
            equal = builder.icmp_unsigned("==", chunk, all_same)
            matches = equal if matches is None else builder.or_(matches, equal)
        return builder.zext(builder.bitcast(matches, _INT32), _INT64)

    return types.int64(*[types.int64] * 4), codegen


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(_typing: Any, _bits: Any) -> Any:
    """Return the place of the lowest bit that is set; 64 if none is."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def leading_zeros(_typing: Any, _bits: Any) -> Any:
    """Return how many bits above the highest one that is set are 0; 64 if none is set."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def multiply_high(_typing: Any, _one: Any, _other: Any) -> Any:
    """Return the upper 64 bits of the product of two unsigned numbers."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        one, other = (builder.zext(value, _INT128) for value in arguments)
        return builder.trunc(builder.lshr(builder.mul(one, other), ir.Constant(_INT128, 64)), _INT64)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def double_of_bits(_typing: Any, _bits: Any) -> Any:
    """Return the double that these 64 bits are."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _DOUBLE)

    return types.float64(types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def bits_of_double(_typing: Any, _value: Any) -> Any:
    """Return the 64 bits that a double is."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _INT64)

    return types.uint64(types.float64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def swapped_int32(_typing: Any, _value: Any) -> Any:
    """Return the big-endian number of 32 bits that was loaded as one of this processor."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.sext(builder.bswap(builder.trunc(arguments[0], _INT32)), _INT64)

    return types.int64(types.int64), codegen


def _of_text(name: str, kind: Any, returned: Any) -> Callable[..., Any]:
    """Return a function that calls one of the C library's for numbers in text."""

    @intrinsic  # type: ignore[untyped-decorator]
    def parse(_typing: Any, _text: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = _INT8.as_pointer()
            declared = ir.FunctionType(returned, [pointer, pointer.as_pointer()])
            function = cgutils.get_or_insert_function(builder.module, declared, name)
            text = builder.inttoptr(arguments[0], pointer)
            return builder.call(function, [text, ir.Constant(pointer.as_pointer(), None)])

        return kind(types.int64), codegen

    return cast("Callable[..., Any]", parse)


double_of_text = _of_text("strtod", types.float64, _DOUBLE)
"""Return the double nearest to a number in text that ends with a zero byte.

A dot would depend on the process's locale: such numbers have an exponent instead.
"""
float_of_text = _of_text("strtof", types.float32, _FLOAT)


@intrinsic  # type: ignore[untyped-decorator]
def text_of_double(_typing: Any, _to: Any, _decimals: Any, _value: Any) -> Any:
    """Write a double as C's ``%.*e``, at most 32 bytes with the zero byte at the end."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = _INT8.as_pointer()
        declared = ir.FunctionType(_INT32, [pointer, _INT64, pointer], var_arg=True)
        function = cgutils.get_or_insert_function(builder.module, declared, "snprintf")
        form = context.insert_const_string(builder.module, "%.*e")
        to = builder.inttoptr(arguments[0], pointer)
        decimals = builder.trunc(arguments[1], _INT32)
        builder.call(function, [to, ir.Constant(_INT64, 32), form, decimals, arguments[2]])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.float64), codegen
