"""Keywords of runs and comparisons, for type checkers and help.

Made from the table of options: `BLESS=1 cargo test -p warpwright-request`. Do not edit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

PathLike = Union[str, "os.PathLike[str]"]


class _Options(TypedDict, total=False):
    """Keywords of runs, comparisons and sweeps."""

    gpu: PathLike | Sequence[PathLike] | None
    """GPU: a built-in one (`warpwright list gpus`) or the path of a description. Default: the launch file's, else rtx2060s, for programs rtx2060s."""

    core: str | Sequence[str] | None
    """Core design with its parameters, such as ghost:issue_buffer=16 (`warpwright list cores`). Default: the GPU description's."""

    scheduler: str | Sequence[str] | None
    """Warp scheduler with its parameters, such as two_level:active=4 (`warpwright list schedulers`). Default: the GPU description's."""

    time: str | None
    """Part of the run that is simulated in time: all, none, launches by number and kernels by name (kernels=3,7..9,NAME), CTAs of each launch (ctas=0..79), or representative launches (representative, representative:tolerance=5). The rest is executed without time, or left out of a trace. Ranges include both ends (`warpwright docs sampling`). Default: all."""

    max_cycles: int | None
    """End each run soon after this number of simulated core cycles, launch latency included, and report the part that was simulated. Checked every few thousand cycles. Without time (--time), warp instructions count. Later CUDA calls of a program fail."""

    livelock_cycles: int | None
    """End the run as failed after this number of core cycles in which all warps repeated themselves and changed nothing: a livelock. Without time (--time), warp instructions count. 0 turns this off. Default: 1000000."""

    profiled_as: str | None
    """Run and count kernels as under a profiler, to compare with its figures: one at a time, with the part of the launch that it counts as launch latency (`cycles in all` are those of the profiler), and under ncu with empty caches. Cycles are those of the description's core clock. Settings given replace these (`ncu`: nsight Compute as it is by default: one kernel at a time, caches empty before each; `nvprof`: nvprof: one kernel at a time, caches as the program leaves them; `usual`: the profiler that cycles of the GPU are usually counted with, by its description)."""

    settings: Mapping[str, Any] | Sequence[str] | None
    """A value of the GPU description, such as sm.issue.schedulers=2 or clocks.core_mhz=1.5GHz; `warpwright list settings` names them."""

    warps_per_sm: int | str | Sequence[int | str] | None
    """Warp slots of an SM, 128 at most: a number, or a multiple of the description's such as x2."""

    register_file: int | str | Sequence[int | str] | None
    """Registers of an SM: a number, or a multiple of the description's such as x2."""

    branches: str | Sequence[str] | None
    """Instructions fetched after a branch until it issues (`oracle`: the right path, as if predicted perfectly (Accel-Sim's traces); `stall`: nothing until the branch has issued; `flush`: the next instruction in memory, flushed if the branch goes elsewhere (GPGPU-Sim); `sequential_flush`: the same, by the name that it has as a setting)."""

    instruction_buffer: int | Sequence[int] | None
    """Entries of each warp's instruction buffer; designs with a buffer of their own keep it."""

    size: str | None
    """How much work, of bundled workloads: small, medium (about a million warp instructions) or large (about ten million). Default: small."""

    params: Mapping[str, Any] | None
    """A parameter of a bundled workload (`warpwright list workloads` names them) or an entry of a launch file's table of values."""

    modules: Mapping[str | None, PathLike] | None
    """A file in place of the module of a launch file, or in place of the one that it calls NAME."""

    seed: int | None
    """Seed of the generated inputs of bundled workloads. Default: 1."""

    code: str | None
    """Code to run, of bundled workloads and programs that have both (`auto`: machine code for the GPU's architecture where there is some and the core runs it, else PTX; `ptx`: the virtual machine's code: virtual registers, not scheduled for any GPU; `sass`: machine code for the GPU's architecture). Default: auto."""

    registers: str | None
    """Registers that PTX runs with: virtual, allocated, or hazard-free, allocated so that no write overtakes a read. Bundled workloads and programs then run as PTX. Default: virtual."""

    max_registers: int | None
    """Maximum number of registers per thread to allocate; values that do not fit are spilled to local memory. Default: as many as the GPU allows."""

    stack_bytes: int | None
    """Stack of each thread where machine code does not bound its own, with recursion or calls through pointers. Default: the launch file's, else 1024."""

    out_of_bounds: str | None
    """Effect of a kernel's access to global memory outside all allocations: error, or warn or allow, with which such accesses near allocations are harmless, as on hardware. Default: error, for programs warn."""

    shift_addresses: int | None
    """Leave out the first bytes of device memory, in multiples of 256. Nothing should depend on it but the distribution of addresses over L2 and DRAM: several values show how much of a result is chance."""

    any_architecture: bool | None
    """Let machine code in traces, cubins and fat binaries of another architecture than the GPU's run."""

    concurrent_streams: bool | None
    """Let kernels of different streams of a trace run at the same time; Accel-Sim runs one after the other."""

    energy_model: PathLike | None
    """Coefficients of a GPU that comes with the program, or a file of them (`warpwright docs energy`). Default: the GPU description's energy.model."""

    threads: int | None
    """Host threads, which runs at the same time share; results do not depend on them. Default: one per processor."""


class _Findings(_Options, total=False):
    """Keywords of runs and comparisons."""

    audit: bool | None
    """Check each instruction against the program order of its warp (hazard auditor) and report the violations. Takes about twice as long."""

    check_memory: bool | None
    """Check memory accesses: reads of memory that was never written, races of warps in shared memory and of CTAs in global memory. Takes several times as long."""

    profile: bool | None
    """Count issue slots, latencies and accesses by instruction, and list those that took most slots; a comparison shows which instructions each machine helps or hurts. Takes about a quarter longer."""


class RunOptions(_Findings, total=False):
    """Keywords of `run` and `Device`."""

    sample: int | None
    """Write every statistic over time, and power, to a CSV file: a row for each interval of CYCLES core cycles; unrelated to sampled simulation."""

    power_interval: int | None
    """Core cycles between two points of power over time, which the JSON then holds too. Default: 1000, if it is asked for."""

    timeline: bool | tuple[int, int] | PathLike | None
    """Write the timeline of each instruction, cycle by cycle: FILE.json for Perfetto (ui.perfetto.dev), any other for Konata."""

    timeline_cycles: str | None
    """Core cycles that the timeline shows, counted from the start of the run, such as 5000..7000. Default: 2,000, from the first CTA of the SM on."""

    timeline_sms: int | Sequence[int] | None
    """SMs that the timeline shows. Default: 0."""

    timeline_warps: str | None
    """Warp slots that the timeline shows, such as 0..7. Default: all."""

    timeline_kernel: str | None
    """Kernels that the timeline or a profile shows: those with NAME in their names. Default: all."""


class SweepOptions(_Options, total=False):
    """Keywords of `sweep`; lists of GPUs, cores, schedulers and changes make columns."""

    gpus: PathLike | Sequence[PathLike] | None
    """GPU: a built-in one (`warpwright list gpus`) or the path of a description. Default: the launch file's, else rtx2060s, for programs rtx2060s."""

    cores: str | Sequence[str] | None
    """Core design with its parameters, such as ghost:issue_buffer=16 (`warpwright list cores`). Default: the GPU description's."""

    schedulers: str | Sequence[str] | None
    """Warp scheduler with its parameters, such as two_level:active=4 (`warpwright list schedulers`). Default: the GPU description's."""

    vary: Mapping[str, Sequence[Any]] | None
    """Values to compare: of the GPU description, as sm.issue.schedulers=1,2,4, or of a parameter of the cores or the schedulers that have it, as core.issue_buffer=4,8,16 or scheduler.active=4,8; several of these are combined, and two are shown as a grid."""

    over: str | None
    """Core design or warp scheduler that speedups and other relative figures are over, for each column with everything else the same; it runs even if --cores or --schedulers leaves it out. Default: the first column."""

    repeat: int | None
    """Run everything this many times with small random changes that should not matter: the cluster of SMs that gets the first CTA, the addresses of data, two cycles of L2 latency. Figures are means, with half of the width of their 95 % confidence interval. Default: 1."""

    isa: str | None
    """Code to run, of bundled workloads and programs that have both (`auto`: machine code for the GPU's architecture where there is some and the core runs it, else PTX; `ptx`: the virtual machine's code: virtual registers, not scheduled for any GPU; `sass`: machine code for the GPU's architecture). Default: auto."""

    kernels: str | Sequence[str] | None
    """Show the launches of these kernels only, a row for each, in place of whole workloads."""

    jobs: int | None
    """Host threads, which runs at the same time share; results do not depend on them. Default: one per processor."""


class CompareOptions(SweepOptions, _Findings, total=False):
    """Keywords of `compare`: the keywords of `sweep`, and findings."""
