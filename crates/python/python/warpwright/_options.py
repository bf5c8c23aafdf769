"""Options of runs, as the native part takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

PathLike = Union[str, "os.PathLike[str]"]
Settings = Union[Mapping[str, Any], Sequence[str]]

#: Cycles in which warps only repeat themselves before a run is taken for a livelock.
LIVELOCK_CYCLES = 1_000_000


def value(of: Any) -> str:
    """A value as a GPU description has it.

    >>> value(True), value([1, 2]), value("32KiB")
    ('true', '[1, 2]', '32KiB')
    """
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, (list, tuple)):
        return "[" + ", ".join(value(item) for item in of) + "]"
    return str(of)


def settings(of: Optional[Settings]) -> list[str]:
    """Settings as `key=value`. Dicts may be nested.

    >>> settings({"sm.issue.schedulers": 2, "clocks": {"core_mhz": "1.5GHz"}})
    ['sm.issue.schedulers=2', 'clocks.core_mhz=1.5GHz']
    """
    if of is None:
        return []
    if not isinstance(of, Mapping):
        if isinstance(of, str):
            raise TypeError("settings is a dict, or a list of texts such as 'sm.issue.schedulers=2'")
        return [str(item) for item in of]
    found = []
    for key, item in of.items():
        if isinstance(item, Mapping):
            found += [f"{key}.{inner}" for inner in settings(item)]
        else:
            found.append(f"{key}={value(item)}")
    return found


def options(
    *,
    gpu: Optional[PathLike] = None,
    core: str = "inorder",
    scheduler: Optional[str] = None,
    settings: Optional[Settings] = None,
    code: str = "auto",
    registers: Optional[str] = None,
    max_registers: Optional[int] = None,
    any_architecture: bool = False,
    stack_bytes: Optional[int] = None,
    out_of_bounds: str = "error",
    energy_model: Optional[PathLike] = None,
    sample: Optional[int] = None,
    max_cycles: Optional[int] = None,
    livelock_cycles: int = LIVELOCK_CYCLES,
    audit: bool = False,
    check_memory: bool = False,
    profile: bool = False,
    timeline: Union[bool, tuple[int, int]] = False,
    timeline_sms: Sequence[int] = (0,),
    time: str = "all",
    threads: Optional[int] = None,
) -> dict[str, Any]:
    """The machine of a run, and what is observed. `run` says what each means."""
    window = (tuple(timeline) if isinstance(timeline, (tuple, list)) else None) if timeline else None
    return {
        "gpu": None if gpu is None else os.fspath(gpu),
        "core": core,
        "scheduler": scheduler,
        "settings": globals()["settings"](settings),
        "code": code,
        "registers": registers,
        "max_registers": max_registers,
        "any_architecture": any_architecture,
        "stack_bytes": stack_bytes,
        "out_of_bounds": out_of_bounds,
        "energy_model": None if energy_model is None else os.fspath(energy_model),
        "sample": sample,
        "max_cycles": max_cycles,
        "livelock_cycles": livelock_cycles,
        "audit": audit,
        "check_memory": check_memory,
        "profile": profile,
        "timeline": (list(timeline_sms), window) if timeline else None,
        "time": time,
        "threads": threads,
    }
