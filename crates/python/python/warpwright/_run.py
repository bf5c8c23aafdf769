"""Runs of workloads, launch files and traces."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _native
from ._keywords import PathLike, named, texts
from ._progress import Display, Progress, callback
from ._result import Run, raised


@named("run")
def run(
    workload: PathLike,
    *,
    progress: Progress = None,
    # Options of `run`, made by `BLESS=1 cargo test -p warpwright-request`.
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
    size: Literal["small", "medium", "large"] | None = None,
    params: Mapping[str, Any] | None = None,
    modules: Mapping[str | None, PathLike | Sequence[PathLike]] | None = None,
    seed: int | None = None,
    code: Literal["auto", "ptx", "sass"] | None = None,
    registers: Literal["virtual", "allocated", "hazard-free"] | None = None,
    max_registers: int | None = None,
    stack_bytes: int | None = None,
    out_of_bounds: Literal["error", "warn", "allow"] | None = None,
    shift_addresses: int | None = None,
    any_architecture: bool | None = None,
    concurrent_streams: bool | None = None,
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
    """Simulates a workload on one GPU. The options are those of `warpwright run`, with the same defaults.

    Parameters
    ----------
    workload
        A bundled workload (`workloads()` names them), or the path of a launch file (.toml) or a trace.
    progress
        None or True: a line while a long run continues. False: nothing. A function: it is called with a dict a few times
        per second, and ends the run by returning False.

    Raises
    ------
    InputError
        Something asked for makes no sense. The message says what to do.
    Error
        The simulation failed; `partial` has what was simulated.
    KeyboardInterrupt
        Ctrl-C, soon after it is pressed.

    Examples
    --------
    >>> import warpwright as ww
    >>> slow = ww.run("matmul", gpu="v100", settings={"sm.issue.schedulers": 2})
    >>> slow.cycles > ww.run("matmul", gpu="v100").cycles
    True

    Options
    -------
    gpu
        GPU: a built-in one (`warpwright list gpus`) or the path of a description. Default: the launch file's, else
        rtx2060s, for programs rtx2060s.
    core
        Core design with its parameters, such as ghost:issue_buffer=16 (`warpwright list cores`). Default: the GPU
        description's.
    scheduler
        Warp scheduler with its parameters, such as two_level:active=4 (`warpwright list schedulers`). Default: the GPU
        description's.
    time
        Part of the run that is simulated in time: all, none, launches by number and kernels by name
        (kernels=3,7..9,NAME), CTAs of each launch (ctas=0..79), or representative launches (representative,
        representative:tolerance=5). The rest is executed without time, or left out of a trace. Ranges include both ends
        (`warpwright docs sampling`). Default: all.
    max_cycles
        End each run soon after this number of simulated core cycles, launch latency included, and report the part that
        was simulated. Checked every few thousand cycles. Without time (--time), warp instructions count. Later CUDA
        calls of a program fail.
    livelock_cycles
        End the run as failed after this number of core cycles in which all warps repeated themselves and changed
        nothing: a livelock. Without time (--time), warp instructions count. 0 turns this off. Default: 1000000.
    profiled_as
        Run and count kernels as under a profiler, to compare with its figures: one at a time, with the part of the
        launch that it counts as launch latency (`cycles in all` are the profiler's), and under ncu with empty caches.
        Cycles are those of the description's core clock. Settings given replace these (`ncu`: nsight Compute as it is
        by default: one kernel at a time, caches empty before each; `nvprof`: nvprof: one kernel at a time, caches as
        the program leaves them; `usual`: the profiler that cycles of the GPU are usually counted with, by its
        description).
    audit
        Check each instruction against the program order of its warp (hazard auditor) and report the violations. Takes
        about twice as long.
    check_memory
        Check memory accesses: reads of memory that was never written, races of warps in shared memory and of CTAs in
        global memory. Takes several times as long.
    profile
        Count issue slots, latencies and accesses by instruction, and list those that took most slots; a comparison
        shows which instructions each machine helps or hurts. Takes about a quarter longer.
    settings
        A value of the GPU description, such as sm.issue.schedulers=2 or clocks.core_mhz=1.5GHz; `warpwright list
        settings` names them.
    warps_per_sm
        Warp slots of an SM, 128 at most: a number, or a multiple of the description's such as x2.
    register_file
        Registers of an SM: a number, or a multiple of the description's such as x2.
    branches
        Instructions fetched after a branch until it issues (`oracle`: the right path, as if predicted perfectly
        (Accel-Sim's traces); `stall`: nothing until the branch has issued; `flush`: the next instruction in memory,
        flushed if the branch goes elsewhere (GPGPU-Sim); `sequential_flush`: the same, by the name that it has as a
        setting).
    instruction_buffer
        Entries of each warp's instruction buffer; designs with a buffer of their own keep it.
    size
        How much work, of bundled workloads: small, medium (about a million warp instructions) or large (about ten
        million). Default: small.
    params
        A parameter of a bundled workload (`warpwright list workloads` names them) or an entry of a launch file's table
        of values.
    modules
        A file in place of the module of a launch file, or in place of the one that it calls NAME. A comparison takes
        several with commas: a column a version.
    seed
        Seed of the generated inputs of bundled workloads. Default: 1.
    code
        Code to run, of bundled workloads and programs that have both (`auto`: machine code for the GPU's architecture
        where there is some and the core runs it, else PTX; `ptx`: the virtual machine's code: virtual registers, not
        scheduled for any GPU; `sass`: machine code for the GPU's architecture). Default: auto.
    registers
        Registers that PTX runs with: virtual, allocated, or hazard-free, allocated so that no write overtakes a read.
        Bundled workloads and programs then run as PTX. Default: virtual.
    max_registers
        Maximum number of registers per thread to allocate; values that do not fit are spilled to local memory. Default:
        as many as the GPU allows.
    stack_bytes
        Stack of each thread where machine code does not bound its own, with recursion or calls through pointers.
        Default: the launch file's, else 1024; at most 524288.
    out_of_bounds
        Effect of a kernel's access to global memory outside all allocations: error, or warn or allow, with which such
        accesses near allocations are harmless, as on hardware. Default: error, for programs warn.
    shift_addresses
        Leave out the first bytes of device memory, in multiples of 256. Nothing should depend on it but the
        distribution of addresses over L2 and DRAM: several values show how much of a result is chance.
    any_architecture
        Let machine code in traces, cubins and fat binaries of another architecture than the GPU's run.
    concurrent_streams
        Let kernels of different streams of a trace run at the same time; Accel-Sim runs one after the other.
    energy_model
        Coefficients of a GPU that comes with the program, or a file of them (`warpwright docs energy`). Default: the
        GPU description's energy.model.
    sample
        Write every statistic over time, and power, to a CSV file: a row for each interval of CYCLES core cycles;
        unrelated to sampled simulation.
    power_interval
        Core cycles between two points of power over time, which the JSON then holds too. Default: 1000, if it is asked
        for.
    timeline
        Write the timeline of each instruction, cycle by cycle: FILE.json for Perfetto (ui.perfetto.dev), any other for
        Konata.
    timeline_cycles
        Core cycles that the timeline shows, counted from the start of the run, such as 5000..7000. Default: 2000, from
        the first CTA of the SM on.
    timeline_sms
        SMs that the timeline shows. Default: 0.
    timeline_warps
        Warp slots that the timeline shows, such as 0..7. Default: all.
    timeline_kernel
        Kernels that the timeline or a profile shows: those with NAME in their names. Default: all.
    threads
        Host threads, which runs at the same time share; results do not depend on them. Default: one per processor.
    """
    options = texts(locals(), "workload", "progress")
    with Display() as display, raised():
        return Run(_native.run(os.fspath(workload), options, callback(progress, display)))
