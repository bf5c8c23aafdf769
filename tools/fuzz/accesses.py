"""Random kernels about memory: every size and alignment of access in every space, through pointers that are known and
generic, with cache hints and in PTX, atomics, and what lanes hand each other through memory.

A region is memory of one space that a thread may use: bytes of its own, or bytes that no thread writes. What other
threads wrote is only read between two barriers. Every kernel ends by folding all bytes of its regions into a variable.
"""

from collections import namedtuple

from .program import FULL, VARIABLES, Kernel, Node, leaf

# `base` is an expression of type `u8 *` or `const u8 *`; `of` is the same for another thread of the CTA, of index `{}`.
class Region(namedtuple("Region", "space base size align writable of", defaults=[None])):
    @property
    def strict(self):
        """Whether accesses are aligned: those to a `__grid_constant__` (see tools/fuzz-kernels)."""
        return self.space == "parameter" and not self.writable


# An argument after the three buffers: `size` bytes of the input from `offset` on.
Parameter = namedtuple("Parameter", "declaration type offset size")

SCALARS = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "float": 4, "double": 8}
# CUDA's vectors: their names begin with that of the element.
ELEMENTS = {"uchar": "u8", "char": "i8", "ushort": "u16", "short": "i16", "uint": "u32", "int": "i32", "ulonglong": "u64", "longlong": "i64",
            "float": "float", "double": "double"}
# Fields, size and alignment of each type.
LAYOUT = {t: (1, size, size) for t, size in SCALARS.items()}
LAYOUT |= {f"{name}{n}": (n, n * SCALARS[e], SCALARS[e] if n == 3 else min(16, n * SCALARS[e])) for name, e in ELEMENTS.items() for n in (2, 3, 4)}
# Those that __ldg, __stcg and the others take.
HINTED = [t for t, (n, size, _) in LAYOUT.items() if size <= 16 and n != 3]
GLOBAL, SHARED, ATOMIC = ("own", "in", "table"), ("shared", "dynamic"), ("own", "shared", "dynamic")

ATOMICS = {
    "i32": "Add Sub Exch Min Max And Or Xor CAS", "u32": "Add Sub Exch Min Max And Or Xor CAS Inc Dec", "u64": "Add Exch Min Max And Or Xor CAS",
    "i64": "Min Max And Or Xor", "float": "Add Exch", "double": "Add", "u16": "CAS",
}
# Operations whose results do not depend on the order of threads, on cells of zeros.
REDUCTIONS = [("u64", "Add"), ("double", "Add"), ("i64", "Min"), ("u64", "Or"), ("float", "Add"), ("i32", "Max"), ("u32", "Dec"), ("u32", "Inc"),
              ("i32", "Min"), ("h2", "Add"), ("u16", "CAS"), ("u32", "Xor"), ("i32", "Sub")]
# The word of the shared cells of the output where each is.
CELLS = dict(zip([0, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15], REDUCTIONS))

# Structures whose bit fields leave no bit unused, and their sizes and alignments.
BITS = [("u32 a : 5, b : 27; u32 c : 16, d : 16;", 8, 4), ("u64 a : 37, b : 27; i64 c : 1, d : 63;", 16, 8), ("u8 a : 3, b : 5; u8 c : 8, d : 8;", 3, 1),
        ("i16 a : 7, b : 9; u16 c : 1, d : 15;", 4, 2), ("i32 a : 11, b : 21; u64 c : 32; u64 d : 64;", 16, 8)]

KINDS = ["store", "load", "store", "load", "copy", "fields", "sweep", "generic", "pointers", "by_value", "atomic", "ptx_load", "ptx_store", "ptx_atomic",
         "global_reduction", "spill", "choice", "shared_reduction", "exchange", "handoff", "loaded_shuffle", "async", "if", "loop", "switch", "early"]
# Where all lanes are; and statements around others.
TOGETHER = ("shared_reduction", "exchange", "handoff", "loaded_shuffle")
NESTED = ("if", "loop", "switch", "early")


class AccessKernel(Kernel):
    """A random kernel about accesses to memory."""

    def __init__(self, name, random, level=70, size=8):
        self.name, self.random, self.level, self.names = name, random, level, 0
        self.groups, self.types = {"int"}, ["u8", "u16", "u32", "u64"]
        self.kinds = random.sample([k for k in KINDS if level >= 80 or k != "async"], random.randint(6, 12))
        self.tables, self.functions, self.shared, self.parameters = [], [], [], []
        self.grid = random.choice([1, 1, 2])
        self.block = random.choice([32, 64, 96] if any(k in TOGETHER for k in self.kinds) else [64, 33, 50, 7])
        # Registers of so many CTAs: values are spilled to local memory.
        self.bounds = random.choice(["", "", "BOUNDS(512, 4) "])
        self.restrict = random.choice(["", "__restrict__ "])
        self.scope = {t: [f"{t}_{i}" for i in range(VARIABLES[t])] for t in self.types}
        self.number_variables()
        self.dynamic = 0
        self.regions = [Region("own", "(u8 *)own", 64, 16, True, "(u8 *)(all_own + (CTA * NT + {}) * 64)")]
        for space in ["in"] + random.sample(["shared", "dynamic", "local", "local", "constant", "table", "parameter", "parameter"], random.randint(3, 6)):
            self.regions.append(getattr(self, "region_" + space)())
        self.body = self.statements(size, 2, True)
        for g in self.regions:
            if g.writable:
                t, n = self.whole(g.size, g.align)
                self.body.append(leaf(f"for (u32 k = 0; k < {n}; k++) u64_0 = (u64_0 ^ (({t} *){g.base})[k]) * 0x100000001b3ull;"))

    def statements(self, count, depth, whole):
        made = []
        usable = [k for k in self.kinds if (whole or k not in TOGETHER) and (depth > 0 or k not in NESTED)]
        for _ in range(count):
            kind = self.random.choice(usable) if usable and self.random.random() < 0.8 else "assign"
            made.append(self.assign() if kind == "assign" else getattr(self, "make_" + kind)(depth, whole))
        return made

    # ------------------------------------------------------------ regions
    def region_in(self):
        stride = self.random.choice([1, 2, 4, 8, 16, 36, 44, 100])
        return Region("in", f"((const u8 *)in + (id * {stride} & 2047))", 64, stride & -stride, False)

    @staticmethod
    def whole(size, align):
        """The largest integers that fill a region of that size and alignment, and their number."""
        return next((t, size // n) for t, n in (("u64", 8), ("u32", 4), ("u16", 2), ("u8", 1)) if size % n == 0 and align % n == 0)

    def filled(self, base, size, align):
        t, n = self.whole(size, align)
        return f"for (u32 k = 0; k < {n}; k++) (({t} *){base})[k] = ({t})((k + 3) * 0x9e3779b97f4a7c15ull >> 9) + TID;"

    def slots(self, space, array, stride):
        base, align = f"({array} + TID * {stride})", min(16, stride & -stride)
        return Region(space, base, stride, align, True, f"({array} + {{}} * {stride})"), self.filled(base, stride, align)

    def region_shared(self):
        s, stride = self.fresh("s"), self.random.choice([4, 8, 12, 16, 20, 24, 28, 32, 33, 40, 48, 64, 72])
        region, fill = self.slots("shared", s, stride)
        self.shared.append(f"SHARED u8 {s}[{stride * self.block}]; {fill}")
        return region

    def region_dynamic(self):
        stride = self.random.choice([4, 8, 12, 16, 24, 32, 48, 64, 80])
        region, fill = self.slots("dynamic", "dynamic_shared", stride)
        self.dynamic = stride * self.block
        self.shared.append(f"DYNAMIC_SHARED; {fill}")
        return region

    def region_local(self):
        l, size = self.fresh("l"), self.random.choice([8, 15, 24, 32, 64, 160])
        self.shared.append(f"ALIGN16 u8 {l}[{size}]; {self.filled(l, size, 16)}")
        return Region("local", l, size, 16, True)

    def region_constant(self, kind="CONSTANT", space="constant"):
        c, size = self.fresh("c"), self.random.choice([16, 32, 96, 200])
        values = ", ".join(f"{self.random.getrandbits(8)}" for _ in range(size))
        self.tables.append(f"{kind} ALIGN16 u8 {c}[{size}] = {{{values}}};")
        return Region(space, c, size, 16, False)

    def region_table(self):
        return self.region_constant(self.random.choice(["TABLE", "TABLE const"]), "table")

    def region_parameter(self):
        r, p = self.random, self.fresh("p")
        if r.random() < 0.5:
            t = self.fresh("P")
            element, count = r.choice([("u8", r.choice([1, 3, 5, 7, 13, 37, 100])), ("u16", r.choice([1, 3, 9])), ("u32", r.choice([1, 3, 5, 17])), ("u64", r.choice([1, 3])),
                                       ("uint4", r.choice([1, 2, 7]))])
            size, align = count * LAYOUT[element][1], LAYOUT[element][2]
            self.tables.append(f"struct {t} {{ {element} b[{count}]; }};")
        else:
            t = r.choice(list(LAYOUT))
            _, size, align = LAYOUT[t]
        constant = r.random() < 0.5
        self.parameters.append(Parameter(f"{'const GRID_CONSTANT ' if constant else ''}{t} {p}", t, 16 * r.randrange(220), size))
        return Region("parameter", f"((const u8 *)&{p})" if constant else f"((u8 *)&{p})", size, align, not constant)

    # ------------------------------------------------------------ types, addresses, values
    def structure(self, packable=True):
        """A structure without gaps; its name, fields as (type, name, count), size and alignment."""
        r, name, fields, at, most = self.random, self.fresh("S"), [], 0, 1
        packed = r.random() < 0.3 and packable
        for i in range(r.randint(1, 5)):
            t = r.choice(list(SCALARS) + ["uchar4", "float2", "short3", "uint4"])
            count = r.choice([1, 1, 2, 3])
            _, size, align = LAYOUT[t]
            if not packed:
                if gap := -at % align:
                    fields.append(("u8", f"g{i}", gap))
                at, most = at + gap, max(most, align)
            fields.append((t, f"f{i}", count))
            at += size * count
        if not packed and (gap := -at % most):
            fields.append(("u8", "g", gap))
            at += gap
        text = " ".join(f"{t} {f}[{n}];" for t, f, n in fields)
        self.tables.append(f"struct {'__attribute__((packed)) ' if packed else ''}{name} {{ {text} }};\n"
                           f"static_assert(sizeof({name}) == {at} && alignof({name}) == {most}, \"layout\");")
        return name, fields, at, most

    def fitting(self, writable=False, spaces=None, size=1, align=1):
        return [g for g in self.regions if g.writable >= writable and (not spaces or g.space in spaces) and g.size >= size and g.align >= align]

    def word(self):
        return self.random.choice([self.any_leaf("u64"), self.any_leaf("u64"), f"({self.any_leaf('u64')} + {self.any_leaf('u32')})"])

    def target(self):
        return self.random.choice(self.scope["u64"])

    def offset(self, room, align, opaque=True):
        """An offset of at most `room` bytes."""
        r, count = self.random, room // align + 1
        if count == 1 or r.random() < 0.4:
            return f"{r.randrange(count) * align}"
        if r.random() < 0.3:
            return f"{self.any_leaf('u32')} % {count}u * {align}"
        mask = 1
        while 2 * mask <= count:
            mask *= 2
        index, rest = f"({self.any_leaf('u32')} & {mask - 1})", count - mask
        if opaque and r.random() < 0.3 and rest:
            # The compiler does not know the index: the constant is in the instruction, and is negative.
            less = r.randint(1, 9)
            return f"(hidden({index} + {less + r.randrange(rest + 1)}) - {less}ull) * {align}"
        return f"{index} * {align} + {r.randrange(rest + 1) * align}"

    def address(self, region, size, align):
        return f"({region.base} + {self.offset(region.size - size, align)})"

    def made(self, t, word):
        """A value of type `t` from 64 bits."""
        n = LAYOUT[t][0]
        if n > 1:
            element = ELEMENTS[t[:-1]]
            return f"make_{t}({', '.join(self.made(element, f'({word} * {2 * i + 1} >> {5 * i})') for i in range(n))})"
        return {"float": f"bitsf((u32){word})", "double": f"bitsd({word})"}.get(t, f"({t}){word}")

    def folded(self, t, value):
        """64 bits from a value of type `t`, a variable."""
        n = LAYOUT[t][0]
        if n > 1:
            return "(" + " ^ ".join(f"{self.folded(ELEMENTS[t[:-1]], f'{value}.{field}')} << {11 * i}" for i, field in enumerate("xyzw"[:n])) + ")"
        return {"float": f"(u64)fbits({value})", "double": f"dbits({value})"}.get(t, f"(u64){value}")

    def any_access(self, writable=False, spaces=None, regions=None, strict=False):
        """A region, a type that fits, and an address; whether it is aligned, which it is if `strict`."""
        r = self.random
        region = r.choice(regions or self.fitting(writable, spaces))
        strict = strict or region.strict
        types = [t for t, (_, size, _) in LAYOUT.items() if size <= region.size]
        good = [t for t in types if LAYOUT[t][2] <= region.align]
        t = r.choice(good if strict or r.random() < 0.85 else types)
        _, size, align = LAYOUT[t]
        aligned = align <= region.align and (strict or r.random() < 0.9)
        return region, t, self.address(region, size, align if aligned else r.choice([1, min(region.align, 2)])), aligned

    def loaded(self, regions=None, strict=False):
        """A region, a type, and the expression of a load of it."""
        r = self.random
        region, t, at, aligned = self.any_access(regions=regions, strict=strict)
        if not aligned:
            return region, t, f"copied<{t}>({at})"
        forms = [f"*(const {t} *){at}"] * 3
        if t in SCALARS:
            forms.append(f"*(const volatile {t} *){at}")
        if t in HINTED and region.space in GLOBAL:
            forms.append(f"__ld{r.choice(['cg', 'ca', 'cs', 'lu', 'cv'])}((const {t} *){at})")
            if not region.writable:
                forms += [f"__ldg((const {t} *){at})"] * 2
        return region, t, r.choice(forms)

    def stored(self, regions=None, word=None):
        """The statement of a store."""
        r = self.random
        region, t, at, aligned = self.any_access(True, regions=regions)
        value = self.made(t, word or self.word())
        if not aligned:
            return f"copy_out<{t}>({at}, {value});"
        forms = [f"*({t} *){at} = {value};"] * 3
        if t in SCALARS:
            forms.append(f"*(volatile {t} *){at} = {value};")
        if t in HINTED and region.space in GLOBAL:
            forms.append(f"__st{r.choice(['wb', 'cg', 'cs', 'wt'])}(({t} *){at}, {value});")
        return r.choice(forms)

    def merged(self, *regions):
        """For loads of one or another of `regions`, which the compiler may make one load: nvcc takes that for one of
        memory that is not written if this holds for any of them (see tools/fuzz-kernels)."""
        if {"in", "own"} <= {g.space for g in regions}:
            self.restrict = ""

    def perhaps(self, text):
        return leaf(text if self.random.random() < 0.7 else f"if ({self.condition()}) {{ {text} }}")

    # ------------------------------------------------------------ plain accesses
    def make_load(self, depth, whole):
        _, t, value = self.loaded()
        to, by = self.target(), self.random.choice(["^=", "+=", "="])
        return self.perhaps(f"{{ {t} x = {value}; {to} {by} {self.folded(t, 'x')}; }}")

    def make_store(self, depth, whole):
        return self.perhaps(self.stored())

    def make_choice(self, depth, whole):
        """Two loads of which one is used, both aligned, both of a __grid_constant__ or none (see tools/fuzz-kernels)."""
        region, t, value = self.loaded(strict=True)
        same = [g for g in self.regions if LAYOUT[t][1] <= g.size and LAYOUT[t][2] <= g.align and g.strict == region.strict]
        if same:
            among = self.random.choice(same)
            self.merged(region, among)
            other = f"*(const {t} *){self.address(among, *LAYOUT[t][1:])}"
        else:
            other = self.made(t, self.word())
        return leaf(f"{{ {t} x = {self.condition()} ? {value} : {other}; {self.target()} += {self.folded(t, 'x')}; }}")

    def make_sweep(self, depth, whole):
        """A loop over the elements of a region, which the compiler may unroll and make vectors of."""
        r = self.random
        region = r.choice(self.fitting())
        t = r.choice([t for t, (_, size, align) in LAYOUT.items() if size <= region.size and align <= region.align])
        count = region.size // LAYOUT[t][1]
        n = r.choice([f"{count}u", f"{self.any_leaf('u32')} % {count + 1}u"])
        at, step = r.choice([("k", 1), ("k", 1), (f"({count - 1} - k)", 1), ("k", r.randint(1, 3))])
        head = f"{{ {'' if region.writable else 'const '}{t} *e = ({t} *){region.base}; u32 n = {n}; {r.choice(['', 'NOUNROLL '])}for (u32 k = 0; k < n; k += {step}) "
        a, b = self.target(), self.target()
        load = f"{t} x = e[{at}]; {a} = {a} * 31 + {self.folded(t, 'x')};"
        store = f"e[{at}] = {self.made(t, f'({b} + k * {r.randint(1, 99)})')};"
        return leaf(head + "{ " + (r.choice([load, store, load + " " + store]) if region.writable else load) + " } }")

    def make_copy(self, depth, whole):
        r = self.random
        to = r.choice(self.fitting(True))
        others = [g for g in self.regions if g.base != to.base]
        kind = r.choice(["memcpy", "memcpy", "memset", "assign"] if others else ["memset"])
        source = r.choice(others) if kind in ("memcpy", "assign") else to
        if kind == "assign" and not source.strict:
            name, _, size, align = self.structure()
            if size <= min(to.size, source.size) and align <= min(to.align, source.align):
                return self.perhaps(f"*({name} *){self.address(to, size, align)} = *(const {name} *){self.address(source, size, align)};")
        if kind == "assign":
            kind = "memcpy"
        size = r.randint(1, min(to.size, source.size))
        count = f"{size}" if not source.strict and r.random() < 0.7 else f"{r.choice(self.scope['u32'])} % {size + 1}u"
        value = f"(i32){self.any_leaf('u32')}" if kind == "memset" else self.address(source, size, 1)
        return self.perhaps(f"{kind}({self.address(to, size, 1)}, {value}, {count});")

    def make_fields(self, depth, whole):
        """Fields of a structure in memory, also bit fields."""
        r = self.random
        if r.random() < 0.4:
            name, (text, size, align) = self.fresh("B"), r.choice(BITS)
            self.tables.append(f"struct {name} {{ {text} }};\nstatic_assert(sizeof({name}) == {size} && alignof({name}) == {align}, \"layout\");")
            uses = [f"s->{r.choice('abcd')} {r.choice(['=', '+=', '^='])} {self.word()};" for _ in range(r.randint(1, 3))]
            uses += [f"{self.target()} += (u64)s->{r.choice('abcd')} * 5;" for _ in range(2)]
        else:
            name, fields, size, align = self.structure()
            uses = []
            for _ in range(r.randint(1, 4)):
                t, field, count = r.choice(fields)
                at = f"s->{field}[{self.offset(count - 1, 1, False)}]"
                uses.append(r.choice([f"{at} = {self.made(t, self.word())};", f"{{ {t} x = {at}; {self.target()} ^= {self.folded(t, 'x')} * 3; }}"]))
        places = self.fitting(True, None, size, align)
        if not places:
            return self.make_store(depth, whole)
        return leaf(f"{{ {name} *s = ({name} *){self.address(r.choice(places), size, align)}; {' '.join(uses)} }}")

    # ------------------------------------------------------------ pointers
    def within(self, region, count, scope=None):
        """Statements on one region, which a pointer is to."""
        regions, kinds, outer = self.regions, self.kinds, self.scope
        self.regions, self.scope = [region], scope or outer
        self.kinds = ["load", "load", "choice", "sweep"] + (["store", "store", "copy", "fields"] if region.writable else [])
        if region.space == "atomic" and region.align >= 4:
            self.kinds += ["atomic", "atomic", "ptx_atomic"]
        body = [getattr(self, "make_" + self.random.choice(self.kinds))(0, False) for _ in range(count)]
        self.regions, self.kinds, self.scope = regions, kinds, outer
        return body

    def pointed(self, chosen):
        """The region of a pointer `p` to one of `chosen`."""
        space = "atomic" if all(g.space in ATOMIC for g in chosen) else "parameter" if all(g.strict for g in chosen) else "generic"
        return Region(space, "p", min(g.size for g in chosen), min(g.align for g in chosen), all(g.writable for g in chosen))

    def make_generic(self, depth, whole):
        """A pointer that is to one space or another."""
        r = self.random
        among = self.fitting(r.random() < 0.6, r.choice([None, None, ATOMIC]))
        chosen = r.sample(among, min(len(among), r.choice([2, 2, 3, 4])))
        region = self.pointed(chosen)
        self.merged(*chosen)
        pointer = "u8 *" if region.writable else "const u8 *"
        if r.random() < 0.5:
            text = chosen[0].base
            for g in chosen[1:]:
                text = f"{self.condition()} ? {g.base} : ({text})"
            head = f"{{ {pointer}p = {text};"
        else:
            a = self.fresh("a")
            head = f"{{ {pointer}{a}[] = {{{', '.join(g.base for g in chosen)}}}; {pointer}p = {a}[{self.any_leaf('u32')} % {len(chosen)}u];"
        return Node((head, self.within(region, r.randint(1, 3))), tail="}")

    def make_pointers(self, depth, whole):
        """A function that takes a pointer, called with pointers to several spaces."""
        r, f = self.random, self.fresh("f")
        among = self.fitting(r.random() < 0.6, r.choice([None, None, ATOMIC]))
        chosen = r.sample(among, min(len(among), r.choice([1, 2, 3])))
        region = self.pointed(chosen)
        scope = {"u8": ["v_u8"], "u16": ["v_u16"], "u32": ["arg"], "u64": ["w", "y"]}
        body = self.within(region, r.randint(1, 4), scope)
        head = f"FUNC u64 {f}({'' if region.writable else 'const '}u8 *p, u32 arg, u64 w) {{\n  u8 v_u8 = (u8)arg; u16 v_u16 = (u16)w; u64 y = w ^ arg;"
        self.functions.append(Node((head, body), tail="  return y * 3 + w + v_u8 + v_u16;\n}"))
        calls = [f"{self.target()} += {f}({g.base}, {self.any_leaf('u32')}, {self.word()});" for g in chosen]
        return Node(("{", [leaf(call) for call in calls]), tail="}")

    def make_by_value(self, depth, whole):
        """A function that takes and returns structures, not packed ones (see tools/fuzz-kernels)."""
        r, f = self.random, self.fresh("f")
        name, fields, size, align = self.structure(packable=False)
        t = r.choice(list(LAYOUT))
        places = [g for g in self.fitting(False, None, size, align) if not g.strict]
        start = f"*(const {name} *){self.address(r.choice(places), size, align)}" if places else f"{{}}"
        _, field, _ = r.choice(fields)
        self.functions.append(leaf(f"FUNC {name} {f}(i8 c, {name} s, u32 i, {t} v, u16 h) {{\n  ((u8 *)&s)[i % {size}] ^= (u8)c; ((u8 *)&s)[h % {size}] += (u8){self.folded(t, 'v')};\n"
                                   f"  if (i & 64) memset(&s.{field}, c, sizeof s.{field});\n  return s;\n}}"))
        folds = " ".join(f"for (u32 k = 0; k < {n}; k++) {{ {e} x = s.{g}[k]; {self.target()} += {self.folded(e, 'x')}; }}" for e, g, n in fields)
        return leaf(f"{{ {name} s = {start}; s = {f}((i8){self.word()}, s, {self.any_leaf('u32')}, {self.made(t, self.word())}, {self.any_leaf('u16')}); {folds} }}")

    def make_spill(self, depth, whole):
        """Many values that live across a call."""
        r = self.random
        f = self.plain_functions(1)[0]
        n = r.choice([8, 16, 24])
        scalar = [g for g in self.regions if g.align >= 4]
        loads = []
        for i in range(n):
            region = r.choice(scalar)
            t = r.choice([t for t in SCALARS if SCALARS[t] <= min(region.align, region.size)])
            loads.append(f"{t} w{i} = *(const volatile {t} *){self.address(region, SCALARS[t], SCALARS[t])};")
            loads[-1] = (loads[-1], t)
        order = r.sample(range(n), n)
        a = self.target()
        uses = "".join(f" {a} = {a} * 7 + {self.folded(loads[i][1], f'w{i}')};" for i in order)
        return leaf("{ " + " ".join(text for text, _ in loads) + f"\n  {r.choice(self.scope['u32'])} += {f}({self.any_leaf('u32')}, {self.any_leaf('u32')});\n {uses} }}")

    # ------------------------------------------------------------ atomics
    def half2(self):
        """The bits of two halves from 0 to 1."""
        return f"((u32){self.word()} & 0x3bff3bff)"

    def make_atomic(self, depth, whole):
        """On memory that no other thread uses, so that what it returns is known."""
        r = self.random
        choices = [(t, name) for t, names in ATOMICS.items() for name in names.split()] + [("h2", "Add")]
        t, name = r.choice(choices)
        size = 4 if t == "h2" else SCALARS[t]
        places = self.fitting(True, ATOMIC + ("atomic",), size, size)
        if not places:
            return self.make_store(depth, whole)
        at = f"{self.address(r.choice(places), size, size)}"
        scope = r.choice(["", "", "_block", "_system"]) if t != "u16" else ""
        to, word = self.target(), self.word()
        kind = "u32" if t == "h2" else t
        text, value = f"{kind} *q = ({kind} *){at};", self.made(kind, word)
        if t == "h2":
            text += f" *q = {self.half2()};"
            call = f"half2_add(q, {self.half2()})"
        else:
            if name == "Add" and t in ("float", "double"):
                text += f" *q = ({t})(i32){self.any_leaf('u32')};"
                value = f"({t})(i32)({word} & 0xffff) * 0.25f"
            if name == "CAS":
                value = f"{r.choice(['*q', f'({t}){self.word()}'])}, {value}"
            call = f"atomic{name}{scope}(q, {value})"
        if r.random() < 0.4:
            return self.perhaps(f"{{ {text} {call}; {to} += *(u8 *)q; }}")
        return self.perhaps(f"{{ {text} {kind} x = {call}; {to} += {self.folded(kind, 'x')} * 3; }}")

    def reduction(self, t, name, at):
        """A statement on a cell that others use, too. What it returns is not used."""
        if t == "h2":
            # Up to 2,048, and there it stays.
            return f"half2_add((u32 *){at}, ({self.any_leaf('u32')} & 1 ? 0x3c00u : 0u) | ({self.any_leaf('u32')} & 2 ? 0x3c000000u : 0u));"
        word = self.word()
        value = {"float": f"(float)({word} & 15)", "double": f"(double)({word} & 0xffff)"}.get(t) or self.made(t, word)
        if name in ("Inc", "Dec"):
            value = "999u"
        if name == "CAS":
            return f"{{ {t} *q = ({t} *){at}, seen, old = *(volatile {t} *)q; do {{ seen = old; old = atomicCAS(q, seen, ({t})(seen + {value})); }} while (old != seen); }}"
        return f"atomic{name}(({t} *){at}, {value});"

    def make_global_reduction(self, depth, whole):
        r = self.random
        word = r.choice(list(CELLS))
        t, name = CELLS[word]
        return self.perhaps(self.reduction(t, name, f"((u8 *)&cells[{word}] + {r.choice([0, 2]) if t == 'u16' else 0})"))

    def make_shared_reduction(self, depth, whole):
        r, s = self.random, self.fresh("s")
        t, name = r.choice(REDUCTIONS)
        size = 4 if t == "h2" else SCALARS[t]
        kind, start = ("u32" if t == "h2" else t), "0" if name != "Min" else f"({t})0x7fffffff"
        self.shared.append(f"SHARED {kind} {s}[4];")
        at = f"((u8 *){s} + {self.offset(4 * size - size, size, False)})"
        do = self.reduction(t, name, at)
        if r.random() < 0.3:
            do = f"if ({self.condition()}) {{ {do} }}"
        return leaf(f"if (TID < 4) {s}[TID] = {start}; __syncthreads(); {do} __syncthreads(); {{ {kind} x = {s}[TID & 3]; {self.target()} ^= "
                    f"{self.folded(kind, 'x')}; }} __syncthreads();")

    # ------------------------------------------------------------ between threads
    def passed(self, spaces, other):
        """A store to this thread's part of a region, and a load of what thread `other` stored."""
        region = self.random.choice(self.fitting(True, spaces))
        to, by = self.target(), self.random.choice(["^=", "+="])
        _, t, value = self.loaded([region._replace(base=region.of.format(other))])
        return self.stored([region]), f"{{ {t} x = {value}; {to} {by} {self.folded(t, 'x')}; }}"

    def make_exchange(self, depth, whole):
        r = self.random
        put, get = self.passed(ATOMIC, f"((TID * {r.choice([1, 5, 7, 31])} + {r.randint(0, 40)}) % NT)")
        return leaf(f"{put} __syncthreads(); {get} __syncthreads();")

    def make_handoff(self, depth, whole):
        """Within a warp, of all lanes or of those that a condition holds for."""
        r = self.random
        put, get = self.passed(ATOMIC, "(WARP * 32 + j)")
        if r.random() < 0.6:
            return leaf(f"{put} __syncwarp(); {{ u32 j = {r.choice(['LANE ^ 1', 'LANE ^ 21', '31 - LANE', '(LANE + 5) & 31', '7'])}; {get} }} __syncwarp();")
        m = self.fresh("m")
        return leaf(f"{{ bool c{m} = {self.condition()}; u32 {m} = __ballot_sync({FULL}, c{m});\n  if (c{m}) {{ {put} __syncwarp({m}); u32 j = {self.any_leaf('u32')} & 31; "
                    f"j = ({m} >> j & 1) ? j : LANE; {get} __syncwarp({m}); }} }}")

    def make_loaded_shuffle(self, depth, whole):
        r = self.random
        t = r.choice(["i32", "u32", "i64", "u64", "float", "double"])
        region = r.choice(self.fitting(False, None, SCALARS[t], SCALARS[t]))
        at = self.address(region, SCALARS[t], SCALARS[t])
        kind, amount = r.choice([("", f"{self.any_leaf('u32')} & 31"), ("_up", "3"), ("_down", "9"), ("_xor", f"{r.randint(1, 31)}")])
        return leaf(f"{{ {t} x = __shfl{kind}_sync({FULL}, *(const {t} *){at}, {amount}); {self.target()} += {self.folded(t, 'x')}; }}")

    # ------------------------------------------------------------ PTX
    def helper(self, name, signature, device, host):
        """A function whose body is PTX on the device; its name."""
        name = self.fresh(name)
        self.functions.append(leaf(f"DEV {signature.format(name)} {{\n#ifdef HOST\n  {host}\n#else\n  {device}\n#endif\n}}"))
        return name

    @staticmethod
    def in_space(space):
        """`.SPACE` of PTX, and the expression of the address in it."""
        if space in SHARED:
            return ".shared", '"r"((u32)__cvta_generic_to_shared(p))'
        if space == "local":
            return ".local", '"l"(__cvta_generic_to_local(p))'
        if space == "constant":
            return ".const", '"l"(__cvta_generic_to_constant(p))'
        return (".global" if space in GLOBAL else ""), '"l"(p)'

    def ptx_place(self, writable, spaces=None):
        """A region, a size and a number of elements that fit, and the space, which may be left out."""
        r = self.random
        region = r.choice([g for g in self.fitting(writable, spaces) if g.space != "parameter"])
        size = r.choice([n for n in (1, 2, 4, 8) if n <= min(region.align, region.size)])
        count = r.choice([n for n in (1, 2, 4) if n * size <= min(16, region.align, region.size)])
        space, at = self.in_space(region.space) if r.random() < 0.7 or region.space == "constant" else ("", '"l"(p)')
        return region, size, count, space, at

    def order(self, region, strongest):
        """What PTX says of an access's order. Memory of one thread, and constants, have none."""
        r = self.random
        if region.space not in GLOBAL + SHARED:
            return ""
        return r.choice(["", "", ".volatile", f".{r.choice(['relaxed', strongest])}.{r.choice(['cta', 'gpu', 'sys'])}"])

    # Letter of inline assembly and type of a register that holds at least so many bytes.
    REGISTERS = {1: "hrl", 2: "hrl", 4: "rl", 8: "l"}
    LETTERS = {"h": "u16", "r": "u32", "l": "u64"}

    def make_ptx_load(self, depth, whole):
        r = self.random
        region, size, count, space, at = self.ptx_place(False)
        kind = r.choice("bus")
        letter = r.choice(self.REGISTERS[size])
        c = self.LETTERS[letter]
        order, hint = self.order(region, "acquire"), ""
        if not order and space == ".global":
            hint = r.choice(["", ".ca", ".cg", ".cs", ".lu", ".cv", ".L1::evict_last", ".L1::no_allocate"] + ([".nc", ".nc.L1::evict_first"] if not region.writable else []))
        vector = f".v{count}" if count > 1 else ""
        outs = ", ".join(f"%{i}" for i in range(count))
        text = f"ld{order}{space}{hint}{vector}.{kind}{8 * size} {f'{{{outs}}}' if count > 1 else outs}, [%{count}];"
        names = [f"r{i}" for i in range(count)]
        # Factors of more than a byte: of small ones, nvcc 11.8 makes a dp2a of 32 bits (see tools/fuzz-kernels).
        mixed = " + ".join(f"(u64){n} * {2000 * i + 1}" for i, n in enumerate(names))
        results = ", ".join(f'"={letter}"({n})' for n in names)
        element = f"{'i' if kind == 's' else 'u'}{8 * size}"
        host = " ".join(f"{c} r{i} = ({c})(({element} *)p)[{i}];" for i in range(count))
        f = self.helper("ld", "u64 {}(const void *p)", f'{c} {", ".join(names)}; asm volatile("{text}" : {results} : {at} : "memory"); return {mixed};', f"{host} return {mixed};")
        return self.perhaps(f"{self.target()} {r.choice(['^=', '+='])} {f}({self.address(region, size * count, size * count)});")

    def make_ptx_store(self, depth, whole):
        r = self.random
        region, size, count, space, at = self.ptx_place(True)
        letter = r.choice(self.REGISTERS[size])
        c = self.LETTERS[letter]
        order = self.order(region, "release")
        hint = r.choice(["", ".wb", ".cg", ".cs", ".wt"]) if not order and space == ".global" else ""
        vector = f".v{count}" if count > 1 else ""
        values = ", ".join(f"%{i + 1}" for i in range(count))
        text = f"st{order}{space}{hint}{vector}.{r.choice('bus')}{8 * size} [%0], {f'{{{values}}}' if count > 1 else values};"
        inputs = ", ".join(f'"{letter}"(({c})(w >> {7 * i}))' for i in range(count))
        host = " ".join(f"((u{8 * size} *)p)[{i}] = (u{8 * size})(w >> {7 * i});" for i in range(count))
        f = self.helper("st", "void {}(void *p, u64 w)", f'asm volatile("{text}" :: {at}, {inputs} : "memory");', host)
        return self.perhaps(f"{f}({self.address(region, size * count, size * count)}, {self.word()});")

    def make_ptx_atomic(self, depth, whole):
        r = self.random
        places = self.fitting(True, ATOMIC + ("atomic",), 4, 4)
        wide = [g for g in places if g.size >= 8 and g.align >= 8]
        if not places:
            return self.make_store(depth, whole)
        bits = r.choice([32, 64] if wide else [32])
        region = r.choice(wide if bits == 64 else places)
        name, kinds = r.choice([("and", "b"), ("or", "b"), ("xor", "b"), ("exch", "b"), ("cas", "b"), ("add", "u" if bits == 64 else "us"), ("min", "us"), ("max", "us")]
                               + ([("inc", "u"), ("dec", "u")] if bits == 32 else []))
        kind = r.choice(kinds)
        space, at = self.in_space(region.space) if r.random() < 0.7 else ("", '"l"(p)')
        host_name = "CAS" if name == "cas" else name.capitalize()
        t, letter = f"{'i' if kind == 's' else 'u'}{bits}", "r" if bits == 32 else "l"
        reduces = name not in ("exch", "cas") and r.random() < 0.4
        scope = r.choice(["cta", "gpu", "sys"])
        order = r.choice(["", f".{scope}", f".{r.choice(['relaxed', 'release'] if reduces else ['relaxed', 'acquire', 'release', 'acq_rel'])}.{scope}"])
        values = f'"{letter}"(v)' + (f', "{letter}"(w)' if name == "cas" else "")
        call = f"atomic{host_name}(({t} *)p, {f'({t})v, ({t})w' if name == 'cas' else f'({t})v'})"
        if reduces:
            f = self.helper("red", f"void {{}}(void *p, u{bits} v)", f'asm volatile("red{order}{space}.{name}.{kind}{bits} [%0], %1;" :: {at}, {values} : "memory");', f"{call};")
            return self.perhaps(f"{f}({self.address(region, bits // 8, bits // 8)}, (u{bits}){self.word()});")
        more = ", %3" if name == "cas" else ""
        f = self.helper("atom", f"u{bits} {{}}(void *p, u{bits} v, u{bits} w)",
                        f'u{bits} r; asm volatile("atom{order}{space}.{name}.{kind}{bits} %0, [%1], %2{more};" : "={letter}"(r) : {at}, {values} : "memory"); return r;', f"return (u{bits}){call};")
        return self.perhaps(f"{self.target()} += {f}({self.address(region, bits // 8, bits // 8)}, (u{bits}){self.word()}, (u{bits}){self.word()});")

    def make_async(self, depth, whole):
        """Copies from global to shared memory that the thread waits for; bytes past the source's are zeros."""
        r = self.random
        to, source = self.fitting(True, SHARED, 4, 4), self.fitting(False, GLOBAL, 4, 4)
        if not to or not source:
            return self.make_store(depth, whole)
        to, source = r.choice(to), r.choice(source)
        size = r.choice([n for n in (4, 8, 16) if n <= min(to.size, to.align, source.size, source.align)])
        some = r.random() < 0.4
        cache = "cg" if size == 16 and r.random() < 0.5 else "ca"
        text = f"cp.async.{cache}.shared.global [%0], [%1], {size}{', %2' if some else ''};"
        more = ', "r"(n)' if some else ""
        wait = r.choice(["cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 0;"])
        f = self.helper("copy", "void {}(void *d, const void *s, u32 n)",
                        f'asm volatile("{text} {wait}" :: "r"((u32)__cvta_generic_to_shared(d)), "l"(s){more} : "memory");',
                        f"memset(d, 0, {size}); memcpy(d, s, {'n' if some else size});")
        return leaf(f"{f}({self.address(to, size, size)}, {self.address(source, size, size)}, {self.any_leaf('u32')} % {size + 1}u);")
