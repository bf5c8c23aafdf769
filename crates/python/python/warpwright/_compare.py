"""Workloads on several machines, side by side."""

from __future__ import annotations

import html
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from . import _native
from ._changes import Changes
from ._keywords import PathLike, named, parameters, parsed, texts
from ._plot import Kind, plot
from ._progress import Display
from ._result import Run, number
from ._table import Table

if TYPE_CHECKING:
    import pandas
    import polars

#: Figures that a comparison shows first.
_FIRST = ("cycles", "time", "ipc", "occupancy.achieved", "energy.total", "power.mean")


@dataclass(frozen=True)
class Entry:
    """A workload on a machine, and the run, or why there is none."""

    workload: str
    column: str
    gpu: str
    core: str
    scheduler: Optional[str]
    settings: dict[str, Any]
    """Values that the machine was given: of the GPU by their keys, of core and scheduler as `core.issue_buffer`."""
    run: Optional[Run] = field(repr=False)
    error: Optional[str] = None
    complete: bool = False
    """Whether the run came to its end, or to `max_cycles`, with a result that is not wrong."""


@dataclass(frozen=True)
class Repeats:
    """Mean of a figure over repeats."""

    runs: int
    mean: float
    half_width: float
    """Half of the width of the 95 % confidence interval of the mean."""


class Comparison:
    """Runs of workloads on several machines: a column for each machine, speedups over the first or `over`.

    >>> import warpwright as ww
    >>> compared = ww.compare(["vectoradd", "reduction"], gpu="v100", cores=["inorder", "ghost"], progress=False)
    >>> compared.columns
    ['inorder', 'ghost']
    >>> compared.speedup("vectoradd", "inorder")
    1.0
    >>> len(compared.to_pandas())
    4
    """

    def __init__(self, compared: _native.Comparison) -> None:
        self._compared = compared
        self._workloads = compared.workloads()
        self._machines = compared.columns()
        self.entries = [
            self._entry(row, column) for row in range(len(self._workloads)) for column in range(len(self._machines))
        ]

    def _entry(self, row: int, column: int) -> Entry:
        label, gpu, core, scheduler, settings, _ = self._machines[column]
        status, error, outcome = self._compared.entry(row, column)
        run = None if outcome is None else Run(outcome)
        pairs = (setting.split("=", 1) for setting in settings)
        given = {key: parsed(text) for key, text in pairs}
        given |= parameters(core, "core") | parameters(scheduler, "scheduler")
        gpu = gpu if run is None else run.gpu
        return Entry(self._workloads[row], label, gpu, core, scheduler, given, run, error, status == "complete")

    @property
    def workloads(self) -> list[str]:
        """The workloads, in order."""
        return list(self._workloads)

    @property
    def columns(self) -> list[str]:
        """Labels of the machines, in order: what distinguishes them."""
        return [label for label, *_ in self._machines]

    @property
    def baseline(self) -> str:
        """Label of the machine that speedups of the first column are over."""
        return self.columns[self._machines[0][5]]

    @cached_property
    def axes(self) -> dict[str, list[Any]]:
        """The axes that vary among the machines, with their values in order: gpu, core, scheduler, settings by their keys.

        >>> import warpwright as ww
        >>> vary = {"sm.issue.schedulers": [1, 2], "sm.issue.dual_issue_needs_different_units": [False, True]}
        >>> ww.compare("vectoradd", gpu="v100", vary=vary, progress=False).axes
        {'sm.issue.schedulers': [1, 2], 'sm.issue.dual_issue_needs_different_units': [False, True]}
        """
        values: dict[str, list[Any]] = {}
        for of in self._all_values().values():
            for axis, value in of.items():
                known = values.setdefault(axis, [])
                if value not in known:
                    known.append(value)
        return {axis: known for axis, known in values.items() if len(known) > 1}

    def values_of_columns(self) -> dict[str, dict[str, Any]]:
        """The values of the `axes` that each machine has."""
        return {
            column: {axis: value for axis, value in of.items() if axis in self.axes}
            for column, of in self._all_values().items()
        }

    def _all_values(self) -> dict[str, dict[str, Any]]:
        first = self.entries[: len(self._machines)]

        def values(entry: Entry) -> dict[str, Any]:
            core = entry.core.partition(":")[0] + "".join(entry.core.partition("+")[1:])
            scheduler = (entry.scheduler or "").partition(":")[0]
            return {"gpu": entry.gpu, "core": core, "scheduler": scheduler, **entry.settings}

        return {entry.column: values(entry) for entry in first}

    @cached_property
    def report(self) -> dict[str, Any]:
        """Everything, as `warpwright compare --json` has it (`warpwright schema compare`)."""
        return json.loads(self._compared.json())

    def _at(self, workload: str, column: str) -> tuple[int, int]:
        try:
            return self.workloads.index(workload), self.columns.index(column)
        except ValueError:
            raise KeyError(f"no {workload!r} on {column!r}: {self.workloads} on {self.columns}") from None

    def _column(self, column: str) -> int:
        try:
            return self.columns.index(column)
        except ValueError:
            raise KeyError(f"no {column!r}: {self.columns}") from None

    def entry(self, workload: str, column: str) -> Entry:
        """A workload on a machine."""
        row, at = self._at(workload, column)
        return self.entries[row * len(self._machines) + at]

    def speedup(self, workload: str, column: str) -> Optional[float]:
        """Time of kernels, without launch latency, in the baseline's column over that in this one."""
        return self._compared.speedup(*self._at(workload, column))

    def changes(self, workload: str, column: str) -> Optional[Changes]:
        """The changes from the baseline's column to this one; None for the baseline itself, and if a run of either
        failed."""
        changes = self._compared.changes(*self._at(workload, column))
        return None if changes is None else Changes(*changes)

    def statistic(self, workload: str, column: str, name: str) -> Any:
        """A statistic of a workload on a machine; None if the run has none."""
        run = self.entry(workload, column).run
        return None if run is None else run.get(name)

    def repeats(self, workload: str, column: str, statistic: str = "speedup") -> Optional[Repeats]:
        """The speedup, or a statistic, over the repeats; None without `repeat`."""
        return _repeats(self._compared.repeats(*self._at(workload, column), statistic))

    def published(self, workload: str, column: str) -> Optional[float]:
        """The speedup that a paper reports for the core design and a program of the workload's name, over the same
        baseline; None if no paper reports it."""
        return self._compared.published(*self._at(workload, column))

    def mean(self, column: str) -> Optional[float]:
        """Geometric mean of the speedups of a column."""
        return self._compared.mean(self._column(column))[0]

    def repeats_of_mean(self, column: str) -> Optional[Repeats]:
        """The geometric mean of the speedups over the repeats; None without `repeat`."""
        return _repeats(self._compared.mean(self._column(column))[1])

    def rows(self, statistics: Optional[Iterable[str]] = None) -> Table:
        """A row for each workload on each machine: the machine with a column for each setting, the speedup, and
        statistics (all, or the named ones). With `repeat` the speedup and each named statistic are followed by their mean
        over the repeats and half of the width of its confidence interval; `cycles` itself is of the first run."""
        keys = list(dict.fromkeys(key for entry in self.entries for key in entry.settings))
        every = dict.fromkeys(key for entry in self.entries for key in entry.run or ())
        chosen = list(every) if statistics is None else list(statistics)

        def row(entry: Entry) -> dict[str, Any]:
            figures: dict[str, Any] = {"speedup": self.speedup(entry.workload, entry.column)}
            figures |= self._repeated(entry, "speedup")
            for name in chosen:
                figures[name] = None if entry.run is None else entry.run.get(name)
                figures |= {} if statistics is None else self._repeated(entry, name)
            return {
                "workload": entry.workload,
                "column": entry.column,
                "gpu": entry.gpu,
                "core": entry.core,
                "scheduler": entry.run.scheduler if entry.run is not None else entry.scheduler,
                **{key: entry.settings.get(key) for key in keys},
                "complete": entry.complete,
                "error": entry.error,
                **figures,
            }

        return Table(row(entry) for entry in self.entries)

    def _repeated(self, entry: Entry, statistic: str) -> dict[str, Any]:
        if not self._is_repeated:
            return {}
        of = self.repeats(entry.workload, entry.column, statistic)
        return {f"{statistic}.mean": of and of.mean, f"{statistic}.half_width": of and of.half_width}

    @cached_property
    def _is_repeated(self) -> bool:
        return any(self.repeats(entry.workload, entry.column) for entry in self.entries)

    def to_pandas(self, statistics: Optional[Iterable[str]] = None) -> "pandas.DataFrame":
        """The rows as a frame of pandas, whose `attrs["units"]` are the units of its columns."""
        return self.rows(statistics).to_pandas()

    def to_polars(self, statistics: Optional[Iterable[str]] = None) -> "polars.DataFrame":
        """The rows as a frame of Polars."""
        return self.rows(statistics).to_polars()

    def plot(
        self,
        statistic: str = "speedup",
        ax: Any = None,
        *,
        kind: Kind = "bar",
        x: Optional[str] = None,
        y: Optional[str] = None,
        workload: Optional[str] = None,
    ) -> Any:
        """Draws a statistic, or the speedup, with Matplotlib; returns the axes. Repeats have error bars: the 95 %
        confidence interval of the mean.

        Parameters
        ----------
        kind
            "bar": by workload, a colour for each machine; published speedups are marks. "line": over `x`, a line for each
            workload and each other machine. "heat": `x` by `y`, of one workload or the geometric mean of the speedups.
        x, y
            Axes of lines and heat maps, chosen from `axes`. Default: the first ones, numbers before names.
        workload
            The only one to draw.
        """
        return plot(self, statistic, kind, x, y, workload, ax)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["workload", "machine", "speedup", *_FIRST]
        rows = []
        for entry in self.entries:
            figures: Mapping[str, Any] = entry.run if entry.run is not None else {}
            speedup = self.speedup(entry.workload, entry.column)
            ratio = _ratio(speedup, self.repeats(entry.workload, entry.column))
            rows.append([entry.workload, entry.column, ratio, *(number(figures.get(name)) for name in _FIRST)])
        if len(self.workloads) > 1:
            for column in self.columns:
                mean = _ratio(self.mean(column), self.repeats_of_mean(column))
                rows.append(["geometric mean", column, mean, *[""] * len(_FIRST)])
        return head, rows

    def __str__(self) -> str:
        head, rows = self._table()
        widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]

        def line(row: list[str]) -> str:
            cells = (of.ljust(width) if at < 2 else of.rjust(width) for at, (of, width) in enumerate(zip(row, widths)))
            return "  ".join(cells).rstrip()

        failed = [f"{entry.workload} on {entry.column}: {entry.error}" for entry in self.entries if entry.error]
        return "\n".join([line(row) for row in [head, *rows]] + failed)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self._table()

        def line(row: list[str], tag: str) -> str:
            style = "text-align:left", "text-align:right"
            cells = (f"<{tag} style='{style[at > 1]}'>{html.escape(of)}</{tag}>" for at, of in enumerate(row))
            return f"<tr>{''.join(cells)}</tr>"

        body = "".join(line(row, "td") for row in rows)
        failed = [f"{entry.workload} on {entry.column}: {entry.error}" for entry in self.entries if entry.error]
        failures = "".join(f"<pre>{html.escape(text)}</pre>" for text in failed)
        return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>{failures}"


def _repeats(of: Optional[tuple[int, float, float]]) -> Optional[Repeats]:
    return None if of is None else Repeats(*of)


def _ratio(once: Optional[float], repeats: Optional[Repeats]) -> str:
    if repeats:
        return f"{repeats.mean:.3f} ± {repeats.half_width:.3f}"
    return "–" if once is None else f"{once:.3f}"


@named("compare")
def compare(
    workloads: Union[PathLike, Sequence[PathLike]],
    *,
    progress: Optional[bool] = None,
    # Options of `compare`, made by `BLESS=1 cargo test -p warpwright-request`.
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
    audit: bool | None = None,
    check_memory: bool | None = None,
    profile: bool | None = None,
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
) -> Comparison:
    """Runs workloads on every combination of GPUs, cores, schedulers and varied settings, at the same time. The options are
    those of `warpwright compare`, with the same defaults, columns and baselines.

    Parameters
    ----------
    workloads
        One or several, as for `run`, or "all".
    progress
        False: no line about how many runs have ended.

    All columns of a workload run the same code. A failed run does not stop the others: its entry has the reason.

    Examples
    --------
    >>> import warpwright as ww
    >>> sweep = ww.compare("matmul", gpu="v100", vary={"sm.issue.schedulers": [1, 2, 4]}, progress=False)
    >>> [row["sm.issue.schedulers"] for row in sweep.rows()]
    [1, 2, 4]

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
    options = texts(locals(), "workloads", "progress")
    sweep = _native.Sweep.compared(names(workloads), options)
    _run_all(sweep, progress)
    return Comparison(sweep.comparisons(None)[0])


def names(workloads: Union[PathLike, Sequence[PathLike]]) -> list[str]:
    """The texts of one or several names."""
    several = [workloads] if isinstance(workloads, (str, os.PathLike)) else list(workloads)
    return [os.fspath(name) for name in several]


def _run_all(sweep: _native.Sweep, progress: Optional[bool]) -> None:
    """Runs everything on several threads. Ctrl-C ends all."""
    stop = threading.Event()
    runs = sweep.left()

    with Display() as display, ThreadPoolExecutor(sweep.threads()) as pool:
        waiting = {pool.submit(sweep.run, part, run, lambda _: not stop.is_set()) for part, run, _ in runs}
        try:
            while waiting:
                ended, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
                if progress is not False:
                    display.text(lambda: f"{len(runs) - len(waiting)} of {len(runs)} runs have ended")
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
