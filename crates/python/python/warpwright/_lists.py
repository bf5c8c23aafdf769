"""The choices that there are."""

from __future__ import annotations

from typing import Any

from . import _native


def gpus() -> dict[str, str]:
    """The GPUs that come with the package, with what they are.

    >>> "v100" in gpus()
    True
    """
    return dict(_native.gpus())


def cores() -> dict[str, str]:
    """The core designs, with what they do.

    >>> list(cores())[0]
    'inorder'
    """
    return dict(_native.cores())


def schedulers() -> dict[str, str]:
    """The warp schedulers, with what they do."""
    return dict(_native.schedulers())


def workloads() -> dict[str, dict[str, Any]]:
    """The bundled workloads: a summary of each, the suite whose program it follows, the papers that evaluate it with its
    name there, and its parameters with their values for each size.

    >>> workloads()["lud"]["papers"]["war"]
    'LUD'
    >>> workloads()["matmul"]["params"]["m"]["small"] > 0
    True
    """
    sizes = ("small", "medium", "large")

    def parameter(meaning: str, values: list[int]) -> dict[str, Any]:
        return {"meaning": meaning, **dict(zip(sizes, values))}

    return {
        name: {
            "summary": summary,
            "suite": suite,
            "papers": dict(papers),
            "params": {of: parameter(meaning, values) for of, meaning, values in params},
        }
        for name, summary, suite, papers, params in _native.workloads()
    }


def statistics() -> dict[str, dict[str, str]]:
    """Unit and meaning of each statistic of a run.

    >>> statistics()["ipc"]["unit"]
    'thread instructions/cycle'
    """
    return {name: {"unit": unit, "meaning": meaning} for name, unit, meaning in _native.statistics()}
