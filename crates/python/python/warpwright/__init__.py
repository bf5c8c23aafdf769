"""Warpwright: CUDA kernels simulated cycle by cycle, with the core design as a choice.

>>> import warpwright as ww
>>> run = ww.run("vectoradd", gpu="v100", core="ghost")
>>> run.passed
True
>>> run.cycles > 0
True

`run` simulates a bundled workload, a launch file or a trace; `launch` a kernel of yours with NumPy arrays; `Device` is a
GPU for programs of several launches; `compare` puts machines side by side. Names, options and figures are
the same as in the command `warpwright`, whose documentation holds here too.
"""

from ._compare import Comparison, Entry, compare
from ._device import Array, Device, Kernel, Module, launch
from ._lists import cores, gpus, schedulers, statistics, workloads
from ._native import Error, InputError, __version__
from ._options import CompareOptions, RunOptions
from ._result import Page, Run
from ._run import run

__all__ = [
    "Array",
    "CompareOptions",
    "Comparison",
    "Device",
    "Entry",
    "Error",
    "InputError",
    "Kernel",
    "Module",
    "Page",
    "Run",
    "RunOptions",
    "__version__",
    "compare",
    "cores",
    "gpus",
    "launch",
    "run",
    "schedulers",
    "statistics",
    "workloads",
]
