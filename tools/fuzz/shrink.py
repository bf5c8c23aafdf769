"""Makes a kernel smaller while it still fails: candidates, each with something left out, are compiled as
the kernels of one module."""

import copy
import re

from .build import CompileError, expected

CANDIDATES = 14


def places(kernel):
    """Every list of statements in the kernel."""
    found = []

    def walk(body):
        found.append(body)
        for node in body:
            for _, inner in node.parts:
                if inner:
                    walk(inner)

    walk(kernel.body)
    for function in kernel.functions:
        for _, inner in function.parts:
            if inner:
                walk(inner)
    return found


def without(kernel):
    """Copies of `kernel`, each with something left out, the largest parts first."""
    count = len(places(kernel))
    for at in range(count):
        length = len(places(kernel)[at])
        size = length
        while size:
            for start in range(0, length, size):
                smaller = copy.deepcopy(kernel)
                del places(smaller)[at][start:start + size]
                yield smaller
            size //= 2
    for at in range(count):
        for index, node in enumerate(places(kernel)[at]):
            if len(node.parts) > 1:
                smaller = copy.deepcopy(kernel)
                del places(smaller)[at][index].parts[-1]
                yield smaller
            if node.parts[0][1] and not node.parts[0][0].startswith(("case", "default", "switch")):
                # The body in place of a branch or loop around it.
                body = node.parts[0][1]
                if not any("break" in line or "continue" in line for n in body for line in n.text()):
                    smaller = copy.deepcopy(kernel)
                    body = places(smaller)[at][index].parts[0][1]
                    if not re.search(r"\bm\d+_", smaller.body and "".join(sum((n.text() for n in body), []))):
                        places(smaller)[at][index:index + 1] = body
                        yield smaller
    text = "\n".join(line for node in kernel.body + kernel.functions for line in node.text()) + "\n".join(kernel.shared)
    for t in kernel.types:
        for name in kernel.scope[t]:
            if not re.search(rf"\b{name}\b", text) and sum(map(len, kernel.scope.values())) > 1:
                smaller = copy.deepcopy(kernel)
                smaller.scope[t].remove(name)
                yield smaller
    for kept in ("shared", "functions", "tables"):
        for index in range(len(getattr(kernel, kept))):
            smaller = copy.deepcopy(kernel)
            del getattr(smaller, kept)[index]
            yield smaller


def tidy(kernel):
    """Leaves out all variables that are not used, in one step."""
    text = "\n".join(line for node in kernel.body + kernel.functions for line in node.text())
    smaller = copy.deepcopy(kernel)
    for t in kernel.types:
        smaller.scope[t] = [name for name in kernel.scope[t] if re.search(rf"\b{name}\b", text)]
    return smaller if any(smaller.scope.values()) else kernel


def renamed(kernel, name):
    """The same kernel with another name, in the names of all it defines."""
    text = kernel.source
    smaller = copy.copy(kernel)
    old = kernel.name
    smaller.source = lambda: re.sub(rf"_{old}(?!\d)|\b{old}\b", lambda m: m.group(0).replace(old, name), text())
    smaller.name = name
    return smaller


def shrink(kernel, fails, log=lambda text: None):
    """The smallest found. `fails` gives the names of those kernels of a list that fail."""
    again = True
    start = tidy(kernel)
    if fails([renamed(start, "s0")]):
        kernel = start
    while again:
        again = False
        candidates = list(without(kernel))
        for at in range(0, len(candidates), CANDIDATES):
            some = candidates[at:at + CANDIDATES]
            failing = try_all(some, fails)
            if failing:
                kernel = min(failing, key=lambda k: len(k.source()))
                log(f"{len(kernel.source())} characters")
                again = True
                break
    return kernel


def try_all(some, fails):
    """Those that fail; one that does not compile is tried apart from the others."""
    try:
        names = fails([renamed(k, f"s{i}") for i, k in enumerate(some)])
        return [k for i, k in enumerate(some) if f"s{i}" in names]
    except CompileError:
        if len(some) == 1:
            return []
        middle = len(some) // 2
        return try_all(some[:middle], fails) or try_all(some[middle:], fails)
