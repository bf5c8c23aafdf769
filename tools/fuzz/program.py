"""Random kernels without undefined behaviour.

A kernel is a tree of statements over variables that are declared and initialised at its start, so that
any statement can be left out and it is still a kernel with one result: that is how one is made smaller.
What needs several lanes (barriers, shuffles, votes) is only where all lanes are, or under a mask that is
the vote on the condition around it.
"""

import re

from .floats import BY_RESULT, GROUPS, OPS
from .ops import TYPES

VARIABLES = {"u8": 1, "u16": 2, "u32": 5, "u64": 3, "u128": 1, "f32": 3, "f64": 2, "h": 2, "h2": 2, "b": 1, "b2": 1}
EDGES = {
    "u8": [0, 1, 0x7f, 0x80, 0xff], "u16": [0, 1, 0x7fff, 0x8000, 0xffff],
    "u32": [0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0xff, 0xffff, 0x10000, 0x80808080],
    "u64": [0, 1, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff],
    "f32": [0x0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4f000000, 0x5f000000, 0x40490fdb],
    "f64": [0x0, 0x8000000000000000, 0x3ff0000000000000, 0x7ff0000000000000, 0x1, 0x000fffffffffffff, 0x0010000000000000, 0x41e0000000000000, 0x7fefffffffffffff],
    "h": [0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0x0001, 0x03ff, 0x0400, 0x7bff, 0x3555], "b": [0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0x0001, 0x7f7f, 0x4049],
}
# What a kernel may be about besides plain integers: groups of operations and kinds of statement.
THEMES = [
    ("int", "bits"), ("int", "mul"), ("wide", "carry"), ("asm",), ("asm", "bits"), ("simd",), ("video",), ("f32", "cvt"), ("f64", "cvt"),
    ("h", "h2", "cvt"), ("h2", "h"), ("b", "b2"), ("ftz", "testp", "f32"), ("carry", "mul"), ("f32", "f64", "cvt"), ("wide", "bits"),
]
KINDS = ["if", "loop", "switch", "call", "recursion", "pointer", "virtual", "local", "shared", "shuffle", "vote", "masked", "shared_atomic",
         "global_atomic", "table", "memory", "generic", "barrier", "early", "goto"]
# How lanes diverge and meet: `Kernel(..., convergence=True)`.
CONVERGENCE = ["if", "loop", "switch", "call", "recursion", "shuffle", "vote", "masked", "shared_atomic", "global_atomic", "barrier", "early", "goto",
               "lock", "flag", "either", "narrowing"]
# What is done with each cell of the output that all threads share.
CELLS = {0: ("u64", "Add"), 4: ("u64", "Xor"), 8: ("u64", "Max"), 12: ("u64", "Or"), 2: ("u32", "Add"), 3: ("u32", "Xor"), 6: ("u32", "Or"),
         7: ("u32", "Max"), 10: ("u32", "Sub"), 11: ("u32", "Inc")}
CELL_WORDS = 16
# The sum that a lock guards, and the lock.
LOCKED_CELL, LOCK_CELL = 14, 15
COLLECTIVE = ("shared", "shuffle", "vote", "masked", "shared_atomic", "barrier", "flag", "either", "narrowing")
FULL = "0xffffffffu"


class Node:
    """A statement: text before each of its bodies, and text at its end."""

    def __init__(self, *parts, tail=""):
        self.parts = list(parts)
        self.tail = tail

    def text(self, indent="  "):
        lines = []
        for head, body in self.parts:
            lines += [indent + line for line in head.split("\n") if line]
            for node in body or []:
                lines += node.text(indent + "  ")
        lines += [indent + line for line in self.tail.split("\n") if line]
        return lines


def leaf(text):
    return Node((text, None))


class Kernel:
    """A random kernel: `source()` is its text, which compiles for the device and for the host."""

    # What accesses.py has besides: words before its name and before its first argument, further arguments, and bytes of
    # dynamic shared memory.
    bounds, restrict, parameters, dynamic = "", "", (), 0

    def __init__(self, name, random, level=70, size=6, convergence=False):
        self.name, self.random, self.level = name, random, level
        themes = [t for t in THEMES if level >= 80 or "b" not in t]
        self.groups = set(random.choice(themes)) | {"int"}
        self.kinds = random.sample(CONVERGENCE if convergence else KINDS, random.randint(3, 7))
        self.tables, self.functions, self.shared = [], [], []
        self.names = 0
        self.types = [t for t in VARIABLES if self.has_type(t)]
        self.grid = random.choice([1, 1, 2])
        # Warps that are not full only where no lane waits for another.
        together = any(kind in COLLECTIVE for kind in self.kinds)
        self.block = random.choice([32, 64, 96] if together else [64, 33, 50, 7])
        self.scope = {t: [f"{t}_{i}" for i in range(VARIABLES[t])] for t in self.types}
        self.number_variables()
        self.body = self.statements(size, 2, True)

    def number_variables(self):
        """Where in the input each variable starts, whatever others there are."""
        self.place = {name: k for k, name in enumerate(name for t in self.types for name in self.scope[t])}

    def has_type(self, t):
        groups = {"u128": "wide", "f32": "f32 cvt ftz testp h", "f64": "f64 cvt", "h": "h h2", "h2": "h2", "b": "b b2", "b2": "b2"}.get(t)
        return groups is None or bool(self.groups & set(groups.split()))

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}_{self.name}"

    # ------------------------------------------------------------ expressions
    def literal(self, t):
        r = self.random
        if t in ("h2", "b2"):
            return f"{r.choice(EDGES[t[0]]) << 16 | r.choice(EDGES[t[0]]):#x}u"
        edges = EDGES.get(t)
        if t == "u128":
            return f"((u128){self.literal('u64')} << 64 | {self.literal('u64')})"
        if t in ("u8", "u16", "h", "b"):
            bits = 8 if t == "u8" else 16
            return f"({TYPES[t][0]}){r.choice(edges + [r.getrandbits(bits)]):#x}"
        bits = 64 if t in ("u64", "f64") else 32
        value = r.choice(edges + [r.getrandbits(bits), r.getrandbits(5), r.getrandbits(16)])
        text = f"{value:#x}" + ("ull" if bits == 64 else "u")
        return {"f32": f"bitsf({text})", "f64": f"bitsd({text})"}.get(t, text)

    def any_leaf(self, t):
        r = self.random
        if t == "bool":
            return f"({self.any_leaf('u32')} & 1)"
        if t in self.scope and r.random() < 0.85:
            return r.choice(self.scope[t])
        if t == "u32" and r.random() < 0.3:
            return r.choice(["TID", "LANE", "CTA"])
        if t in ("u8", "u16", "u32", "u64") and r.random() < 0.3:
            other = r.choice([x for x in ("u8", "u16", "u32", "u64") if x in self.scope])
            return f"({t}){r.choice(self.scope[other])}"
        return self.literal(t)

    def expression(self, t, depth=2):
        r = self.random
        if depth <= 0 or r.random() < 0.12:
            return self.any_leaf(t)
        usable = lambda op: op.group in self.groups and op.level <= self.level and all(a == "bool" or a in self.types for a in op.args)
        ops = [op for op in BY_RESULT.get(t, []) if usable(op)]
        special = [op for op in ops if op.group != "int"]
        if special and r.random() < 0.7:
            ops = special
        if not ops:
            return self.any_leaf(t)
        op = r.choice(ops)
        args = [self.expression(a, depth - 1 - (len(op.args) > 2)) for a in op.args]
        if op.template:
            return op.template.format(*args)
        return f"{op.name}_({', '.join(args)})"

    def condition(self):
        r = self.random
        if r.random() < 0.5:
            return f"({self.any_leaf('u32')} & {r.choice([1, 2, 3, 5, 0x80000000])}u)"
        return self.expression("bool", 2)

    def assign(self):
        r = self.random
        t = r.choice([t for t in self.types for _ in range(VARIABLES[t])])
        return leaf(f"{r.choice(self.scope[t])} = {self.expression(t, r.choice([1, 2, 3]))};")

    # ------------------------------------------------------------ statements
    def statements(self, count, depth, whole):
        """`whole`: all lanes of the CTA are here."""
        made = []
        for _ in range(count):
            kind = self.random.choice(self.kinds) if self.random.random() < 0.5 and depth > 0 else "assign"
            together = kind in COLLECTIVE
            if kind == "assign" or (together and not whole):
                made.append(self.assign())
            else:
                made.append(getattr(self, "make_" + kind)(depth, whole))
        return made

    def block_of(self, depth):
        return self.statements(self.random.randint(1, 4), depth - 1, False)

    def make_if(self, depth, whole):
        parts = [(f"if ({self.condition()}) {{", self.block_of(depth))]
        if self.random.random() < 0.3:
            parts.append((f"}} else if ({self.condition()}) {{", self.block_of(depth)))
        if self.random.random() < 0.6:
            parts.append(("} else {", self.block_of(depth)))
        return Node(*parts, tail="}")

    def make_loop(self, depth, whole):
        r, i = self.random, self.fresh("i")
        count = r.choice([f"{r.randint(1, 5)}u", f"({self.any_leaf('u32')} & 7)", f"({self.any_leaf('u32')} & 3) + 1", f"(LANE & {r.choice([1, 3, 7])})"])
        unroll = r.choice(["", "NOUNROLL "])
        body = self.block_of(depth)
        if r.random() < 0.4:
            word = r.choice(["break", "continue"])
            body.insert(r.randint(0, len(body)), leaf(f"if ({self.condition()}) {word};"))
        # The bound is computed once: the body may change what it is made of.
        if r.random() < 0.7:
            head = f"{{ u32 n{i} = {count}; {unroll}for (u32 {i} = 0; {i} < n{i}; {i}++) {{\n  {r.choice(self.scope['u32'])} += {i};"
            return Node((head, body), tail="} }")
        head = f"{{ u32 {i} = {count}; do {{"
        return Node((head, body), tail=f"}} while ({i}-- > 0 && {i} < 9); }}")

    def make_switch(self, depth, whole):
        r = self.random
        dense = r.random() < 0.7
        cases = range(r.randint(4, 9)) if dense else sorted(r.sample(range(1, 1 << 16), 4))
        on = f"{self.any_leaf('u32')} & {15 if dense else '0xffff'}"
        nodes = []
        for case in cases:
            end = "break;" if r.random() < 0.8 else ""
            nodes.append(Node((f"case {case}:", self.statements(r.randint(1, 2), 0, False)), tail="  " + end))
        if r.random() < 0.6:
            nodes.append(Node(("default:", self.block_of(1)), tail="  break;"))
        return Node((f"switch ({on}) {{", nodes), tail="}")

    def function(self, recursive=False):
        """A function that is not inlined, of u32 values and one of another type; its name and that type."""
        r, name = self.random, self.fresh("f")
        other = r.choice([t for t in self.types if t not in ("u8",)])
        outer, kinds = self.scope, self.kinds
        self.scope = {t: [f"v_{t}"] for t in self.types} | {"u32": ["x", "y"]}
        if other != "u32":
            self.scope[other] = [f"z_{other}"]
        else:
            self.scope["u32"] = ["x", "y", "z_u32"]
        self.kinds = [k for k in kinds if k in ("if", "loop", "switch", "local", "table")] or ["if"]
        body = self.statements(r.randint(1, 3), 1, False)
        if r.random() < 0.4:
            body.append(leaf(f"if ({self.condition()}) return {self.any_leaf('u32')};"))
        lines = [f"FUNC u32 {name}({'u32 depth, ' if recursive else ''}u32 x, u32 y, {TYPES[other][0]} z_{other}) {{"]
        lines += [f"  {TYPES[t][0]} v_{t} = {self.convert('x', t)};" for t in self.types if t not in ("u32", other)]
        tail = []
        if recursive:
            self_call = f"{name}(depth - 1, y, x ^ depth, z_{other})"
            again = r.choice([f"x += {self_call};", f"x ^= {self_call} + {self_call.replace('x ^ depth', 'x + 1')};"])
            tail.append(f"  if (depth > 0 && (x & {r.choice([1, 3, 7])}u) != 0) {again}")
        tail += [f"  return x + {self.fold(other, 'z_' + other)} + y;", "}"]
        self.scope, self.kinds = outer, kinds
        self.functions.append(Node(("\n".join(lines), body), tail="\n".join(tail)))
        return name, other

    def convert(self, word, t):
        """A value of type `t` from one of 32 bits."""
        return {"f32": f"bitsf({word})", "f64": f"bitsd((u64){word} << 32 | {word})", "u64": f"(u64){word} * 0x100000001ull",
                "u128": f"((u128){word} << 96) ^ {word}", "h": f"canon_h((u16){word})", "b": f"canon_b((u16){word})",
                "h2": f"canon2_h({word})", "b2": f"canon2_b({word})"}.get(t, f"({TYPES[t][0]}){word}")

    def fold(self, t, value):
        """32 bits from a value of type `t`."""
        return {"f32": f"fbits({value})", "f64": f"(u32)(dbits({value}) ^ dbits({value}) >> 32)", "u64": f"(u32)({value} ^ {value} >> 32)",
                "u128": f"(u32)({value} ^ {value} >> 96)", "h": f"canon_h({value})", "b": f"canon_b({value})", "h2": f"canon2_h({value})",
                "b2": f"canon2_b({value})"}.get(t, f"(u32){value}")

    def make_call(self, depth, whole):
        name, other = self.function()
        target = self.random.choice(self.scope["u32"])
        return leaf(f"{target} = {name}({self.any_leaf('u32')}, {self.any_leaf('u32')}, {self.any_leaf(other)});")

    def make_recursion(self, depth, whole):
        name, other = self.function(True)
        target = self.random.choice(self.scope["u32"])
        return leaf(f"{target} ^= {name}({self.any_leaf('u32')} & 3, {self.any_leaf('u32')}, {self.any_leaf('u32')}, {self.any_leaf(other)});")

    def plain_functions(self, count):
        """Functions of two words."""
        names = []
        for _ in range(count):
            name = self.fresh("g")
            outer, kinds = self.scope, self.kinds
            self.scope = {"u32": ["x", "y"]}
            types, self.types = self.types, ["u32"]
            self.kinds = ["if", "loop"]
            body = self.statements(2, 1, False)
            self.scope, self.kinds, self.types = outer, kinds, types
            self.functions.append(Node((f"FUNC u32 {name}(u32 x, u32 y) {{", body), tail="  return x ^ y;\n}"))
            names.append(name)
        return names

    def make_pointer(self, depth, whole):
        r, table = self.random, self.fresh("table")
        names = self.plain_functions(r.choice([2, 4]))
        target, index = r.choice(self.scope["u32"]), f"{self.any_leaf('u32')} & {len(names) - 1}"
        where = r.choice(["CONSTANT", "TABLE", "", "choose"])
        if where in ("CONSTANT", "TABLE"):
            self.functions.append(leaf(f"typedef u32 (*{table}_t)(u32, u32);\n{where} {table}_t {table}[{len(names)}] = {{{', '.join(names)}}};"))
            return leaf(f"{target} = {table}[{index}]({self.any_leaf('u32')}, {self.any_leaf('u32')});")
        self.functions.append(leaf(f"typedef u32 (*{table}_t)(u32, u32);"))
        if where == "choose":
            return leaf(f"{{ {table}_t f = {self.condition()} ? {names[0]} : {names[1]}; {target} = f({self.any_leaf('u32')}, 7); }}")
        return leaf(f"{{ {table}_t f[{len(names)}] = {{{', '.join(names)}}}; {target} = f[{index}]({self.any_leaf('u32')}, {self.any_leaf('u32')}); }}")

    def make_virtual(self, depth, whole):
        r, c = self.random, self.fresh("C")
        body = lambda: self.on("u32", ["a", "m"], 2)
        self.functions.append(leaf(
            f"struct {c} {{ u32 m; VIRTUAL u32 f(u32 a) {{ return {body()}; }} VIRTUAL u32 g(u32 a) {{ return f(a) + {body()}; }} }};\n"
            f"struct {c}a : {c} {{ VIRTUAL u32 f(u32 a) override {{ return {body()}; }} }};\n"
            f"struct {c}b : {c}a {{ u32 k[2]; VIRTUAL u32 f(u32 a) override {{ return k[a & 1] + {body()}; }} VIRTUAL u32 g(u32 a) override {{ return {body()}; }} }};"))
        target = r.choice(self.scope["u32"])
        u = lambda: self.any_leaf("u32")
        return leaf(f"{{ {c} p; {c}a q; {c}b s; p.m = {u()}; q.m = {u()}; s.m = {u()}; s.k[0] = {u()}; s.k[1] = {u()};\n"
                    f"  {c} *o = ({u()} & 1) ? &p : ({u()} & 2) ? ({c} *)&q : ({c} *)&s; {target} = o->{r.choice('fg')}({u()}) + o->f({u()}); }}")

    def on(self, t, names, depth):
        """An expression on other variables."""
        outer, self.scope = self.scope, {t: names}
        types, self.types = self.types, [t]
        text = self.expression(t, depth)
        self.scope, self.types = outer, types
        return text

    def make_local(self, depth, whole):
        r, a = self.random, self.fresh("l")
        t = r.choice(["u8", "u16", "u32", "u64"])
        n = r.choice([4, 8, 16])
        leafs = lambda: self.any_leaf(t)
        fill = f"for (u32 k = 0; k < {n}; k++) {a}[k] = ({t})({leafs()} + k * {r.randint(1, 99)});"
        uses = [f"{a}[{self.any_leaf('u32')} & {n - 1}] {r.choice(['=', '+=', '^='])} {self.expression(t, 2)};" for _ in range(r.randint(1, 3))]
        target = r.choice(self.scope[t])
        return leaf(f"{{ {t} {a}[{n}]; {fill}\n  " + "\n  ".join(uses) + f"\n  {target} = {a}[{self.any_leaf('u32')} & {n - 1}]; {target} ^= {a}[{self.any_leaf('u32')} % {n}u]; }}")

    def make_shared(self, depth, whole):
        r, s = self.random, self.fresh("s")
        t = r.choice(["u8", "u16", "u32", "u64", "u32"])
        self.shared.append(f"SHARED {t} {s}[96];")
        step = r.choice([1, 5, 7, 31])
        target = r.choice(self.scope[t])
        text = f"{s}[TID] = {self.any_leaf(t)}; __syncthreads(); {target} ^= {s}[(TID * {step} + {r.randint(0, 40)}) % NT];"
        if t == "u32" and self.block % 4 == 0 and r.random() < 0.4:
            text += f" {{ uint4_like v = *(uint4_like *)&{s}[(TID & ~3u)]; {r.choice(self.scope['u32'])} += v.x ^ v.y * 3 ^ v.w; }}"
        return leaf(text + " __syncthreads();")

    def shuffle(self, mask, t):
        r = self.random
        kind = r.choice(["", "_up", "_down", "_xor"])
        width = r.choice(["", "", ", 16", ", 8", ", 4"])
        amount = {"": f"{self.any_leaf('u32')} & 31", "_up": f"{r.randint(0, 17)}", "_down": f"{r.randint(0, 17)}", "_xor": f"{r.randint(1, 31)}"}[kind]
        return f"__shfl{kind}_sync({mask}, {self.any_leaf(t)}, {amount}{width})"

    def make_shuffle(self, depth, whole):
        r = self.random
        t = r.choice([t for t in ("u32", "u32", "u64", "f32", "f64") if t in self.types])
        return leaf(f"{r.choice(self.scope[t])} = {self.shuffle(FULL, t)};")

    def make_vote(self, depth, whole):
        r = self.random
        u = self.any_leaf("u32")
        forms = [f"__ballot_sync({FULL}, {self.condition()})", f"__any_sync({FULL}, {self.condition()})", f"__all_sync({FULL}, ({u} & 15) != 3)",
                 f"__match_any_sync({FULL}, {u} & 3)", f"__match_any_sync({FULL}, (u64)({u} & 1) << 40)"]
        if r.random() < 0.2:
            return leaf(f"{{ int all; {r.choice(self.scope['u32'])} ^= __match_all_sync({FULL}, {r.choice([u, 'CTA', 'WARP'])}, &all); {r.choice(self.scope['u32'])} += all != 0; }}")
        if self.level >= 80 and r.random() < 0.5:
            forms = [f"__reduce_{op}_sync({FULL}, {u})" for op in ("add", "and", "or", "xor", "min")] + [f"(u32)__reduce_max_sync({FULL}, (int){u})"]
        return leaf(f"{r.choice(self.scope['u32'])} ^= {r.choice(forms)};")

    def make_masked(self, depth, whole):
        """Collectives of the lanes that a condition holds for."""
        r, m = self.random, self.fresh("m")
        a, b = r.choice(self.scope["u32"]), r.choice(self.scope["u32"])
        inner = [
            f"u32 to = ({self.any_leaf('u32')}) & 31; to = ({m} >> to & 1) ? to : LANE; {a} += __shfl_sync({m}, {b}, to);",
            f"{a} ^= __ballot_sync({m}, {self.condition()});",
            f"{a} += __match_any_sync({m}, {b} & 3);",
            f"{a} += __any_sync({m}, ({b} & 7) == 1) ? 5 : 9; __syncwarp({m});",
        ]
        body = self.block_of(1)
        other = f" else {{ {a} += count_bits(__ballot_sync(~{m}, {b} & 1)); }}" if r.random() < 0.4 else ""
        head = f"{{ bool c{m} = {self.condition()}; u32 {m} = __ballot_sync({FULL}, c{m});\nif (c{m}) {{"
        return Node((head, body), tail=f"  {r.choice(inner)}\n}}{other} }}")

    def make_shared_atomic(self, depth, whole):
        r, s = self.random, self.fresh("s")
        t = r.choice(["u32", "u32", "u64"])
        name = r.choice(["Add", "Min", "Max", "And", "Or", "Xor", "Cas", "Exch", "Inc"])
        self.shared.append(f"SHARED {t} {s}[8];")
        start = {"Min": f"({t})~({t})0", "And": f"({t})~({t})0"}.get(name, "0")
        at = f"{s}[{self.any_leaf('u32')} & 7]"
        value = f"({t}){self.any_leaf(t)}"
        do = f"atomic{name}(&{at}, {value});"
        if name == "Cas":
            do = f"{{ {t} *p = &{at}, old = *(volatile {t} *)p, seen, add = {value}; do {{ seen = old; old = atomicCAS(p, seen, seen + add); }} while (old != seen); }}"
        elif name == "Exch":
            # Each thread has its own.
            self.shared[-1] = f"SHARED {t} {s}[96];"
            return leaf(f"{s}[TID] = {self.any_leaf(t)}; {r.choice(self.scope[t])} ^= atomicExch(&{s}[TID], {value}); {r.choice(self.scope[t])} += {s}[TID];")
        elif name == "Inc":
            do = f"atomicInc(&{at}, 13u);" if t == "u32" else f"atomicAdd(&{at}, {value});"
        if r.random() < 0.4:
            do = f"if ({self.condition()}) {{ {do} }}"
        return leaf(f"if (TID < 8) {s}[TID] = {start}; __syncthreads(); {do} __syncthreads(); {r.choice(self.scope[t])} ^= {s}[TID & 7]; __syncthreads();")

    def make_global_atomic(self, depth, whole):
        """On one of the cells before the output, each of which has one operation, so that no order matters."""
        cell = self.random.choice(sorted(CELLS))
        t, name = CELLS[cell]
        do = f"atomic{name}(({t} *)&cells[{cell}], {'999u' if name == 'Inc' else self.any_leaf(t)});"
        return leaf(do if self.random.random() < 0.5 else f"if ({self.condition()}) {do}")

    def make_table(self, depth, whole):
        r, c = self.random, self.fresh("c")
        t = r.choice(["u8", "u16", "u32", "u64"])
        n = r.choice([4, 8, 16])
        values = ", ".join(self.literal(t) for _ in range(n))
        self.tables.append(f"{r.choice(['CONSTANT', 'TABLE const'])} {t} {c}[{n}] = {{{values}}};")
        return leaf(f"{r.choice(self.scope[t])} ^= {c}[{self.any_leaf('u32')} & {n - 1}];")

    def make_memory(self, depth, whole):
        """The thread's own 256 bytes, in several widths."""
        r = self.random
        t, u = r.choice(["u8", "u16", "u32", "u64"]), r.choice(["u8", "u16", "u32", "u64"])
        size = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
        at = f"({self.any_leaf('u32')} & {64 // size[t] - 1})"
        back = f"({self.any_leaf('u32')} & {64 // size[u] - 1})"
        signed = f"({u})({u.replace('u', 'i')})" if r.random() < 0.5 else ""
        return leaf(f"(({t} *)own)[{at}] = {self.any_leaf(t)}; {r.choice(self.scope['u64'])} += {signed}(({u} *)own)[{back}];")

    def make_generic(self, depth, whole):
        r, s, l = self.random, self.fresh("s"), self.fresh("l")
        self.shared.append(f"SHARED u32 {s}[96];")
        a = r.choice(self.scope["u32"])
        u = lambda: self.any_leaf("u32")
        # Atomics are not for local memory.
        local, atomic = r.choice([(f"({u()} & 1) ? &{l}[{u()} & 1] : own", ""), ("own", f"atomicAdd(p, {a});")])
        return leaf(f"{{ u32 {l}[2]; {l}[0] = {u()}; {l}[1] = 5; {s}[TID] = {u()};\n  u32 *p = ({u()} & 1) ? &{s}[TID] : {local};\n"
                    f"  *p += {u()}; {a} ^= *p + {l}[0]; {atomic} {r.choice(self.scope['u32'])} += *p; }}")

    def make_barrier(self, depth, whole):
        r, s = self.random, self.fresh("s")
        a = r.choice(self.scope["u32"])
        form = r.choice(["count", "and", "or", "pair"])
        if form != "pair" or self.block < 64:
            name = form if form != "pair" else "count"
            return leaf(f"{a} += __syncthreads_{name}({self.condition()}) {'!= 0' if name != 'count' else ''};")
        self.shared.append(f"SHARED u32 {s}[32];")
        return leaf(f"if (WARP == 0) {{ {s}[LANE] = {self.any_leaf('u32')}; __threadfence_block(); bar_arrive(3, 64); }} "
                    f"else if (WARP == 1) {{ bar_sync(3, 64); {a} ^= {s}[31 - LANE]; }} __syncthreads();")

    def make_lock(self, depth, whole):
        """A critical section that lanes of all warps enter one by one."""
        r, x = self.random, self.fresh("x")
        take, leave = f"atomicCAS(&cells[{LOCK_CELL}], 0u, 1u)", f"atomicExch(&cells[{LOCK_CELL}], 0u);"
        do = f"*(volatile u32 *)&cells[{LOCKED_CELL}] += {x}; __threadfence();"
        taking = self.fresh("take")
        form = r.choice([
            f"{taking}(cells); {do} {leave}",
            f"while ({take} != 0) PAUSE;\n  {do} {leave}",
            f"for (;;) {{ if ({take} == 0) {{ {do} {leave} break; }} PAUSE; }}",
            f"bool done = false; while (!done) {{ if ({take} == 0) {{ {do} {leave} done = true; }} else PAUSE; }}",
        ])
        meet = ""
        if taking in form:
            # After such a call, ptxas 11.8 for sm_70 and sm_75 expects all lanes of the warp in a ballot.
            self.functions.append(leaf(f"FUNC void {taking}(u32 *cells) {{ while ({take} != 0) PAUSE; }}"))
        elif whole and self.block % 32 == 0:
            # Lanes that have passed the lock apart meet.
            meet = f" {r.choice(self.scope['u32'])} ^= __ballot_sync({FULL}, {self.condition()});"
        return leaf(f"{{ u32 {x} = {self.any_leaf('u32')};\n  {form} }}{meet}")

    def make_flag(self, depth, whole):
        """A lane waits for another of its warp."""
        r, s = self.random, self.fresh("s")
        a = r.choice(self.scope["u32"])
        self.shared.append(f"SHARED u32 {s}[3];")
        first, then = r.choice([(0, 31), (31, 0), (5, 6), (17, 3)])
        wait = f"while (*(volatile u32 *)&{s}[WARP] == 0) PAUSE; {a} += {s}[WARP];"
        tell = f"*(volatile u32 *)&{s}[WARP] = {self.any_leaf('u32')} | 1;"
        sides = [(then, wait), (first, tell)]
        if r.random() < 0.5:
            sides.reverse()
        (one, do_one), (two, do_two) = sides
        return leaf(f"if (TID < 3) {s}[TID] = 0; __syncthreads();\nif (LANE == {one}) {{ {do_one} }} else if (LANE == {two}) {{ {do_two} }}\n__syncwarp();")

    def make_either(self, depth, whole):
        """A barrier of the CTA that lanes of one warp reach in two branches."""
        r, s = self.random, self.fresh("s")
        a = r.choice(self.scope["u32"])
        self.shared.append(f"SHARED u32 {s}[96];")
        side = lambda: Node((f"{s}[TID] = {self.any_leaf('u32')}; bar_apart();", self.block_of(1)))
        one, two = side(), side()
        text = lambda node: "\n".join(node.text("  "))
        return leaf(f"if ({self.condition()}) {{\n{text(one)}\n}} else {{\n{text(two)}\n}}\n"
                    f"bar_apart(); {a} ^= {s}[(TID * {r.choice([1, 5, 7])} + {r.randint(0, 40)}) % NT]; bar_apart();")

    def make_narrowing(self, depth, whole):
        """A loop that lanes leave while the others exchange values."""
        r, m = self.random, self.fresh("m")
        a, b = r.choice(self.scope["u32"]), r.choice(self.scope["u32"])
        exchange = r.choice([f"{a} += count_bits(__ballot_sync({m}, {b} & 1));", f"{a} ^= __match_any_sync({m}, {b} & 1); __syncwarp({m});",
                             f"{a} += __any_sync({m}, ({b} & 7) == 1) ? 5 : 9;"])
        body = "\n".join(line for node in self.block_of(1) for line in node.text("  "))
        return leaf(f"{{ u32 {m} = {FULL};\nNOUNROLL for (u32 n{m} = 0; n{m} < {r.randint(2, 9)}; n{m}++) {{\n  bool go = ({a} ^ n{m} * LANE) % {r.choice([3, 5, 11])}u != 0;\n"
                    f"  {m} = __ballot_sync({m}, go); if (!go) break;\n{body}\n  {exchange}\n}} {r.choice(['', '__syncwarp();'])} }}")

    def make_early(self, depth, whole):
        """A region that lanes leave early."""
        r = self.random
        inner = self.statements(r.randint(2, 4), 1, False)
        inner.insert(r.randint(0, len(inner)), leaf(f"if ({self.condition()}) break;"))
        return Node(("do {", inner), tail="} while (0);")

    def make_goto(self, depth, whole):
        """Paths that meet where no block ends."""
        r, g = self.random, self.fresh("L")
        a, b = r.choice(self.scope["u32"]), r.choice(self.scope["u32"])
        return leaf(f"{{ u32 n = {self.any_leaf('u32')} & 3;\n  if ({self.condition()}) goto {g}a;\n  {a} += {self.any_leaf('u32')};\n"
                    f"{g}b:\n  {b} ^= {a} * 3u;\n{g}a:\n  {a} = {a} * 5u + {b};\n  if (n-- > 0 && n < 4 && ({a} & {r.choice([1, 4])}u)) goto {g}b;\n  {a} += n; }}")

    # ------------------------------------------------------------ the whole
    @property
    def words_per_thread(self):
        return sum(self.words(t) * len(self.scope[t]) for t in self.types)

    @staticmethod
    def words(t):
        return {"u64": 2, "f64": 2, "u128": 4}.get(t, 1)

    @property
    def output_words(self):
        return self.words_per_thread * self.grid * self.block + CELL_WORDS

    def source(self):
        """Tables, functions and the kernel."""
        lines = self.tables + [line for function in self.functions for line in function.text("")]
        arguments = "".join(f", {p.declaration}" for p in self.parameters)
        lines.append(f"KERNEL {self.bounds}{self.name}(const u32 *{self.restrict}in, u32 *out, u32 *all_own{arguments}) {{")
        lines += ["  " + s for s in self.shared]
        lines.append("  u32 id = CTA * NT + TID; u32 *own = all_own + id * 64;")
        lines.append("  for (u32 k = 0; k < 16; k++) own[k] = k * 0x01234567u;")
        for t in self.types:
            for name in self.scope[t]:
                k = self.place[name]
                first, second = f"in[(id * 29 + {k}) & 1023]", f"in[(id * 31 + {k + 500}) & 1023]"
                value = {"u64": f"(u64){first} << 32 | {second}", "f64": f"bitsd((u64){first} << 32 | {second})", "f32": f"bitsf({first})",
                         "u128": f"((u128){first} << 96) | ((u128){second} << 40) | {first}", "h": f"canon_h((u16){first})", "b": f"canon_b((u16){first})",
                         "h2": f"canon2_h({first})", "b2": f"canon2_b({first})"}.get(t, f"({t}){first}")
                lines.append(f"  {TYPES[t][0]} {name} = {value};")
        lines.append("  u32 *cells = out; (void)cells;")
        for node in self.body:
            lines += node.text()
        lines.append(f"  out += {CELL_WORDS} + id * {self.words_per_thread};")
        k = 0
        for t in self.types:
            for name in self.scope[t]:
                if t in ("u64", "f64", "u128"):
                    value = f"dbits({name})" if t == "f64" else name
                    for word in range(self.words(t)):
                        lines.append(f"  out[{k}] = (u32)({value} >> {32 * word});")
                        k += 1
                else:
                    lines.append(f"  out[{k}] = {self.fold(t, name)};")
                    k += 1
        lines.append("}")
        if self.parameters:
            arguments = "".join(f", copied<{p.type}>((const u8 *)in + {p.offset})" for p in self.parameters)
            lines.append(f"#ifdef HOST\nstatic void enter_{self.name}(const u32 *in, u32 *out, u32 *own) {{ {self.name}(in, out, own{arguments}); }}\n#endif")
        return "\n".join(lines)

    def case(self):
        """What runs the kernel must know, as crates/lab/tests/differential reads it."""
        words = [self.name, self.grid, self.block, self.output_words, self.dynamic] + [f"{p.offset}:{p.size}" for p in self.parameters]
        return " ".join(map(str, words if self.dynamic or self.parameters else words[:4]))


def used_functions(text, ops=OPS):
    """Definitions of the operations that `text` calls, for the device and for the host."""
    names = set(re.findall(r"\b\w+(?=_\()", text))
    device, host = [], []
    for op in ops:
        if op.name in names and op.device:
            arguments = ", ".join(f"{TYPES[t][0]} {'abcd'[i]}" for i, t in enumerate(op.args))
            head = f"DEV {TYPES[op.ret][0]} {op.name}_({arguments})"
            device.append(f"{head} {{ {op.device} }}")
            host.append(f"{head} {{ {op.host} }}")
    return device, host


class OpsKernel(Kernel):
    """A kernel of some operations, each on several values."""

    def __init__(self, name, ops):
        self.name, self.level = name, max([op.level for op in ops] + [70])
        self.tables, self.functions, self.shared = [], [], []
        self.grid, self.block = 1, 64
        used = ["u32"] + [t for op in ops for t in op.args + [op.ret] if t != "bool"]
        self.types = list(dict.fromkeys(used))
        self.scope = {t: [f"{t}_{i}" for i in range(4)] for t in self.types}
        # What is computed goes to other variables, so that each operation sees the input.
        inputs = {t: list(names) for t, names in self.scope.items()}
        self.body = [node for number, op in enumerate(ops) for node in self.uses(op, number, inputs)]
        self.number_variables()

    def uses(self, op, number, inputs):
        for k in range(4):
            args = ["(u32_0 & 1)" if t == "bool" else inputs[t][(k + j) % 4] for j, t in enumerate(op.args)]
            if k == 3 and len(args) > 1 and op.args[-1] == op.args[0]:
                args[-1] = args[0]
            value = op.template.format(*args) if op.template else f"{op.name}_({', '.join(args)})"
            if op.ret == "bool":
                value, result = f"({value} ? {k + 3}u : 2u)", "u32"
            else:
                result = op.ret
            to = f"r{number}_{k}"
            self.scope[result].append(to)
            yield leaf(f"{to} = {value};")
