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

from . import _processor

_processor.check()

from ._changes import Changes
from ._compare import Comparison, Entry, Repeats, compare
from ._cuda import Cuda, cuda
from ._device import Array, Device, Kernel, Module, launch
from ._lists import cores, gpus, schedulers, statistics, workloads
from ._native import Error, InputError, __version__
from ._result import Page, Run
from ._rules import Cause, Facts, remove_rule, rule
from ._run import run
from ._sweep import Executor, Sweep, sweep
from ._table import Table

__all__ = [
    "Array",
    "Cause",
    "Changes",
    "Comparison",
    "Cuda",
    "Device",
    "Entry",
    "Error",
    "Executor",
    "Facts",
    "InputError",
    "Kernel",
    "Module",
    "Page",
    "Repeats",
    "Run",
    "Sweep",
    "Table",
    "__version__",
    "compare",
    "cores",
    "cuda",
    "gpus",
    "launch",
    "remove_rule",
    "rule",
    "run",
    "schedulers",
    "statistics",
    "sweep",
    "workloads",
]
