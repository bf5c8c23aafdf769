"""Comparisons whose runs are stored, and made by any executor."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Optional, Protocol, Union
from uuid import uuid4

from . import _native
from ._compare import Comparison, Entry, Repeats, names
from ._keywords import PathLike, named, texts
from ._progress import Display
from ._table import Table

#: Seconds between two looks at jobs that cannot be waited for.
_LOOK = 0.1
#: Times that a job is submitted.
_ATTEMPTS = 2
#: A missing run: part, place in its plan, and whether it can be stored.
_Left = tuple[int, int, bool]
#: Sweeps of this process whose runs are to end.
_stopped: set[str] = set()


class Executor(Protocol):
    """Calls functions elsewhere: a `concurrent.futures.Executor`, or what has `submit` as that does and returns jobs with
    `done` and `result`."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Begins a call."""


@dataclass(frozen=True)
class _Job:
    """Runs for one call of the executor: a few texts, from which another process makes the plan again."""

    sweep: str
    workloads: tuple[str, ...]
    keywords: tuple[tuple[str, tuple[str, ...]], ...]
    #: Place in the plan, and name, of each run.
    runs: tuple[tuple[int, str], ...]

    def __call__(self) -> list[tuple[_native._Packed, float]]:
        """Makes the runs: their outcomes and seconds."""
        plan = _plan(self.workloads, self.keywords)
        return [self._run(plan, *run) for run in self.runs]

    def _run(self, plan: _native.Sweep, run: int, key: str) -> tuple[_native._Packed, float]:
        if plan.key(0, run) != key:
            why = "another version of warpwright, or other input files, where the job ran"
            return ("failed", why, None), 0.0
        return plan.packed(0, run, lambda _: self.sweep not in _stopped)


@lru_cache(maxsize=4)
def _plan(workloads: tuple[str, ...], keywords: tuple[tuple[str, tuple[str, ...]], ...]) -> _native.Sweep:
    # Nothing is stored by it.
    return _native.Sweep.stored(list(workloads), [(name, list(values)) for name, values in keywords], os.devnull)


class Sweep(Comparison):
    """A comparison whose runs are stored, or the comparisons of an experiment.

    What `Comparison` has is of all parts; a workload and a column that several parts have are asked of the part.

    >>> import tempfile
    >>> import warpwright as ww
    >>> with tempfile.TemporaryDirectory() as points:
    ...     first = ww.sweep("vectoradd", gpu="v100", cores=["inorder", "ghost"], points=points, progress=False)
    ...     again = ww.sweep("vectoradd", gpu="v100", cores=["inorder", "ghost"], points=points, progress=False)
    >>> first.runs, first.made, again.made
    (2, 2, 0)
    """

    def __init__(self, sweep: _native.Sweep, made: int) -> None:
        compared = sweep.comparisons(None)
        super().__init__(compared[0])
        self.title, self.about, self.findings = sweep.about()
        """Title, subject, and the paper's findings, of an experiment; else empty."""
        self.commands: list[str] = sweep.commands()
        """Each part as a command, of an experiment."""
        self.parts = [Comparison(one) for one in compared]
        """The comparisons: one, or the parts of an experiment."""
        self.runs = sweep.count()
        """Number of runs, without duplicates."""
        self.made = made
        """Number of runs that were not stored before."""
        self.points = Path(sweep.folder() or "")
        """Folder of the stored runs."""
        self.entries = [entry for part in self.parts for entry in part.entries]

    def _only(self, parts: list[Comparison], what: str) -> Comparison:
        if len(parts) == 1:
            return parts[0]
        having = [str(at + 1) for at, part in enumerate(self.parts) if part in parts]
        raise KeyError(f"{what} in parts {', '.join(having)}: ask one of `parts`" if parts else f"no {what}")

    def _of(self, workload: str, column: str) -> Comparison:
        parts = [part for part in self.parts if workload in part.workloads and column in part.columns]
        return self._only(parts, f"{workload!r} on {column!r}")

    def _with(self, column: str) -> Comparison:
        return self._only([part for part in self.parts if column in part.columns], repr(column))

    @property
    def workloads(self) -> list[str]:
        """The workloads, in order."""
        return list(dict.fromkeys(name for part in self.parts for name in part.workloads))

    @property
    def columns(self) -> list[str]:
        """Labels of the machines, in order."""
        return list(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def report(self) -> dict[str, Any]:
        """Everything: of workloads as `warpwright compare --json` has it, of an experiment its `parts` so."""
        reports = [part.report for part in self.parts]
        if not self.title:
            return reports[0]
        return {"title": self.title, "about": self.about, "published": self.findings, "parts": reports}

    def entry(self, workload: str, column: str) -> Entry:
        return self._of(workload, column).entry(workload, column)

    def speedup(self, workload: str, column: str) -> Optional[float]:
        return self._of(workload, column).speedup(workload, column)

    def repeats(self, workload: str, column: str, statistic: str = "speedup") -> Optional[Repeats]:
        return self._of(workload, column).repeats(workload, column, statistic)

    def published(self, workload: str, column: str) -> Optional[float]:
        return self._of(workload, column).published(workload, column)

    def mean(self, column: str) -> Optional[float]:
        return self._with(column).mean(column)

    def repeats_of_mean(self, column: str) -> Optional[Repeats]:
        return self._with(column).repeats_of_mean(column)

    def rows(self, statistics: Optional[Iterable[str]] = None) -> Table:
        """The rows of all parts; of several, with the number of the part first."""
        chosen = None if statistics is None else list(statistics)
        if len(self.parts) == 1:
            return self.parts[0].rows(chosen)
        return Table({"part": at + 1, **row} for at, part in enumerate(self.parts) for row in part.rows(chosen))

    def plot(self, statistic: str = "speedup", ax: Any = None, **how: Any) -> Any:
        """As a comparison's; of several parts, each has its own."""
        return self._only(self.parts, "plots").plot(statistic, ax, **how)

    def __str__(self) -> str:
        texts = [f"$ {command}\n{part}" if command else str(part) for command, part in zip(self.commands, self.parts)]
        return "\n\n".join([text for text in (self.title, self.about, self.findings) if text] + texts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads = [f"<h3>{html.escape(self.title)}</h3>"] if self.title else []
        about = [f"<p>{html.escape(text)}</p>" for text in (self.about, self.findings) if text]
        tables = [
            (f"<pre>{html.escape(command)}</pre>" if command else "") + part._repr_html_()
            for command, part in zip(self.commands, self.parts)
        ]
        return "".join(heads + about + tables)


@named("sweep")
def sweep(
    what: Union[PathLike, Sequence[PathLike]],
    *,
    points: Optional[PathLike] = None,
    executor: Optional[Executor] = None,
    chunksize: int = 1,
    progress: Optional[bool] = None,
    # Options of `sweep`, made by `BLESS=1 cargo test -p warpwright-request`.
    gpu: PathLike | Sequence[PathLike] | None = None,
    gpus: PathLike | Sequence[PathLike] | None = None,
    core: str | Sequence[str] | None = None,
    cores: str | Sequence[str] | None = None,
    scheduler: str | Sequence[str] | None = None,
    schedulers: str | Sequence[str] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    over: str | None = None,
    derive: Mapping[str, str] | None = None,
    as_columns: bool | None = None,
    repeat: int | None = None,
    time: str | None = None,
    max_cycles: int | None = None,
    livelock_cycles: int | None = None,
    profiled_as: Literal["ncu", "nvprof", "usual"] | None = None,
    settings: Mapping[str, Any] | Sequence[str] | None = None,
    warps_per_sm: int | str | Sequence[int | str] | None = None,
    register_file: int | str | Sequence[int | str] | None = None,
    branches: Literal["oracle", "stall", "flush", "sequential_flush"] | Sequence[Literal["oracle", "stall", "flush", "sequential_flush"]] | None = None,
    instruction_buffer: int | Sequence[int] | None = None,
    size: Literal["small", "medium", "large"] | None = None,
    params: Mapping[str, Any] | None = None,
    modules: Mapping[str | None, PathLike | Sequence[PathLike]] | None = None,
    seed: int | None = None,
    code: Literal["auto", "ptx", "sass"] | None = None,
    isa: Literal["auto", "ptx", "sass"] | None = None,
    registers: Literal["virtual", "allocated", "hazard-free"] | None = None,
    max_registers: int | None = None,
    stack_bytes: int | None = None,
    out_of_bounds: Literal["error", "warn", "allow"] | None = None,
    shift_addresses: int | None = None,
    any_architecture: bool | None = None,
    concurrent_streams: bool | None = None,
    energy_model: PathLike | None = None,
    kernels: str | Sequence[str] | None = None,
    threads: int | None = None,
    jobs: int | None = None,
    # End of the options.
) -> Sweep:
    """Makes a comparison or an experiment, and stores each run: it can be stopped, continued and changed, and only missing
    runs are made.

    Parameters
    ----------
    what
        Workloads as for `compare`; or the path of an experiment's file, or the name of a paper's figure
        (`warpwright list figures`).
    points
        Folder of the stored runs, which the command shares. Default: `warpwright/points` in the user's cache folder.
    executor
        Makes the runs: any `concurrent.futures.Executor`. Executors of threads, processes and Dask are tested. Each call is
        a few texts; the outcome comes back as bytes and is stored here, so that its machines need not share `points`. They
        need the same version of this package, and the files that the workloads name, by the same absolute paths. Default:
        threads of this process.
    chunksize
        Runs of a call of the executor: more for executors whose jobs take long to start.
    progress
        False: no line about how many runs have ended.

    Options of an experiment replace the file's in every part. With an executor, `threads` are those that the runs of a
    process share, by default 1.

    A failed run is made once more; so is one whose job is lost with its machine. If it fails again, its entry says why, and
    the other runs continue. Launch files that write files run in this process.

    Examples
    --------
    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import warpwright as ww
    >>> with tempfile.TemporaryDirectory() as points, ThreadPoolExecutor(2) as pool:
    ...     swept = ww.sweep("nn", gpu="v100", cores=["inorder", "ghost"], repeat=3, points=points, executor=pool)
    >>> swept.repeats("nn", "ghost").runs
    3

    Options
    -------
    gpu, gpus
        GPU: a built-in one (`warpwright list gpus`) or the path of a description. Default: the launch file's, else
        rtx2060s, for programs rtx2060s.
    core, cores
        Core design with its parameters, such as ghost:issue_buffer=16 (`warpwright list cores`). Default: the GPU
        description's.
    scheduler, schedulers
        Warp scheduler with its parameters, such as two_level:active=4 (`warpwright list schedulers`). Default: the GPU
        description's.
    vary
        Values to compare: of the GPU description, as sm.issue.schedulers=1,2,4, or of a parameter of the cores or the
        schedulers that have it, as core.issue_buffer=4,8,16 or scheduler.active=4,8; several of these are combined, and
        two are shown as a grid.
    over
        Baseline of speedups and other relative figures, for each column with everything else the same: a core design or
        warp scheduler, which runs even if --cores or --schedulers leaves it out, or a value among those that vary, as
        headings have it (registers=x1, replacement=lru, gpu=v100). Default: the first column; of the same GPU, where
        other things vary too.
    derive
        A figure of your own from statistics (`warpwright list stats`), shown after the others: + - * / and parentheses,
        as in "bytes per instruction=dram.bytes / warp_instructions". Without a value where a statistic is absent or a
        divisor is zero.
    as_columns
        Take the workloads as versions of the same work: a column each, with speedups over the first.
    repeat
        Run everything this many times with small random changes that should not matter: the cluster of SMs that gets
        the first CTA, the addresses of data, two cycles of L2 latency. Figures are means, with half of the width of
        their 95 % confidence interval. Default: 1.
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
    code, isa
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
    kernels
        Show the launches of these kernels only, a row for each, in place of whole workloads.
    threads, jobs
        Host threads, which runs at the same time share; results do not depend on them. Default: one per processor.
    """
    if executor is not None and threads is None and jobs is None:
        threads = 1
    options = texts(locals(), "what", "points", "executor", "chunksize", "progress")
    if chunksize < 1:
        raise _native.InputError(f"chunksize={chunksize}: a call has 1 run at least")
    plan = _native.Sweep.stored(names(what), options, None if points is None else os.fspath(points))
    left = plan.left()
    with Display() as display:

        def told(ended: int) -> None:
            if progress is not False:
                display.text(lambda: f"{ended} of {len(left)} missing runs have ended")

        if executor is None:
            with ThreadPoolExecutor(plan.threads()) as pool:
                _made(plan, left, pool, 1, told)
        else:
            elsewhere = [of for of in left if of[2]]
            here = [of for of in left if not of[2]]
            _made(plan, elsewhere, executor, chunksize, told)
            if here:
                with ThreadPoolExecutor(1) as pool:
                    _made(plan, here, pool, 1, told)
    return Sweep(plan, len(left))


def _jobs(plan: _native.Sweep, name: str, left: list[_Left], chunksize: int) -> Iterator[tuple[_Job, int]]:
    """Calls for the missing runs, and the part of each: the runs of a call are of one part."""
    by_part: dict[int, list[int]] = {}
    for part, run, _ in left:
        chunk = by_part.setdefault(part, [])
        chunk.append(run)
        if len(chunk) == chunksize:
            yield _job(plan, name, part, by_part.pop(part)), part
    for part, rest in by_part.items():
        yield _job(plan, name, part, rest), part


def _job(plan: _native.Sweep, name: str, part: int, runs: list[int]) -> _Job:
    workloads, keywords = plan.task(part)
    texts = tuple((keyword, tuple(values)) for keyword, values in keywords)
    keys = tuple((run, plan.key(part, run)) for run in runs)
    return _Job(name, tuple(map(os.fspath, workloads)), texts, keys)


def _made(
    plan: _native.Sweep, left: list[_Left], executor: Executor, chunksize: int, told: Callable[[int], None]
) -> None:
    """Makes the runs by `executor`, and stores each when its call has ended. Ctrl-C and errors of this process end all."""
    name = uuid4().hex
    waiting: dict[Any, tuple[_Job, int, int]] = {}
    ended = 0

    def submit(job: _Job, part: int, attempt: int) -> None:
        nonlocal ended
        try:
            waiting[executor.submit(job)] = (job, part, attempt)
        except Exception as error:  # whatever an executor raises that has ended
            _lost(plan, job, part, error)
            ended += len(job.runs)

    try:
        for job, part in _jobs(plan, name, left, chunksize):
            submit(job, part, 1)
        while waiting:
            for future in _ended(waiting):
                job, part, attempt = waiting.pop(future)
                try:
                    outcomes = future.result()
                except Exception as error:  # of the executor: the machine or the process is gone
                    if attempt < _ATTEMPTS:
                        submit(job, part, attempt + 1)
                        continue
                    _lost(plan, job, part, error)
                else:
                    for (run, _), (outcome, seconds) in zip(job.runs, outcomes):
                        plan.put(part, run, outcome, seconds)
                ended += len(job.runs)
            told(ended)
    except BaseException:
        _stopped.add(name)
        for future in waiting:
            getattr(future, "cancel", bool)()
        raise


def _ended(waiting: Iterable[Any]) -> list[Any]:
    """The jobs that have ended; waits for a moment if none has."""
    futures = [job for job in waiting if isinstance(job, Future)]
    if futures:
        wait(futures, timeout=_LOOK, return_when=FIRST_COMPLETED)
    ended = [job for job in waiting if job.done()]
    if not (ended or futures):
        time.sleep(_LOOK)
    return ended


def _lost(plan: _native.Sweep, job: _Job, part: int, error: Exception) -> None:
    why = f"its job failed twice: {type(error).__name__}: {error}"
    for run, _ in job.runs:
        plan.put(part, run, ("failed", why, None), 0.0)
