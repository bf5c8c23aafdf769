"""Workloads on several machines, side by side."""

from __future__ import annotations

import html
import json
import math
import os
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._keywords import texts
from ._options import CompareOptions, PathLike
from ._progress import Display
from ._result import Run, _axes, number

if TYPE_CHECKING:
    import pandas
    import polars
    from typing_extensions import Unpack

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
    settings: dict[str, str]
    run: Optional[Run] = field(repr=False)
    error: Optional[str] = None
    complete: bool = False
    """Whether the run came to its end, or to `max_cycles`, with a result that is not wrong."""


@dataclass(frozen=True)
class Repeats:
    """Mean of a speedup over repeats."""

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
        given = dict(setting.split("=", 1) for setting in settings)
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

    def repeats(self, workload: str, column: str) -> Optional[Repeats]:
        """The speedup over the repeats; None without `repeat`."""
        return _repeats(self._compared.repeats(*self._at(workload, column)))

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

    def rows(self, statistics: Optional[Iterable[str]] = None) -> list[dict[str, Any]]:
        """A row for each workload on each machine: the machine with a column for each setting, the speedup, and
        statistics (all, or the named ones). With `repeat` the speedup is followed by its mean over the repeats and
        half of the width of its confidence interval; statistics are of the first run."""
        keys = list(dict.fromkeys(key for entry in self.entries for key in entry.settings))
        every = dict.fromkeys(key for entry in self.entries if entry.run for key in entry.run.statistics)
        chosen = list(every) if statistics is None else list(statistics)

        def row(entry: Entry) -> dict[str, Any]:
            figures = entry.run.statistics if entry.run else {}
            return {
                "workload": entry.workload,
                "column": entry.column,
                "gpu": entry.gpu,
                "core": entry.core,
                "scheduler": entry.run.scheduler if entry.run else entry.scheduler,
                **{key: entry.settings.get(key) for key in keys},
                "complete": entry.complete,
                "error": entry.error,
                "speedup": self.speedup(entry.workload, entry.column),
                **self._repeated(entry),
                **{name: figures.get(name) for name in chosen},
            }

        return [row(entry) for entry in self.entries]

    def _repeated(self, entry: Entry) -> dict[str, Any]:
        if not self._is_repeated:
            return {}
        of = self.repeats(entry.workload, entry.column)
        return {"speedup.mean": of and of.mean, "speedup.half_width": of and of.half_width}

    @cached_property
    def _is_repeated(self) -> bool:
        return any(self.repeats(entry.workload, entry.column) for entry in self.entries)

    def to_pandas(self, statistics: Optional[Iterable[str]] = None) -> "pandas.DataFrame":
        """The rows as a table of pandas."""
        import pandas

        return pandas.DataFrame(self.rows(statistics))

    def to_polars(self, statistics: Optional[Iterable[str]] = None) -> "polars.DataFrame":
        """The rows as a table of Polars."""
        import polars

        return polars.DataFrame(self.rows(statistics), infer_schema_length=None)

    def plot(self, statistic: str = "speedup", ax: Any = None) -> Any:
        """Draws bars of a statistic, or of the speedup, with Matplotlib; returns the axes. Speedups have error bars where
        runs were repeated, and marks where a paper has published them."""
        ax = _axes(ax)
        workloads, columns = self.workloads, self.columns
        width = 0.8 / len(columns)
        for at, column in enumerate(columns):
            figures = [self._figure(workload, column, statistic) for workload in workloads]
            places = [place + (at - (len(columns) - 1) / 2) * width for place in range(len(workloads))]
            ax.bar(places, [math.nan if of is None else of for of in figures], width, label=column)
            if statistic == "speedup":
                self._mark(ax, places, column)
        ax.set_xticks(range(len(workloads)), workloads)
        unit = dict((name, unit) for name, unit, _ in _native.statistics()).get(statistic)
        ax.set_ylabel(f"{statistic} ({unit})" if unit else f"speedup over {columns[self._machines[0][5]]}")
        if statistic == "speedup":
            ax.axhline(1, color="grey", linewidth=0.8)
        ax.legend()
        return ax

    def _mark(self, ax: Any, places: list[float], column: str) -> None:
        """Draws the confidence intervals and the published values of a column."""
        for place, workload in zip(places, self.workloads):
            repeats, published = self.repeats(workload, column), self.published(workload, column)
            if repeats:
                ax.errorbar(place, repeats.mean, repeats.half_width, color="black", capsize=2, linewidth=0.8)
            if published:
                ax.plot(place, published, marker="_", color="black", markersize=8)

    def _figure(self, workload: str, column: str, statistic: str) -> Optional[float]:
        if statistic == "speedup":
            of = self.repeats(workload, column)
            return of.mean if of else self.speedup(workload, column)
        run = self.entry(workload, column).run
        return None if run is None else run[statistic]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["workload", "machine", "speedup", *_FIRST]
        rows = []
        for entry in self.entries:
            figures = entry.run.statistics if entry.run else {}
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


def compare(
    workloads: Union[PathLike, Sequence[PathLike]],
    *,
    progress: Optional[bool] = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Runs workloads on every combination of GPUs, cores, schedulers and varied settings, at the same time.

    Parameters
    ----------
    workloads
        One or several, as for `run`, or "all".
    progress
        False: no line about how many runs have ended.
    options
        `CompareOptions` has the keywords and what each means: `gpus`, `cores`, `schedulers` and `vary` make columns, `over`
        names the core or the scheduler that speedups are over, `kernels` makes a row of the launches of each kernel in
        place of whole workloads, the rest is as for `run`. They are the options of `warpwright compare`, with the same
        defaults, columns and baselines. All columns of a workload run the same code.

    A run that fails loses no other: its entry says why.

    Examples
    --------
    >>> import warpwright as ww
    >>> sweep = ww.compare("matmul", gpu="v100", vary={"sm.issue.schedulers": [1, 2, 4]}, progress=False)
    >>> [row["sm.issue.schedulers"] for row in sweep.rows()]
    ['1', '2', '4']
    """
    sweep = _native.Sweep.compared(names(workloads), texts(options))
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
