//! Calls that draw: the argument of kernels.

use cabi::address::Address;

/// Kind of output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    Bits,
    Uniform,
    UniformDouble,
    Normal,
    NormalDouble,
    Poisson,
}

impl Output {
    /// Its name in kernels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bits => "bits",
            Self::Uniform => "uniform",
            Self::UniformDouble => "uniform_double",
            Self::Normal => "normal",
            Self::NormalDouble => "normal_double",
            Self::Poisson => "poisson",
        }
    }

    /// Whether numbers are normal ones.
    pub const fn is_normal(self) -> bool {
        matches!(self, Self::Normal | Self::NormalDouble)
    }

    /// Words of an item of Philox.
    pub const fn words(self) -> u64 {
        match self {
            Self::NormalDouble => 4,
            Self::UniformDouble | Self::Normal => 2,
            _ => 1,
        }
    }
}

/// How a call draws. The first fields are `Draw` of rand.cu.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Draw {
    pub out: Address,
    pub states: Address,
    /// Items: elements, or pairs of normal numbers.
    pub items: u64,
    pub count: u64,
    pub position: u64,
    pub seed: u64,
    pub mean: f64,
    pub deviation: f64,
    pub at_mode: f64,
    pub to_mode: f64,
    pub first: u32,
    pub lanes: u32,
    pub dimensions: u32,
    pub exponent: u32,
    /// Of the host only: whether words have 64 bits.
    pub wide: bool,
}

/// The argument of a kernel: the bytes before `wide`.
#[derive(Clone, Copy)]
pub struct Argument([u64; 12]);

impl cabi::stand_in::Parameter for Argument {
    fn address(&self) -> Address {
        cabi::driver::at(&self.0)
    }
}

impl Draw {
    /// The argument of a kernel.
    pub fn argument(&self) -> Argument {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Argument([
            self.out as u64,
            self.states as u64,
            self.items,
            self.count,
            self.position,
            self.seed,
            self.mean.to_bits(),
            self.deviation.to_bits(),
            self.at_mode.to_bits(),
            self.to_mode.to_bits(),
            pair(self.first, self.lanes),
            pair(self.dimensions, self.exponent),
        ])
    }
}
