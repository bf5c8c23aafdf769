"""Workloads on several machines, side by side."""

from __future__ import annotations

import html
import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._keywords import texts
from ._options import CompareOptions, PathLike
from ._progress import Display
from ._result import Run, _axes, number, raised

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

    @property
    def complete(self) -> bool:
        """Whether the run came to its end with a result that is not wrong."""
        return self.run is not None and self.error is None and not self.run.interrupted and self.run.passed is not False


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

    def __init__(self, entries: Sequence[Entry], baselines: Mapping[str, str]) -> None:
        self.entries = list(entries)
        self._baselines = dict(baselines)

    @property
    def workloads(self) -> list[str]:
        """The workloads, in order."""
        return list(dict.fromkeys(entry.workload for entry in self.entries))

    @property
    def columns(self) -> list[str]:
        """Labels of the machines, in order: what distinguishes them."""
        return list(dict.fromkeys(entry.column for entry in self.entries))

    def entry(self, workload: str, column: str) -> Entry:
        """A workload on a machine."""
        found = (entry for entry in self.entries if (entry.workload, entry.column) == (workload, column))
        try:
            return next(found)
        except StopIteration:
            raise KeyError(f"no {workload!r} on {column!r}: {self.workloads} on {self.columns}") from None

    def speedup(self, workload: str, column: str) -> Optional[float]:
        """Time of kernels, without launch latency, in the baseline's column over that in this one."""
        one, other = self.entry(workload, self._baselines[column]), self.entry(workload, column)
        if not (one.complete and other.complete and one.run and other.run):
            return None
        return other.run._outcome.speedup_over(one.run._outcome)

    def mean(self, column: str) -> Optional[float]:
        """Geometric mean of the speedups of a column."""
        found = [of for of in (self.speedup(workload, column) for workload in self.workloads) if of]
        return _native.geometric_mean(found)

    def rows(self, statistics: Optional[Iterable[str]] = None) -> list[dict[str, Any]]:
        """A row for each run: the machine with a column for each setting, the speedup, and statistics (all of them,
        or those named)."""
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
                **{name: figures.get(name) for name in chosen},
            }

        return [row(entry) for entry in self.entries]

    def to_pandas(self, statistics: Optional[Iterable[str]] = None) -> "pandas.DataFrame":
        """The rows as a table of pandas."""
        import pandas

        return pandas.DataFrame(self.rows(statistics))

    def to_polars(self, statistics: Optional[Iterable[str]] = None) -> "polars.DataFrame":
        """The rows as a table of Polars."""
        import polars

        return polars.DataFrame(self.rows(statistics), infer_schema_length=None)

    def plot(self, statistic: str = "speedup", ax: Any = None) -> Any:
        """Draws bars of a statistic, or of the speedup, with Matplotlib; returns the axes."""
        ax = _axes(ax)
        workloads, columns = self.workloads, self.columns
        width = 0.8 / len(columns)
        for at, column in enumerate(columns):
            figures = [self._figure(workload, column, statistic) for workload in workloads]
            places = [place + (at - (len(columns) - 1) / 2) * width for place in range(len(workloads))]
            ax.bar(places, [math.nan if of is None else of for of in figures], width, label=column)
        ax.set_xticks(range(len(workloads)), workloads)
        unit = dict((name, unit) for name, unit, _ in _native.statistics()).get(statistic)
        ax.set_ylabel(f"{statistic} ({unit})" if unit else f"speedup over {self._baselines[columns[0]]}")
        if statistic == "speedup":
            ax.axhline(1, color="grey", linewidth=0.8)
        ax.legend()
        return ax

    def _figure(self, workload: str, column: str, statistic: str) -> Optional[float]:
        if statistic == "speedup":
            return self.speedup(workload, column)
        run = self.entry(workload, column).run
        return None if run is None else run[statistic]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["workload", "machine", "speedup", *_FIRST]
        rows = []
        for entry in self.entries:
            figures = entry.run.statistics if entry.run else {}
            speedup = self.speedup(entry.workload, entry.column)
            ratio = "–" if speedup is None else f"{speedup:.3f}"
            rows.append([entry.workload, entry.column, ratio, *(number(figures.get(name)) for name in _FIRST)])
        if len(self.workloads) > 1:
            for column in self.columns:
                mean = self.mean(column)
                rows.append(["geometric mean", column, "–" if mean is None else f"{mean:.3f}", *[""] * len(_FIRST)])
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
        names the core or the scheduler that speedups are over, `kernels` makes a row of the launches of each kernel in place of whole
        workloads, the rest is as for `run`. They are the options of `warpwright compare`, with
        the same defaults, columns and baselines. All columns of a workload run the same code.

    A run that fails loses no other: its entry says why.

    Examples
    --------
    >>> import warpwright as ww
    >>> sweep = ww.compare("matmul", gpu="v100", vary={"sm.issue.schedulers": [1, 2, 4]}, progress=False)
    >>> [row["sm.issue.schedulers"] for row in sweep.rows()]
    ['1', '2', '4']
    """
    names = [workloads] if isinstance(workloads, (str, os.PathLike)) else list(workloads)
    sweep = _native.Sweep([os.fspath(name) for name in names], texts(options))
    columns = sweep.columns()
    entries = _all(sweep, progress)
    if sweep.is_by_kernel():
        entries = _by_kernel(sweep, entries)
    return Comparison(entries, {column[0]: columns[column[5]][0] for column in columns})


def _all(sweep: _native.Sweep, progress: Optional[bool]) -> list[Entry]:
    """Runs everything on several threads. Ctrl-C ends all."""
    stop = threading.Event()
    rows, columns = sweep.workloads(), sweep.columns()
    places = [(row, column) for row in range(len(rows)) for column in range(len(columns))]

    def one(row: int, column: int) -> Run:
        with raised():
            return Run(sweep.run(row, column, lambda _: not stop.is_set()))

    with Display() as display, ThreadPoolExecutor(sweep.threads()) as pool:
        futures = [pool.submit(one, *place) for place in places]
        try:
            waiting = set(futures)
            while waiting:
                _, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                if progress is not False:
                    display.text(lambda: f"{len(places) - len(waiting)} of {len(places)} runs have ended")
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [_entry(rows[row], columns[column], future) for (row, column), future in zip(places, futures)]


def _entry(workload: str, column: Any, future: Any) -> Entry:
    try:
        done = future.result()
        wrong = done.report["check"]["details"] if done.passed is False else None
        return _of(workload, column, done, wrong and f"the result is wrong: {wrong}")
    except _native.Error as error:
        return _of(workload, column, error.partial, str(error))


def _by_kernel(sweep: _native.Sweep, entries: Sequence[Entry]) -> list[Entry]:
    """A row for the launches of each chosen kernel, in place of whole workloads."""
    columns = sweep.columns()
    runs = [(None if entry.run is None else entry.run._outcome, entry.error) for entry in entries]
    return [
        _of(label, column, None if outcome is None else Run(outcome), error)
        for label, row in sweep.by_kernel(runs)
        for column, (outcome, error) in zip(columns, row)
    ]


def _of(workload: str, column: Any, run: Optional[Run], error: Optional[str]) -> Entry:
    label, gpu, core, scheduler, settings, _ = column
    given = dict(setting.split("=", 1) for setting in settings)
    return Entry(workload, label, gpu if run is None else run.gpu, core, scheduler, given, run, error)
