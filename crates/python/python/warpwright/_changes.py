"""The changes between two runs."""

from __future__ import annotations

import json
from typing import Any, Optional


class Changes:
    """The changes from a run to a later one of the same work; as text, the output of the command.

    >>> import warpwright as ww
    >>> before = ww.run("matmul", gpu="v100", progress=False)
    >>> changes = ww.run("matmul", gpu="v100", core="ghost", progress=False).against(before)
    >>> round(sum(changes.cycles_by_reason().values())) == changes.cycles
    True
    >>> print(before.against(before))
    Changes from before
      No difference: every statistic is equal.
    """

    def __init__(self, document: str, text: str) -> None:
        self.report: dict[str, Any] = json.loads(document)
        """Everything, as `changes` of `warpwright run --baseline` has it (`warpwright schema run`)."""
        self._text = text

    @property
    def is_equal(self) -> bool:
        """Whether every statistic is equal."""
        return self.report["is_equal"]

    @property
    def times_faster(self) -> Optional[float]:
        """Time of kernels before over the time after."""
        return self.report["times_faster"]

    @property
    def cycles(self) -> float:
        """Change in cycles of kernels; negative if there are fewer."""
        figures = {of["name"]: (of["after"] or 0) - (of["before"] or 0) for of in self.report["figures"]}
        return figures.get("cycles", 0)

    def cycles_by_reason(self) -> dict[str, float]:
        """The change in cycles by the use of issue slots: `issued`, or the reason of empty ones; the greatest
        first. Their sum is the change."""
        return {of["reason"]: of["cycles"] for of in self.report["issue_slots"]}

    def lines(self) -> list[dict[str, Any]]:
        """For runs with profile=True, a row for each line whose slots differ, the greatest change first: kernel, text,
        place and slots before and after, None where the line is not in a version."""
        rows = []
        for kernel in self.report["kernels"]:
            for of in kernel["lines"]:
                row = {"kernel": kernel["name"], "text": of["text"], "cycles": of["cycles"]}
                for side in ("before", "after"):
                    spot = of[side] or {}
                    row |= {f"{key}_{side}": spot.get(key) for key in ("file", "number", "slots")}
                rows.append(row)
        return rows

    @property
    def causes_gone(self) -> list[dict[str, Any]]:
        """Causes of the diagnosis that only the run before has."""
        return self.report["causes_gone"]

    @property
    def causes_new(self) -> list[dict[str, Any]]:
        """Causes that only the run after has."""
        return self.report["causes_new"]

    def __str__(self) -> str:
        return self._text.rstrip()

    __repr__ = __str__
