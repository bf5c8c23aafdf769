//! Draws on the host: the numbers that the kernels (`rand.cu`) make on a device.

use cabi::address::{Address, BadAddress, Plain, write_bytes};

use crate::draw::{Draw, Output};
use crate::engine::{Kind, State, Twister, mrg32k3a, philox, xorwow};
use crate::sobol::directions;

/// The states of a generator on the host.
#[derive(Default)]
pub struct States {
    pub lanes: Vec<State>,
    pub twister: Option<Twister>,
}

/// Words of a generator, and how they become numbers.
trait Words {
    /// Whether normal numbers are made in pairs.
    const PAIRS: bool = true;
    /// 32 or 64 bits.
    fn bits(&mut self) -> u64;
    /// A number from one word, above 0.
    fn fraction(&mut self) -> f64 {
        unit(self.bits())
    }
    fn uniform(&mut self) -> f32 {
        unit_single(self.bits())
    }
    /// A number from the upper 32 bits.
    fn upper(&mut self) -> f64 {
        self.fraction()
    }
    fn uniform_double(&mut self) -> f64 {
        let (low, high) = (self.bits(), self.bits());
        unit_long((low ^ (high << 21)) << 11)
    }
}

const UNIT: f64 = 1.0 / 4_294_967_296.0;

#[allow(clippy::cast_precision_loss, reason = "the word is rounded first, as on the device")]
fn unit_single(word: u64) -> f32 {
    let unit = 1.0 / 4_294_967_296.0;
    (word as f32).mul_add(unit, unit / 2.0)
}

#[allow(clippy::cast_precision_loss, reason = "a word of 32 bits")]
fn unit(word: u64) -> f64 {
    (word as f64).mul_add(UNIT, UNIT / 2.0)
}

/// The upper 53 bits.
#[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
fn unit_long(word: u64) -> f64 {
    let unit = UNIT / f64::from(1 << 21);
    ((word >> 11) as f64).mul_add(unit, unit / 2.0)
}

struct Xorwow<'a>(&'a mut State);

impl Words for Xorwow<'_> {
    fn bits(&mut self) -> u64 {
        xorwow(self.0).into()
    }
}

struct Mrg<'a>(&'a mut State);

impl Words for Mrg<'_> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number below 2^32")]
    fn bits(&mut self) -> u64 {
        (f64::from(mrg32k3a(self.0)) * 1.000_000_048_662) as u64
    }
    fn fraction(&mut self) -> f64 {
        f64::from(mrg32k3a(self.0)) * (1.0 / 4_294_967_087.0)
    }
    #[allow(clippy::cast_possible_truncation, reason = "rounded as on the device")]
    fn uniform(&mut self) -> f32 {
        self.fraction() as f32
    }
    fn uniform_double(&mut self) -> f64 {
        self.fraction()
    }
}

struct Philox {
    seed: u64,
    word: u64,
}

impl Words for Philox {
    fn bits(&mut self) -> u64 {
        let block = philox(self.seed, self.word / 4);
        self.word += 1;
        block[((self.word - 1) % 4) as usize].into()
    }
}

/// A word that is there, with this number of bits, and what is added to it for a double.
struct One(u64, usize, f64);

/// A half of a unit of 32 bits.
const HALF: f64 = UNIT / 2.0;

impl Words for One {
    const PAIRS: bool = false;
    fn bits(&mut self) -> u64 {
        self.0
    }
    fn fraction(&mut self) -> f64 {
        if self.1 == 64 { unit_long(self.0) } else { unit(self.0) }
    }
    fn uniform(&mut self) -> f32 {
        unit_single(self.0 >> (self.1 - 32))
    }
    #[allow(clippy::cast_precision_loss, reason = "a word of 32 bits")]
    fn uniform_double(&mut self) -> f64 {
        if self.1 == 64 { unit_long(self.0) } else { (self.0 as f64).mul_add(UNIT, self.2) }
    }
    fn upper(&mut self) -> f64 {
        unit(self.0 >> (self.1 - 32))
    }
}

/// The number below which a normal number is with probability `p`.
pub fn inverse_normal(p: f64) -> f64 {
    use std::f64::consts::{FRAC_1_SQRT_2, TAU};
    let tail = p.min(1.0 - p);
    if tail <= 0.0 {
        return if p < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // Abramowitz and Stegun 26.2.23, then Halley's steps.
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 0.010_328_f64.mul_add(t, 0.802_853).mul_add(t, 2.515_517);
    let below = 0.001_308_f64.mul_add(t, 0.189_269).mul_add(t, 1.432_788).mul_add(t, 1.0);
    let mut x = above / below - t;
    for _ in 0..3 {
        let error = 0.5 * libm::erfc(-x * FRAC_1_SQRT_2) - tail;
        let step = error * TAU.sqrt() * (x * x / 2.0).exp();
        x -= step / (1.0 + x * step / 2.0);
    }
    if p < 0.5 { x } else { -x }
}

/// Draws on the host.
pub fn draw(kind: Kind, output: Output, call: &Draw, states: &mut States) -> Result<(), BadAddress> {
    let to = Sink { call, output };
    let range = 0..call.items;
    match kind {
        Kind::Xorwow | Kind::Mrg32k3a => {
            for item in range {
                let lane = (u64::from(call.first) + item) % u64::from(call.lanes);
                let Some(state) = usize::try_from(lane).ok().and_then(|lane| states.lanes.get_mut(lane)) else {
                    return Err(BadAddress);
                };
                match kind {
                    Kind::Xorwow => to.put(item, &mut Xorwow(state))?,
                    _ => to.put(item, &mut Mrg(state))?,
                }
            }
        }
        Kind::Philox => {
            for item in range {
                to.put(item, &mut Philox { seed: call.seed, word: call.position + item * output.words() })?;
            }
        }
        Kind::Mt19937 => {
            let twister = states.twister.get_or_insert_with(|| Twister::new(call.seed));
            range.into_iter().try_for_each(|item| to.put(item, &mut One(twister.next().into(), 32, HALF)))?;
        }
        Kind::Sobol32 | Kind::Sobol64 => {
            let bits = kind.quasi_bits().unwrap_or(32);
            let points = call.items / u64::from(call.dimensions);
            for (directions, dimension) in directions(call.dimensions as usize, bits).iter().zip(0..) {
                for point in 0..points {
                    let at = call.position + point;
                    let gray = at ^ (at >> 1);
                    let value = directions.iter().enumerate().filter(|(bit, _)| gray >> bit & 1 == 1);
                    let value = value.fold(0, |value, (_, direction)| value ^ direction);
                    to.put(dimension * points + point, &mut One(value, bits, UNIT))?;
                }
            }
        }
    }
    Ok(())
}

struct Sink<'a> {
    call: &'a Draw,
    output: Output,
}

impl Sink<'_> {
    fn write<T: Plain>(&self, at: u64, value: T) -> Result<(), BadAddress> {
        let place = usize::try_from(at).ok().and_then(|at| at.checked_mul(size_of::<T>()));
        let place = place.and_then(|bytes| self.call.out.checked_add(bytes)).ok_or(BadAddress)?;
        cabi::address::write(place, value)
    }

    fn normal(&self, at: u64, x: f64) -> Result<(), BadAddress> {
        if at >= self.call.count {
            return Ok(());
        }
        let x = self.call.deviation.mul_add(x, self.call.mean);
        let x = if self.call.exponent == 1 { x.exp() } else { x };
        #[allow(clippy::cast_possible_truncation, reason = "a result of single precision")]
        match self.output {
            Output::Normal => self.write(at, x as f32),
            _ => self.write(at, x),
        }
    }

    fn put<W: Words>(&self, item: u64, words: &mut W) -> Result<(), BadAddress> {
        match self.output {
            Output::Bits => {
                let word = words.bits();
                if self.call.wide { self.write(item, word) } else { self.write(item, crate::engine::low(word)) }
            }
            Output::Uniform => self.write(item, words.uniform()),
            Output::UniformDouble => self.write(item, words.uniform_double()),
            Output::Normal | Output::NormalDouble => {
                let mut next = || match self.output {
                    Output::Normal if W::PAIRS => f64::from(words.uniform()),
                    Output::Normal => words.upper(),
                    _ if W::PAIRS => words.uniform_double(),
                    _ => words.fraction(),
                };
                if !W::PAIRS {
                    return self.normal(item, inverse_normal(next()));
                }
                let radius = (-2.0 * next().ln()).sqrt();
                let (sine, cosine) = (std::f64::consts::TAU * next()).sin_cos();
                self.normal(2 * item, radius * sine)?;
                self.normal(2 * item + 1, radius * cosine)
            }
            Output::Poisson => self.write(item, poisson(self.call, words.fraction())),
        }
    }
}

/// The inverse of the distribution, from the mode on; a normal number where the mean is large.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is in the range of a u32")]
fn poisson(call: &Draw, u: f64) -> u32 {
    let mean = call.mean;
    if mean > LARGE_MEAN {
        return (mean + mean.sqrt() * inverse_normal(u) + 0.5).clamp(0.0, f64::from(u32::MAX)) as u32;
    }
    let (mut k, mut p, mut sum) = (mean.floor(), call.at_mode, call.to_mode);
    if u > sum {
        // Far in the tail sums do not change any more.
        while u > sum && p > 1e-17 {
            k += 1.0;
            p *= mean / k;
            sum += p;
        }
    } else {
        while k > 0.0 && u <= sum - p {
            sum -= p;
            p *= k / mean;
            k -= 1.0;
        }
    }
    k as u32
}

/// The mean from which Poisson's numbers are rounded normal ones.
const LARGE_MEAN: f64 = 4000.0;

/// The probabilities of the mode, and of at most the mode.
pub fn mode(mean: f64) -> [f64; 2] {
    if mean > LARGE_MEAN {
        return [0.0; 2];
    }
    let mode = mean.floor();
    let mut logarithm = -mean;
    let mut k = mode;
    while k > 0.0 {
        logarithm += (mean / k).ln();
        k -= 1.0;
    }
    let at = logarithm.exp();
    let (mut sum, mut p, mut k) = (0.0, at, mode);
    while k >= 0.0 && p > 0.0 {
        sum += p;
        p *= k / mean;
        k -= 1.0;
    }
    [at, sum]
}

/// Whether a place can be written.
pub fn writable(place: Address) -> Result<(), BadAddress> {
    write_bytes(place, &cabi::address::read::<[u8; 1]>(place)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_the_normal_distribution() {
        // Quantiles of tables.
        for (p, x) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.001, -3.090_232_306_167_813_6),
            (1e-15, -7.941_345_326_170_998),
            (0.841_344_746_068_542_9, 1.0),
        ] {
            assert!((inverse_normal(p) - x).abs() < 1e-13 * x.abs().max(1.0) * 10.0, "{p}: {}", inverse_normal(p));
        }
        assert_eq!(inverse_normal(0.0), f64::NEG_INFINITY);
        assert_eq!(inverse_normal(1.0), f64::INFINITY);
    }

    #[test]
    fn the_mode_of_poissons_distribution() {
        let [at, to] = mode(3.5);
        let first = (-3.5_f64).exp();
        let expected = [first * 3.5_f64.powi(3) / 6.0, first * (1.0 + 3.5 + 3.5 * 3.5 / 2.0 + 3.5_f64.powi(3) / 6.0)];
        assert!((at - expected[0]).abs() < 1e-14 && (to - expected[1]).abs() < 1e-14, "{at} {to}");
        let [at, to] = mode(0.25);
        assert!((at - (-0.25_f64).exp()).abs() < 1e-15 && (to - at).abs() < 1e-15);
        let [at, to] = mode(3999.5);
        assert!(at > 0.006 && to > 0.5 && to < 0.51, "{at} {to}");
    }
}
