//! The functions of curand.h.

use std::ffi::{c_int, c_uint};

use cabi::address::{Address, Handle, write};
use cabi::stand_in::{Objects, not_supported};

use crate::draw::{Draw, Output};
use crate::engine::Kind;
use crate::generator::Generator;
use crate::status::{Result, Status};
use crate::{host, sobol};

/// `CURAND_VERSION` of CUDA 12.9.
pub const VERSION: c_int = 10_310;

static GENERATORS: Objects<Generator> = Objects::none();

fn with<T>(handle: Handle, body: impl FnOnce(&mut Generator) -> Result<T>) -> Result<T> {
    GENERATORS.with(handle, body).unwrap_or(Err(Status::NOT_INITIALIZED))
}

fn create(place: Address, kind: c_int, on_host: bool) -> Result<()> {
    let kind = match kind {
        100 | 101 => Kind::Xorwow,
        121 => Kind::Mrg32k3a,
        141 => return Err(not_supported("CURAND_RNG_PSEUDO_MTGP32")),
        142 => Kind::Mt19937,
        161 => Kind::Philox,
        200 | 201 => Kind::Sobol32,
        202 => return Err(not_supported("CURAND_RNG_QUASI_SCRAMBLED_SOBOL32")),
        203 => Kind::Sobol64,
        204 => return Err(not_supported("CURAND_RNG_QUASI_SCRAMBLED_SOBOL64")),
        _ => return Err(Status::TYPE_ERROR),
    };
    write(place, 0_usize)?;
    Ok(write(place, GENERATORS.add(Generator::new(kind, on_host), 16))?)
}

/// Changes a setting of a generator for which `can` holds.
fn set(handle: Handle, can: impl FnOnce(Kind) -> bool, change: impl FnOnce(&mut Generator)) -> Result<()> {
    with(handle, |generator| {
        if !can(generator.kind) {
            return Err(Status::TYPE_ERROR);
        }
        change(generator);
        generator.restart();
        Ok(())
    })
}

fn draw(handle: Handle, output: Output, out: Address, count: usize, call: Draw) -> Result<()> {
    with(handle, |generator| generator.draw(output, Draw { out, count: count as u64, ..call }))
}

fn normal(handle: Handle, output: Output, out: Address, count: usize, [mean, deviation]: [f64; 2]) -> Result<()> {
    draw(handle, output, out, count, Draw { mean, deviation, ..Draw::default() })
}

fn log_normal(handle: Handle, output: Output, out: Address, count: usize, [mean, deviation]: [f64; 2]) -> Result<()> {
    draw(handle, output, out, count, Draw { mean, deviation, exponent: 1, ..Draw::default() })
}

cabi::functions! {
    Status;
    fn curandCreateGenerator(place: Address, kind: c_int) { create(place, kind, false) }
    fn curandCreateGeneratorHost(place: Address, kind: c_int) { create(place, kind, true) }
    fn curandDestroyGenerator(handle: Handle) {
        GENERATORS.remove(handle).map(drop).ok_or(Status::NOT_INITIALIZED)
    }
    fn curandGetVersion(place: Address) { Ok(write(place, VERSION)?) }
    fn curandGetProperty(which: c_int, place: Address) {
        let value = match which {
            0 => VERSION / 1000,
            1 => VERSION / 100 % 10,
            2 => VERSION % 100,
            _ => return Err(Status::OUT_OF_RANGE),
        };
        Ok(write(place, value)?)
    }
    fn curandSetStream(handle: Handle, stream: Handle) {
        with(handle, |generator| {
            generator.stream = stream;
            Ok(())
        })
    }
    fn curandSetPseudoRandomGeneratorSeed(handle: Handle, seed: u64) {
        set(handle, |kind| kind.quasi_bits().is_none(), |generator| generator.seed = seed)
    }
    fn curandSetGeneratorOffset(handle: Handle, offset: u64) {
        set(handle, |kind| kind != Kind::Mt19937, |generator| generator.offset = offset)
    }
    fn curandSetGeneratorOrdering(handle: Handle, order: c_int) {
        let quasi = match order {
            100..=104 => false,
            201 => true,
            _ => return Err(Status::OUT_OF_RANGE),
        };
        with(handle, |generator| {
            if generator.kind.quasi_bits().is_some() != quasi {
                return Err(Status::OUT_OF_RANGE);
            }
            generator.legacy = order == 103;
            generator.restart();
            Ok(())
        })
    }
    fn curandSetQuasiRandomGeneratorDimensions(handle: Handle, dimensions: c_uint) {
        /// As many as cuRAND has.
        const MOST: c_uint = 20_000;
        if !(1..=MOST).contains(&dimensions) {
            return Err(Status::OUT_OF_RANGE);
        }
        if dimensions as usize > sobol::most_dimensions() {
            return Err(not_supported(&format!("a Sobol sequence of {dimensions} dimensions")));
        }
        set(handle, |kind| kind.quasi_bits().is_some(), |generator| generator.dimensions = dimensions)
    }
    // First states are made when they are needed.
    fn curandGenerateSeeds(handle: Handle) { with(handle, |_| Ok(())) }
    fn curandGenerate(handle: Handle, out: Address, count: usize) {
        with(handle, |generator| if generator.kind == Kind::Sobol64 { Err(Status::TYPE_ERROR) } else { Ok(()) })?;
        draw(handle, Output::Bits, out, count, Draw::default())
    }
    fn curandGenerateLongLong(handle: Handle, out: Address, count: usize) {
        with(handle, |generator| if generator.kind == Kind::Sobol64 { Ok(()) } else { Err(Status::TYPE_ERROR) })?;
        draw(handle, Output::Bits, out, count, Draw::default())
    }
    fn curandGenerateUniform(handle: Handle, out: Address, count: usize) {
        draw(handle, Output::Uniform, out, count, Draw::default())
    }
    fn curandGenerateUniformDouble(handle: Handle, out: Address, count: usize) {
        draw(handle, Output::UniformDouble, out, count, Draw::default())
    }
    fn curandGenerateNormal(handle: Handle, out: Address, count: usize, mean: f32, deviation: f32) {
        normal(handle, Output::Normal, out, count, [mean, deviation].map(f64::from))
    }
    fn curandGenerateNormalDouble(handle: Handle, out: Address, count: usize, mean: f64, deviation: f64) {
        normal(handle, Output::NormalDouble, out, count, [mean, deviation])
    }
    fn curandGenerateLogNormal(handle: Handle, out: Address, count: usize, mean: f32, deviation: f32) {
        log_normal(handle, Output::Normal, out, count, [mean, deviation].map(f64::from))
    }
    fn curandGenerateLogNormalDouble(handle: Handle, out: Address, count: usize, mean: f64, deviation: f64) {
        log_normal(handle, Output::NormalDouble, out, count, [mean, deviation])
    }
    fn curandGeneratePoisson(handle: Handle, out: Address, count: usize, mean: f64) {
        if mean.is_nan() || mean <= 0.0 {
            return Err(Status::OUT_OF_RANGE);
        }
        let [at_mode, to_mode] = host::mode(mean);
        draw(handle, Output::Poisson, out, count, Draw { mean, at_mode, to_mode, ..Draw::default() })
    }
}

cabi::not_supported! {
    Status;
    curandCreatePoissonDistribution, curandDestroyDistribution, curandGenerateBinomial, curandGenerateBinomialMethod,
    curandGeneratePoissonMethod, curandGetDirectionVectors32, curandGetDirectionVectors64,
    curandGetScrambleConstants32, curandGetScrambleConstants64,
}
