"""Operations on floats, doubles, halves and bfloat16 that are exactly rounded (see ops.py)."""

from .ops import OPS, call, infix, ptx

MODES = {"rn": "RN", "rz": "RZ", "ru": "RU", "rd": "RD"}

# ---------------------------------------------------------------- float and double
for t, c, suffix, letter in [("f32", "float", "f", "f"), ("f64", "double", "", "d")]:
    pre = f"__{letter}" if letter == "d" else "__f"
    for mode, m in MODES.items():
        for op, sign in [("add", "+"), ("mul", "*"), ("sub", "-"), ("div", "/")]:
            call(t, f"{letter}{op}_{mode}", t, f"{t} {t}", f"{pre}{op}_{mode}(a, b)",
                 f"rounded({m}, [&] {{ volatile {c} x = a, y = b; return ({c})(x {sign} y); }})")
        fused = "__fmaf" if letter == "f" else "__fma"
        call(t, f"{letter}fma_{mode}", t, f"{t} {t} {t}", f"{fused}_{mode}(a, b, c)",
             f"rounded({m}, [&] {{ volatile {c} x = a, y = b, z = c; return ({c})std::fma(({c})x, ({c})y, ({c})z); }})")
        call(t, f"{letter}sqrt_{mode}", t, t, f"{pre}sqrt_{mode}(a)", f"rounded({m}, [&] {{ volatile {c} x = a; return ({c})std::sqrt(({c})x); }})")
        call(t, f"{letter}rcp_{mode}", t, t, f"{pre}rcp_{mode}(a)", f"rounded({m}, [&] {{ volatile {c} x = a; return ({c})(1 / x); }})")
        for i, itype, word in [("int", "i32", "u32"), ("uint", "u32", "u32"), ("ll", "i64", "u64"), ("ull", "u64", "u64")]:
            source = "float" if letter == "f" else "double"
            # NaN becomes 0 on both sides: what hardware gives depends on the width.
            call("cvt", f"{letter}2{i}_{mode}", word, t, f"a != a ? 0 : ({word})__{source}2{i}_{mode}(a)", f"({word})to_int<{itype}>(a, {m})")
            ctype = {"i32": "int", "u32": "unsigned", "i64": "long long", "u64": "unsigned long long"}[itype]
            if not (letter == "d" and i in ("int", "uint")) or mode == "rn":
                tail = "" if letter == "d" and i in ("int", "uint") else f"_{mode}"
                if letter == "d" and i in ("int", "uint"):
                    call("cvt", f"{i}2{letter}_{mode}", t, word, f"__{i}2{source}{'_rn'}(({ctype})a)", f"({c})({itype})a")
                else:
                    call("cvt", f"{i}2{letter}_{mode}", t, word, f"__{i}2{source}{tail}(({ctype})a)",
                         f"rounded({m}, [&] {{ volatile {itype} x = ({itype})a; return ({c})x; }})")
    call(t, f"{letter}min", t, f"{t} {t}", f"fmin{suffix}(a, b)", "min_num(a, b)")
    call(t, f"{letter}max", t, f"{t} {t}", f"fmax{suffix}(a, b)", "max_num(a, b)")
    call(t, f"{letter}abs", t, t, f"fabs{suffix}(a)", "std::fabs(a)")
    for name in ["floor", "ceil", "trunc", "rint"]:
        host = {"rint": "nearbyint"}.get(name, name)
        call(t, f"{letter}{name}", t, t, f"{name}{suffix}(a)", f"std::{host}(a)")
    call(t, f"{letter}neg", t, t, "-a", "-a")
    for name, test in [("lt", "a < b"), ("le", "a <= b"), ("eq", "a == b"), ("ne", "a != b"), ("nge", "!(a >= b)"), ("ngt", "!(a > b)"), ("nle", "!(a <= b)")]:
        call(t, f"{letter}{name}", "bool", f"{t} {t}", test, test)
    call(t, f"{letter}isnan", "bool", t, "a != a", "a != a")
    call(t, f"{letter}ldexp", t, f"{t} u32", f"ldexp{suffix}(a, (int)(b & 255) - 128)", f"({c})std::ldexp(a, (int)(b & 255) - 128)")
    call(t, f"{letter}fmod", t, f"{t} {t}", f"fmod{suffix}(a, b)", "std::fmod(a, b)")
    for test in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]:
        host = {"finite": "std::isfinite(a)", "infinite": "std::isinf(a)", "number": "a == a", "notanumber": "a != a",
                "normal": "(std::isnormal(a) || a == 0)", "subnormal": "(std::fpclassify(a) == FP_SUBNORMAL)"}[test]
        ptx("testp", f"testp_{test}_{letter}", "u32", t, f"{{ .reg .pred p; testp.{test}.{t} p, $a; selp.u32 $d, 1, 0, p; }}", f"(u32)({host})")
    infix(t, t, f"bool {t} {t}", "({0} ? {1} : {2})")
call("f32", "fsat", "f32", "f32", "__saturatef(a)", "(float)clamp01(a)")
call("cvt", "f2d", "f64", "f32", "(double)a", "(double)a")
for mode, m in MODES.items():
    call("cvt", f"d2f_{mode}", "f32", "f64", f"__double2float_{mode}(a)", f"rounded({m}, [&] {{ volatile double x = a; return (float)x; }})")
call("cvt", "f_bits", "u32", "f32", "fbits(a)", "fbits(a)")
call("cvt", "d_bits", "u64", "f64", "dbits(a)", "dbits(a)")
call("cvt", "bits_f", "f32", "u32", "__uint_as_float(a)", "bitsf(a)")
call("cvt", "bits_d", "f64", "u64", "__longlong_as_double(a)", "bitsd(a)")
call("cvt", "d_high", "u32", "f64", "(u32)(dbits(a) >> 32)", "(u32)(dbits(a) >> 32)")
call("cvt", "d_join", "f64", "u32 u32", "__hiloint2double(a, b)", "bitsd((u64)a << 32 | b)")

# Flushed subnormals and saturation.
for op, sign in [("add", "+"), ("mul", "*"), ("sub", "-")]:
    ptx("ftz", f"{op}_ftz", "f32", "f32 f32", f"{op}.rn.ftz.f32 $d, $a, $b;", f"ftz(ftz(a) {sign} ftz(b))")
    ptx("ftz", f"{op}_sat_f", "f32", "f32 f32", f"{op}.rn.sat.f32 $d, $a, $b;", f"(float)clamp01((float)(a {sign} b))")
ptx("ftz", "fma_sat", "f32", "f32 f32 f32", "fma.rn.sat.f32 $d, $a, $b, $c;", "(float)clamp01(std::fma(a, b, c))")
ptx("ftz", "fma_sat_rz", "f32", "f32 f32 f32", "fma.rz.sat.f32 $d, $a, $b, $c;",
    "(float)clamp01(rounded(RZ, [&] { volatile float x = a, y = b, z = c; return (float)std::fma((float)x, (float)y, (float)z); }))")
ptx("ftz", "min_ftz", "f32", "f32 f32", "min.ftz.f32 $d, $a, $b;", "min_num(ftz(a), ftz(b))")
ptx("ftz", "set_ftz", "u32", "f32 f32", "set.ltu.ftz.u32.f32 $d, $a, $b;", "!(ftz(a) >= ftz(b)) ? ~0u : 0")
ptx("ftz", "setp_nan", "u32", "f32 f32", "{ .reg .pred p, q; setp.nan.f32 p, $a, $b; setp.equ.and.f32 q, $a, $b, !p; selp.u32 $d, 3, 4, q; @p add.u32 $d, $d, 8; }",
    "(a != a || b != b) ? 12 : a == b ? 3 : 4")
ptx("ftz", "setp_num", "u32", "f64 f64", "{ .reg .pred p; setp.num.f64 p, $a, $b; selp.u32 $d, 1, 0, p; }", "(u32)(a == a && b == b)")
ptx("ftz", "cvt_ftz", "f64", "f32", "cvt.ftz.f64.f32 $d, $a;", "(double)ftz(a)")
ptx("ftz", "cvt_rni_ftz", "u32", "f32", "{ .reg .f32 t; .reg .pred p; cvt.rni.ftz.s32.f32 $d, $a; setp.nan.f32 p, $a, $a; @p mov.u32 $d, 0; }", "(u32)to_int<i32>(ftz(a), RN)")
ptx("ftz", "cvt_int_sat", "u32", "f32", "{ .reg .b16 t; cvt.rzi.sat.u8.f32 t, $a; cvt.u32.u16 $d, t; }", "(u32)clampi(to_int<i64>(a, RZ), 0, 255)")
ptx("ftz", "cvt_s8", "u32", "f32", "{ .reg .b16 t; cvt.rmi.sat.s8.f32 t, $a; cvt.s32.s16 $d, t; }", "(u32)clampi(to_int<i64>(a, RD), -128, 127)")
ptx("ftz", "cvt_s16", "u32", "f32", "{ .reg .b16 t; cvt.rpi.s16.f32 t, $a; cvt.s32.s16 $d, t; }", "(u32)clampi(to_int<i64>(a, RU), -32768, 32767)")
ptx("ftz", "cvt_sat_f", "f32", "f64", "cvt.rn.sat.f32.f64 $d, $a;", "(float)clamp01((float)a)")
ptx("ftz", "cvt_u8_f", "f32", "u32", "{ .reg .b16 t; cvt.u16.u32 t, $a; cvt.rn.f32.u8 $d, t; }", "(float)(u8)a")
ptx("ftz", "cvt_s8_f", "f32", "u32", "{ .reg .b16 t; cvt.u16.u32 t, $a; cvt.rn.f32.s8 $d, t; }", "(float)(i8)a")
ptx("ftz", "cvt_s16_d", "f64", "u32", "{ .reg .b16 t; cvt.u16.u32 t, $a; cvt.rn.f64.s16 $d, t; }", "(double)(i16)a")
ptx("ftz", "neg_ftz", "f32", "f32", "neg.ftz.f32 $d, $a;", "-ftz(a)")
ptx("ftz", "sqrt_ftz", "f32", "f32", "sqrt.rn.ftz.f32 $d, $a;", "std::sqrt(ftz(a))")
ptx("ftz", "div_ftz", "f32", "f32 f32", "div.rn.ftz.f32 $d, $a, $b;", "ftz(ftz(a) / ftz(b))")
ptx("ftz", "fma_ftz", "f32", "f32 f32 f32", "fma.rn.ftz.f32 $d, $a, $b, $c;", "ftz(std::fma(ftz(a), ftz(b), ftz(c)))")

# ---------------------------------------------------------------- halves and bfloat16
SAT = "to_h(clamp01({}))"


def small(g, of, to, native, value, level):
    """Arithmetic on one 16-bit format: group, host's conversions, CUDA's type and accessors."""
    bits = f"{g}bits"
    for name, op in [("add", "+"), ("sub", "-"), ("mul", "*")]:
        call(g, f"{g}{name}", g, f"{g} {g}", f"{bits}(__h{name}_rn({value}(a), {value}(b)))", f"{to}({of}(a) {op} {of}(b))", level)
    call(g, f"{g}fma", g, f"{g} {g} {g}", f"{bits}(__hfma({value}(a), {value}(b), {value}(c)))", f"{to}(fma_odd({of}(a), {of}(b), {of}(c)))", level)
    call(g, f"{g}fma_relu", g, f"{g} {g} {g}", f"{bits}(__hfma_relu({value}(a), {value}(b), {value}(c)))", f"{to}(relu(fma_odd({of}(a), {of}(b), {of}(c))))", 80)
    call(g, f"{g}neg", g, g, f"canon_{g}({bits}(__hneg({value}(a))))", f"{to}(-{of}(a))", level)
    call(g, f"{g}abs", g, g, f"canon_{g}({bits}(__habs({value}(a))))", f"{to}(std::fabs({of}(a)))", level)
    call(g, f"{g}min", g, f"{g} {g}", f"{bits}(__hmin({value}(a), {value}(b)))", f"{to}(min_num({of}(a), {of}(b)))", 80)
    call(g, f"{g}max", g, f"{g} {g}", f"{bits}(__hmax({value}(a), {value}(b)))", f"{to}(max_num({of}(a), {of}(b)))", 80)
    for name, test in [("lt", "a < b"), ("le", "a <= b"), ("gt", "a > b"), ("eq", "a == b")]:
        host = test.replace("a", f"{of}(a)").replace("b", f"{of}(b)") if g == "h" else test.replace("a", "A").replace("b", f"{of}(b)").replace("A", f"{of}(a)")
        call(g, f"{g}{name}", "bool", f"{g} {g}", f"__h{name}({value}(a), {value}(b))", host, level)
    call(g, f"{g}gtu", "bool", f"{g} {g}", f"__hgtu({value}(a), {value}(b))", f"!({of}(a) <= {of}(b))", level)
    call(g, f"{g}isnan", "bool", g, f"__hisnan({value}(a))", f"{of}(a) != {of}(a)", level)
    call(g, f"{g}2f", "f32", g, f"__{native}2float({value}(a))", f"(float){of}(a)", level)


small("h", "of_h", "to_h", "half", "half_of", 0)
small("b", "of_b", "to_b", "bfloat162"[:8], "bf16_of", 80)
for mode, m in MODES.items():
    call("h", f"f2h_{mode}", "h", "f32", f"hbits(__float2half_{mode}(a))", f"to_h(a, {m})")
    call("h", f"h2int_{mode}", "u32", "h", f"__hisnan(half_of(a)) ? 0 : (u32)__half2int_{mode}(half_of(a))", f"(u32)to_int<i32>(of_h(a), {m})")
    call("h", f"h2uint_{mode}", "u32", "h", f"__hisnan(half_of(a)) ? 0 : __half2uint_{mode}(half_of(a))", f"to_int<u32>(of_h(a), {m})")
    call("h", f"h2short_{mode}", "u32", "h", f"__hisnan(half_of(a)) ? 0 : (u32)(i32)__half2short_{mode}(half_of(a))", f"(u32)clampi(to_int<i32>(of_h(a), {m}), -32768, 32767)")
    call("h", f"h2ll_{mode}", "u64", "h", f"__hisnan(half_of(a)) ? 0 : (u64)__half2ll_{mode}(half_of(a))", f"(u64)to_int<i64>(of_h(a), {m})")
    call("h", f"int2h_{mode}", "h", "u32", f"hbits(__int2half_{mode}((int)a))", f"to_h((double)(i32)a, {m})")
    call("h", f"uint2h_{mode}", "h", "u32", f"hbits(__uint2half_{mode}(a))", f"to_h((double)a, {m})")
    call("h", f"short2h_{mode}", "h", "u16", f"hbits(__short2half_{mode}((short)a))", f"to_h((double)(i16)a, {m})")
    call("h", f"ushort2h_{mode}", "h", "u16", f"hbits(__ushort2half_{mode}(a))", f"to_h((double)a, {m})")
call("h", "d2h", "h", "f64", "hbits(__double2half(a))", "to_h(a)")
for name in ["floor", "ceil", "trunc", "rint"]:
    host = {"rint": "nearbyint"}.get(name, name)
    call("h", f"h{name}", "h", "h", f"canon_h(hbits(h{name}(half_of(a))))", f"to_h(std::{host}(of_h(a)))")
call("h", "hfma_sat", "h", "h h h", "hbits(__hfma_sat(half_of(a), half_of(b), half_of(c)))", "to_h(clamp01(of_h(to_h(fma_odd(of_h(a), of_h(b), of_h(c))))))")
call("h", "hadd_sat", "h", "h h", "hbits(__hadd_sat(half_of(a), half_of(b)))", "to_h(clamp01(of_h(to_h(of_h(a) + of_h(b)))))")
ptx("h", "fma_ftz_h", "h", "h h h", "fma.rn.ftz.f16 $d, $a, $b, $c;", "ftz_h(to_h(fma_odd(of_h(ftz_h(a)), of_h(ftz_h(b)), of_h(ftz_h(c)))))")
for mode, m in [("rn", "RN"), ("rz", "RZ")]:
    call("b", f"f2b_{mode}", "b", "f32", f"bbits(__float2bfloat16_{mode}(a))", f"to_b(a, {m})", 80)
ptx("b", "cvt_b2", "b2", "f32 f32", "cvt.rn.bf16x2.f32 $d, $a, $b;", "(u32)to_b(a) << 16 | to_b(b)", 80)
ptx("b", "cvt_b2_relu", "b2", "f32 f32", "cvt.rz.relu.bf16x2.f32 $d, $a, $b;", "(u32)to_b(relu(a), RZ) << 16 | to_b(relu(b), RZ)", 80)
ptx("h", "cvt_h2", "h2", "f32 f32", "cvt.rn.f16x2.f32 $d, $a, $b;", "(u32)to_h(a) << 16 | to_h(b)", 80)


def pairs(g, of, to, value, bits, level):
    """Two at once."""
    g1 = g[0]
    both = lambda f: f"(u32)({f('(u16)(a >> 16)', '(u16)(b >> 16)', '(u16)(c >> 16)')}) << 16 | ({f('(u16)a', '(u16)b', '(u16)c')})"
    for name, op in [("add", "+"), ("sub", "-"), ("mul", "*")]:
        call(g, f"{g}{name}", g, f"{g} {g}", f"{bits}(__h{name}2_rn({value}(a), {value}(b)))", both(lambda x, y, z: f"{to}({of}({x}) {op} {of}({y}))"), level)
    call(g, f"{g}fma", g, f"{g} {g} {g}", f"{bits}(__hfma2({value}(a), {value}(b), {value}(c)))", both(lambda x, y, z: f"{to}(fma_odd({of}({x}), {of}({y}), {of}({z})))"), level)
    call(g, f"{g}min", g, f"{g} {g}", f"{bits}(__hmin2({value}(a), {value}(b)))", both(lambda x, y, z: f"{to}(min_num({of}({x}), {of}({y})))"), 80)
    call(g, f"{g}max", g, f"{g} {g}", f"{bits}(__hmax2({value}(a), {value}(b)))", both(lambda x, y, z: f"{to}(max_num({of}({x}), {of}({y})))"), 80)
    call(g, f"{g}neg", g, g, f"{bits}(__hneg2({value}(a)))".join(["canon2_" + g1 + "(", ")"]), both(lambda x, y, z: f"{to}(-{of}({x}))"), level)
    call(g, f"{g}abs", g, g, f"canon2_{g1}({bits}(__habs2({value}(a))))", both(lambda x, y, z: f"{to}(std::fabs({of}({x})))"), level)
    one = "0x3c00" if g1 == "h" else "0x3f80"
    for name, test in [("lt", "<"), ("ge", ">="), ("eq", "==")]:
        call(g, f"{g}{name}", g, f"{g} {g}", f"{bits}(__h{name}2({value}(a), {value}(b)))", both(lambda x, y, z: f"{of}({x}) {test} {of}({y}) ? {one} : 0"), level)
    call(g, f"{g}bgt", "bool", f"{g} {g}", f"__hbgt2({value}(a), {value}(b))", f"{of}((u16)a) > {of}((u16)b) && {of}((u16)(a >> 16)) > {of}((u16)(b >> 16))", level)
    call(g, f"{g}bneu", "bool", f"{g} {g}", f"__hbneu2({value}(a), {value}(b))", f"!({of}((u16)a) == {of}((u16)b)) && !({of}((u16)(a >> 16)) == {of}((u16)(b >> 16)))", level)
    call(g, f"{g}swap", g, g, f"{bits}(__lowhigh2highlow({value}(a)))", "a >> 16 | a << 16", level)
    call(g, f"{g}lows", g, f"{g} {g}", f"{bits}(__lows2{'half2' if g1 == 'h' else 'bfloat162'}({value}(a), {value}(b)))", "(a & 0xffff) | b << 16", level)
    call(g, f"{g}highs", g, f"{g} {g}", f"{bits}(__highs2{'half2' if g1 == 'h' else 'bfloat162'}({value}(a), {value}(b)))", "a >> 16 | (b & 0xffff0000u)", level)
    call(g, f"{g}low", g1, g, f"{g1}bits(__low2{'half' if g1 == 'h' else 'bfloat16'}({value}(a)))", "(u16)a", level)
    call(g, f"{g}high", g1, g, f"{g1}bits(__high2{'half' if g1 == 'h' else 'bfloat16'}({value}(a)))", "(u16)(a >> 16)", level)
    call(g, f"{g}join", g, f"{g1} {g1}", "(u32)b << 16 | a", "(u32)b << 16 | a", level)
    if g1 == "h":
        call(g, f"{g}mul_low_swap", g, f"{g} {g} {g}", f"{bits}(__hfma2(__lowhigh2highlow({value}(a)), {value}(b), __hneg2(__lowhigh2highlow({value}(c)))))",
             "(u32)to_h(fma_odd(of_h((u16)a), of_h((u16)(b >> 16)), -of_h((u16)c))) << 16 | to_h(fma_odd(of_h((u16)(a >> 16)), of_h((u16)b), -of_h((u16)(c >> 16))))")
        call(g, f"{g}fma_one", g, f"{g} h {g}", f"{bits}(__hfma2({value}(a), __half2half2(half_of(b)), {value}(c)))",
             "(u32)to_h(fma_odd(of_h((u16)(a >> 16)), of_h(b), of_h((u16)(c >> 16)))) << 16 | to_h(fma_odd(of_h((u16)a), of_h(b), of_h((u16)c)))")
        call(g, f"{g}2f_low", "f32", g, f"__low2float({value}(a))", "(float)of_h((u16)a)")
        call(g, f"{g}2f_high", "f32", g, f"__high2float({value}(a))", "(float)of_h((u16)(a >> 16))")
        call(g, f"{g}of_f", g, "f32 f32", f"{bits}(__floats2half2_rn(a, b))", "(u32)to_h(b) << 16 | to_h(a)")
        call(g, f"{g}fma_sat", g, f"{g} {g} {g}", f"{bits}(__hfma2_sat({value}(a), {value}(b), {value}(c)))",
             both(lambda x, y, z: f"to_h(clamp01(of_h(to_h(fma_odd(of_h({x}), of_h({y}), of_h({z}))))))"))


pairs("h2", "of_h", "to_h", "half2_of", "h2bits", 0)
pairs("b2", "of_b", "to_b", "bf162_of", "b2bits", 80)

BY_RESULT = {}
for op in OPS:
    BY_RESULT.setdefault(op.ret, []).append(op)
GROUPS = sorted({op.group for op in OPS})
