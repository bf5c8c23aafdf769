"""Kernels of one's own: modules, memory that is NumPy arrays, launches."""

from __future__ import annotations

import inspect
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Optional, Union

import numpy as np

from . import _native
from ._cuda import plain
from ._keywords import PathLike, named, texts
from ._progress import Display, Progress, callback
from ._result import Run, raised
from ._sources import Source, source_of

Size = Union[int, Sequence[int]]


def _size(of: Size, name: str) -> tuple[int, int, int]:
    """A grid or block as three numbers.

    >>> _size(4, "grid"), _size((2, 3), "grid")
    ((4, 1, 1), (2, 3, 1))
    """
    sizes = [int(of)] if isinstance(of, (int, np.integer)) else [int(size) for size in of]
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise _native.InputError(f"{name}={of!r}: one to three sizes above 0 are needed")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


class Array:
    """An array in the memory of a simulated GPU. `numpy()` copies it back."""

    def __init__(self, device: "Device", address: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.device, self.address, self.shape, self.dtype = device, address, shape, np.dtype(dtype)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * self.dtype.itemsize

    def numpy(self) -> np.ndarray:
        """A copy of the contents, after all launches so far."""
        data = self.device._native.read(self.address, self.nbytes)
        return np.frombuffer(bytearray(data), dtype=self.dtype).reshape(self.shape)

    def copy_from(self, values: Any) -> None:
        """Overwrites the contents, after all launches so far."""
        array = np.ascontiguousarray(values, dtype=self.dtype)
        if array.shape != self.shape:
            raise _native.InputError(f"an array of shape {array.shape} for one of shape {self.shape}")
        self.device._native.write(self.address, array.tobytes())

    def free(self) -> None:
        """Gives the memory back."""
        self.device._native.free(self.address, self.nbytes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Array(shape={self.shape}, dtype={self.dtype}, address={self.address:#x})"


class Kernel:
    """A kernel of a module: `kernel[grid, block](arguments)`, or `kernel.launch`.

    Arguments are `Array`s, NumPy arrays (copied to the device, and back if they are writable), numbers, `bytes` of
    structs, and None for a null pointer.
    """

    def __init__(self, module: "Module", name: str) -> None:
        self.module, self.name = module, name
        self._parameters = module.device._native.parameters(module._id, name)

    @property
    def parameters(self) -> list[tuple[str, int, str]]:
        """Name, size in bytes and type of each parameter; the type is empty where the module does not say."""
        return self._parameters

    def __getitem__(self, shape: tuple[Any, ...]) -> Callable[..., None]:
        # As numba writes it: grid, block, stream, bytes of dynamic shared memory.
        grid, block = shape[:2]
        stream = shape[2] if len(shape) > 2 else 0
        shared = shape[3] if len(shape) > 3 else None

        def launch(*args: Any) -> None:
            self.launch(grid, block, *args, shared=shared, stream=stream)

        return launch

    def launch(
        self,
        grid: Size,
        block: Size,
        *args: Any,
        shared: Optional[int] = None,
        registers: Optional[int] = None,
        stream: int = 0,
    ) -> None:
        """Launches it on `grid` CTAs of `block` threads, with `shared` bytes of dynamic shared memory."""
        device = self.module.device
        source = self.module.source
        back: list[tuple[np.ndarray, Array]] = []

        def on_device(of: np.ndarray) -> Array:
            array = device.array(of)
            back.append((of, array))
            return array

        values = source.flatten([on_device(of) if isinstance(of, np.ndarray) else of for of in args])
        values += source.padding(len(self._parameters) - len(values))
        if len(values) != len(self._parameters):
            known = ", ".join(name for name, _, _ in self._parameters)
            counts = f"{len(self._parameters)} parameters ({known}), and {len(values)} arguments"
            raise _native.InputError(f"kernel {self.name} has {counts} are given")
        encoded = [encode(of, *parameter) for of, parameter in zip(values, self._parameters)]
        dynamic = source.shared_bytes if shared is None else shared
        with Display() as display:
            device._progress.display = display
            device._native.launch(
                self.module._id, self.name, _size(grid, "grid"), _size(block, "block"), dynamic, encoded, registers, stream
            )
            for host, array in back:
                if host.flags.writeable:
                    host[...] = array.numpy()
                array.free()


def encode(of: Any, name: str, size: int, kind: str) -> bytes:
    """An argument as the bytes of its parameter.

    >>> encode(1, "n", 4, "u32"), encode(1, "a", 4, "f32"), encode(0.5, "a", 8, "")
    (b'\\x01\\x00\\x00\\x00', b'\\x00\\x00\\x80?', b'\\x00\\x00\\x00\\x00\\x00\\x00\\xe0?')
    """

    def refuse(why: str) -> _native.InputError:
        return _native.InputError(f"parameter {name} ({kind or 'of unknown type'}, {size} bytes): {why}")

    if isinstance(of, Array):
        of = of.address
    if of is None:
        of = 0
    if isinstance(of, (bytes, bytearray, np.void)):
        data = of.tobytes() if isinstance(of, np.void) else bytes(of)
        if len(data) != size:
            raise refuse(f"the argument has {len(data)} bytes")
        return data
    if isinstance(of, np.generic):
        if of.nbytes == size and (not kind.startswith("f") or of.dtype.kind == "f"):
            return of.tobytes()
        of = of.item()
    if isinstance(of, float) and kind[:1] in ("u", "s") and not of.is_integer():
        raise refuse(f"{of} is not a whole number")
    if isinstance(of, float) and kind[:1] not in ("u", "s") or kind.startswith("f") and isinstance(of, int):
        form = {2: "<e", 4: "<f", 8: "<d"}.get(size)
        if form is None:
            raise refuse(f"{of!r} does not fit")
        return struct.pack(form, of)
    try:
        of = int(of)
        return of.to_bytes(size, "little", signed=of < 0)
    except (TypeError, OverflowError, ValueError):
        raise refuse(f"{of!r} does not fit") from None


class Module:
    """PTX or machine code that a device has loaded."""

    def __init__(self, device: "Device", source: Source) -> None:
        self.device, self.source = device, source
        native = device._native
        if isinstance(source.code, str):
            self._id = native.load_ptx(source.name, source.code)
        else:
            self._id = native.load_binary(source.name, source.code)

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels."""
        return self.device._native.kernels(self._id)

    def kernel(self, name: Optional[str] = None) -> Kernel:
        """A kernel by its name in the code or in the source of C++; the only one if no name is given."""
        known = self.kernels
        name = name or self.source.kernel
        if name is None and len(known) != 1:
            raise _native.InputError(f"{self.source.name} has several kernels, {', '.join(known)}: give a name")
        if name is None or name in known:
            return Kernel(self, name or known[0])
        name = self.source.names.get(name, name)
        alike = [of for of in known if plain(of) == name]
        if len(alike) > 1:
            raise _native.InputError(f"{self.source.name} has several kernels {name}: give one of {', '.join(alike)}")
        return Kernel(self, alike[0] if alike else name)

    def symbol(self, name: str, dtype: Any = np.uint8) -> Array:
        """A variable of the module, as an array."""
        address, size = self.device._native.symbol(self._id, name)
        return Array(self.device, address, (size // np.dtype(dtype).itemsize,), dtype)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.kernel(name)


class _Progress:
    """Where the progress of a device is shown at the moment."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.display: Optional[Display] = None

    def __call__(self, of: dict[str, Any]) -> Optional[bool]:
        call = callback(self.progress, self.display) if self.display else None
        return call(of) if call else None


class Device:
    """A simulated GPU: memory, modules and launches, for programs of several kernels.

    Its options are those of `run`, without those of bundled workloads; `help(warpwright.run)` has their meanings.

    >>> import numpy as np, warpwright as ww
    >>> device = ww.Device(gpu="v100", core="ghost")
    >>> module = device.module('''
    ... .version 6.4
    ... .target sm_70
    ... .address_size 64
    ... .visible .entry twice(.param .u64 p)
    ... {
    ...     .reg .b32 %r<3>;
    ...     .reg .b64 %d<4>;
    ...     ld.param.u64 %d1, [p];
    ...     mov.u32 %r1, %tid.x;
    ...     mul.wide.u32 %d2, %r1, 4;
    ...     add.s64 %d3, %d1, %d2;
    ...     ld.global.u32 %r2, [%d3];
    ...     add.u32 %r2, %r2, %r2;
    ...     st.global.u32 [%d3], %r2;
    ...     ret;
    ... }''')
    >>> x = device.array(np.arange(4, dtype=np.uint32))
    >>> module.twice[1, 4](x)
    >>> x.numpy()
    array([0, 2, 4, 6], dtype=uint32)
    >>> device.run().cycles > 0
    True
    """

    @named("Device")
    def __init__(
        self,
        *,
        progress: Progress = None,
        # Options of `Device`, made by `BLESS=1 cargo test -p warpwright-request`.
        gpu: PathLike | None = None,
        core: str | None = None,
        scheduler: str | None = None,
        time: str | None = None,
        max_cycles: int | None = None,
        livelock_cycles: int | None = None,
        profiled_as: Literal["ncu", "nvprof", "usual"] | None = None,
        audit: bool | None = None,
        check_memory: bool | None = None,
        profile: bool | None = None,
        settings: Mapping[str, Any] | Sequence[str] | None = None,
        warps_per_sm: int | str | None = None,
        register_file: int | str | None = None,
        branches: Literal["oracle", "stall", "flush", "sequential_flush"] | None = None,
        instruction_buffer: int | None = None,
        code: Literal["auto", "ptx", "sass"] | None = None,
        registers: Literal["virtual", "allocated", "hazard-free"] | None = None,
        max_registers: int | None = None,
        stack_bytes: int | None = None,
        out_of_bounds: Literal["error", "warn", "allow"] | None = None,
        shift_addresses: int | None = None,
        any_architecture: bool | None = None,
        energy_model: PathLike | None = None,
        sample: int | None = None,
        power_interval: int | None = None,
        timeline: bool | tuple[int, int] | PathLike | None = None,
        timeline_cycles: str | None = None,
        timeline_sms: int | Sequence[int] | None = None,
        timeline_warps: str | None = None,
        timeline_kernel: str | None = None,
        threads: int | None = None,
        # End of the options.
    ) -> None:
        options = texts(locals(), "self", "progress")
        self._progress = _Progress(progress)
        self._native = _native.Device(options, self._progress)
        self._named = 0

    @property
    def sm_version(self) -> int:
        """Architecture, as in sm_75: 75."""
        return self._native.sm_version()

    def module(
        self,
        source: Any,
        *args: Any,
        threads: Optional[int] = None,
        constants: Optional[Mapping[str, Any]] = None,
    ) -> Module:
        """Loads PTX, a cubin or a fatbin: text, bytes, the path of a file, or a kernel compiled by Triton. CUDA C++, as
        text, as the path of a .cu file or by `cuda`, is compiled by NVRTC. A function for numba or of `triton.jit` is
        compiled for `args`, as a launch takes them; the latter for CTAs of `threads` threads (128 by default) and with
        `constants`, the values of its `tl.constexpr`."""
        return Module(self, source_of(source, self._native, args, threads, constants))

    def empty(self, shape: Size, dtype: Any = np.float32, name: Optional[str] = None) -> Array:
        """An array of undefined contents. `name` is for messages."""
        shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(size) for size in shape)
        array = Array(self, 0, shape, np.dtype(dtype))
        self._named += 1
        array.address = self._native.alloc(name or f"array {self._named}", max(array.nbytes, 1))
        return array

    def array(self, values: Any, dtype: Any = None, name: Optional[str] = None) -> Array:
        """An array that holds `values`."""
        values = np.ascontiguousarray(values, dtype=dtype)
        array = self.empty(values.shape, values.dtype, name)
        if array.nbytes:
            self._native.write(array.address, values.tobytes())
        return array

    def zeros(self, shape: Size, dtype: Any = np.float32, name: Optional[str] = None) -> Array:
        """An array of zeros."""
        return self.array(np.zeros(shape, dtype), name=name)

    def synchronize(self) -> None:
        """Waits for all launches."""
        with Display() as display:
            self._progress.display = display
            self._native.synchronize()

    def run(self, title: str = "Python") -> Run:
        """The results of all launches so far."""
        self.synchronize()
        return Run(self._native.outcome(title))


#: Options of a launch that are its device's.
_MACHINE = set(inspect.signature(Device).parameters) - {"progress", "registers"}


@named("launch")
def launch(
    source: Any,
    grid: Size,
    block: Size,
    *args: Any,
    kernel: Optional[str] = None,
    shared: Optional[int] = None,
    registers: Optional[int] = None,
    constants: Optional[Mapping[str, Any]] = None,
    progress: Progress = None,
    # Options of `launch`, made by `BLESS=1 cargo test -p warpwright-request`.
    gpu: PathLike | None = None,
    core: str | None = None,
    scheduler: str | None = None,
    time: str | None = None,
    max_cycles: int | None = None,
    livelock_cycles: int | None = None,
    profiled_as: Literal["ncu", "nvprof", "usual"] | None = None,
    audit: bool | None = None,
    check_memory: bool | None = None,
    profile: bool | None = None,
    settings: Mapping[str, Any] | Sequence[str] | None = None,
    warps_per_sm: int | str | None = None,
    register_file: int | str | None = None,
    branches: Literal["oracle", "stall", "flush", "sequential_flush"] | None = None,
    instruction_buffer: int | None = None,
    code: Literal["auto", "ptx", "sass"] | None = None,
    max_registers: int | None = None,
    stack_bytes: int | None = None,
    out_of_bounds: Literal["error", "warn", "allow"] | None = None,
    shift_addresses: int | None = None,
    any_architecture: bool | None = None,
    energy_model: PathLike | None = None,
    sample: int | None = None,
    power_interval: int | None = None,
    timeline: bool | tuple[int, int] | PathLike | None = None,
    timeline_cycles: str | None = None,
    timeline_sms: int | Sequence[int] | None = None,
    timeline_warps: str | None = None,
    timeline_kernel: str | None = None,
    threads: int | None = None,
    # End of the options.
) -> Run:
    """Simulates one launch of a kernel of yours. NumPy arrays among `args` are copied to the GPU and back.

    `source` is as for `Device.module`, `args` as for `Kernel`; `kernel` is its name where there are several, and
    `constants` are the `tl.constexpr` of a function of `triton.jit`, `registers` the number that each thread has. The other
    options are those of `Device`.

    >>> import numpy as np, warpwright as ww
    >>> ptx = '''
    ... .version 6.4
    ... .target sm_70
    ... .address_size 64
    ... .visible .entry fill(.param .u64 p, .param .f32 value)
    ... {
    ...     .reg .f32 %f1;
    ...     .reg .b32 %r1;
    ...     .reg .b64 %d<4>;
    ...     ld.param.u64 %d1, [p];
    ...     ld.param.f32 %f1, [value];
    ...     mov.u32 %r1, %tid.x;
    ...     mul.wide.u32 %d2, %r1, 4;
    ...     add.s64 %d3, %d1, %d2;
    ...     st.global.f32 [%d3], %f1;
    ...     ret;
    ... }'''
    >>> y = np.zeros(3, np.float32)
    >>> run = ww.launch(ptx, 1, 3, y, 2.5, gpu="v100")
    >>> y
    array([2.5, 2.5, 2.5], dtype=float32)
    """
    device = Device(progress=progress, **{name: of for name, of in locals().items() if name in _MACHINE})
    with raised():
        threads = math.prod(_size(block, "block"))
        module = device.module(source, *args, threads=threads, constants=constants)
        chosen = module.kernel(kernel)
        chosen.launch(grid, block, *args, shared=shared, registers=registers)
        return device.run(chosen.module.source.title or plain(chosen.name))
