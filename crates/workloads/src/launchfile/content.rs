//! First contents of buffers.

use super::data;
use super::diagnostics::Problem;
use super::expr::{Expr, Scope};
use super::model::{BufferSpec, Content, Distribution, LaunchFile};
use crate::element::{Number, ScalarType};
use kit::text::counted;
use rand::RngCore;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// A buffer's first contents on the host.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Filled {
    pub ty: ScalarType,
    /// Number of elements.
    pub length: u64,
    /// Little-endian elements from the first on; those that are missing are zero.
    pub bytes: Vec<u8>,
}

impl Filled {
    fn new(ty: ScalarType, bytes: Vec<u8>) -> Self {
        Self { ty, length: (bytes.len() / ty.bytes()) as u64, bytes }
    }

    /// Size of the whole buffer.
    pub fn size_bytes(&self) -> u64 {
        self.length * self.ty.bytes() as u64
    }

    /// The element at `index`; none beyond the end.
    pub fn element(&self, index: u64) -> Option<Number> {
        let start = usize::try_from(index).ok()?.checked_mul(self.ty.bytes())?;
        let bytes = self.bytes.get(start..start.checked_add(self.ty.bytes())?);
        (index < self.length).then(|| bytes.map_or(self.ty.decode(&[0; 8][..self.ty.bytes()]), |b| self.ty.decode(b)))
    }
}

/// Values and buffers that expressions may refer to, once some of the buffers are filled.
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Contents<'a> {
    pub values: &'a [Number],
    /// The buffers filled so far.
    pub buffers: &'a [Filled],
}

impl Scope for Contents<'_> {
    fn value(&self, slot: usize) -> Number {
        self.values[slot]
    }
    fn length(&self, buffer: usize) -> u64 {
        self.buffers[buffer].length
    }
    fn element(&self, buffer: usize, index: u64) -> Option<Number> {
        self.buffers[buffer].element(index)
    }
}

/// Maximum size of a buffer of zeros: more than any GPU has.
const MAX_BYTES: u64 = 1 << 40;

/// Maximum size of a buffer with other contents, which are made on the host.
const MAX_CONTENT_BYTES: u64 = 4 << 30;

/// Fills a buffer; `scope` has those before it.
pub fn fill(file: &LaunchFile, spec: &BufferSpec, scope: &Contents<'_>) -> Result<Filled, Problem> {
    let length = spec.length.as_ref().map(|e| whole(e, scope, 0, 1..=MAX_BYTES)).transpose()?;
    let here = |message: String| Problem::new(spec.name.span.clone(), message);
    let ty = spec.ty.ok_or_else(|| here("the type is not known".to_owned()));
    let filled = match &spec.content {
        Content::File(path) => {
            let full = file.beside(&path.item);
            let wrong = |message: String| Problem::new(path.span.clone(), format!("{}: {message}", full.display()));
            let contents = kit::files::read_data(&full).map_err(|e| wrong(e.to_string()))?;
            let data = data::decode(&full, &contents, spec.ty).map_err(wrong)?;
            let ty = data.ty.ok_or_else(|| wrong("raw bytes: the buffer needs a type".to_owned()))?;
            if data.bytes.len() % ty.bytes() != 0 {
                let (bytes, each) = (counted(data.bytes.len() as u64, "byte"), ty.bytes());
                let message = format!("{bytes} of data: not a multiple of the {each} of an element ({})", ty.name());
                return Err(wrong(message));
            }
            Filled::new(ty, data.bytes)
        }
        Content::Values(values) => {
            let ty = ty?;
            let encoded = values.iter().map(|e| encode(e, e.evaluate(scope, 0, 0)?, ty));
            Filled::new(ty, encoded.collect::<Result<Vec<_>, _>>()?.concat())
        }
        content => {
            let (ty, length) = (ty?, length.ok_or_else(|| here("the length is not known".to_owned()))?);
            let most = if matches!(content, Content::Zero) { MAX_BYTES } else { MAX_CONTENT_BYTES };
            if length.saturating_mul(ty.bytes() as u64) > most {
                let elements = most / ty.bytes() as u64;
                return Err(here(format!("{length} elements are too many; {elements} ({most} bytes) are the maximum")));
            }
            Filled { ty, length, bytes: generate(file, spec, content, ty, length, scope)? }
        }
    };
    match length {
        Some(length) if length < filled.length => {
            Err(here(format!("the contents are {}, but the length is {length}", counted(filled.length, "element"))))
        }
        Some(length) => Ok(Filled { length, ..filled }),
        None if filled.length == 0 => Err(here("the buffer would be empty".to_owned())),
        None => Ok(filled),
    }
}

fn generate(
    file: &LaunchFile,
    spec: &BufferSpec,
    content: &Content,
    ty: ScalarType,
    length: u64,
    scope: &Contents<'_>,
) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let size_bytes = length as usize * ty.bytes();
    let mut reserve = || {
        let reserved = bytes.try_reserve_exact(size_bytes);
        reserved.map_err(|_| {
            Problem::new(spec.name.span.clone(), format!("no room for {size_bytes} bytes on this machine"))
        })
    };
    match content {
        Content::Formula(formula) => {
            reserve()?;
            for i in 0..length {
                look(spec, i)?;
                bytes.extend(encode(formula, formula.evaluate(scope, 0, i)?, ty)?);
            }
        }
        Content::Random { distribution, seed } => {
            let mut rng = ChaCha8Rng::seed_from_u64(seed.unwrap_or(file.seed));
            if seed.is_none() {
                // Each buffer draws from a sequence of its own, whatever the others' sizes.
                rng.set_stream(fnv1a(&spec.name.item));
            }
            let mut draw = sampler(distribution, ty, scope)?;
            reserve()?;
            for i in 0..length {
                look(spec, i)?;
                bytes.extend(draw(&mut rng));
            }
        }
        // Zeros take no room; the other kinds have been dealt with.
        Content::Zero | Content::Values(_) | Content::File(_) => {}
    }
    Ok(bytes)
}

/// Ends the making of a long buffer on Ctrl-C; `made` elements are there.
fn look(spec: &BufferSpec, made: u64) -> Result<(), Problem> {
    if made.is_multiple_of(data::LOOK_EVERY) {
        kit::stop::check().map_err(|e| Problem::new(spec.name.span.clone(), e.to_string()))?;
    }
    Ok(())
}

/// Draws one encoded element.
type Sampler = Box<dyn FnMut(&mut ChaCha8Rng) -> Vec<u8>>;

fn sampler(distribution: &Distribution, ty: ScalarType, scope: &Contents<'_>) -> Result<Sampler, Problem> {
    let number = |e: &Expr| e.evaluate(scope, 0, 0);
    let (first, second) = match distribution {
        Distribution::Uniform { low, high } => (low, high),
        Distribution::Normal { mean, deviation } => (mean, deviation),
    };
    let (a, b) = (number(first)?, number(second)?);
    let span = first.span.start.min(second.span.start)..first.span.end.max(second.span.end);
    let wrong = |message: String| Problem::new(span.clone(), message);
    if !a.as_f64().is_finite() || !b.as_f64().is_finite() {
        return Err(wrong("random values need finite bounds".to_owned()));
    }
    match distribution {
        Distribution::Uniform { .. } if !(b.as_f64() - a.as_f64()).is_finite() => {
            return Err(wrong(format!("from {a} to {b} is further than double precision reaches")));
        }
        Distribution::Normal { .. } if b.as_f64() < 0.0 => {
            return Err(wrong(format!("the deviation is {b}; it must not be negative")));
        }
        _ => {}
    }
    let clamp = move |x: f64| match ty.int_range() {
        Some((least, most)) => Number::Int((x.round() as i128).clamp(least, most)),
        None => Number::Float(x),
    };
    let encoded = move |number| ty.encode(number).expect("between bounds that fit the type");
    match (distribution, ty.int_range()) {
        (Distribution::Normal { .. }, _) => {
            let (mean, deviation) = (a.as_f64(), b.as_f64());
            // No draw is further from the mean.
            for furthest in [mean - 6.0 * deviation, mean + 6.0 * deviation] {
                encode(first, clamp(furthest), ty)?;
            }
            Ok(Box::new(move |rng| {
                // Twelve even draws have variance 1 and mean 6; and no logarithm that might differ
                // between machines.
                let sum: f64 = (0..12).map(|_| unit(rng)).sum();
                encoded(clamp(mean + deviation * (sum - 6.0)))
            }))
        }
        (Distribution::Uniform { .. }, Some(_)) => {
            encode(first, a, ty)?;
            encode(second, b, ty)?;
            let (low, high) = (a.as_f64() as i128, b.as_f64() as i128);
            let (low, high) = match (a, b) {
                (Number::Int(low), Number::Int(high)) => (low, high),
                _ => (low, high),
            };
            if low > high {
                return Err(wrong(format!("low ({low}) is above high ({high})")));
            }
            let width = (high - low) as u128 + 1;
            Ok(Box::new(move |rng| {
                let drawn = ((u128::from(rng.next_u64()) * width) >> 64) as i128;
                encoded(Number::Int(low + drawn))
            }))
        }
        (Distribution::Uniform { .. }, None) => {
            encode(first, a, ty)?;
            encode(second, b, ty)?;
            let (low, high) = (a.as_f64(), b.as_f64());
            if low > high {
                return Err(wrong(format!("low ({low}) is above high ({high})")));
            }
            Ok(Box::new(move |rng| encoded(Number::Float(low + (high - low) * unit(rng)))))
        }
    }
}

/// From 0 (included) to 1 (not), in steps of 2^-53.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A number as an element; a problem at the expression if it does not fit.
pub fn encode(expr: &Expr, value: Number, ty: ScalarType) -> Result<Vec<u8>, Problem> {
    let problem = || Problem::new(expr.span.clone(), format!("{value} does not fit {}", ty.with_article()));
    ty.encode(value).ok_or_else(problem)
}

/// An expression's value as a whole number within a range.
pub fn whole(expr: &Expr, scope: &dyn Scope, round: u64, range: std::ops::RangeInclusive<u64>) -> Result<u64, Problem> {
    let value = expr.evaluate(scope, round, 0)?;
    let number = match value {
        Number::Int(i) => u64::try_from(i).ok(),
        Number::Float(f) if f.fract() == 0.0 && (0.0..1e18).contains(&f) => Some(f as u64),
        Number::Float(_) => None,
    };
    number.filter(|n| range.contains(n)).ok_or_else(|| {
        let message = format!("this is {value}; it must be a whole number from {} to {}", range.start(), range.end());
        Problem::new(expr.span.clone(), message)
    })
}
