"""Refuses processors that lack instructions of the native part, which would end Python."""

from __future__ import annotations

import importlib.util
import mmap
from collections.abc import Mapping
from typing import Optional

#: Marks the file of a library that is compiled for more than the x86-64 baseline.
_MARK = b"warpwright is compiled to AVX2, FMA and BMI"
#: The instruction sets of such a library, by NumPy's names.
_NEEDED = ("AVX2", "FMA3")


def _features() -> Mapping[str, bool]:
    """The processor's features by NumPy; empty if NumPy is missing or does not list them."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        try:
            return importlib.import_module(name).__cpu_features__
        except (ImportError, AttributeError):
            continue
    return {}


def check(features: Optional[Mapping[str, bool]] = None, file: Optional[str] = None) -> None:
    """Raises an ImportError if the processor cannot run the native part."""
    known = _features() if features is None else features
    lacking = [name for name in _NEEDED if known.get(name) is False]
    if not lacking:
        return
    spec = None if file else importlib.util.find_spec("warpwright._native")
    path = file or (spec and spec.origin)
    if not path:
        return
    with open(path, "rb") as library, mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data.find(_MARK) < 0:
            return
    raise ImportError(
        f"this processor has no {' and no '.join(lacking)}, which this build of warpwright needs\n"
        '  hint: build a wheel for any x86-64 processor: RUSTFLAGS="" tools/wheels'
    )
