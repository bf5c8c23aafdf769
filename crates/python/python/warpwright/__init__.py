"""Warpwright: CUDA kernels simulated cycle by cycle, with the core design as a choice.

>>> import warpwright as ww
>>> run = ww.run("vectoradd", gpu="v100", core="ghost")
>>> run.passed
True
>>> run.cycles > 0
True

`run` simulates a bundled workload, a launch file or a trace; `launch` a kernel of yours with NumPy arrays; `Device` is a
GPU for programs of several launches; `compare` puts machines side by side, and `sweep` stores the runs and makes them on
many machines. Names, options and figures are
the same as in the command `warpwright`, whose documentation holds here too.
"""

from ._compare import Comparison, Entry, Repeats, compare
from ._device import Array, Device, Kernel, Module, launch
from ._lists import cores, gpus, schedulers, statistics, workloads
from ._native import Error, InputError, __version__
from ._options import CompareOptions, RunOptions, SweepOptions
from ._result import Page, Run
from ._run import run
from ._sweep import Executor, Sweep, sweep

__all__ = [
    "Array",
    "CompareOptions",
    "Comparison",
    "Device",
    "Entry",
    "Error",
    "Executor",
    "InputError",
    "Kernel",
    "Module",
    "Page",
    "Repeats",
    "Run",
    "RunOptions",
    "Sweep",
    "SweepOptions",
    "__version__",
    "compare",
    "cores",
    "gpus",
    "launch",
    "run",
    "schedulers",
    "statistics",
    "sweep",
    "workloads",
]
