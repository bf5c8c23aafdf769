"""CUDA C++ that NVRTC compiles for a device; no GPU is needed."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import _native

#: The command that installs NVRTC and the headers that most sources include.
_INSTALL = "pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12"
#: Names of the library by version of CUDA, the newest first.
_LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")
#: Where NVIDIA's packages have libraries and headers: for CUDA 13, for 12 and 11.
_PACKAGES = ("cu13", "cuda_nvrtc", "cuda_runtime", "cuda_cccl")


@dataclass(frozen=True)
class Cuda:
    """CUDA C++ for `Device.module` and `launch`; made by `cuda`."""

    text: str
    options: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    name: str = "kernel.cu"

    def ptx(self, sm: int) -> str:
        """The PTX for an architecture, such as 75 for sm_75."""
        return self.compiled(sm, machine_code=False).code.rstrip(b"\0").decode()

    def compiled(self, sm: int, machine_code: bool) -> Compiled:
        """The code for an architecture, or for the nearest that NVRTC knows."""
        nvrtc = _library()
        options = ["-lineinfo", *(f"-I{folder}" for folder in _includes()), *self.options]
        # The value of an option may be the next one.
        given = re.search(r"(?m)^(?:--gpu-architecture|-arch)[=\n](.*)", "\n".join(self.options))
        if given:
            architecture = given[1]
            machine_code = "compute_" not in architecture
        else:
            known = _architectures(nvrtc)
            nearest = max((of for of in known if of <= sm), default=known[0])
            machine_code = machine_code and nearest == sm
            # Instructions that only sm_90 has, such as wgmma, need the target sm_90a.
            architecture = f"{'sm' if machine_code else 'compute'}_{nearest}{'a' if nearest == 90 else ''}"
            options.append(f"--gpu-architecture={architecture}")
        return _compile(nvrtc, self, options, architecture, machine_code)


@dataclass(frozen=True)
class Compiled:
    """The result of a compilation by NVRTC."""

    code: bytes
    #: Names of the kernels in the code, by the `names` of the source.
    names: dict[str, str]


def is_code(text: str) -> bool:
    """Whether it is a text of code, not a path."""
    return any(sign in text for sign in "\n{")


def cuda(
    source: str | os.PathLike[str],
    *,
    options: Iterable[str] = (),
    names: Iterable[str] = (),
) -> Cuda:
    """CUDA C++ as a module for `launch` and `Device.module`. NVRTC compiles it when a device loads it: to machine code
    where the device executes machine code of its architecture (the option `code`), else to PTX.

    Parameters
    ----------
    source
        The text, or the path of a file as a `pathlib.Path` or a text without line breaks and braces.
    options
        Options of NVRTC, such as `-DN=4`, `-Iinclude` or `--std=c++20`. `--gpu-architecture` replaces the device's.
    names
        Instances of templates, such as `scale<float>`, which become names of kernels.

    Raises
    ------
    InputError
        NVRTC is not installed, or it cannot compile the source; the message has a remedy, or NVRTC's log.

    Kernels are found by their names in the source, if only one kernel has the name.
    """
    if isinstance(source, str) and is_code(source):
        return Cuda(source, tuple(options), tuple(names))
    path = os.fspath(source)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _native.InputError(f"{path!r}: the source cannot be read: {error}") from None
    return Cuda(text, tuple(options), tuple(names), path)


def _folders(part: str) -> Iterator[Path]:
    """Folders called `part`, of libraries or headers, of NVIDIA's packages and of an installed CUDA."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec and spec.submodule_search_locations) or ():
        yield from (Path(place, package, part) for package in _PACKAGES)
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    yield from (Path(home, part), Path(home, f"{part}64"))


def _includes() -> list[Path]:
    """The folders of headers that exist."""
    return [folder for folder in _folders("include") if folder.is_dir()]


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    files = [folder / name for folder in _folders("lib") for name in _LIBRARIES]
    for candidate in [*(str(file) for file in files if file.is_file()), *_LIBRARIES]:
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise _native.InputError(f"NVRTC, which compiles CUDA C++, is not installed\n  hint: {_INSTALL}")


def _architectures(nvrtc: ctypes.CDLL) -> list[int]:
    """The architectures that NVRTC knows, in ascending order."""
    count = ctypes.c_int()
    _check(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    known = (ctypes.c_int * count.value)()
    _check(nvrtc, nvrtc.nvrtcGetSupportedArchs(known))
    return sorted(known)


def _check(nvrtc: ctypes.CDLL, status: int) -> None:
    if status:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise _native.InputError(f"NVRTC: {nvrtc.nvrtcGetErrorString(status).decode()}")


def _text_of(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    """A text or code that NVRTC has for a program: "PTX", "CUBIN" or "ProgramLog"."""
    size = ctypes.c_size_t()
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    data = ctypes.create_string_buffer(size.value)
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, data))
    return data.raw


def _compile(
    nvrtc: ctypes.CDLL, source: Cuda, options: Sequence[str], architecture: str, machine_code: bool
) -> Compiled:
    program = ctypes.c_void_p()
    text, name = source.text.encode(), os.fsencode(source.name)
    _check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None))
    try:
        for instance in source.names:
            _check(nvrtc, nvrtc.nvrtcAddNameExpression(program, instance.encode()))
        words = (ctypes.c_char_p * len(options))(*(os.fsencode(option) for option in options))
        if nvrtc.nvrtcCompileProgram(program, len(options), words):
            log = _text_of(nvrtc, program, "ProgramLog").rstrip(b"\0\n").decode(errors="replace")
            missing = "could not open source file" in log or "cannot open source file" in log
            hint = f"\n  hint: headers of CUDA: {_INSTALL} nvidia-cuda-cccl-cu12" if missing else ""
            raise _native.InputError(f"{source.name}: NVRTC cannot compile it for {architecture}:\n{log}{hint}")
        lowered = {instance: _lowered(nvrtc, program, instance) for instance in source.names}
        return Compiled(_text_of(nvrtc, program, "CUBIN" if machine_code else "PTX"), lowered)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _lowered(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, instance: str) -> str:
    """Name of an instance of a template in the code."""
    found = ctypes.c_char_p()
    _check(nvrtc, nvrtc.nvrtcGetLoweredName(program, instance.encode(), ctypes.byref(found)))
    return (found.value or b"").decode()


def plain(name: str) -> str:
    """Name in the source of a kernel of C++, without its namespaces and types.

    >>> plain("_Z5saxpyfPKfPf"), plain("_ZN3one3two4axpyEPf"), plain("_Z5scaleIfEvPT_"), plain("saxpy")
    ('saxpy', 'axpy', 'scale', 'saxpy')
    """
    rest = re.match(r"_Z(N?)(?=\d)", name)
    found, at = name, rest.end() if rest else len(name)
    while number := re.compile(r"\d+").match(name, at):
        at = number.end() + int(number[0])
        found = name[number.end() : at]
        if rest and not rest[1]:
            break
    return found
