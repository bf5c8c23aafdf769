"""Runs of workloads, launch files and traces."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Optional

from . import _native
from ._options import PathLike, options, value
from ._progress import Display, Progress, callback
from ._result import Run, raised


def what(
    workload: PathLike,
    size: Optional[str] = None,
    params: Optional[Mapping[str, Any]] = None,
    seed: Optional[int] = None,
    modules: Optional[Mapping[Optional[str], PathLike]] = None,
    concurrent_streams: bool = False,
) -> dict[str, Any]:
    """What runs, as the native part takes it. Parameters may follow the name: `nn:places=4096,block=64`."""
    name, given = os.fspath(workload), dict(params or {})
    known, _, own = name.partition(":")
    if own and not os.path.exists(name):
        name = known
        for part in own.split(","):
            key, is_set, text = part.partition("=")
            if not is_set:
                raise _native.InputError(f"{workload}: after the colon come parameters, such as n=4096")
            given[key.strip()] = text.strip()
    return {
        "name": name,
        "size": size,
        "params": [(str(key), value(of)) for key, of in given.items()],
        "seed": seed,
        "modules": [(key, os.fspath(path)) for key, path in (modules or {}).items()],
        "concurrent_streams": concurrent_streams,
    }


def run(
    workload: PathLike,
    *,
    size: Optional[str] = None,
    params: Optional[Mapping[str, Any]] = None,
    seed: Optional[int] = None,
    modules: Optional[Mapping[Optional[str], PathLike]] = None,
    concurrent_streams: bool = False,
    progress: Progress = None,
    **machine: Any,
) -> Run:
    """Simulates a workload on one GPU.

    Parameters
    ----------
    workload
        A bundled workload (`workloads()` names them), or the path of a launch file (.toml) or a trace.
    size
        "small", "medium" (about a million warp instructions) or "large" (about ten million), of bundled workloads.
    params
        Parameters of the workload, or values of the launch file.
    seed
        Seed of the inputs of bundled workloads.
    modules
        Files in place of modules of a launch file, by the name there; None for its only one.
    concurrent_streams
        Whether kernels of different streams of a trace run at the same time.
    progress
        None or True: a line while a long run goes on. False: nothing. A function: it is called with a dict a few times
        per second, and ends the run by returning False.
    gpu
        A name of `gpus()` or the path of a description. By default the launch file's, else "rtx2060s".
    core, scheduler
        Core design and warp scheduler, with their parameters: "ghost:issue_buffer=16", "two_level:active=4".
    settings
        Values of the GPU description: {"sm.issue.schedulers": 2}, or nested.
    code
        "sass", "ptx", or "auto": machine code where the workload has some for the GPU.
    registers, max_registers
        Registers of PTX: "virtual", "allocated" or "hazard-free", and how many of them a thread may have.
    sample
        Core cycles between two points of statistics over time (`Run.samples`).
    profile
        Count slots, latencies, accesses and energy by instruction (`Run.profile`, `Run.instructions`).
    timeline, timeline_sms
        Record what happens to each instruction: True for 2,000 cycles, or (from, to); on which SMs (`Run.timeline`).
    time
        What is simulated in time, the rest being executed without: "all", "none", "kernels=3,7..9", "kernels=NAME",
        "ctas=0..79", "representative" (`Run.report["sampling"]`; docs/sampling.md).
    audit, check_memory
        Check the order of instructions; check accesses for races and reads of unwritten memory.
    max_cycles, livelock_cycles
        When a run ends early.
    threads
        Host threads of the run, by default one for each processor. Results do not depend on them.
    any_architecture, stack_bytes, out_of_bounds, energy_model
        As the options of `warpwright run`.

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
    """
    job = what(workload, size, params, seed, modules, concurrent_streams)
    with Display() as display, raised():
        return Run(_native.run(job, options(**machine), callback(progress, display)))
