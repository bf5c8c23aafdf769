//! Numbers of the reference: complex, of double precision, with the sum of the magnitudes that they are made of.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number, and what bounds its rounding errors: the sum of the magnitudes of all that was added for it.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Num {
    pub re: f64,
    pub im: f64,
    pub size: f64,
}

pub const ZERO: Num = Num { re: 0.0, im: 0.0, size: 0.0 };
pub const ONE: Num = Num { re: 1.0, im: 0.0, size: 1.0 };

impl Num {
    pub fn new(re: f64, im: f64) -> Self {
        Self { re, im, size: re.abs() + im.abs() }
    }

    pub fn real(re: f64) -> Self {
        Self::new(re, 0.0)
    }

    pub fn conj(self) -> Self {
        Self { im: -self.im, ..self }
    }

    pub fn conj_if(self, is: bool) -> Self {
        if is { self.conj() } else { self }
    }

    /// Without its imaginary part.
    pub fn only_real(self) -> Self {
        Self { im: 0.0, ..self }
    }

    /// |re| + |im|, by which BLAS compares and adds.
    pub fn magnitude(self) -> f64 {
        self.re.abs() + self.im.abs()
    }

    pub fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    pub fn is_zero(self) -> bool {
        self.re == 0.0 && self.im == 0.0
    }
}

impl Add for Num {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im, size: self.size + other.size }
    }
}

impl Neg for Num {
    type Output = Self;
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im, ..self }
    }
}

impl Sub for Num {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Num {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
            size: self.size * other.size,
        }
    }
}

impl Div for Num {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let by = other.square();
        let quotient = self * Self::new(other.re / by, -other.im / by);
        Self { size: self.size * 2_f64.sqrt() / by.sqrt(), ..quotient }
    }
}

impl std::iter::Sum for Num {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(ZERO, Add::add)
    }
}

/// A type of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    S,
    D,
    C,
    Z,
    /// Half precision, and bfloat16.
    H,
    B,
    E4M3,
    E5M2,
    I8,
    I32,
    I64,
    /// Bits, eight in an element.
    Bits,
}

pub use Kind::{B, Bits, C, D, E4M3, E5M2, H, I8, I32, I64, S, Z};

impl Kind {
    /// `cudaDataType_t`.
    pub fn number(self) -> i64 {
        match self {
            S => 0,
            D => 1,
            H => 2,
            I8 => 3,
            C => 4,
            Z => 5,
            I32 => 10,
            B => 14,
            I64 => 24,
            E4M3 => 28,
            E5M2 => 29,
            Bits => panic!("bits have no number"),
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            E4M3 | E5M2 | I8 | Bits => 1,
            H | B => 2,
            S | I32 => 4,
            D | C | I64 => 8,
            Z => 16,
        }
    }

    pub fn is_complex(self) -> bool {
        matches!(self, C | Z)
    }

    pub fn of_reals(self) -> Self {
        match self {
            C => S,
            Z => D,
            other => other,
        }
    }

    /// The largest relative error of one rounding.
    pub fn unit(self) -> f64 {
        match self {
            S | C => 2_f64.powi(-24),
            D | Z => 2_f64.powi(-53),
            H => 2_f64.powi(-11),
            B => 2_f64.powi(-8),
            E4M3 => 2_f64.powi(-4),
            E5M2 => 2_f64.powi(-3),
            I8 | I32 | I64 | Bits => 0.0,
        }
    }

    /// The largest error of a rounding below the normal numbers.
    pub fn least(self) -> f64 {
        match self {
            S | C => f64::from(f32::from_bits(1)),
            D | Z => f64::from_bits(1),
            H => 2_f64.powi(-25),
            E4M3 => 2_f64.powi(-10),
            E5M2 => 2_f64.powi(-17),
            _ => 0.0,
        }
    }

    /// The bytes of a number, which the type has without rounding.
    #[allow(clippy::cast_possible_truncation, reason = "numbers are of the type")]
    pub fn encode(self, x: Num) -> Vec<u8> {
        let single = |x: f64| (x as f32).to_le_bytes().to_vec();
        match self {
            S => single(x.re),
            D => x.re.to_le_bytes().to_vec(),
            C => [single(x.re), single(x.im)].concat(),
            Z => [x.re.to_le_bytes(), x.im.to_le_bytes()].concat(),
            H => half(x.re).to_le_bytes().to_vec(),
            B => ((x.re as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec(),
            I8 => (x.re as i8).to_le_bytes().to_vec(),
            I32 => (x.re as i32).to_le_bytes().to_vec(),
            I64 => (x.re as i64).to_le_bytes().to_vec(),
            E4M3 | E5M2 | Bits => {
                let code = (0..=255_u8).find(|code| self.decode(&[*code]).0 == x.re);
                vec![code.unwrap_or_else(|| panic!("{self:?} has no {}", x.re))]
            }
        }
    }

    /// Real and imaginary part of the number that bytes are.
    pub fn decode(self, bytes: &[u8]) -> (f64, f64) {
        let single = |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")));
        let double = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = || u16::from_le_bytes(bytes[..2].try_into().expect("two bytes"));
        match self {
            S => (single(0), 0.0),
            D => (double(0), 0.0),
            C => (single(0), single(4)),
            Z => (double(0), double(8)),
            H => (small_float(short().into(), 10, 15, true), 0.0),
            B => (f64::from(f32::from_bits(u32::from(short()) << 16)), 0.0),
            E5M2 => (small_float(bytes[0].into(), 2, 15, true), 0.0),
            E4M3 => (small_float(bytes[0].into(), 3, 7, false), 0.0),
            I8 => (f64::from(i8::from_le_bytes([bytes[0]])), 0.0),
            Bits => (f64::from(bytes[0]), 0.0),
            I32 => (f64::from(i32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))), 0.0),
            #[allow(clippy::cast_precision_loss, reason = "indices are small")]
            I64 => (i64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as f64, 0.0),
        }
    }
}

/// The value of a float of 8 or 16 bits with `fraction` bits after the point and an exponent biased by `bias`.
fn small_float(bits: u32, fraction: u32, bias: i32, infinities: bool) -> f64 {
    let wide = if fraction == 10 { 16 } else { 8 };
    let sign = if bits >> (wide - 1) == 0 { 1.0 } else { -1.0 };
    let below = f64::from(bits & ((1 << fraction) - 1));
    let exponents = (1 << (wide - 1 - fraction)) - 1;
    let exponent = (bits >> fraction & exponents).cast_signed();
    let all = exponent == exponents.cast_signed();
    let full = f64::from(1_u32 << fraction);
    sign * match exponent {
        _ if all && infinities && below == 0.0 => f64::INFINITY,
        _ if all && (infinities || below == full - 1.0) => f64::NAN,
        0 => below / full * 2_f64.powi(1 - bias),
        _ => (1.0 + below / full) * 2_f64.powi(exponent - bias),
    }
}

/// A normal number as half precision.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is of the type")]
fn half(x: f64) -> u16 {
    if x == 0.0 {
        return 0;
    }
    let exponent = x.abs().log2().floor();
    let fraction = (x.abs() / exponent.exp2() - 1.0) * 1024.0;
    let sign = if x < 0.0 { 1 << 15 } else { 0 };
    sign | ((exponent as i32 + 15) as u16) << 10 | fraction as u16
}

/// Draws of SplitMix64.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// A number from 0 up to `count`, which it is not.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count as u64) as usize
    }

    /// True once in `count` draws.
    pub fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    #[allow(clippy::cast_precision_loss, reason = "53 bits")]
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / 2_f64.powi(53)
    }

    /// A number of few bits, which every float has.
    pub fn coarse(&mut self) -> f64 {
        let whole = self.below(15) as f64 - 7.0;
        whole * self.one_of(&[0.125, 0.25, 0.5])
    }

    fn part(&mut self, kind: Kind) -> f64 {
        match kind {
            #[allow(clippy::cast_possible_truncation, reason = "the number is rounded to the type")]
            S | C => f64::from((self.unit() * 4.0 - 2.0) as f32),
            D | Z => self.unit() * 4.0 - 2.0,
            I8 => self.below(256) as f64 - 128.0,
            I32 | I64 => self.below(15) as f64 - 7.0,
            _ => self.coarse(),
        }
    }

    /// A number of a type, of magnitude 2 at most.
    pub fn number(&mut self, kind: Kind) -> Num {
        let re = self.part(kind);
        Num::new(re, if kind.is_complex() { self.part(kind) } else { 0.0 })
    }

    /// A factor of a product: often 0, 1 or -1.
    pub fn factor(&mut self, kind: Kind) -> Num {
        match self.below(6) {
            0 | 1 => ZERO,
            2 => ONE,
            3 => -ONE,
            _ => self.number(kind),
        }
    }
}

#[test]
fn small_floats() {
    assert_eq!(
        [0x3c00, 0xc100, 1, 0x7bff].map(|bits| small_float(bits, 10, 15, true)),
        [1.0, -2.5, 2_f64.powi(-24), 65504.0]
    );
    assert_eq!([0x38, 0x7e, 0xb8].map(|bits| small_float(bits, 3, 7, false)), [1.0, 448.0, -1.0]);
    assert_eq!([0x3c, 0x7b, 0xc0].map(|bits| small_float(bits, 2, 15, true)), [1.0, 57344.0, -2.0]);
    assert!(small_float(0x7f, 3, 7, false).is_nan() && small_float(0x7c, 2, 15, true).is_infinite());
    for kind in [H, B, E4M3, E5M2, S] {
        for x in [0.0, 0.25, -1.75, 3.5, 0.125] {
            assert_eq!(kind.decode(&kind.encode(Num::real(x))).0, x);
        }
    }
}
