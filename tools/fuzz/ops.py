"""The operations that random kernels are made of: what the device executes and what the host computes.

An operation is a function of the kernel's source. The device's body is an expression of CUDA or the text
of PTX instructions; the host's body computes the same, with what host.h has. Both see the arguments as
a, b, c, d. An operation without bodies is a template that is C on both sides.
"""

from collections import namedtuple

# C type and constraint of inline assembly for each type of value. h and b are the bits of a half and of a
# bfloat16, h2 and b2 of two.
TYPES = {
    "u8": ("u8", None), "u16": ("u16", "h"), "u32": ("u32", "r"), "i32": ("i32", "r"), "u64": ("u64", "l"),
    "i64": ("i64", "l"), "u128": ("u128", None), "f32": ("float", "f"), "f64": ("double", "d"), "h": ("u16", "h"),
    "h2": ("u32", "r"), "b": ("u16", "h"), "b2": ("u32", "r"), "bool": ("bool", None),
}

Op = namedtuple("Op", "group name ret args template device host level")
OPS = []


def infix(group, ret, args, *templates):
    """Templates of C with {0}, {1}, ... for the arguments."""
    for template in templates:
        OPS.append(Op(group, None, ret, args.split(), template, None, None, 0))


def call(group, name, ret, args, device, host, level=0):
    OPS.append(Op(group, name, ret, args.split(), None, f"return {device};", f"return {host};", level))


def ptx(group, name, ret, args, text, host, level=0):
    """`text` has $d for the result and $a, $b, ... for the arguments."""
    args = args.split()
    operands = ", ".join(f'"{TYPES[t][1]}"({"abcd"[i]})' for i, t in enumerate(args))
    for i, letter in enumerate("d" + "abce"[:len(args)]):
        text = text.replace("$" + letter, f"%{i}")
    out = f'"={TYPES[ret][1]}"(r)'
    body = f'{TYPES[ret][0]} r; asm("{{ {text} }}" : {out} : {operands}); return r;'
    OPS.append(Op(group, name, ret, args, None, body, f"return {host};", level))


# ---------------------------------------------------------------- plain C
for t in ["u32", "u64", "u16", "u8", "u128"]:
    unsigned = {"u16": "u32", "u8": "u32"}.get(t, t)
    bits = {"u8": 7, "u16": 15, "u32": 31, "u64": 63, "u128": 127}[t]
    cast = "" if t == unsigned else f"({t})"
    x, y = f"({unsigned}){{0}}", f"({unsigned}){{1}}"
    infix("int" if t != "u128" else "wide", t, f"{t} {t}",
          f"{cast}({x} + {y})", f"{cast}({x} - {y})", f"{cast}({x} * {y})", f"{cast}({x} & {y})", f"{cast}({x} | {y})",
          f"{cast}({x} ^ {y})", f"{cast}({x} / ({y} | 1))", f"{cast}({x} % ({y} | 1))")
    infix("int" if t != "u128" else "wide", t, f"{t} u32",
          f"{cast}({x} << ({{1}} & {bits}))", f"{cast}({x} >> ({{1}} & {bits}))")
    infix("int" if t != "u128" else "wide", t, t, f"{cast}(~{x})", f"{cast}(0 - {x})")
    signed = t.replace("u", "i")
    infix("int" if t != "u128" else "wide", t, f"{t} u32", f"({t})(({signed}){{0}} >> ({{1}} & {bits}))")
    half = "0x7f" if t == "u8" else f"((({t})~({t})0) >> 1)"
    infix("int" if t != "u128" else "wide", t, f"{t} {t}",
          f"({t})(({signed}){{0}} / ({signed})(({{1}} & {half}) | 1))", f"({t})(({signed}){{0}} % ({signed})(({{1}} & {half}) | 1))")
    infix("int" if t != "u128" else "wide", "bool", f"{t} {t}",
          "({0} < {1})", "({0} == {1})", "({0} != {1})", "({0} >= {1})", f"(({signed}){{0}} < ({signed}){{1}})",
          f"(({signed}){{0}} > ({signed}){{1}})", f"(({signed}){{0}} <= ({signed}){{1}})")
    infix("int" if t != "u128" else "wide", t, f"{t} {t}",
          "({0} < {1} ? {0} : {1})", f"(({signed}){{0}} > ({signed}){{1}} ? {{0}} : {{1}})")
    infix("int" if t != "u128" else "wide", t, f"bool {t} {t}", "({0} ? {1} : {2})")
infix("int", "u32", "u32 u32 u32", "({0} * {1} + {2})", "(({0} & {1}) | (~{0} & {2}))", "({0} ^ {1} ^ {2})", "({0} + {1} + {2})",
      "(({0} & {1}) ^ {2})", "({0} + ({1} << 3) - {2})")
infix("int", "u64", "u32 u32 u64", "((u64){0} * {1} + {2})", "((u64)((i64)(i32){0} * (i32){1}) + {2})", "(((u64){0} << 32 | {1}) - {2})")
infix("int", "u64", "u32 u32", "((u64){0} * {1})", "(u64)((i64)(i32){0} * (i32){1})", "((u64){0} << 32 | {1})")
infix("int", "u32", "u64", "(u32)({0} >> 32)", "(u32){0}")
infix("int", "u32", "u16 u16", "((u32){0} * {1})", "(u32)((i32)(i16){0} * (i32)(i16){1})")
infix("wide", "u128", "u64 u64", "((u128){0} * {1})", "((u128){0} << 64 | {1})", "(u128)((i128)(i64){0} * (i64){1})")
infix("wide", "u64", "u128", "(u64)({0} >> 64)", "(u64){0}")
infix("int", "bool", "bool bool", "({0} && {1})", "({0} || {1})", "({0} != {1})", "(!{0} && {1})")
for t in ["u8", "u16"]:
    infix("int", "u32", t, "(u32){0}", f"(u32)({t.replace('u', 'i')}){{0}}")

# ---------------------------------------------------------------- integer intrinsics
call("bits", "popc", "u32", "u32", "__popc(a)", "__builtin_popcount(a)")
call("bits", "popcll", "u32", "u64", "__popcll(a)", "__builtin_popcountll(a)")
call("bits", "clz", "u32", "u32", "__clz(a)", "clz32(a)")
call("bits", "clzll", "u32", "u64", "__clzll(a)", "clz64(a)")
call("bits", "ffs", "u32", "u32", "__ffs(a)", "__builtin_ffs(a)")
call("bits", "ffsll", "u32", "u64", "__ffsll(a)", "__builtin_ffsll(a)")
call("bits", "brev", "u32", "u32", "__brev(a)", "reverse(a, 32)")
call("bits", "brevll", "u64", "u64", "__brevll(a)", "reverse(a, 64)")
call("bits", "byte_perm", "u32", "u32 u32 u32", "__byte_perm(a, b, c)", "prmt(a, b, c & 0x7777)")
for name, left, clamp in [("l", 1, 0), ("r", 0, 0), ("lc", 1, 1), ("rc", 0, 1)]:
    call("bits", f"funnel_{name}", "u32", "u32 u32 u32", f"__funnelshift_{name}(a, b, c)", f"funnel(a, b, c, {left}, {clamp})")
# ptxas 11.8 makes `mul.hi(a, b) - c` a multiplication with -c as the addend and takes the carry of that, which is wrong
# for c = 0: %tid.y, which is 0, hides from it what is subtracted from.
for name, op, t, value in [
    ("mulhi", "mul.hi.u32", "u32", "((u64)a * b) >> 32"),
    ("smulhi", "mul.hi.s32", "u32", "(u64)((i64)(i32)a * (i32)b) >> 32"),
    ("mul64hi", "mul.hi.u64", "u64", "((u128)a * b) >> 64"),
    ("smul64hi", "mul.hi.s64", "u64", "(u128)((i128)(i64)a * (i64)b) >> 64"),
]:
    b = f"b{t[1:]}"
    zero = "mov.u32 y, %tid.y; cvt.u64.u32 z, y;" if t == "u64" else "mov.u32 z, %tid.y;"
    ptx("mul", name, t, f"{t} {t}", f"{{ .reg .b32 y; .reg .{b} z; {op} $d, $a, $b; {zero} xor.{b} $d, $d, z; }}", value)
call("mul", "mul24", "u32", "u32 u32", "__umul24(a, b)", "(a & 0xffffff) * (b & 0xffffff)")
# CUDA's compiler takes the product for a signed one without overflow, so that __mul24(a, a) is never negative to it.
call("mul", "smul24", "u32", "u32 u32", "hidden(__mul24(a, b))", "(u32)((i64)((i32)(a << 8) >> 8) * ((i32)(b << 8) >> 8))")
call("mul", "sad", "u32", "u32 u32 u32", "__usad(a, b, c)", "(a > b ? a - b : b - a) + c")
call("mul", "ssad", "u32", "u32 u32 u32", "__sad(a, b, c)", "((i32)a > (i32)b ? a - b : b - a) + c")
call("mul", "uhadd", "u32", "u32 u32", "__uhadd(a, b)", "((u64)a + b) >> 1")
call("mul", "urhadd", "u32", "u32 u32", "__urhadd(a, b)", "((u64)a + b + 1) >> 1")
call("mul", "shadd", "u32", "u32 u32", "__hadd((int)a, (int)b)", "(u32)(((i64)(i32)a + (i32)b) >> 1)")
call("mul", "srhadd", "u32", "u32 u32", "__rhadd((int)a, (int)b)", "(u32)(((i64)(i32)a + (i32)b + 1) >> 1)")
call("mul", "iabs", "u32", "u32", "(a >> 31 ? 0 - a : a)", "(a >> 31 ? 0 - a : a)")
call("mul", "dp4a", "u32", "u32 u32 u32", "__dp4a((unsigned)a, (unsigned)b, (unsigned)c)",
     "c + byte_of(a, 0) * byte_of(b, 0) + byte_of(a, 1) * byte_of(b, 1) + byte_of(a, 2) * byte_of(b, 2) + byte_of(a, 3) * byte_of(b, 3)")
DOT = "+ ".join(f"(i32)(i8)byte_of(a, {i}) * (i32)(i8)byte_of(b, {i})" for i in range(4))
call("mul", "sdp4a", "u32", "u32 u32 u32", "__dp4a((int)a, (int)b, (int)c)", f"c + (u32)({DOT})")
call("mul", "dp2a_lo", "u32", "u32 u32 u32", "__dp2a_lo((unsigned)a, (unsigned)b, (unsigned)c)",
     "c + (a & 0xffff) * byte_of(b, 0) + (a >> 16) * byte_of(b, 1)")
call("mul", "sdp2a_hi", "u32", "u32 u32 u32", "__dp2a_hi((int)a, (int)b, (int)c)",
     "c + (u32)((i32)(i16)a * (i32)(i8)byte_of(b, 2) + (i32)(i16)(a >> 16) * (i32)(i8)byte_of(b, 3))")

# ---------------------------------------------------------------- SIMD in a word
for bits, n in [(8, 4), (16, 2)]:
    low, high, top = -(1 << (bits - 1)), (1 << (bits - 1)) - 1, (1 << bits) - 1
    for name, kind, f in [
        ("vadd", "lanes", "x + y"), ("vsub", "lanes", "x - y"), ("vaddus", "lanes", f"std::min(x + y, {top}u)"),
        ("vsubus", "lanes", "x > y ? x - y : 0"), ("vaddss", "slanes", f"clampi(x + y, {low}, {high})"),
        ("vsubss", "slanes", f"clampi(x - y, {low}, {high})"), ("vavgu", "lanes", "(x + y + 1) >> 1"),
        ("vavgs", "slanes", "(x + y + (x + y >= 0)) >> 1"), ("vhaddu", "lanes", "(x + y) >> 1"),
        ("vabsdiffu", "lanes", "x > y ? x - y : y - x"), ("vabsdiffs", "slanes", "x > y ? x - y : y - x"),
        ("vmaxu", "lanes", "std::max(x, y)"), ("vmaxs", "slanes", "std::max(x, y)"), ("vminu", "lanes", "std::min(x, y)"),
        ("vmins", "slanes", "std::min(x, y)"), ("vcmpeq", "lanes", f"x == y ? {top} : 0"), ("vcmpgtu", "lanes", f"x > y ? {top} : 0"),
        ("vcmples", "slanes", f"x <= y ? {top} : 0"), ("vcmpne", "lanes", f"x != y ? {top} : 0"), ("vseteq", "lanes", "x == y"),
        ("vsetges", "slanes", "x >= y"), ("vsetltu", "lanes", "x < y"),
    ]:
        kinds = "u32" if kind == "lanes" else "i32"
        if name == "vavgs":
            continue
        device = f"__{name}{n}(a, b)"
        # CUDA 11.8 takes the top bit of what __vsubus2 returns for 0 (its upper half is shifted up as an int):
        # __vnegss2(__vsubus2(a, b)) masks it out. `hidden` keeps the compiler from knowing where the value is from.
        if device == "__vsubus2(a, b)":
            device = "hidden(__vsubus2(a, b))"
        call("simd", f"{name}{n}", "u32", "u32 u32", device,
             f"{kind}(a, b, {bits}, []({kinds} x, {kinds} y) {{ return (u32)({f}); }})")
    for name, kind, f in [("vabs", "slanes", "x < 0 ? -x : x"), ("vneg", "slanes", "-x"),
                          ("vabsss", "slanes", f"std::min(x < 0 ? -x : x, {high})"), ("vnegss", "slanes", f"std::min(-x, {high})")]:
        call("simd", f"{name}{n}", "u32", "u32", f"__{name}{n}(a)", f"slanes(a, a, {bits}, [](i32 x, i32) {{ return (u32)({f}); }})")
    total = " + ".join(f"part(lanes(a, b, {bits}, [](u32 x, u32 y) {{ return x > y ? x - y : y - x; }}), '{'b' if bits == 8 else 'h'}', {i}, false)"
                       for i in range(n))
    call("simd", f"vsadu{n}", "u32", "u32 u32", f"__vsadu{n}(a, b)", f"(u32)({total})")

# ---------------------------------------------------------------- PTX: integers
ptx("asm", "add_sat", "u32", "u32 u32", "add.sat.s32 $d, $a, $b;", "sat32((i128)(i32)a + (i32)b)")
ptx("asm", "sub_sat", "u32", "u32 u32", "sub.sat.s32 $d, $a, $b;", "sat32((i128)(i32)a - (i32)b)")
ptx("asm", "mad_hi_sat", "u32", "u32 u32 u32", "mad.hi.sat.s32 $d, $a, $b, $c;", "sat32((((i128)(i32)a * (i32)b) >> 32) + (i32)c)")
ptx("asm", "mad_wide", "u64", "u32 u32 u64", "mad.wide.u32 $d, $a, $b, $c;", "(u64)a * b + c")
ptx("asm", "smad_wide", "u64", "u32 u32 u64", "mad.wide.s32 $d, $a, $b, $c;", "(u64)((i64)(i32)a * (i32)b) + c")
ptx("asm", "mad_hi", "u32", "u32 u32 u32", "mad.hi.u32 $d, $a, $b, $c;", "(u32)(((u64)a * b) >> 32) + c")
ptx("asm", "mad_hi64", "u64", "u64 u64 u64", "mad.hi.s64 $d, $a, $b, $c;", "(u64)(((i128)(i64)a * (i64)b) >> 64) + c")
ptx("asm", "mul_wide16", "u32", "u16 u16", "mul.wide.s16 $d, $a, $b;", "(u32)((i32)(i16)a * (i16)b)")
ptx("asm", "mad_lo16", "u16", "u16 u16 u16", "mad.lo.u16 $d, $a, $b, $c;", "(u16)((u32)a * b + c)")
ptx("asm", "mul_hi16", "u16", "u16 u16", "mul.hi.s16 $d, $a, $b;", "(u16)(((i32)(i16)a * (i16)b) >> 16)")
ptx("asm", "mul24_hi", "u32", "u32 u32", "mul24.hi.u32 $d, $a, $b;", "(u32)(((u64)(a & 0xffffff) * (b & 0xffffff)) >> 16)")
ptx("asm", "mad24_lo", "u32", "u32 u32 u32", "mad24.lo.s32 $d, $a, $b, $c;",
    "(u32)((i64)((i32)(a << 8) >> 8) * ((i32)(b << 8) >> 8)) + c")
ptx("asm", "sad_s16", "u16", "u16 u16 u16", "sad.s16 $d, $a, $b, $c;", "(u16)(c + ((i16)a < (i16)b ? b - a : a - b))")
ptx("asm", "sad_u64", "u64", "u64 u64 u64", "sad.u64 $d, $a, $b, $c;", "c + (a < b ? b - a : a - b)")
ptx("asm", "abs_s64", "u64", "u64", "abs.s64 $d, $a;", "(a >> 63 ? 0 - a : a)")
# No cnot.b32: ptxas 11.8 and 12.9 fold `cvt.sat.u8.u32(cnot(x))` to 0 and shifts by `cnot(x)` to shifts by another value.
ptx("asm", "cnot64", "u64", "u64", "cnot.b64 $d, $a;", "(u64)(a == 0)")
ptx("asm", "rem_s16", "u16", "u16 u16", "{ .reg .b16 t; or.b16 t, $b, 1; and.b16 t, t, 0x7fff; rem.s16 $d, $a, t; }", "(u16)((i16)a % (i16)((b | 1) & 0x7fff))")
for kind, bits, signed in [("u32", 32, 0), ("s32", 32, 1), ("u64", 64, 0), ("s64", 64, 1)]:
    t = f"u{bits}"
    value = {"u32": "a", "s32": "(i32)a", "u64": "a", "s64": "(i64)a"}[kind]
    ptx("asm", f"bfind_{kind}", "u32", t, f"bfind.{kind} $d, $a;", f"bfind({value}, {bits}, false)")
    ptx("asm", f"bfind_shift_{kind}", "u32", t, f"bfind.shiftamt.{kind} $d, $a;", f"bfind({value}, {bits}, true)")
    ptx("asm", f"bfe_few_{kind}", t, f"{t} u32 u32", f"{{ .reg .b32 p, l; and.b32 p, $b, {bits - 1}; and.b32 l, $c, {bits - 1}; bfe.{kind} $d, $a, p, l; }}",
        f"bfe(a, b & {bits - 1}, c & {bits - 1}, {bits}, {signed})")
    # The machine code of 64 bits does not follow the manual where position and length pass the end.
    if bits == 32:
        ptx("asm", f"bfe_{kind}", t, f"{t} u32 u32", f"bfe.{kind} $d, $a, $b, $c;", f"bfe(a, b, c, {bits}, {signed})")
ptx("asm", "bfi32", "u32", "u32 u32 u32 u32", "bfi.b32 $d, $a, $b, $c, $e;", "bfi(a, b, c, d, 32)")
ptx("asm", "bfi64", "u64", "u64 u64 u32 u32", "{ .reg .b32 p, l; and.b32 p, $c, 31; and.b32 l, $e, 31; bfi.b64 $d, $a, $b, p, l; }", "bfi(a, b, c & 31, d & 31, 64)")
ptx("asm", "bfi_few", "u32", "u32 u32 u32 u32", "{ .reg .b32 p, l; and.b32 p, $c, 31; and.b32 l, $e, 15; bfi.b32 $d, $a, $b, p, l; }", "bfi(a, b, c & 31, d & 15, 32)")
ptx("asm", "prmt_any", "u32", "u32 u32 u32", "prmt.b32 $d, $a, $b, $c;", "prmt(a, b, c)")
for mode, letter in [("f4e", "f"), ("b4e", "b"), ("rc8", "r"), ("ecl", "l"), ("ecr", "e"), ("rc16", "6")]:
    ptx("asm", f"prmt_{mode}", "u32", "u32 u32 u32", f"prmt.b32.{mode} $d, $a, $b, $c;", f"prmt_mode(a, b, c, '{letter}')")
# Three different operands: where two are the same register, ptxas (11.8, 12.9) makes wrong code of `a ^ lop3(a, a, c)`:
# it puts RZ in the place of the second without a change of the table.
for lut in [0x96, 0xe8, 0x1d, 0xca, 0x80, 0x6b]:
    host = " | ".join(f"({'a' if i & 4 else '~a'} & {'' if i & 2 else '~'}(b + 1) & {'' if i & 1 else '~'}(c + 2))" for i in range(8) if lut >> i & 1)
    ptx("asm", f"lop3_{lut:02x}", "u32", "u32 u32 u32",
        f"{{ .reg .b32 p, q; add.u32 p, $b, 1; add.u32 q, $c, 2; lop3.b32 $d, $a, p, q, {lut:#x}; }}", host)
ptx("asm", "shf_l_clamp", "u32", "u32 u32 u32", "shf.l.clamp.b32 $d, $a, $b, $c;", "funnel(a, b, c, true, true)")
ptx("asm", "shf_r_wrap", "u32", "u32 u32 u32", "shf.r.wrap.b32 $d, $a, $b, $c;", "funnel(a, b, c, false, false)")
for op, t, past in [("shl.b32", "u32", "0"), ("shr.u32", "u32", "0"), ("shr.s32", "u32", "(u32)((i32)a >> 31)"), ("shl.b64", "u64", "0"),
                    ("shr.s64", "u64", "(u64)((i64)a >> 63)"), ("shr.u16", "u16", "0"), ("shl.b16", "u16", "0"), ("shr.s16", "u16", "(u16)((i16)a >> 15)")]:
    bits = int(t[1:])
    signed = "i" + t[1:] if ".s" in op else t
    shift = f"(({signed})a {'<<' if 'shl' in op else '>>'} b)"
    ptx("asm", op.replace(".", "_"), t, f"{t} u32", f"{op} $d, $a, $b;", f"b >= {bits} ? {past} : ({t}){shift}")
ptx("asm", "slct_u", "u32", "u32 u32 u32", "slct.u32.s32 $d, $a, $b, $c;", "(i32)c >= 0 ? a : b")
ptx("asm", "slct_u64", "u64", "u64 u64 u32", "slct.u64.s32 $d, $a, $b, $c;", "(i32)c >= 0 ? a : b")
ptx("asm", "slct_f", "u32", "u32 u32 f32", "slct.u32.f32 $d, $a, $b, $c;", "c >= 0 ? a : b")
ptx("asm", "szext_s", "u32", "u32 u32", "szext.clamp.s32 $d, $a, $b;", "(b >= 32 ? a : b == 0 ? 0 : (u32)((i32)(a << (32 - b)) >> (32 - b)))")
ptx("asm", "szext_u", "u32", "u32 u32", "szext.wrap.u32 $d, $a, $b;", "((b & 31) == 0 ? 0 : a << (32 - (b & 31)) >> (32 - (b & 31)))")
ptx("asm", "bmsk_clamp", "u32", "u32 u32", "bmsk.clamp.b32 $d, $a, $b;",
    "(a >= 32 || b == 0 ? 0 : (u32)((((u64)1 << std::min(b, 32u)) - 1) << a))")
ptx("asm", "bmsk_wrap", "u32", "u32 u32", "bmsk.wrap.b32 $d, $a, $b;", "(u32)((((u64)1 << (b & 31)) - 1) << (a & 31))")
ptx("asm", "fns", "u32", "u32 u32", "{ .reg .b32 n; and.b32 n, $b, 31; fns.b32 $d, $a, 0, n; }",
    "[&] { u32 n = b & 31, k = 0; if (n == 0) return (a & 1) ? 0u : ~0u; for (u32 i = 0; i < 32; i++) if (a >> i & 1 && ++k == n) return i; return ~0u; }()")
ptx("asm", "set_lt", "u32", "u32 u32", "set.lt.u32.s32 $d, $a, $b;", "(i32)a < (i32)b ? ~0u : 0")
ptx("asm", "set_and", "u32", "u32 u32 u32", "{ .reg .pred p; setp.ne.u32 p, $c, 0; set.le.xor.u32.u32 $d, $a, $b, p; }", "(a <= b) != (c != 0) ? ~0u : 0")
ptx("asm", "setp_both", "u32", "u32 u32", "{ .reg .pred p, q; setp.lo.u32 p|q, $a, $b; selp.u32 $d, 5, 9, p; @q add.u32 $d, $d, 1; }", "a < b ? 5 : 10")
ptx("asm", "setp_bool", "u32", "u32 u32 u32", "{ .reg .pred p, q; setp.eq.s32 p, $a, $b; setp.gt.or.s32 q, $a, $c, !p; selp.b32 $d, $a, $c, q; }",
    "(i32)a > (i32)c || a != b ? a : c")
ptx("asm", "pred_logic", "u32", "u32 u32", "{ .reg .pred p, q, r; setp.ne.u32 p, $a, 0; setp.lt.s32 q, $a, $b; xor.pred r, p, q; not.pred p, r; and.pred q, q, r; selp.u32 $d, 1, 0, p; @q or.b32 $d, $d, 2; }",
    "[&] { bool p = a != 0, q = (i32)a < (i32)b, r = p != q; p = !r; q = q && r; return (u32)p | (q ? 2 : 0); }()")

# Carries.
ptx("carry", "add_cc", "u64", "u64 u64", "{ .reg .b32 l, h, x, y; mov.b64 {l, h}, $a; mov.b64 {x, y}, $b; add.cc.u32 l, l, x; addc.u32 h, h, y; mov.b64 $d, {l, h}; }", "a + b")
ptx("carry", "sub_cc", "u64", "u64 u64", "{ .reg .b32 l, h, x, y; mov.b64 {l, h}, $a; mov.b64 {x, y}, $b; sub.cc.u32 l, l, x; subc.u32 h, h, y; mov.b64 $d, {l, h}; }", "a - b")
ptx("carry", "carry_out", "u32", "u32 u32", "{ .reg .b32 t; add.cc.u32 t, $a, $b; addc.u32 $d, 0, 0; }", "((u64)a + b) >> 32")
ptx("carry", "borrow_out", "u32", "u32 u32", "{ .reg .b32 t; sub.cc.u32 t, $a, $b; subc.u32 $d, 0, 0; }", "a < b ? ~0u : 0")
ptx("carry", "carry64", "u64", "u64 u64", "{ .reg .b64 t; add.cc.u64 t, $a, $b; addc.u64 $d, t, 0; }", "a + b + (a + b < a)")
ptx("carry", "sub_then_addc", "u32", "u32 u32", "{ .reg .b32 t; sub.cc.u32 t, $a, $b; addc.u32 $d, t, 0; }", "a - b + (a >= b)")
ptx("carry", "add_then_subc", "u32", "u32 u32", "{ .reg .b32 t; add.cc.u32 t, $a, $b; subc.u32 $d, t, 0; }", "a + b - !(((u64)a + b) >> 32)")
ptx("carry", "mad_cc", "u64", "u32 u32 u64", "{ .reg .b32 l, h; mov.b64 {l, h}, $c; mad.lo.cc.u32 l, $a, $b, l; madc.hi.u32 h, $a, $b, h; mov.b64 $d, {l, h}; }", "(u64)a * b + c")
ptx("carry", "mad_chain", "u64", "u64 u64",
    "{ .reg .b32 a0, a1, b0, b1, r0, r1, r2; mov.b64 {a0, a1}, $a; mov.b64 {b0, b1}, $b; mul.lo.u32 r0, a0, b0; mul.hi.u32 r1, a0, b0; "
    "mad.lo.cc.u32 r1, a0, b1, r1; madc.hi.u32 r2, a0, b1, 0; mad.lo.cc.u32 r1, a1, b0, r1; madc.hi.cc.u32 r2, a1, b0, r2; addc.u32 r2, r2, 7; mov.b64 $d, {r1, r2}; }",
    "[&] { u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32, r1 = (a0 * b0) >> 32; u64 s = a0 * b1 + r1; u64 t = (u32)s + a1 * b0; bool k = (t >> 32) + (s >> 32) >> 32; u32 r2 = (u32)((t >> 32) + (s >> 32)); return (u64)(u32)(r2 + k + 7) << 32 | (u32)t; }()")
ptx("carry", "madc_lo64", "u64", "u64 u64 u64", "{ .reg .b64 l, h; mad.lo.cc.u64 l, $a, $b, $c; madc.hi.u64 h, $a, $b, 3; xor.b64 $d, l, h; }",
    "[&] { u128 t = (u128)a * b + c; return (u64)t ^ ((u64)(t >> 64) + 3); }()")
ptx("carry", "sub3", "u64", "u64 u64",
    "{ .reg .b32 a0, a1, b0, b1, t, u, v; mov.b64 {a0, a1}, $a; mov.b64 {b0, b1}, $b; sub.cc.u32 t, a0, b0; subc.cc.u32 u, a1, b1; subc.u32 v, 5, 3; xor.b32 t, t, v; mov.b64 $d, {t, u}; }",
    "[&] { u64 r = a - b; u32 v = 2 - (a < b); return r ^ v; }()")

# Parts and vectors.
ptx("asm", "pack16", "u32", "u16 u16", "mov.b32 $d, {$a, $b};", "(u32)b << 16 | a")
ptx("asm", "unpack16", "u32", "u32", "{ .reg .b16 l, h; mov.b32 {l, h}, $a; mov.b32 $d, {h, l}; }", "a >> 16 | a << 16")
ptx("asm", "pack64", "u64", "u32 u32", "mov.b64 $d, {$b, $a};", "(u64)a << 32 | b")
ptx("asm", "unpack64", "u64", "u64", "{ .reg .b16 w, x, y, z; mov.b64 {w, x, y, z}, $a; mov.b64 $d, {z, w, x, y}; }", "a << 16 | a >> 48")
ptx("asm", "pack8", "u32", "u32 u32", "{ .reg .b8 w, x, y, z; cvt.u8.u32 w, $a; cvt.u8.u32 x, $b; mov.b32 $d, {w, x, w, x}; }",
    "(u8)a * 0x10001u | (u32)(u8)b * 0x1000100u")
for kind, low, high in [("u8", 0, 255), ("s8", -128, 127), ("u16", 0, 65535), ("s16", -32768, 32767)]:
    for source, value in [("s32", "(i32)a"), ("u32", "a")]:
        ptx("asm", f"cvt_sat_{kind}_{source}", "u32", "u32", f"{{ .reg .{'b16'} t; cvt.sat.{kind}.{source} t, $a; cvt.{'s' if kind[0] == 's' else 'u'}32.{kind} $d, t; }}",
            f"(u32)clampi({value}, {low}, {high})")
ptx("asm", "cvt_sat_u32_s64", "u32", "u64", "cvt.sat.u32.s64 $d, $a;", "(u32)clampi((i64)a, 0, 0xffffffffll)")
ptx("asm", "cvt_sat_s32_s64", "u32", "u64", "cvt.sat.s32.s64 $d, $a;", "(u32)clampi((i64)a, INT32_MIN, INT32_MAX)")
ptx("asm", "cvt_sat_s32_u32", "u32", "u32", "cvt.sat.s32.u32 $d, $a;", "(u32)clampi(a, INT32_MIN, INT32_MAX)")
for kind, low, high in [("s16", -32768, 32767), ("u16", 0, 65535)]:
    ptx("asm", f"cvt_pack_{kind}", "u32", "u32 u32", f"cvt.pack.sat.{kind}.s32 $d, $a, $b;",
        f"(u32)(u16)clampi((i32)a, {low}, {high}) << 16 | (u16)clampi((i32)b, {low}, {high})", 80)
for kind, low, high in [("s8", -128, 127), ("u8", 0, 255)]:
    ptx("asm", f"cvt_pack_{kind}", "u32", "u32 u32 u32", f"cvt.pack.sat.{kind}.s32.b32 $d, $a, $b, $c;",
        f"c << 16 | (u32)(u8)clampi((i32)a, {low}, {high}) << 8 | (u8)clampi((i32)b, {low}, {high})", 80)

# ---------------------------------------------------------------- PTX: video instructions
SELECT = ["", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"]


def video_operand(letter, select, signed):
    kind = select[1] if select else "w"
    index = select[2] if select else 0
    return f"part({letter}, '{kind}', {index}, {signed})"


def video():
    """Some of the combinations of the scalar video instructions, chosen by counting."""
    n = 0
    for name, f in [("vadd", "x + y"), ("vsub", "x - y"), ("vabsdiff", "(x > y ? x - y : y - x)"), ("vmin", "std::min(x, y)"), ("vmax", "std::max(x, y)")]:
        for dt in ["u32", "s32"]:
            for sat in ["", ".sat"]:
                for second in ["", ".add", ".min", ".max", "merge"]:
                    n += 1
                    at, bt = ["u32", "s32"][n % 2], ["u32", "s32"][n // 2 % 2]
                    asel, bsel = SELECT[n % 7], SELECT[n * 3 % 7]
                    signed = dt == "s32"
                    merge = second == "merge"
                    # Where the first result leaves the type, ptxas does not follow the manual.
                    if (merge and sat and not at == bt == dt) or (second in (".min", ".max") and (not at == bt == dt or dt == "u32" and (sat or name == "vsub"))):
                        continue
                    dsel = [".b0", ".b2", ".b3", ".h0", ".h1"][n % 5] if merge else ""
                    bits = {"": 32, ".b": 8, ".h": 16}[dsel[:2]]
                    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
                    value = f"clampi(t, {low}ll, {high}ll)" if sat else "t"
                    cast = "(i32)" if signed else "(u32)"
                    if merge:
                        at_bit = int(dsel[2]) * bits
                        mask = ((1 << bits) - 1) << at_bit
                        result = f"(c & {~mask & 0xffffffff:#x}u) | ((u32)v << {at_bit} & {mask:#x}u)"
                    else:
                        result = {"": "(u32)v", ".add": "(u32)v + c", ".min": f"(u32)std::min({cast}v, {cast}c)",
                                  ".max": f"(u32)std::max({cast}v, {cast}c)"}[second]
                    host = (f"[&] {{ i64 x = {video_operand('a', asel, int(at == 's32'))}, y = {video_operand('b', bsel, int(bt == 's32'))}, "
                            f"t = {f}, v = {value}; return {result}; }}()")
                    op2 = "" if merge else second
                    text = f"{name}.{dt}.{at}.{bt}{sat}{op2} $d{dsel}, $a{asel}, $b{bsel}{', $c' if second else ''};"
                    ptx("video", f"{name}_{n}", "u32", "u32 u32 u32" if second else "u32 u32", text, host)
    for mode in ["clamp", "wrap"]:
        amount = "std::min(b, 32u)" if mode == "clamp" else "(b & 31)"
        ptx("video", f"vshl_{mode}", "u32", "u32 u32", f"vshl.u32.u32.u32.{mode} $d, $a, $b;", f"(u32)((u64)a << {amount})")
        ptx("video", f"vshr_{mode}", "u32", "u32 u32", f"vshr.s32.s32.u32.{mode} $d, $a, $b;", f"(u32)((i64)(i32)a >> {amount})")
        ptx("video", f"vshr_{mode}_add", "u32", "u32 u32 u32", f"vshr.u32.u32.u32.{mode}.add $d, $a.h1, $b.b0, $c;",
            f"(u32)((u64)(a >> 16) >> {amount.replace('b', '(b & 0xff)')}) + c")
    ptx("video", "vmad", "u32", "u32 u32 u32", "vmad.u32.u32.u32 $d, $a, $b, $c;", "a * b + c")
    ptx("video", "vmad_shr7", "u32", "u32 u32 u32", "vmad.s32.s32.s32.shr7 $d, $a.h0, $b.h1, $c;",
        "(u32)(((i64)(i16)a * (i16)(b >> 16) + (i32)c) >> 7)")
    ptx("video", "vmad_sat", "u32", "u32 u32 u32", "vmad.s32.s32.u32.sat $d, $a.h1, $b.h0, $c;", "sat32((i64)(i16)(a >> 16) * (u16)b + (i32)c)")
    for cmp, test in [("lt", "<"), ("ge", ">="), ("eq", "=="), ("ne", "!=")]:
        ptx("video", f"vset_{cmp}", "u32", "u32 u32", f"vset.s32.u32.{cmp} $d, $a.b2, $b.h0;", f"(u32)((i64)(i8)byte_of(a, 2) {test} (i64)(u16)b)")
        ptx("video", f"vset_{cmp}_add", "u32", "u32 u32 u32", f"vset.u32.s32.{cmp}.add $d, $a, $b.b1, $c;", f"(u32)((i64)a {test} (i64)(i8)byte_of(b, 1)) + c")
    for bits, n in [(16, 2), (8, 4)]:
        for name, f in [("vadd", "x + y"), ("vsub", "x - y"), ("vavrg", "(x + y + 1) >> 1"), ("vmin", "std::min(x, y)"), ("vmax", "std::max(x, y)"),
                        ("vabsdiff", "x > y ? x - y : y - x")]:
            ptx("video", f"{name}{n}_u", "u32", "u32 u32 u32", f"{name}{n}.u32.u32.u32 $d, $a, $b, $c;",
                f"lanes(a, b, {bits}, [](i64 x, i64 y) {{ return (u32)({f}); }})")
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
            if name in ("vadd", "vsub", "vabsdiff"):
                ptx("video", f"{name}{n}_sat", "u32", "u32 u32 u32", f"{name}{n}.s32.s32.s32.sat $d, $a, $b, $c;",
                    f"slanes(a, b, {bits}, [](i64 x, i64 y) {{ return (u32)clampi({f}, {low}, {high}); }})")
            if name in ("vmax", "vabsdiff"):
                kind = "b" if bits == 8 else "h"
                total = " + ".join(f"part(v, '{kind}', {i}, false)" for i in range(n))
                ptx("video", f"{name}{n}_add", "u32", "u32 u32 u32", f"{name}{n}.u32.u32.u32.add $d, $a, $b, $c;",
                    f"[&] {{ u32 v = lanes(a, b, {bits}, [](i64 x, i64 y) {{ return (u32)clampi({f}, 0, {(1 << bits) - 1}); }}); return (u32)({total}) + c; }}()")


video()
