"""Rows of figures, which become frames of pandas or Polars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import pandas
    import polars


@lru_cache(maxsize=1)
def _units() -> dict[str, str]:
    return {name: unit for name, unit, _ in _native.statistics()}


def unit(column: str) -> str | None:
    """Unit of a statistic, of power over time, or of a column of repeats; None if it has none.

    >>> unit("cycles"), unit("power.dram"), unit("cycles.half_width"), unit("kernel")
    ('core cycles', 'W', 'core cycles', None)
    """
    if column in ("start_cycle", "end_cycle"):
        return "core cycles"
    for suffix in (".mean", ".half_width"):
        if column not in _units() and column.endswith(suffix):
            return unit(column.removesuffix(suffix))
    return _units().get(column) or ("W" if column.startswith("power.") else None)


class Table(list[dict[str, Any]]):
    """A list of rows, each a dict of the same columns. `units` has the units of the columns that have one."""

    def __init__(self, rows: Iterable[dict[str, Any]], units: Mapping[str, str] | None = None) -> None:
        super().__init__(rows)
        columns = self[0] if self else {}
        known = {column: unit(column) for column in columns}
        self.units: dict[str, str] = {column: of for column, of in {**known, **(units or {})}.items() if of}

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a frame of pandas, whose `attrs["units"]` are the units."""
        import pandas

        frame = pandas.DataFrame(list(self))
        frame.attrs["units"] = dict(self.units)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The rows as a frame of Polars."""
        import polars

        return polars.DataFrame(list(self), infer_schema_length=None)
