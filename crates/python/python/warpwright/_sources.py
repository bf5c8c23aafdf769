"""Where kernels come from: PTX and machine code as text, bytes or files; numba; Triton."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _native

if TYPE_CHECKING:
    from ._device import Array

#: First bytes of cubins and fat binaries.
_BINARY = (b"\x7fELF", b"\x50\xed\x55\xba")


@dataclass
class Source:
    """Code to load, and how its kernels take arguments."""

    name: str
    code: Union[str, bytes]
    #: The kernel that is meant.
    kernel: Optional[str] = None
    #: What a report is to call it.
    title: Optional[str] = None
    #: Dynamic shared memory of a launch.
    shared_bytes: int = 0

    def flatten(self, args: list[Any]) -> list[Any]:
        """Arguments of the user as those of the kernel."""
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


def _numba_array(of: "Array") -> list[int]:
    """Owner, parent, number and size of elements, address, shape and strides in bytes."""
    strides = [of.dtype.itemsize * int(np.prod(of.shape[at + 1 :], dtype=np.int64)) for at in range(len(of.shape))]
    return [0, 0, of.size, of.dtype.itemsize, of.address, *of.shape, *strides]


def source_of(source: Any, sm_version: int, args: tuple[Any, ...]) -> Source:
    """What `source` means. Functions for numba are compiled for the architecture and for `args`."""
    if isinstance(source, Source):
        return source
    assembled = getattr(source, "asm", None)
    if isinstance(assembled, dict) and "ptx" in assembled:
        metadata = getattr(source, "metadata", None)
        name = getattr(metadata, "name", None) or getattr(source, "name", None)
        shared = int(getattr(metadata, "shared", 0) or getattr(source, "shared", 0) or 0)
        return TritonSource(f"{name or 'triton'}.ptx", _text(assembled["ptx"]), name, name, shared)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        return Source("module", data) if data.startswith(_BINARY) else Source("module.ptx", _text(data))
    if isinstance(source, os.PathLike) or isinstance(source, str) and "\n" not in source:
        return _file(os.fspath(source))
    if isinstance(source, str):
        return Source("module.ptx", source)
    if callable(source) or hasattr(source, "py_func"):
        return _numba(source, sm_version, args)
    kinds = "PTX as text, a cubin as bytes, the path of either, a kernel of Triton or numba"
    raise TypeError(f"a kernel is {kinds}; not {type(source).__name__}")


def _text(data: Union[str, bytes]) -> str:
    return data if isinstance(data, str) else bytes(data).rstrip(b"\0").decode()


def _file(path: str) -> Source:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise _native.InputError(f"{path!r}: the module cannot be read: {error.strerror}") from None
    return Source(path, data) if data.startswith(_BINARY) else Source(path, _text(data))


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
