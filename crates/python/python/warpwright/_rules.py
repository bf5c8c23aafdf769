"""Rules of a user's own for the diagnosis."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Optional

from . import _native


@dataclass(frozen=True)
class Cause:
    """A cause of a kernel's time that a rule has found."""

    sentence: str
    """The cause with its figures."""
    times_faster: float
    """How many times as fast the kernel is without it, at most."""
    remedy: str = ""
    """A change that may help, as a sentence."""
    instruction: Optional[dict[str, Any]] = None
    """The instruction: one of `Facts.instructions`."""


class Facts:
    """The counts of a kernel over all of its launches. `facts["l2.hit_rate"]` is a statistic of it."""

    def __init__(self, kernel: dict[str, Any], report: dict[str, Any]) -> None:
        self.kernel: str = kernel["name"]
        """Name of the kernel."""
        self.launches: int = kernel["launches"]
        """Launches that have ended."""
        self.statistics: dict[str, Any] = kernel["statistics"]
        """Statistics by name, as `statistics()` describes them."""
        self.report = report
        """The report of the run."""

    def __getitem__(self, statistic: str) -> Any:
        return self.statistics[statistic]

    @property
    def cycles(self) -> float:
        """Core cycles of all launches."""
        return self.statistics["cycles"]

    @cached_property
    def launch(self) -> dict[str, Any]:
        """The longest launch: grid, block, registers, occupancy."""
        launches = [of for of in self.report["kernels"] if of["name"] == self.kernel]
        return max(launches, key=lambda of: of["statistics"]["cycles"])

    @cached_property
    def roofs(self) -> dict[str, float]:
        """Percent of each roof in use, by name; empty for kernels with few of the run's cycles."""
        kernels = (self.report.get("diagnosis") or {}).get("kernels", [])
        roofs: list[dict[str, Any]] = next((of["roofs"] for of in kernels if of["kernel"] == self.kernel), [])
        return {roof["name"]: roof["percent"] for roof in roofs}

    @cached_property
    def instructions(self) -> list[dict[str, Any]]:
        """Its instructions with their counts, as the report has them; empty without profile=True."""
        kernels = (self.report.get("profile") or {}).get("kernels", [])
        return next((of["instructions"] for of in kernels if of["name"] == self.kernel), [])

    def lost(self, *reasons: str) -> float:
        """Cycles whose issue slots, of schedulers with warps, were lost for these reasons.

        >>> import warpwright as ww
        >>> facts = ww.run("vectoradd", gpu="v100", progress=False).facts()[0]
        >>> 0 < facts.lost("raw_memory", "memory_pipe_full") < facts.cycles
        True
        """
        busy = self["slots.all"] - self["slots.idle"]
        lost = sum(self[f"slots.{reason}"] for reason in reasons)
        return self.cycles * lost / busy if busy else 0.0


Rule = Callable[[Facts], Optional[Cause]]

_RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Adds a rule to the diagnosis of the runs that follow; its name is the function's. For one run: `Run.diagnose`.

    The function gets the facts of each kernel and returns a `Cause`, or None. A function of the same name replaces the
    earlier one.

    >>> import warpwright as ww
    >>> @ww.rule
    ... def loads(facts):
    ...     if facts.lost("raw_memory") > facts.cycles / 10:
    ...         return ww.Cause("Warps wait for loads", times_faster=1.2)
    >>> "loads" in [cause["rule"] for cause in ww.run("vectoradd", gpu="v100", progress=False).causes]
    True
    >>> ww.remove_rule(loads)
    """
    remove_rule(function)
    _RULES.append(function)
    return function


def remove_rule(function: Rule) -> None:
    """Removes the rule of this name that `rule` has added, if there is one."""
    _RULES[:] = [known for known in _RULES if known.__name__ != function.__name__]


def facts(outcome: _native.Outcome, report: Optional[dict[str, Any]] = None) -> list[Facts]:
    """The facts of each kernel that took time on an SM."""
    report = report or json.loads(outcome.json())
    if report.get("diagnosis") is None:
        return []
    return [Facts(kernel, report) for kernel in json.loads(outcome.kernels()) if kernel["statistics"].get("cycles")]


def diagnosed(outcome: _native.Outcome, rules: Optional[Iterable[Rule]] = None) -> _native.Outcome:
    """The same with the causes that rules find; without `rules`, those that are added."""
    chosen = list(_RULES if rules is None else rules)
    kernels = facts(outcome) if chosen else []
    found = [_cause(of, check, len(kernels) > 1) for of in kernels for check in chosen]
    causes = [cause for cause in found if cause]
    return outcome.with_causes(json.dumps(causes)) if causes else outcome


def _cause(of: Facts, check: Rule, is_one_of_several: bool) -> Optional[dict[str, Any]]:
    name = getattr(check, "__name__", "rule")
    found = check(of)
    if found is None:
        return None
    if not isinstance(found, Cause):
        raise TypeError(f"rule {name} returned {found!r}, must return a Cause or None")
    if not found.times_faster >= 1:
        raise ValueError(f"rule {name}: times_faster is {found.times_faster!r}, must be at least 1")
    at = found.instruction or {}
    line = (at.get("calls") or [None])[-1] or at.get("source") or {}
    kernel = f"{of.kernel}: " if is_one_of_several else ""
    sentence = f"{kernel}{found.sentence.rstrip('.')}; without it at most {found.times_faster:.2f} times as fast."
    return {
        "rule": name,
        "kernel": of.kernel,
        "sentence": sentence,
        "remedy": found.remedy,
        "instruction": at.get("text"),
        "pc": at.get("pc"),
        "file": line.get("file"),
        "line": line.get("line"),
        "saved_cycles": of.cycles * (1 - 1 / found.times_faster),
        "times_faster": found.times_faster,
    }
