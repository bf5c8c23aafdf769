"""The results of a run."""

from __future__ import annotations

import csv
import html
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._changes import Changes
from ._keywords import PathLike
from ._plot import axes_of
from ._rules import Facts, Rule, diagnosed, facts
from ._table import Table

if TYPE_CHECKING:
    import pandas
    import polars

#: Reasons for empty issue slots that have names; `slots.all` is the sum of them and of the issued.
_SLOTS = "slots."
#: Units of an instruction's values in a profile.
_OF_INSTRUCTIONS = {
    "issues": "warp instructions",
    "lanes": "thread instructions",
    "stall_slots": "issue slots",
    "caused_slots": "issue slots",
    "latency": "core cycles",
    "joules": "J",
}


@contextmanager
def raised() -> Iterator[None]:
    """Gives `partial` of errors the form that users know."""
    try:
        yield
    except _native.Error as error:
        partial = getattr(error, "partial", None)
        error.partial = Run(partial) if isinstance(partial, _native.Outcome) else None
        raise


def number(of: Any) -> str:
    """A figure as people read it.

    >>> number(1234567), number(0.12345), number(None)
    ('1,234,567', '0.1235', '–')
    """
    if of is None:
        return "–"
    if isinstance(of, int):
        return f"{of:,}"
    return f"{of:,.1f}" if abs(of) >= 100 else f"{of:.4g}"


class Page:
    """A page of results: one HTML file that needs no other."""

    def __init__(self, text: str) -> None:
        self.html = text

    def save(self, path: Any) -> None:
        """Writes the file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        frame = "width:100%;height:800px;border:1px solid #8884"
        return f'<iframe title="Results" style="{frame}" srcdoc="{html.escape(self.html)}"></iframe>'


class Run(Mapping[str, Any]):
    """A simulated run: its statistics, launches, profile, and pages of them.

    It is a mapping of the statistics of the whole run by name, as `run["l2.hit_rate"]`; `statistics()` has unit and
    meaning of each.

    >>> import warpwright as ww
    >>> run = ww.run("vectoradd", gpu="v100", progress=False)
    >>> run["cycles"] == run.cycles
    True
    >>> "l2.hit_rate" in run, run.get("nothing"), len(run) == len(dict(run))
    (True, None, True)
    >>> print(run)
    vectoradd (small, n=65536, block=256, seed=1) on v100, core modern: ... cycles, ...
    """

    def __init__(self, outcome: _native.Outcome) -> None:
        self._outcome = diagnosed(outcome)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Everything, as `warpwright run --json` has it (`warpwright schema`)."""
        return json.loads(self._outcome.json())

    @property
    def workload(self) -> str:
        """The workload, with its parameters."""
        return self.report["workload"]

    @property
    def gpu(self) -> str:
        """Name of the GPU description."""
        return self.report["gpu"]

    @property
    def core(self) -> str:
        """Core design, with its parameters."""
        return self.report["core"]

    @property
    def scheduler(self) -> str:
        """Warp scheduler."""
        return self.report["scheduler"]

    @property
    def passed(self) -> Optional[bool]:
        """Whether the result is right; None where nothing was compared."""
        check = self.report["check"]
        return None if check is None else check["passed"]

    @property
    def interrupted(self) -> bool:
        """Whether the run ended early: the figures are of what was simulated."""
        return self.report["interrupted"]

    @property
    def output(self) -> list[str]:
        """Output of kernels and the launch file, by line."""
        return self.report["output"]

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """The launches, in the order of their ends."""
        return self.report["kernels"]

    @property
    def statistics(self) -> dict[str, Any]:
        """Statistics of the whole run, by name."""
        return self.report["total"]

    @property
    def cycles(self) -> int:
        """Core cycles of kernels, without launch latency."""
        return self["cycles"]

    @property
    def microseconds(self) -> float:
        """These cycles at the core clock."""
        return self["time"]

    @property
    def ipc(self) -> Optional[float]:
        """Instructions of threads per core cycle."""
        return self["ipc"]

    @property
    def limit(self) -> Optional[str]:
        """What limits the longest kernel, as a sentence; None for cores that are not SMs.

        >>> import warpwright as ww
        >>> ww.run("vectoradd", gpu="v100", progress=False).limit
        'vectoradd is limited by ...'
        """
        diagnosis = self.report.get("diagnosis")
        return None if diagnosis is None else diagnosis["limit"]

    @property
    def causes(self) -> list[dict[str, Any]]:
        """Causes of the time that can be removed, the greatest gain first: rule, kernel, sentence, remedy, and with
        profile=True the instruction and its line."""
        diagnosis = self.report.get("diagnosis")
        return [] if diagnosis is None else diagnosis["causes"]

    def facts(self) -> list[Facts]:
        """The facts for rules of the diagnosis: a `Facts` for each kernel; empty for cores that are not SMs."""
        return facts(self._outcome, self.report)

    def diagnose(self, *rules: Rule) -> "Run":
        """The same run with the causes that these rules find, too: in `causes`, `text` and `page`."""
        run = Run.__new__(Run)
        run._outcome = diagnosed(self._outcome, rules)
        return run

    def against(self, baseline: Union["Run", PathLike]) -> Changes:
        """The changes from an earlier run, or from the file that `warpwright run --json=FILE` has written."""
        if isinstance(baseline, Run):
            return Changes(*self._outcome.against_run("before", baseline._outcome))
        return Changes(*self._outcome.against_file(os.fspath(baseline)))

    def __getitem__(self, name: str) -> Any:
        try:
            return self.statistics[name]
        except KeyError:
            raise KeyError(f"the run has no statistic {name!r}; statistics() lists them") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.statistics)

    def __len__(self) -> int:
        return len(self.statistics)

    # A mapping compares by its statistics and has no hash; runs keep the hash of objects, as keys of dicts.
    __hash__ = object.__hash__

    def stalls(self) -> dict[str, int]:
        """Issue slots without an instruction, by reason; most first.

        >>> import warpwright as ww
        >>> run = ww.run("vectoradd", gpu="v100", progress=False)
        >>> sum(run.stalls().values()) + run["slots.issued"] == run["slots.all"]
        True
        """
        rest = {"all", "issued"}
        found = {name[len(_SLOTS) :]: count for name, count in self.statistics.items() if name.startswith(_SLOTS)}
        lost = [(name, count) for name, count in found.items() if name not in rest and count]
        return dict(sorted(lost, key=lambda of: -of[1]))

    def rows(self) -> Table:
        """A row for each launch: what it was, and each of its statistics."""
        own = ("launch", "name", "code", "registers_per_thread", "shared_bytes", "start_cycle")

        def row(kernel: dict[str, Any]) -> dict[str, Any]:
            shape = {of: "x".join(str(size) for size in kernel[of]) for of in ("grid", "block")}
            return {**{key: kernel[key] for key in own}, **shape, **kernel["statistics"]}

        return Table((row(kernel) for kernel in self.kernels), {"shared_bytes": "bytes"})

    def to_pandas(self) -> "pandas.DataFrame":
        """The launches as a frame of pandas, whose `attrs["units"]` are the units of its columns."""
        return self.rows().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """The launches as a frame of Polars."""
        return self.rows().to_polars()

    def to_frame(self) -> "pandas.DataFrame":
        """The statistics of the whole run as a frame of pandas: a row for each by its name, with value, unit and meaning.

        >>> import warpwright as ww
        >>> frame = ww.run("vectoradd", gpu="v100", progress=False).to_frame()
        >>> frame.loc["cycles", "unit"]
        'core cycles'
        """
        import pandas

        known = {name: (unit, meaning) for name, unit, meaning in _native.statistics()}
        rows = [(of, *known.get(name, ("", ""))) for name, of in self.items()]
        # Counts stay whole numbers beside ratios.
        frame = pandas.DataFrame(rows, index=pandas.Index(list(self), name="statistic"), dtype=object)
        return frame.set_axis(["value", "unit", "meaning"], axis="columns")

    def instructions(self) -> Table:
        """Of a run with profile=True, a row for each static instruction: its kernel, place, source line, issues, slots
        that it and those waiting for it lost, latency, energy in joules."""
        rows = []
        for kernel in self._profile()["kernels"]:
            for of in kernel["instructions"]:
                source = of["source"] or {}
                rows.append(
                    {
                        "kernel": kernel["name"],
                        "pc": of["pc"],
                        "text": of["text"],
                        "file": source.get("file"),
                        "line": source.get("line"),
                        "source": source.get("text"),
                        "issues": of["issues"],
                        "lanes": of["lanes"],
                        "stall_slots": sum(count for _, count in of["stalls"]),
                        "reason": max(of["stalls"], key=lambda stall: stall[1])[0] if of["stalls"] else None,
                        "caused_slots": sum(count for _, count in of["causes"]),
                        "latency": (of["latency"] or {}).get("mean"),
                        "joules": (of["energy"] or {}).get("joules"),
                    }
                )
        return Table(rows, _OF_INSTRUCTIONS)

    def profile(self, show: str = "instructions", order: str = "slots", most: int = 20) -> str:
        """Of a run with profile=True, where its slots went, as text: "instructions", "lines", a "listing" of the
        code or "latencies" of loads by level of memory; in the order of "slots", "causes", "energy" or "code"."""
        self._profile()
        return self._outcome.profile(show, order, most) or ""

    def _profile(self) -> dict[str, Any]:
        profile = self.report.get("profile")
        if profile is None:
            raise _native.InputError("the run has no profile: run it with profile=True")
        return profile

    def samples(self) -> Table:
        """Of a run with sample=CYCLES, a row for each interval: statistics, and watts by component."""
        text = self._outcome.samples()
        if text is None:
            raise _native.InputError("the run has no statistics over time: run it with sample=1000")

        def value(text: str) -> Any:
            try:
                return int(text)
            except ValueError:
                pass
            try:
                return float(text)
            except ValueError:
                return text or None

        return Table({key: value(of) for key, of in row.items()} for row in csv.DictReader(io.StringIO(text)))

    def timeline(self, format: str = "text") -> str:
        """Of a run with a timeline, what happened to each instruction: "text", or a file of "konata" or "perfetto"."""
        return self._outcome.timeline(format)

    def text(self, statistics: bool = False, kernels: bool = False, energy: bool = False) -> str:
        """The report as the command prints it; with every statistic, each launch, energy by component."""
        return self._outcome.text(statistics, kernels, energy)

    @property
    def html(self) -> str:
        """The page of the run."""
        return self._outcome.html()

    def page(self) -> Page:
        """The page of the run, to look at in a notebook or to save."""
        return Page(self.html)

    def plot(self, ax: Any = None) -> Any:
        """Draws where the issue slots went, with Matplotlib; returns the axes."""
        ax = axes_of(ax)
        slots = {"issued": self["slots.issued"], **self.stalls()}
        total = self["slots.all"] or 1
        names = list(slots)[::-1]
        ax.barh(names, [slots[name] / total * 100 for name in names])
        ax.set_xlabel("issue slots (%)")
        ax.set_title(f"{self.workload}\n{self.gpu}, {self.core}", fontsize="medium")
        return ax

    def __str__(self) -> str:
        early = "; ended early" if self.interrupted else ""
        wrong = "; the result is wrong" if self.passed is False else ""
        of = f"{self.workload} on {self.gpu}, core {self.core}"
        return f"{of}: {number(self.cycles)} cycles, {number(self.ipc)} instructions of threads per cycle{early}{wrong}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        units = {"cycles": "cycles", "time": "µs", "ipc": "thread instructions per cycle", "occupancy.achieved": "%"}
        facts = [(name, self.statistics.get(name), unit) for name, unit in units.items()]
        rows = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td style='text-align:right'>{number(of)}</td><td>{unit}</td></tr>"
            for name, of, unit in facts
        )
        check = self.report["check"]
        verdict = "" if check is None else f"<p>{html.escape(check['details'])}</p>"
        title = f"<b>{html.escape(self.workload)}</b> on {html.escape(self.gpu)}, core {html.escape(self.core)}"
        return f"<p>{title}</p><table>{rows}</table>{self._bar()}{verdict}"

    def _bar(self) -> str:
        total = self.statistics.get("slots.all") or 0
        if not total:
            return ""
        shares = [("issued", self["slots.issued"]), *self.stalls().items()]
        colours = ["#2a7", "#c52", "#47b", "#a83", "#85a", "#777"]
        parts, legend = "", []
        for (name, count), colour in zip(shares, colours):
            share = count / total * 100
            parts += f"<div title='{name}: {share:.1f} %' style='width:{share}%;background:{colour}'></div>"
            legend.append(f"<span style='color:{colour}'>■</span> {name} {share:.1f} %")
        bar = f"<div style='display:flex;height:1em;max-width:40em;background:#8884'>{parts}</div>"
        return f"{bar}<p>Issue slots: {' &nbsp; '.join(legend)}</p>"
