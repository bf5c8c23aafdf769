"""Runs of workloads, launch files and traces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _native
from ._keywords import texts
from ._options import PathLike, RunOptions
from ._progress import Display, Progress, callback
from ._result import Run, raised

if TYPE_CHECKING:
    from typing_extensions import Unpack


def run(workload: PathLike, *, progress: Progress = None, **options: Unpack[RunOptions]) -> Run:
    """Simulates a workload on one GPU.

    Parameters
    ----------
    workload
        A bundled workload (`workloads()` names them), or the path of a launch file (.toml) or a trace.
    progress
        None or True: a line while a long run goes on. False: nothing. A function: it is called with a dict a few times
        per second, and ends the run by returning False.
    options
        `RunOptions` has the keywords and what each means, as `help(warpwright.RunOptions)` lists them: `gpu`, `core`,
        `scheduler`, `settings`, `code`, `profile`, `sample`, `timeline` (True, or two cycles), `time` and others. They are
        the options of `warpwright run`, with the same defaults.

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
    with Display() as display, raised():
        return Run(_native.run(os.fspath(workload), texts(options), callback(progress, display)))
