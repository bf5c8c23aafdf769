//! Integer instructions against host arithmetic on 128-bit integers.

use crate::common;

use common::{check, check_like, check_where, signed, unsigned, value};

const TYPES: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];

fn bits(ty: &str) -> u32 {
    ty[1..].parse().unwrap()
}

fn clamp(x: i128, ty: &str) -> u64 {
    let n = bits(ty);
    let (least, most) = if ty.starts_with('s') { (-(1 << (n - 1)), (1 << (n - 1)) - 1) } else { (0, (1 << n) - 1) };
    x.clamp(least, most) as u64
}

#[test]
fn sums_products_and_extremes() {
    for ty in TYPES {
        let two = |op: &str, f: &dyn Fn(i128, i128) -> i128| {
            check(&format!("{op}.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| f(value(a, ty), value(b, ty)) as u64);
        };
        two("add", &|a, b| a + b);
        two("sub", &|a, b| a - b);
        two("mul.lo", &|a, b| a.wrapping_mul(b));
        two("min", &|a, b| a.min(b));
        two("max", &|a, b| a.max(b));
        check(&format!("mad.lo.{ty} $d, $a, $b, $c"), ty, &[ty, ty, ty], |[a, b, c, _]| {
            value(a, ty).wrapping_mul(value(b, ty)).wrapping_add(value(c, ty)) as u64
        });
        check(&format!("sad.{ty} $d, $a, $b, $c"), ty, &[ty, ty, ty], |[a, b, c, _]| {
            ((value(a, ty) - value(b, ty)).abs() + value(c, ty)) as u64
        });
    }
}

/// High half of a product of up to 64 bits each, without 256-bit integers.
fn high(a: u64, b: u64, ty: &str) -> u64 {
    if bits(ty) == 64 && ty.starts_with('u') {
        return ((u128::from(a) * u128::from(b)) >> 64) as u64;
    }
    ((value(a, ty) * value(b, ty)) >> bits(ty)) as u64
}

#[test]
fn high_and_wide_products() {
    for ty in TYPES {
        check(&format!("mul.hi.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| high(a, b, ty));
        check(&format!("mad.hi.{ty} $d, $a, $b, $c"), ty, &[ty, ty, ty], |[a, b, c, _]| high(a, b, ty).wrapping_add(c));
    }
    for (ty, wide) in [("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")] {
        check(&format!("mul.wide.{ty} $d, $a, $b"), wide, &[ty, ty], |[a, b, ..]| (value(a, ty) * value(b, ty)) as u64);
        check(&format!("mad.wide.{ty} $d, $a, $b, $c"), wide, &[ty, ty, wide], |[a, b, c, _]| {
            ((value(a, ty) * value(b, ty)) as u64).wrapping_add(c)
        });
    }
}

#[test]
fn quotients_and_remainders() {
    for ty in TYPES {
        check_like(&format!("div.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| {
            let (a, b) = (value(a, ty), value(b, ty));
            (b != 0).then(|| (a / b) as u64)
        });
        check_like(&format!("rem.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| {
            let (a, b) = (value(a, ty), value(b, ty));
            (b != 0).then(|| (a % b) as u64)
        });
    }
}

#[test]
fn saturating_forms() {
    check("add.sat.s32 $d, $a, $b", "s32", &["s32", "s32"], |[a, b, ..]| clamp(signed(a, 32) + signed(b, 32), "s32"));
    check("sub.sat.s32 $d, $a, $b", "s32", &["s32", "s32"], |[a, b, ..]| clamp(signed(a, 32) - signed(b, 32), "s32"));
    check("mad.hi.sat.s32 $d, $a, $b, $c", "s32", &["s32", "s32", "s32"], |[a, b, c, _]| {
        clamp(((signed(a, 32) * signed(b, 32)) >> 32) + signed(c, 32), "s32")
    });
    check("min.relu.s32 $d, $a, $b", "s32", &["s32", "s32"], |[a, b, ..]| {
        signed(a, 32).min(signed(b, 32)).max(0) as u64
    });
}

#[test]
fn negation_and_magnitude() {
    for ty in ["s16", "s32", "s64"] {
        check(&format!("neg.{ty} $d, $a"), ty, &[ty], |[a, ..]| -value(a, ty) as u64);
        check(&format!("abs.{ty} $d, $a"), ty, &[ty], |[a, ..]| value(a, ty).unsigned_abs() as u64);
    }
}

#[test]
fn logic_and_shifts() {
    for ty in ["b16", "b32", "b64"] {
        let n = bits(ty);
        check(&format!("and.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| a & b);
        check(&format!("or.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| a | b);
        check(&format!("xor.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| a ^ b);
        check(&format!("not.{ty} $d, $a"), ty, &[ty], |[a, ..]| !a);
        check(&format!("cnot.{ty} $d, $a"), ty, &[ty], |[a, ..]| u64::from(a == 0));
        check(
            &format!("shl.{ty} $d, $a, $b"),
            ty,
            &[ty, "u32"],
            |[a, b, ..]| {
                if b < u64::from(n) { a << b } else { 0 }
            },
        );
        let (unsigned_type, signed_type) = (format!("u{n}"), format!("s{n}"));
        check(&format!("shr.{unsigned_type} $d, $a, $b"), ty, &[ty, "u32"], |[a, b, ..]| {
            (unsigned(a, n) >> b.min(127)) as u64
        });
        check(&format!("shr.{signed_type} $d, $a, $b"), ty, &[ty, "u32"], |[a, b, ..]| {
            (signed(a, n) >> b.min(127)) as u64
        });
    }
    for table in [0x00_u64, 0x96, 0x80, 0xfe, 0xe8, 0xca, 0x1b, 0xff] {
        check(&format!("lop3.b32 $d, $a, $b, $c, {table}"), "b32", &["b32"; 3], |[a, b, c, _]| {
            (0..32).fold(0, |out, i| {
                let at = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
                out | (table >> at & 1) << i
            })
        });
    }
}

#[test]
fn funnel_shifts() {
    let pair = |a: u64, b: u64| u128::from(b << 32 | a);
    for (mode, amount) in [("clamp", (|c| c.min(32)) as fn(u64) -> u64), ("wrap", |c| c & 31)] {
        check(&format!("shf.l.{mode}.b32 $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, c, _]| {
            ((pair(a, b) << amount(c)) >> 32) as u64
        });
        check(&format!("shf.r.{mode}.b32 $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, c, _]| {
            (pair(a, b) >> amount(c)) as u64
        });
    }
}

#[test]
fn counting_bits() {
    for n in [32, 64] {
        let ty = format!("b{n}");
        let of =
            move |a: u64| if n == 32 { u64::from((a as u32).leading_zeros()) } else { u64::from(a.leading_zeros()) };
        check(&format!("popc.{ty} $d, $a"), "u32", &[&ty], |[a, ..]| u64::from(a.count_ones()));
        check(&format!("clz.{ty} $d, $a"), "u32", &[&ty], |[a, ..]| of(a));
        check(&format!("brev.{ty} $d, $a"), &ty, &[&ty], |[a, ..]| {
            (0..n).fold(0, |r, i| r | (a >> i & 1) << (n - 1 - i))
        });
        check(&format!("bfind.u{n} $d, $a"), "u32", &[&ty], |[a, ..]| {
            (0..n).rev().find(|&i| a >> i & 1 != 0).map_or(u64::MAX, |i| i as u64)
        });
        check(&format!("bfind.shiftamt.s{n} $d, $a"), "u32", &[&ty], |[a, ..]| {
            let sign = a >> (n - 1) & 1;
            (0..n).rev().find(|&i| a >> i & 1 != sign).map_or(u64::MAX, |i| (n - 1 - i) as u64)
        });
    }
}

#[test]
fn bit_fields() {
    for n in [32_u64, 64] {
        let (u, s, b) = (format!("u{n}"), format!("s{n}"), format!("b{n}"));
        let bit = |a: u64, i: u64| if i < n { a >> i & 1 } else { 0 };
        let unsigned_field = |[a, pos, len, _]: [u64; 4]| {
            let (pos, len) = (pos & 255, len & 255);
            (0..n).filter(|&i| i < len).fold(0, |r, i| r | bit(a, pos + i) << i)
        };
        let signed_field = |[a, pos, len, _]: [u64; 4]| {
            let (pos, len) = (pos & 255, len & 255);
            // The manual's description: the sign is the field's highest bit, or the value's.
            let sign = if len == 0 { 0 } else { bit(a, (pos + len - 1).min(n - 1)) };
            (0..n).fold(0, |r, i| r | (if i < len && pos + i < n { bit(a, pos + i) } else { sign }) << i)
        };
        let inserted = |[a, b, pos, len]: [u64; 4]| {
            let (pos, len) = (pos & 255, len & 255);
            (0..n).fold(0, |r, i| r | (if i >= pos && i < pos + len { bit(a, i - pos) } else { bit(b, i) }) << i)
        };
        // Of 64-bit fields the assembler takes position and length as they are, where the manual takes 8 bits.
        let small = |pos, len| n == 32 || pos < 256 && len < 256;
        let field = |instruction: &str, ty: &str, f: &dyn Fn([u64; 4]) -> u64| {
            let within = |[_, pos, len, _]: [u64; 4]| small(pos, len);
            check_where(&format!("{instruction} $d, $a, $b, $c"), ty, &[ty, "u32", "u32"], |v| Some(f(v)), within);
            let body = format!("and.b32 %r1, $b, 127; and.b32 %r2, $c, 127; {instruction} $d, $a, %r1, %r2;");
            check(&body, ty, &[ty, "u32", "u32"], |[a, pos, len, _]| f([a, pos & 127, len & 127, 0]));
        };
        field(&format!("bfe.{u}"), &u, &unsigned_field);
        field(&format!("bfe.{s}"), &s, &signed_field);
        let within = |[_, _, pos, len]: [u64; 4]| small(pos, len);
        let sources = [b.as_str(), &b, "u32", "u32"];
        check_where(&format!("bfi.{b} $d, $a, $b, $c, $e"), &b, &sources, |v| Some(inserted(v)), within);
        let body = format!("and.b32 %r1, $c, 127; and.b32 %r2, $e, 127; bfi.{b} $d, $a, $b, %r1, %r2;");
        check(&body, &b, &sources, |[a, b, pos, len]| inserted([a, b, pos & 127, len & 127]));
    }
}

#[test]
fn permutes_and_dot_products() {
    check("prmt.b32 $d, $a, $b, $c", "b32", &["b32"; 3], |[a, b, c, _]| {
        let bytes = b << 32 | a;
        (0..4).fold(0, |r, k| {
            let sel = c >> (4 * k) & 15;
            let byte = bytes >> (8 * (sel & 7)) & 255;
            let byte = if sel & 8 == 0 {
                byte
            } else if byte & 128 != 0 {
                255
            } else {
                0
            };
            r | byte << (8 * k)
        })
    });
    let byte = |x: u64, i: u32, ty: &str| if ty == "s32" { signed(x >> (8 * i), 8) } else { unsigned(x >> (8 * i), 8) };
    let half =
        |x: u64, i: u32, ty: &str| if ty == "s32" { signed(x >> (16 * i), 16) } else { unsigned(x >> (16 * i), 16) };
    for at in ["u32", "s32"] {
        for bt in ["u32", "s32"] {
            check(&format!("dp4a.{at}.{bt} $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, c, _]| {
                ((0..4).map(|i| byte(a, i, at) * byte(b, i, bt)).sum::<i128>() + signed(c, 32)) as u64
            });
            for (mode, base) in [("lo", 0), ("hi", 2)] {
                check(&format!("dp2a.{mode}.{at}.{bt} $d, $a, $b, $c"), "b32", &["b32"; 3], |[a, b, c, _]| {
                    ((0..2).map(|i| half(a, i, at) * byte(b, base + i, bt)).sum::<i128>() + signed(c, 32)) as u64
                });
            }
        }
    }
}

#[test]
fn twenty_four_bit_products() {
    for (ty, of) in [("u32", unsigned as fn(u64, u32) -> i128), ("s32", signed)] {
        check(&format!("mul24.lo.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| (of(a, 24) * of(b, 24)) as u64);
        check(&format!("mul24.hi.{ty} $d, $a, $b"), ty, &[ty, ty], |[a, b, ..]| ((of(a, 24) * of(b, 24)) >> 16) as u64);
        check(&format!("mad24.lo.{ty} $d, $a, $b, $c"), ty, &[ty; 3], |[a, b, c, _]| {
            (of(a, 24) * of(b, 24) + i128::from(c)) as u64
        });
    }
}

#[test]
fn carry_chains() {
    // Sums and differences of 96 bits in three steps; the top part is the result.
    let text = |op: &str| {
        format!(
            "{{ .reg .b32 %x<9>; mov.b64 {{%x0, %x1}}, $a; mov.b64 {{%x2, %x3}}, $b; \
             {op}.cc.u32 %x4, %x0, %x2; {op}c.cc.u32 %x5, %x1, %x3; {op}c.u32 %x6, %x0, %x3; mov.b32 %v_last, %x6; }}"
        )
    };
    for (op, sub) in [("add", false), ("sub", true)] {
        let body = text(op).replace("%v_last", "$d");
        let low = |a: u64, b: u64| {
            let (x, y) = (u128::from(a) | u128::from(a & 0xffff_ffff) << 64, u128::from(b) | u128::from(b >> 32) << 64);
            ((if sub { x.wrapping_sub(y) } else { x + y }) >> 64) as u64
        };
        check(&body, "b32", &["b64", "b64"], |[a, b, ..]| low(a, b));
    }
    let product = "{ .reg .b32 %x<9>; mov.b64 {%x0, %x1}, $a; mov.b64 {%x2, %x3}, $b; \
                   mul.lo.u32 %x4, %x0, %x2; mad.lo.cc.u32 %x5, %x1, %x2, 0; madc.hi.u32 %x6, %x1, %x2, 5; \
                   mad.hi.cc.u32 %x5, %x0, %x2, %x5; addc.u32 %x6, %x6, 0; mov.b64 $d, {%x5, %x6}; }";
    check(product, "b64", &["b64", "b64"], |[a, b, ..]| {
        (((u128::from(a) * u128::from(b & 0xffff_ffff)) >> 32) as u64).wrapping_add(5 << 32)
    });
    check("add.cc.u64 $d, $a, $b", "u64", &["u64", "u64"], |[a, b, ..]| a.wrapping_add(b));
}

/// A step of a carry chain on `n` bits, as ptxas 11.8 assembles it for sm_70 (read from its SASS for all
/// pairs of steps): there is one flag, and differences add the complement of `b`.
fn step(op: &str, n: u32, [a, b, c]: [u64; 3], carry: bool) -> (u64, bool) {
    let mask = u64::MAX >> (64 - n);
    let product =
        |ty: &str| if op.contains("lo") { value(a, ty).wrapping_mul(value(b, ty)) as u64 } else { high(a, b, ty) };
    let (x, y) = match op {
        _ if op.contains("mad") && op.contains(".s") => (product(&format!("s{n}")), c),
        _ if op.contains("mad") => (product(&format!("u{n}")), c),
        _ if op.contains("sub") => (a, !b),
        _ => (a, b),
    };
    let first = if op.split('.').next().unwrap().ends_with('c') { carry } else { op.contains("sub") };
    let sum = u128::from(x & mask) + u128::from(y & mask) + u128::from(first);
    (sum as u64 & mask, sum >> n != 0)
}

#[test]
fn every_step_of_a_carry_chain_hands_on_the_same_flag() {
    for n in [32, 64] {
        let firsts = ["add.cc.u", "sub.cc.u", "mad.lo.cc.u", "mad.hi.cc.u", "mad.hi.cc.s", "add.cc.s", "sub.cc.s"];
        let nexts = ["addc.cc.u", "subc.cc.u", "madc.lo.cc.u", "madc.hi.cc.u", "madc.hi.cc.s"];
        for (first, next) in firsts.iter().flat_map(|f| nexts.iter().map(move |n| (f, n))) {
            let ty = format!("u{n}");
            let operands = |op: &str| if op.starts_with("mad") { "$a, $b, $c" } else { "$a, $b" };
            let reversed = |op: &str| if op.starts_with("mad") { "$c, $a, $b" } else { "$c, $a" };
            // The last step shows the second one's flag, and its own sum.
            let last = next.replace(".cc", "");
            let chain = format!(
                "{{ .reg .b{n} %x<3>; {first}{n} %x0, {}; {next}{n} %x1, {}; {last}{n} %x2, {}; \
                 xor.b{n} %x0, %x0, %x1; xor.b{n} $d, %x0, %x2; }}",
                operands(first),
                reversed(next),
                operands(&last)
            );
            check(&chain, &ty, &[&ty, &ty, &ty], |[a, b, c, _]| {
                let (x, carry) = step(first, n, [a, b, c], false);
                let (y, carry) = step(next, n, [c, a, b], carry);
                x ^ y ^ step(&last, n, [a, b, c], carry).0
            });
        }
    }
}

#[test]
fn halves_of_registers() {
    type Function = fn(i16, i16) -> i16;
    let cases: [(&str, Function); 8] = [
        ("add.s16x2", i16::wrapping_add),
        ("add.u16x2", i16::wrapping_add),
        ("min.s16x2", i16::min),
        ("max.s16x2", i16::max),
        ("min.u16x2", |a, b| (a as u16).min(b as u16) as i16),
        ("max.u16x2", |a, b| (a as u16).max(b as u16) as i16),
        ("min.s16x2.relu", |a, b| a.min(b).max(0)),
        ("max.relu.s16x2", |a, b| a.max(b).max(0)),
    ];
    for (name, f) in cases {
        check(&format!("{name} $d, $a, $b"), "b32", &["b32", "b32"], |[a, b, ..]| {
            let half = |at: u32| u64::from(f((a >> at) as i16, (b >> at) as i16) as u16) << at;
            half(16) | half(0)
        });
    }
}
