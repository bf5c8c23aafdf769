"""Comparisons and runs as plots of Matplotlib."""

from __future__ import annotations

import math
from typing import Any, Literal, Optional, Protocol

from . import _native
from ._table import unit

Kind = Literal["bar", "line", "heat"]

#: A figure, and half of the width of its confidence interval.
_Point = tuple[float, Optional[float]]


class _Repeats(Protocol):
    """Mean of a figure over repeats, as `Repeats` has it."""

    @property
    def mean(self) -> float: ...
    @property
    def half_width(self) -> float: ...


class _Compared(Protocol):
    """The figures of a comparison, as `Comparison` has them."""

    @property
    def workloads(self) -> list[str]: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def baseline(self) -> str: ...
    @property
    def axes(self) -> dict[str, list[Any]]: ...
    def values_of_columns(self) -> dict[str, dict[str, Any]]: ...
    def speedup(self, workload: str, column: str) -> Optional[float]: ...
    def statistic(self, workload: str, column: str, name: str) -> Any: ...
    def repeats(self, workload: str, column: str, statistic: str) -> Optional[_Repeats]: ...
    def published(self, workload: str, column: str) -> Optional[float]: ...
    def mean(self, column: str) -> Optional[float]: ...
    def repeats_of_mean(self, column: str) -> Optional[_Repeats]: ...


def axes_of(ax: Any) -> Any:
    """The axes that are given, or new ones."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def plot(
    of: _Compared, statistic: str, kind: Kind, x: Optional[str], y: Optional[str], workload: Optional[str], ax: Any
) -> Any:
    """`Comparison.plot`."""
    if statistic != "speedup" and unit(statistic) is None:
        raise _native.InputError(f"there is no statistic {statistic!r}; statistics() lists them")
    chosen = of.workloads if workload is None else [workload]
    if workload is not None and workload not in of.workloads:
        raise _native.InputError(f"workload={workload!r}: the comparison has {', '.join(of.workloads)}")
    if kind == "bar":
        return _bars(of, statistic, chosen, axes_of(ax))
    if kind == "line":
        return _lines(of, statistic, chosen, _axis(of, x, "x"), axes_of(ax))
    if kind == "heat":
        across = _axis(of, x, "x", y)
        return _heat(of, statistic, chosen, across, _axis(of, y, "y", across), axes_of(ax))
    raise _native.InputError(f"kind={kind!r}: it is one of bar, line, heat")


def _axis(of: _Compared, name: Optional[str], keyword: str, other: Optional[str] = None) -> str:
    """The axis that is named, or the first one apart from `other`, those with numbers first."""
    known = of.axes
    listed = ", ".join(known) or "nothing"
    if name is not None and name not in known:
        raise _native.InputError(f"{keyword}={name!r}: {listed} varies in the comparison")
    if name is not None:
        return name
    ordered = sorted(known, key=lambda axis: not all(map(_is_number, known[axis])))
    free = [axis for axis in ordered if axis != other]
    if not free:
        needs = "a plot of kind line needs one axis, of kind heat two"
        raise _native.InputError(f"{keyword}: {listed} varies in the comparison; {needs}")
    return free[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _point(of: _Compared, workload: str, column: str, statistic: str) -> _Point:
    """A figure: the mean where runs were repeated."""
    repeats = of.repeats(workload, column, statistic)
    if repeats:
        return repeats.mean, repeats.half_width
    figure = of.speedup(workload, column) if statistic == "speedup" else of.statistic(workload, column, statistic)
    return (math.nan if figure is None else figure), None


def _label(of: _Compared, statistic: str) -> str:
    return f"{statistic} ({unit(statistic)})" if statistic != "speedup" else f"speedup over {of.baseline}"


def _errors(points: list[_Point]) -> Optional[list[float]]:
    halves = [half for _, half in points]
    return None if all(half is None for half in halves) else [half or 0.0 for half in halves]


def _bars(of: _Compared, statistic: str, workloads: list[str], ax: Any) -> Any:
    columns = of.columns
    width = 0.8 / len(columns)
    for at, column in enumerate(columns):
        points = [_point(of, workload, column, statistic) for workload in workloads]
        places = [place + (at - (len(columns) - 1) / 2) * width for place in range(len(workloads))]
        style = {"ecolor": "black", "capsize": 2, "error_kw": {"linewidth": 0.8}}
        ax.bar(places, [figure for figure, _ in points], width, label=column, yerr=_errors(points), **style)
        if statistic == "speedup":
            _mark(of, workloads, column, places, ax)
    ax.set_xticks(range(len(workloads)), workloads)
    return _finished(of, statistic, ax)


def _mark(of: _Compared, workloads: list[str], column: str, places: list[float], ax: Any) -> None:
    """Draws the published speedups of a column."""
    for place, workload in zip(places, workloads):
        published = of.published(workload, column)
        if published:
            ax.plot(place, published, marker="_", color="black", markersize=8)


def _finished(of: _Compared, statistic: str, ax: Any) -> Any:
    ax.set_ylabel(_label(of, statistic))
    if statistic == "speedup":
        ax.axhline(1, color="grey", linewidth=0.8)
    ax.legend()
    return ax


def _lines(of: _Compared, statistic: str, workloads: list[str], x: str, ax: Any) -> Any:
    """A line for each workload and each machine apart from `x`."""
    rest = [axis for axis in of.axes if axis != x]
    series: dict[tuple[Any, ...], list[tuple[Any, _Point]]] = {}
    for workload in workloads:
        for column, values in of.values_of_columns().items():
            if x in values:
                other = tuple(f"{axis.rsplit('.', 1)[-1]}={values[axis]}" for axis in rest if axis in values)
                point = (values[x], _point(of, workload, column, statistic))
                series.setdefault((workload, *other), []).append(point)
    are_numbers = all(_is_number(value) for points in series.values() for value, _ in points)
    for name, points in series.items():
        # Names keep their order: Matplotlib places them by their first occurrence.
        ordered = sorted(points, key=lambda point: point[0]) if are_numbers else points
        places = [value if are_numbers else str(value) for value, _ in ordered]
        figures = [point for _, point in ordered]
        label = " ".join(name if len(workloads) > 1 or len(name) == 1 else name[1:])
        ax.errorbar(places, [of for of, _ in figures], _errors(figures), marker="o", capsize=2, label=label)
    if are_numbers:
        ax.set_xticks(sorted({value for points in series.values() for value, _ in points}))
    ax.set_xlabel(x)
    return _finished(of, statistic, ax)


def _mean(of: _Compared, column: str) -> Optional[float]:
    """Geometric mean of the speedups of a column, over the repeats where there are some."""
    repeats = of.repeats_of_mean(column)
    return repeats.mean if repeats else of.mean(column)


def _heat(of: _Compared, statistic: str, workloads: list[str], x: str, y: str, ax: Any) -> Any:
    """A cell for each pair of values: of one workload, or the geometric mean of the speedups."""
    if len(workloads) > 1 and statistic != "speedup":
        raise _native.InputError(f"a heat map of {statistic} is of one workload: give workload=, one of {', '.join(workloads)}")
    others = [axis for axis in of.axes if axis not in (x, y)]
    if others:
        raise _native.InputError(f"a heat map has two axes, and {', '.join(others)} varies too: compare without it")
    across, down = of.axes[x], of.axes[y]
    cells = [[math.nan] * len(across) for _ in down]
    for column, values in of.values_of_columns().items():
        if x in values and y in values:
            figure = _mean(of, column) if len(workloads) > 1 else _point(of, workloads[0], column, statistic)[0]
            cells[down.index(values[y])][across.index(values[x])] = math.nan if figure is None else figure
    image = ax.imshow(cells, aspect="auto", origin="lower")
    ax.set_xticks(range(len(across)), [str(value) for value in across])
    ax.set_yticks(range(len(down)), [str(value) for value in down])
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    for row, figures in enumerate(cells):
        for at, figure in enumerate(figures):
            if not math.isnan(figure):
                colour = "black" if image.norm(figure) > 0.5 else "white"
                ax.text(at, row, f"{figure:.4g}", ha="center", va="center", color=colour, fontsize="small")
    ax.figure.colorbar(image, ax=ax, label=_label(of, statistic))
    return ax
