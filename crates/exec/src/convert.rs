//! Conversions. Frequent ones are rows of [`Convert1`]; [`Cvt`] performs all other pairs of types.

use crate::lanes::{Lanes, Reg, Value, lane_ops};
use isa::{OpClass, Work};
use kit::lanes;
use num::convert::{self, IntType};
use num::half::{self, Bf16, F16};
use num::{Mode, Rounding, small};

lane_ops! {
    /// Conversions that are frequent in programs.
    Convert1, map1, 1;

    /// Signed integer to float, round to nearest.
    S32ToF32: Convert[FpAdd] (a: i32) -> f32 { convert::s32_to_f32_rn(a) }
    /// Unsigned integer to float, round to nearest.
    U32ToF32: Convert[FpAdd] (a: u32) -> f32 { convert::u32_to_f32_rn(a) }
    /// Float to signed integer, towards zero.
    F32ToS32: Convert[FpAdd] (a: f32) -> i32 { convert::f32_to_s32_rz(a) }
    /// Float to unsigned integer, towards zero.
    F32ToU32: Convert[FpAdd] (a: f32) -> u32 { convert::f32_to_u32_rz(a) }
    /// Signed integer to double: exact.
    S32ToF64: ConvertWide (a: i32) -> f64 { f64::from(a) }
    /// Unsigned integer to double: exact.
    U32ToF64: ConvertWide (a: u32) -> f64 { f64::from(a) }
    /// Float to double: exact.
    F32ToF64: ConvertWide (a: f32) -> f64 { convert::f32_to_f64(a, false, false) }
    /// Double to float, round to nearest.
    F64ToF32: ConvertWide (a: f64) -> f32 { convert::f64_to_f32(a, Mode::RN) }
    /// Half to float: exact.
    F16ToF32: Convert[FpAdd] (a: u16) -> f32 { convert::half_to_f32::<F16>(a, false, false) }
    /// Float to half, round to nearest.
    F32ToF16: Convert[FpAdd] (a: f32) -> u16 { convert::f32_to_half::<F16>(a, Mode::RN) }
}

/// A type that `cvt` converts from or to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Numeric {
    Int(IntType),
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
}

impl Numeric {
    /// Width in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Numeric::Int(t) => t.bits(),
            Numeric::F16 | Numeric::Bf16 => 16,
            Numeric::Tf32 | Numeric::F32 => 32,
            Numeric::F64 => 64,
        }
    }
}

/// A conversion from one type to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Cvt {
    pub from: Numeric,
    pub to: Numeric,
    /// Rounding, `.ftz` and `.sat`.
    pub mode: Mode,
    /// Rounds to an integral value of the same type (`.rni`, `.rzi`, … between float types).
    pub integral: bool,
    /// `.relu`.
    pub relu: bool,
    /// `.satfinite`.
    pub satfinite: bool,
    /// Bits of the destination register, which may be wider than the type: 16, 32 or 64.
    pub dst_bits: u8,
    /// Bits of the source register.
    pub src_bits: u8,
}

impl Cvt {
    /// Class for timing.
    pub const fn class(self) -> OpClass {
        match (self.from, self.to) {
            (Numeric::Int(_), Numeric::Int(_)) if self.mode.sat => OpClass::Convert,
            (Numeric::Int(_), Numeric::Int(_)) => OpClass::ConvertInt,
            (from, to) if from.bits() == 64 || to.bits() == 64 => OpClass::ConvertWide,
            _ => OpClass::Convert,
        }
    }

    /// Kind of work of the lanes. Conversions between integers are work of the integer units.
    pub const fn work(self) -> Work {
        match (self.from, self.to) {
            (Numeric::Int(_), Numeric::Int(_)) => Work::IntAdd,
            _ => Work::FpAdd,
        }
    }

    /// Converts the executing lanes of `a` to `d`.
    pub(crate) fn run(self, lanes: &mut Lanes<'_>, d: Reg, a: Reg) {
        let mut out = [[0; 32]; 2];
        for lane in kit::lanes(lanes.mask) {
            let x = if self.src_bits == 64 { lanes.get::<u64>(a, lane) } else { u64::from(lanes.get::<u32>(a, lane)) };
            let y = self.convert(x);
            let y = if self.dst_bits == 16 { y & 0xffff } else { y };
            <u64 as Value>::put(&mut out, lane, y);
        }
        lanes.write(d, &out[0]);
        if self.dst_bits == 64 {
            lanes.write(d.next(), &out[1]);
        }
    }

    /// Converts the bits of one value. Integer results are extended to 64 bits.
    pub fn convert(self, x: u64) -> u64 {
        let Self { from, to, mode, .. } = self;
        match (from, to) {
            (Numeric::Int(f), Numeric::Int(t)) => convert::int_to_int(x, f, t, mode.sat),
            (Numeric::Int(f), _) => self.int_to_float(x, f),
            (Numeric::F32 | Numeric::Tf32, Numeric::Int(t)) => {
                convert::f32_to_int(f32::from_bits(x as u32), t, mode.round, mode.ftz)
            }
            (Numeric::F64, Numeric::Int(t)) => convert::f64_to_int(f64::from_bits(x), t, mode.round),
            (Numeric::F16, Numeric::Int(t)) => convert::half_to_int::<F16>(x as u16, t, mode.round),
            (Numeric::Bf16, Numeric::Int(t)) => convert::half_to_int::<Bf16>(x as u16, t, mode.round),
            (Numeric::F64, _) => self.f64_to_float(f64::from_bits(x)),
            (Numeric::F32 | Numeric::Tf32, _) => self.f32_to_float(f32::from_bits(x as u32)),
            (Numeric::F16, _) => self.half_to_float::<F16>(x as u16),
            // The upper half of an f32, with the payload of a NaN: compilers turn this into a shift.
            (Numeric::Bf16, Numeric::F32) if !mode.ftz && !mode.sat => x << 16 & 0xffff_0000,
            (Numeric::Bf16, _) => self.half_to_float::<Bf16>(x as u16),
        }
    }

    fn int_to_float(self, x: u64, from: IntType) -> u64 {
        let round = self.mode.round;
        match self.to {
            Numeric::F64 => {
                let y = convert::int_to_f64(x, from, round);
                (if self.mode.sat { num::float64::saturate(y) } else { y }).to_bits()
            }
            Numeric::F16 => u64::from(self.finish_half::<F16>(convert::int_to_half::<F16>(x, from, round))),
            Numeric::Bf16 => u64::from(self.finish_half::<Bf16>(convert::int_to_half::<Bf16>(x, from, round))),
            _ => {
                let y = convert::int_to_f32(x, from, round);
                u64::from((if self.mode.sat { num::float32::saturate(y) } else { y }).to_bits())
            }
        }
    }

    fn finish_half<F: half::Half>(self, bits: u16) -> u16 {
        if self.mode.sat { half::saturate::<F>(bits) } else { bits }
    }

    fn f64_to_float(self, x: f64) -> u64 {
        let mode = self.mode;
        match self.to {
            Numeric::F64 => {
                let y = if self.integral { convert::integral_f64(x, mode.round) } else { num::float64::canonical(x) };
                (if mode.sat { num::float64::saturate(y) } else { y }).to_bits()
            }
            Numeric::F16 => u64::from(convert::f64_to_half::<F16>(x, mode)),
            Numeric::Bf16 => u64::from(convert::f64_to_half::<Bf16>(x, mode)),
            _ => u64::from(convert::f64_to_f32(x, mode).to_bits()),
        }
    }

    fn f32_to_float(self, x: f32) -> u64 {
        let mode = self.mode;
        let limited = self.relu || self.satfinite;
        match self.to {
            Numeric::F64 => convert::f32_to_f64(x, mode.ftz, mode.sat).to_bits(),
            Numeric::Tf32 => u64::from(small::tf32_from_f32(x, mode.round, self.relu, self.satfinite).to_bits()),
            Numeric::F16 if limited => {
                u64::from(convert::f32_to_half_limited::<F16>(x, mode.round, self.relu, self.satfinite))
            }
            Numeric::Bf16 if limited => {
                u64::from(convert::f32_to_half_limited::<Bf16>(x, mode.round, self.relu, self.satfinite))
            }
            Numeric::F16 => u64::from(convert::f32_to_half::<F16>(x, mode)),
            Numeric::Bf16 => u64::from(convert::f32_to_half::<Bf16>(x, mode)),
            _ if self.integral => u64::from(convert::integral_f32(x, mode).to_bits()),
            _ => u64::from(convert::f32_to_f32(x, mode.ftz, mode.sat).to_bits()),
        }
    }

    fn half_to_float<F: half::Half>(self, x: u16) -> u64 {
        let mode = self.mode;
        match self.to {
            Numeric::F64 => {
                let y = num::float64::canonical(half::to_f64::<F>(x));
                (if mode.sat { num::float64::saturate(y) } else { y }).to_bits()
            }
            Numeric::F16 | Numeric::Bf16 if self.integral => u64::from(convert::integral_half::<F>(x, mode)),
            Numeric::F16 => u64::from(convert::half_to_half::<F, F16>(x, mode)),
            Numeric::Bf16 => u64::from(convert::half_to_half::<F, Bf16>(x, mode)),
            _ => u64::from(convert::half_to_f32::<F>(x, mode.ftz, mode.sat).to_bits()),
        }
    }
}

/// Conversions of several values packed in one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum PackedCvt {
    /// Two f32 to f16x2 or bf16x2. The first operand goes to the upper half.
    HalvesFromF32 {
        /// To bf16 instead of f16.
        bf16: bool,
        round: Rounding,
        relu: bool,
        satfinite: bool,
    },
    /// Two f32 to e4m3x2 or e5m2x2; the first goes to the upper byte.
    BytesFromF32 {
        /// To e5m2 instead of e4m3.
        e5m2: bool,
        relu: bool,
    },
    /// f16x2 to e4m3x2 or e5m2x2.
    BytesFromF16x2 {
        /// To e5m2 instead of e4m3.
        e5m2: bool,
        relu: bool,
    },
    /// e4m3x2 or e5m2x2 to f16x2.
    F16x2FromBytes {
        /// From e5m2 instead of e4m3.
        e5m2: bool,
        relu: bool,
    },
    /// Two s32, clamped, to two 16-bit integers; the first goes to the upper half.
    PackInt16 { signed: bool },
    /// Two s32, clamped, to two 8-bit integers in the lower half; `c` moves to the upper half.
    PackInt8 { signed: bool },
}

impl PackedCvt {
    /// Work of the lanes.
    pub const fn work(self) -> Work {
        match self {
            PackedCvt::PackInt16 { .. } | PackedCvt::PackInt8 { .. } => Work::IntAdd,
            PackedCvt::HalvesFromF32 { .. }
            | PackedCvt::BytesFromF32 { .. }
            | PackedCvt::BytesFromF16x2 { .. }
            | PackedCvt::F16x2FromBytes { .. } => Work::FpAdd,
        }
    }

    /// Number of operands that it reads.
    pub const fn sources(self) -> usize {
        match self {
            PackedCvt::BytesFromF16x2 { .. } | PackedCvt::F16x2FromBytes { .. } => 1,
            PackedCvt::HalvesFromF32 { .. } | PackedCvt::BytesFromF32 { .. } | PackedCvt::PackInt16 { .. } => 2,
            PackedCvt::PackInt8 { .. } => 3,
        }
    }

    /// Converts the executing lanes.
    pub(crate) fn run(self, file: &mut Lanes<'_>, d: Reg, s: [Reg; 3]) {
        let mut out = [0; 32];
        for lane in lanes(file.mask) {
            let mut values = [0; 3];
            values.iter_mut().zip(s).take(self.sources()).for_each(|(value, s)| *value = file.get(s, lane));
            out[lane] = self.convert(values);
        }
        file.write(d, &out);
    }

    /// Converts the values of one lane; operands that it does not read are ignored.
    pub fn convert(self, [a, b, c]: [u32; 3]) -> u32 {
        let (fa, fb) = (f32::from_bits(a), f32::from_bits(b));
        match self {
            PackedCvt::HalvesFromF32 { bf16, round, relu, satfinite } => {
                let one = |x| {
                    if bf16 {
                        convert::f32_to_half_limited::<Bf16>(x, round, relu, satfinite)
                    } else {
                        convert::f32_to_half_limited::<F16>(x, round, relu, satfinite)
                    }
                };
                half::pack2(one(fb), one(fa))
            }
            PackedCvt::BytesFromF32 { e5m2, relu } => byte_pair(fb, fa, e5m2, relu),
            PackedCvt::BytesFromF16x2 { e5m2, relu } => {
                let (low, high) = half::unpack2(a);
                let f = <F16 as half::Half>::to_f32;
                byte_pair(f(low), f(high), e5m2, relu)
            }
            PackedCvt::F16x2FromBytes { e5m2, relu } => {
                let one = |x: u8| {
                    let value = if e5m2 { small::e5m2_to_f32(x) } else { small::e4m3_to_f32(x) };
                    convert::f32_to_half_limited::<F16>(value, Rounding::NearestEven, relu, false)
                };
                half::pack2(one(a as u8), one((a >> 8) as u8))
            }
            PackedCvt::PackInt16 { signed } => {
                let to = if signed { IntType::S16 } else { IntType::U16 };
                half::pack2(clamp_to(b, to) as u16, clamp_to(a, to) as u16)
            }
            PackedCvt::PackInt8 { signed } => {
                let to = if signed { IntType::S8 } else { IntType::U8 };
                c << 16 | (clamp_to(a, to) & 0xff) << 8 | clamp_to(b, to) & 0xff
            }
        }
    }
}

fn byte_pair(low: f32, high: f32, e5m2: bool, relu: bool) -> u32 {
    let one = |x| if e5m2 { small::e5m2_from_f32(x, relu) } else { small::e4m3_from_f32(x, relu) };
    u32::from(one(low)) | u32::from(one(high)) << 8
}

fn clamp_to(x: u32, to: IntType) -> u32 {
    convert::int_to_int(u64::from(x), IntType::S32, to, true) as u32
}
