"""Where kernels come from: PTX and machine code as text, bytes or files; CUDA C++; numba; Triton."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, Protocol, Union

import numpy as np

from . import _native
from ._cuda import Cuda, cuda, is_code

#: First bytes of cubins and fat binaries.
_BINARY = (b"\x7fELF", b"\x50\xed\x55\xba")


@dataclass
class Source:
    """Code to load, and how its kernels take arguments."""

    name: str
    code: Union[str, bytes]
    #: The kernel that is meant.
    kernel: Optional[str] = None
    #: Its name in reports.
    title: Optional[str] = None
    #: Dynamic shared memory of a launch.
    shared_bytes: int = 0
    #: Names in the code of kernels that the user calls otherwise.
    names: Mapping[str, str] = field(default_factory=dict)

    def flatten(self, args: list[Any]) -> list[Any]:
        """Arguments of the kernel, made from the user's."""
        return args

    def padding(self, missing: int) -> list[Any]:
        """Arguments that the compiler has added at the end."""
        return []


class TritonSource(Source):
    """A kernel that Triton has compiled: pointers to scratch memory, which it does not use here, follow the arguments."""

    def padding(self, missing: int) -> list[Any]:
        return [None] * max(missing, 0) if missing <= 2 else []


class NumbaSource(Source):
    """A kernel that numba has compiled: an array is several arguments."""

    def flatten(self, args: list[Any]) -> list[Any]:
        found: list[Any] = []
        for of in args:
            found += _numba_array(of) if hasattr(of, "address") else [of]
        return found


class _Array(Protocol):
    """An array of a device, as numba takes it."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int: ...


def _numba_array(of: _Array) -> list[int]:
    """Owner, parent, number and size of elements, address, shape and strides in bytes."""
    strides = [of.dtype.itemsize * int(np.prod(of.shape[at + 1 :], dtype=np.int64)) for at in range(len(of.shape))]
    return [0, 0, of.size, of.dtype.itemsize, of.address, *of.shape, *strides]


def source_of(
    source: Any,
    device: _native.Device,
    args: tuple[Any, ...],
    threads: Optional[int] = None,
    constants: Optional[Mapping[str, Any]] = None,
) -> Source:
    """Meaning of `source`. CUDA C++ and functions for numba and Triton are compiled for the device's architecture, functions
    also for `args`; functions for Triton also for the number of threads of a CTA and the values of their constants."""
    if isinstance(source, Source):
        return source
    sm_version = device.sm_version()
    if _is_triton_function(source):
        source = _triton(source, sm_version, args, threads, dict(constants or {}))
    elif constants:
        raise _native.InputError("constants are of functions for Triton; this is none")
    assembled = getattr(source, "asm", None)
    if isinstance(assembled, dict) and "ptx" in assembled:
        metadata = getattr(source, "metadata", None)
        name = getattr(metadata, "name", None) or getattr(source, "name", None)
        shared = int(getattr(metadata, "shared", 0) or getattr(source, "shared", 0) or 0)
        return TritonSource(f"{name or 'triton'}.ptx", _text(assembled["ptx"]), name, name, shared)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        return Source("module", data) if data.startswith(_BINARY) else Source("module.ptx", _text(data))
    if isinstance(source, os.PathLike) or isinstance(source, str) and not is_code(source):
        if os.fspath(source).endswith(".cu"):
            return _compiled(cuda(source), device)
        return _file(os.fspath(source))
    if isinstance(source, str) and "__global__" in source:
        source = cuda(source)
    if isinstance(source, Cuda):
        return _compiled(source, device)
    if isinstance(source, str):
        return Source("module.ptx", source)
    if callable(source) or hasattr(source, "py_func"):
        return _numba(source, sm_version, args)
    kinds = "PTX or CUDA C++ as text, a cubin as bytes, the path of a file of these, a kernel of Triton or numba"
    raise TypeError(f"a kernel is {kinds}; not {type(source).__name__}")


def _compiled(source: Cuda, device: _native.Device) -> Source:
    made = source.compiled(device.sm_version(), device.takes_machine_code())
    code: Union[str, bytes] = made.code if made.code.startswith(_BINARY) else _text(made.code)
    return Source(source.name, code, names=made.names)


def _text(data: Union[str, bytes]) -> str:
    return data if isinstance(data, str) else bytes(data).rstrip(b"\0").decode()


def _file(path: str) -> Source:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise _native.InputError(f"{path!r}: the module cannot be read: {error.strerror}") from None
    return Source(path, data) if data.startswith(_BINARY) else Source(path, _text(data))


#: Types of Triton by NumPy's, without the pointer's star.
_TRITON_TYPES = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
}


def triton_type(of: Any) -> str:
    """Triton's type of an argument: as Triton has it where it launches kernels itself.

    >>> import numpy as np
    >>> triton_type(np.zeros(2, np.float32)), triton_type(7), triton_type(1 << 40), triton_type(0.5)
    ('*fp32', 'i32', 'i64', 'fp32')
    """
    if isinstance(of, bool):
        return "i1"
    if isinstance(of, int):
        return "i32" if -(1 << 31) <= of < 1 << 31 else "i64" if of < 1 << 63 else "u64"
    if isinstance(of, float):
        return "fp32"
    name = _TRITON_TYPES.get(str(getattr(of, "dtype", "")))
    if name is None:
        raise _native.InputError(f"Triton has no type for an argument of {type(of).__name__}: {of!r}")
    return name if isinstance(of, np.generic) else f"*{name}"


def _is_triton_function(source: Any) -> bool:
    """Whether it is what `triton.jit` makes of a function."""
    return hasattr(source, "arg_names") and type(source).__module__.partition(".")[0] == "triton"


def _triton(
    function: Any, sm_version: int, args: tuple[Any, ...], threads: Optional[int], constants: dict[str, Any]
) -> Any:
    """A function of `triton.jit`, compiled for such arguments. Needs Triton, no GPU."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    name = function.__name__
    threads = 128 if threads is None else threads
    warps = threads // 32
    if threads != warps * 32 or warps < 1 or warps & (warps - 1):
        raise _native.InputError(f"{name}: Triton's CTAs have a power of two of warps, and {threads} threads are given")
    fixed = [of.name for of in function.params if of.is_constexpr]
    free = [known for known in function.arg_names if known not in fixed]
    wrong = sorted(set(constants) ^ set(fixed))
    if wrong:
        needed = ", ".join(fixed) or "none"
        raise _native.InputError(f"{name}: constants={{...}} must have its constants ({needed}); not so: {', '.join(wrong)}")
    if len(args) != len(free):
        raise _native.InputError(f"{name} has {len(free)} arguments ({', '.join(free)}), and {len(args)} are given")
    types = {**dict.fromkeys(fixed, "constexpr"), **{known: triton_type(of) for known, of in zip(free, args)}}
    signature = {known: types[known] for known in function.arg_names}
    source = ASTSource(fn=function, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", max(sm_version, 70), 32), options={"num_warps": warps})


def _numba(function: Any, sm_version: int, args: tuple[Any, ...]) -> Source:
    """A Python function, or a kernel of `numba.cuda.jit`, compiled for such arguments. Needs numba with NVVM, no GPU."""
    try:
        import numba
        from numba import cuda
    except ImportError:
        hint = "pip install 'numba-cuda[cu12]'"
        raise _native.InputError(f"numba is needed to compile a Python function: {hint}") from None
    plain = getattr(function, "py_func", function)
    if not args:
        raise _native.InputError(f"{plain.__name__}: numba compiles it for arguments: device.module(function, *arguments)")
    kinds = []
    for of in args:
        if hasattr(of, "address"):
            layout = numba.types.Array(numba.from_dtype(of.dtype), len(of.shape), "C")
            kinds.append(layout)
        else:
            kinds.append(numba.typeof(of))
    capability = divmod(max(sm_version, 75), 10)
    text, _ = cuda.compile_ptx(plain, tuple(kinds), cc=capability)
    name = f"{plain.__name__}.ptx"
    return NumbaSource(name, _text(text), title=plain.__name__)
