"""Progress of long runs: a line on a terminal, or in a notebook."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable, Optional, Union

Callback = Callable[[dict[str, Any]], Optional[bool]]
Progress = Union[bool, None, Callback]

#: Seconds before anything is shown.
PATIENCE = 1.0
#: Seconds between two lines.
INTERVAL = 0.25


def in_notebook() -> bool:
    """Whether cells are shown by a browser."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def line(progress: dict[str, Any], seconds: float) -> str:
    """Progress of a run.

    >>> line({"kernel": "add", "share_done": 0.25, "cycles": 1200}, 3.0)
    'add: 25 % of CTAs, 1,200 cycles, 9 s left'
    """
    share = progress.get("share_done")
    parts = [f"{progress['cycles']:,} cycles"]
    if share:
        parts = [f"{share * 100:.0f} % of CTAs", *parts, f"{seconds * (1 - share) / share:.0f} s left"]
    elif progress.get("kernels_done"):
        parts.append(f"{progress['kernels_done']} kernels done")
    return f"{progress['kernel']}: " + ", ".join(parts)


class Display:
    """Shows lines over one another. `None` removes them."""

    def __init__(self) -> None:
        self._started = self._last = time.monotonic()
        self._handle: Any = None
        self._width = 0
        self._lock = threading.Lock()
        self._notebook = in_notebook()
        self._shows = self._notebook or sys.stderr.isatty()

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        self._show(None)

    def run(self, progress: dict[str, Any]) -> None:
        """Shows the progress of one run."""
        self.text(lambda: line(progress, time.monotonic() - self._started))

    def text(self, make: Callable[[], str]) -> None:
        """Shows a line, if it is time for one."""
        now = time.monotonic()
        if self._shows and now - self._started >= PATIENCE and now - self._last >= INTERVAL:
            self._last = now
            self._show(make())

    def _show(self, text: Optional[str]) -> None:
        with self._lock:
            if self._notebook:
                from IPython.display import HTML, display

                shown = HTML("" if text is None else f"<code>{text}</code>")
                if self._handle is not None:
                    self._handle.update(shown)
                elif text is not None:
                    self._handle = display(shown, display_id=True)
            elif text is not None or self._width:
                sys.stderr.write("\r" + (text or "").ljust(self._width) + ("" if text else "\r"))
                sys.stderr.flush()
                self._width = len(text or "")


def callback(progress: Progress, display: Display) -> Optional[Callback]:
    """The function that gets a run's progress: the user's, or `display`."""
    if callable(progress):
        return progress
    return display.run if progress or progress is None else None
