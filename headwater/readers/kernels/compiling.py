"""Compiles a kernel to machine code, as one C function.

Imported only where a kernel has to be compiled, once per host. The machine code needs neither numba nor
Python.
"""

from __future__ import annotations

import contextlib
import gc
import platform
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numba
from llvmlite import binding as llvm
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from headwater.core.redaction import logger_of
from headwater.readers.kernels.memory import RARE

log = logger_of(__name__)

_RELOCATION = "static" if platform.machine().lower() in {"x86_64", "amd64", "i686"} else "default"
"""As numba has it for code that is loaded into the process that runs it."""


def array_of(element: Any) -> Callable[..., Any]:
    """Return a function for compiled code that makes an array of an address and a length."""
    kind = types.Array(element, 1, "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def view(_typing: Any, address: Any, length: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            array = arrayobj.make_array(kind)(context, builder)
            size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(element)))
            data = builder.inttoptr(arguments[0], array.data.type)
            arrayobj.populate_array(
                array, data=data, shape=[arguments[1]], strides=[size], itemsize=size, meminfo=None
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
    options: Any = {
        "_nrt": False,
        "error_model": "numpy",
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "no_rewrites": True,
    }
    signature = types.int64(*[types.int64] * arguments)
    replacements = _replacements()
    with _without_garbage_collection(), _replaced(replacements):
        compiled: Any = numba.njit([signature], **options)(function).overloads[signature.args]
    name: str = compiled.fndesc.llvm_func_name
    if replacements:
        return name, _machine_code(name, compiled.library)
    _, _, (machine_code, _) = compiled.library.serialize_using_object_code()
    return name, machine_code


def _machine_code(name: str, library: Any) -> bytes:
    """Return the machine code of a function and all that it calls.

    These have no other callers. So LLVM may choose how each is called: the code is a fifth faster, and
    half as large, as if each could be called from outside.
    """
    processor = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc=_RELOCATION,
        codemodel="jitdefault",
        jit=True,
    )
    whole = llvm.parse_assembly("")
    whole.triple = llvm.get_process_triple()
    whole.data_layout = str(processor.target_data)
    for each in _with_called(library):
        whole.link_in(each._final_module, preserve=True)  # noqa: SLF001 - other kernels call some of them too
    for defined in (*whole.functions, *whole.global_variables):
        if defined.name != name and not defined.is_declaration:
            defined.linkage = "internal"
    for function in RARE:
        for overload in function.overloads.values():
            with contextlib.suppress(NameError):  # another kernel's
                rare = whole.get_function(overload.fndesc.llvm_func_name)
                rare.add_function_attribute("noinline")
                rare.add_function_attribute("cold")
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    # Loops end after a few turns. To be ready for many makes the code larger and slower.
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    tuning.loop_unrolling = False
    passes = llvm.create_pass_builder(processor, tuning)
    passes.getModulePassManager().run(whole, passes)
    machine_code: bytes = processor.emit_object(whole)
    return machine_code


def _with_called(library: Any) -> Iterator[Any]:
    """Return numba's library of a function, and those of all functions that it calls."""
    libraries = {id(library): library}
    waiting = [library]
    while waiting:
        for called in waiting.pop()._linking_libraries:  # noqa: SLF001 - there is no other way to them
            if id(called) not in libraries:
                libraries[id(called)] = called
                waiting.append(called)
    return iter(libraries.values())


class _Replacement(NamedTuple):
    """An attribute of numba, and its replacement."""

    owner: Any
    name: str
    value: Any


def _replacements() -> Sequence[_Replacement]:
    """Return patches with which numba compiles each function once, to LLVM's intermediate code.

    Else it links, optimizes and makes machine code of each function with all that it calls, again and again,
    and does so anew for each constant that a function is called with. That takes a third of the time.

    These are internals of numba. Where it has them no more there is nothing to replace: kernels do the same,
    slower, and take longer to compile.
    """
    config: Any = numba.config
    try:
        from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
        from numba.core.dispatcher import Dispatcher
        from numba.core.registry import cpu_target

        template_of = Dispatcher.get_call_template

        def template_without_constants(function: Any, arguments: Sequence[Any], keywords: Any) -> Any:
            return template_of(function, [types.unliteral(each) for each in arguments], keywords)

        replacements = [
            _Replacement(Dispatcher, "get_call_template", template_without_constants),
            _Replacement(config, "OPT", type(config.OPT)(0)),
            _Replacement(CPUCodeLibrary, "finalize", _finish),
            _Replacement(JITCPUCodegen, "set_env", _leave),
        ]
        for owner, name, _ in replacements:
            getattr(owner, name)
        library: Any = cpu_target.target_context.codegen().create_library("empty")
        for owner, name in (
            (library, "_final_module"),
            (library, "_linking_libraries"),
            (llvm, "create_pass_builder"),
        ):
            getattr(owner, name)
    except (AttributeError, ImportError, TypeError) as error:
        log.debug(
            "numba %s has other internals (%s): kernels take longer to compile", numba.__version__, error
        )
        return []
    return replacements


@contextlib.contextmanager
def _replaced(replacements: Sequence[_Replacement]) -> Iterator[None]:
    from numba.core.compiler_lock import global_compiler_lock

    originals = [getattr(owner, name) for owner, name, _ in replacements]
    with global_compiler_lock:  # no other thread compiles
        for owner, name, value in replacements:
            setattr(owner, name, value)
        try:
            yield
        finally:
            for (owner, name, _), value in zip(replacements, originals, strict=True):
                setattr(owner, name, value)


def _finish(library: Any) -> None:
    library._finalized = True  # noqa: SLF001 - as numba's own method ends


def _leave(*_arguments: Any) -> None:
    pass


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Collect no garbage: of the millions of objects that numba makes nearly all stay. Saves a tenth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
