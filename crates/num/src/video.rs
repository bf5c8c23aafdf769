//! Video instructions: arithmetic on bytes and half-words within 32-bit registers (PTX ISA, "Scalar
//! Video Instructions" and "SIMD Video Instructions").
//!
//! They follow the manual, as GPUs up to sm_62 do. From sm_70 on the assembler replaces them by other instructions, and
//! scalar ones deviate. A result merged into `.h1` is its upper half; `.sat` into a part treats a negative result as a
//! large one; `.min` and `.max` treat an unsigned result from 2^31 on as larger; `vmad` treats `c`, whole unsigned
//! words and shifted values as signed (ptxas 11.8 and 12.9, read from their SASS).

/// A part of a 32-bit register: `.b0` to `.b3`, `.h0`, `.h1`, or all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// The whole register (no selector).
    #[default]
    Word,
    /// `.h0` or `.h1`, by index.
    Half(u8),
    /// `.b0` to `.b3`, by index.
    Byte(u8),
}

impl Part {
    /// Width in bits and position of the lowest bit. Indices wrap.
    #[inline]
    const fn span(self) -> (u32, u32) {
        match self {
            Part::Word => (32, 0),
            Part::Half(i) => (16, (i as u32 & 1) * 16),
            Part::Byte(i) => (8, (i as u32 & 3) * 8),
        }
    }
}

/// A source operand of a scalar instruction.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Source {
    pub value: u32,
    pub part: Part,
    /// `.s32` instead of `.u32`.
    pub signed: bool,
}

impl Source {
    /// The part as a number.
    #[inline]
    pub const fn get(self) -> i64 {
        let (width, low) = self.part.span();
        extract(self.value as u64, width, low, self.signed)
    }
}

/// The bits of `x` from `low` on, `width` of them, as a number.
#[inline]
const fn extract(x: u64, width: u32, low: u32, signed: bool) -> i64 {
    let top = (x >> low) << (64 - width);
    if signed { top as i64 >> (64 - width) } else { (top >> (64 - width)) as i64 }
}

/// `x` clamped to a type of `width` bits.
#[inline]
fn clamp(x: i64, width: u32, signed: bool) -> i64 {
    if signed { x.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { x.clamp(0, (1 << width) - 1) }
}

/// A comparison of `vset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// The operation, without the number of elements: `vadd`, `vadd2`, `vadd4` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum VideoOp {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    /// `vavrg2`, `vavrg4`: half the sum, ties rounded away from zero for sums of at least zero.
    Average,
    /// `vshl`; with `wrap` the amount is taken modulo 32, otherwise as at most 32.
    Shl {
        /// `.wrap` instead of `.clamp`.
        wrap: bool,
    },
    /// `vshr`, with the amount as for `vshl`.
    Shr {
        /// `.wrap` instead of `.clamp`.
        wrap: bool,
    },
    /// `vset`: 1 if the comparison holds, otherwise 0.
    Set(Compare),
}

impl VideoOp {
    /// The result before clamping.
    #[inline]
    fn apply(self, a: i64, b: i64) -> i64 {
        let amount = |wrap: bool| if wrap { b & 31 } else { b.clamp(0, 32) };
        match self {
            VideoOp::Add => a + b,
            VideoOp::Sub => a - b,
            VideoOp::AbsDiff => (a - b).abs(),
            VideoOp::Min => a.min(b),
            VideoOp::Max => a.max(b),
            VideoOp::Average => {
                let sum = a + b;
                (sum + i64::from(sum >= 0)) >> 1
            }
            VideoOp::Shl { wrap } => a.wrapping_shl(amount(wrap) as u32),
            VideoOp::Shr { wrap } => a >> amount(wrap),
            VideoOp::Set(compare) => i64::from(match compare {
                Compare::Eq => a == b,
                Compare::Ne => a != b,
                Compare::Lt => a < b,
                Compare::Le => a <= b,
                Compare::Gt => a > b,
                Compare::Ge => a >= b,
            }),
        }
    }
}

/// Use of the result and the third operand in a scalar video instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Then {
    /// The result is the destination; there is no third operand.
    #[default]
    Nothing,
    Add,
    Min,
    Max,
    /// `d.dsel`: the result replaces a part of the third operand.
    Merge(Part),
}

/// The destination side of a scalar video instruction.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Destination {
    /// `.dtype` is `.s32`; for `vset`, which has none, `.atype`.
    pub signed: bool,
    pub sat: bool,
    pub then: Then,
    /// Third operand, 0 where there is none.
    pub c: u32,
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`.
#[inline]
pub fn scalar(op: VideoOp, a: Source, b: Source, to: Destination) -> u32 {
    let part = if let Then::Merge(part) = to.then { part } else { Part::Word };
    let (width, low) = part.span();
    let result = op.apply(a.get(), b.get());
    // A clamped value has 34 bits: only a left shift produces more.
    let result = if to.sat { clamp(result << 30 >> 30, width, to.signed) } else { result };
    let c = extract(to.c.into(), 32, 0, to.signed);
    match to.then {
        Then::Nothing => result as u32,
        Then::Add => (result + c) as u32,
        Then::Min => result.min(c) as u32,
        Then::Max => result.max(c) as u32,
        Then::Merge(_) => {
            let mask = (u32::MAX >> (32 - width)) << low;
            ((result << low) as u32 & mask) | (to.c & !mask)
        }
    }
}

/// Modifiers of `vmad`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Vmad {
    /// The product is negated: exactly one of `-a`, `-b`.
    pub negate_product: bool,
    pub negate_c: bool,
    /// `.po`: adds one.
    pub plus_one: bool,
    /// Right shift of the result: 0, 7 or 15.
    pub scale: u32,
    pub sat: bool,
}

/// `vmad`: `a * b + c`, scaled and clamped.
#[inline]
pub fn vmad(a: Source, b: Source, c: u32, flags: Vmad) -> u32 {
    let signed = a.signed || b.signed || flags.negate_product || flags.negate_c;
    let product = i128::from(a.get()) * i128::from(b.get());
    let c = i128::from(extract(c.into(), 32, 0, signed));
    let product = if flags.negate_product { -product } else { product };
    let c = if flags.negate_c { -c } else { c };
    let result = (product + c + i128::from(flags.plus_one)) >> flags.scale.min(64);
    let (low, high) = if signed { (i32::MIN.into(), i32::MAX.into()) } else { (0, u32::MAX.into()) };
    (if flags.sat { result.clamp(low, high) } else { result }) as u32
}

/// Operands and modifiers of a SIMD video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Simd {
    /// Elements per register: 2 (half-words) or 4 (bytes).
    pub elements: u8,
    /// For each result element, lowest first, the element of the pair `b:a` that is its first source: 0 to 3
    /// or 0 to 7. The default is 0, 1, …
    pub a_select: [u8; 4],
    /// The same for the second source. The default is `elements`, `elements + 1`, …
    pub b_select: [u8; 4],
    pub a_signed: bool,
    pub b_signed: bool,
    /// `.dtype` is `.s32`; false for `vset2`, `vset4`.
    pub signed: bool,
    pub sat: bool,
    /// Bit i: element i takes part (`.mask`).
    pub mask: u8,
    /// `.add`: adds the results to the third operand instead of merging them into it.
    pub add: bool,
}

impl Simd {
    /// No modifiers: all elements, default selection.
    pub const fn plain(elements: u8, signed: bool) -> Self {
        let n = elements;
        Simd {
            elements,
            a_select: [0, 1, 2, 3],
            b_select: [n, n + 1, n + 2, n + 3],
            a_signed: signed,
            b_signed: signed,
            signed,
            sat: false,
            mask: 0xf,
            add: false,
        }
    }
}

/// `vadd2` to `vset4`.
#[inline]
pub fn simd(op: VideoOp, a: u32, b: u32, c: u32, flags: Simd) -> u32 {
    let elements = if flags.elements == 2 { 2 } else { 4 };
    let width = 32 / elements;
    let pair = u64::from(b) << 32 | u64::from(a);
    let pick = |select: u8, signed| extract(pair, width, (u32::from(select) * width) & 63, signed);
    let mut result = c;
    for i in 0..elements {
        if flags.mask >> i & 1 == 0 {
            continue;
        }
        let x = pick(flags.a_select[i as usize], flags.a_signed);
        let y = pick(flags.b_select[i as usize], flags.b_signed);
        let value = op.apply(x, y);
        let value = if flags.sat { clamp(value, width, flags.signed) } else { value };
        if flags.add {
            result = result.wrapping_add(value as u32);
        } else {
            let ones = (u32::MAX >> (32 - width)) << (i * width);
            result = (result & !ones) | ((value as u32) << (i * width) & ones);
        }
    }
    result
}
