"""Values of keywords as the texts that the native part takes."""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Union, cast

from . import _native

PathLike = Union[str, "os.PathLike[str]"]
Call = TypeVar("Call", bound=Callable[..., Any])


def named(name: str) -> Callable[[Call], Call]:
    """A decorator for the call `name`: a keyword that it does not have raises TypeError with the reason of the table of
    options, or with the nearest name.
    """

    def decorated(call: Call) -> Call:
        known = [key for key in inspect.signature(call).parameters if key != "self"]

        @functools.wraps(call)
        def checked(*args: Any, **keywords: Any) -> Any:
            for keyword in keywords:
                if keyword not in known:
                    raise TypeError(_native.unexpected(name, keyword, known))
            return call(*args, **keywords)

        return cast(Call, checked)

    return decorated


def value(of: Any) -> str:
    """A value as a GPU description has it.

    >>> value(True), value([1, 2]), value("32KiB")
    ('true', '[1, 2]', '32KiB')
    """
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, (list, tuple)):
        return "[" + ", ".join(value(item) for item in of) + "]"
    return os.fspath(of) if isinstance(of, os.PathLike) else str(of)


def parsed(text: str) -> Any:
    """The inverse of `value`: the value that a text denotes; other texts are returned unchanged.

    >>> parsed("4"), parsed("0.5"), parsed("true"), parsed("[1, 2]"), parsed("32KiB"), parsed("gto")
    (4, 0.5, True, [1, 2], '32KiB', 'gto')
    """
    try:
        return json.loads(text, parse_constant=str)
    except ValueError:
        return text


def parameters(of: str | None, kind: str) -> dict[str, Any]:
    """The parameters in the name of a core or a scheduler, by their keys in `vary`.

    >>> parameters("ghost:issue_buffer=4,guarded=false+scalar", "core"), parameters(None, "scheduler")
    ({'core.issue_buffer': 4, 'core.guarded': False}, {})
    """
    given = (of or "").partition("+")[0].partition(":")[2]
    pairs = (part.partition("=") for part in given.split(",") if "=" in part)
    return {f"{kind}.{key}": parsed(text) for key, _, text in pairs}


def assignments(of: Mapping[Any, Any]) -> list[str]:
    """Entries as `key=value`. Mappings may be nested; a value without a key stands by itself.

    >>> assignments({"sm.issue.schedulers": 2, "clocks": {"core_mhz": "1.5GHz"}, None: "k.cubin"})
    ['sm.issue.schedulers=2', 'clocks.core_mhz=1.5GHz', 'k.cubin']
    """
    found = []
    for key, item in of.items():
        if isinstance(item, Mapping):
            found += [f"{key}.{inner}" for inner in assignments(item)]
        else:
            found.append(value(item) if key is None else f"{key}={value(item)}")
    return found


def texts(keywords: Mapping[str, Any], *others: str) -> list[tuple[str, list[str]]]:
    """The given keywords except `others`, each with the texts of its values.

    >>> texts({"gpu": "v100", "audit": True, "profile": False, "core": None, "vary": {"sm.issue.schedulers": [1, 2]}})
    [('gpu', ['v100']), ('audit', ['1']), ('vary', ['sm.issue.schedulers=1,2'])]
    >>> texts({"self": 1, "seed": 1}, "self")
    [('seed', ['1'])]
    >>> texts({"timeline": (4000, 5000)})
    [('timeline', ['true']), ('timeline_cycles', ['4000..5000'])]
    >>> texts({"modules": {"a.ptx": "b.ptx", None: ["v1.cubin", "v2.cubin"]}})
    [('modules', ['a.ptx=b.ptx', 'v1.cubin,v2.cubin'])]
    """
    found = []
    for name, of in keywords.items():
        if of is None or of is False or name in others:
            continue
        if name == "timeline" and isinstance(of, (tuple, list)):
            found += [(name, ["true"]), ("timeline_cycles", [f"{of[0]}..{of[1]}"])]
        elif name == "timeline":
            found.append((name, ["true" if of is True else value(of)]))
        elif name == "settings" and isinstance(of, str):
            raise TypeError("settings is a dict, or a list of texts such as 'sm.issue.schedulers=2'")
        elif of is True:
            found.append((name, ["1"]))
        elif name == "vary":
            found.append((name, [f"{key}={','.join(map(value, _several(items)))}" for key, items in of.items()]))
        elif name == "modules":
            versions = {key: ",".join(map(value, _several(files))) for key, files in of.items()}
            found.append((name, assignments(versions)))
        elif isinstance(of, Mapping):
            found.append((name, assignments(of)))
        elif isinstance(of, (str, os.PathLike)):
            found.append((name, [os.fspath(of)]))
        else:
            found.append((name, [value(item) for item in _several(of)]))
    return found


def _several(of: Any) -> list[Any]:
    return list(of) if isinstance(of, (list, tuple, set, range)) else [of]
