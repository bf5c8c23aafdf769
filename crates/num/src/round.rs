//! Rounding modes and the modifiers that arithmetic instructions share.

/// Rounding of inexact results (PTX ISA, "Rounding Modifiers").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest value, ties to the one with even mantissa: `.rn`, `.rni`.
    #[default]
    NearestEven,
    /// Towards zero: `.rz`, `.rzi`.
    Zero,
    /// Towards negative infinity: `.rm`, `.rmi`.
    Down,
    /// Towards positive infinity: `.rp`, `.rpi`.
    Up,
    /// To the nearest value, ties away from zero: `.rna` (conversion to tf32 only).
    NearestAway,
}

impl Rounding {
    /// In the order of declaration.
    pub const ALL: [Rounding; 5] =
        [Rounding::NearestEven, Rounding::Zero, Rounding::Down, Rounding::Up, Rounding::NearestAway];

    /// Whether a truncated magnitude is rounded up: `odd` is the lowest kept bit, `rest` the bits cut off as
    /// a fraction of 2^64.
    #[inline]
    pub(crate) const fn increments(self, negative: bool, odd: bool, rest: u64) -> bool {
        const HALF: u64 = 1 << 63;
        match self {
            Rounding::NearestEven => rest > HALF || (rest == HALF && odd),
            Rounding::NearestAway => rest >= HALF,
            Rounding::Zero => false,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
        }
    }

    /// Whether a magnitude above the largest finite one becomes infinity.
    #[inline]
    pub(crate) const fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        }
    }
}

/// The modifiers of an arithmetic instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Rounding of the result.
    pub round: Rounding,
    /// `.ftz`: subnormal operands and results become zero of the same sign.
    pub ftz: bool,
    /// `.sat`: the result is clamped to [+0, 1], and NaN becomes +0.
    pub sat: bool,
}

impl Mode {
    /// `.rn` without `.ftz` and `.sat`, to which plain CUDA code is compiled.
    pub const RN: Mode = Mode { round: Rounding::NearestEven, ftz: false, sat: false };

    /// `.rn.ftz`, to which CUDA code is compiled with `--use_fast_math`.
    pub const RN_FTZ: Mode = Mode { ftz: true, ..Mode::RN };

    /// Calls `f` with this mode, as a constant if it is a common one. In loops over lanes the compiler then
    /// makes a copy of the loop for that mode, without branches.
    #[inline(always)]
    pub fn specialised<R>(self, f: impl Fn(Mode) -> R) -> R {
        if self == Mode::RN {
            f(Mode::RN)
        } else if self == Mode::RN_FTZ {
            f(Mode::RN_FTZ)
        } else {
            f(self)
        }
    }

    /// This mode with another rounding.
    #[must_use]
    pub const fn rounding(self, round: Rounding) -> Self {
        Mode { round, ..self }
    }
}
