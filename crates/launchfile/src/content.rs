//! First contents of buffers.

use super::data;
use super::diagnostics::Problem;
use super::expr::Expr;
use super::model::{BufferSpec, Content, Distribution, LaunchFile};
use super::scope::{Contents, Filled, Place, encode, whole};
use super::values::Written;
use kit::text::counted;
use rand::RngCore;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use workloads::element::{Number, ScalarType};

/// Maximum size of a buffer of zeros: more than any GPU has.
const MAX_BYTES: u64 = 1 << 40;

/// Maximum size of a buffer with other contents, which are made on the host.
const MAX_CONTENT_BYTES: u64 = 4 << 30;

/// Fills a buffer; `scope` has those before it. `room_bytes` is the size of the variable, of a symbol whose module
/// is loaded.
pub fn fill(
    file: &LaunchFile,
    spec: &BufferSpec,
    room_bytes: Option<u64>,
    scope: &Contents<'_>,
) -> Result<Filled, Problem> {
    let length = spec.length.as_ref().map(|e| whole(e, scope, &[], 1..=MAX_BYTES)).transpose()?;
    let here = |message: String| Problem::new(spec.name.span.clone(), message);
    let Some(symbol) = &spec.symbol else { return contents(file, spec, length, scope) };
    let offset = symbol.offset.as_ref().map_or(Ok(0), |e| whole(e, scope, &[], 0..=MAX_BYTES))?;
    let skipped = |ty: ScalarType| offset.saturating_mul(ty.bytes() as u64);
    // A variable has its length from its contents, else all that follows the offset.
    let own_length = matches!(spec.content, Content::Values(_) | Content::File(_));
    let Some(room_bytes) = room_bytes else {
        let length = if own_length { length } else { length.or(Some(1)) };
        return contents(file, spec, length, scope);
    };
    let all = || spec.ty.map(|ty| room_bytes.saturating_sub(skipped(ty)) / element_bytes(spec, ty) as u64);
    let length = if own_length { length } else { length.or_else(all) };
    let filled = if length == Some(0) { None } else { Some(contents(file, spec, length, scope)?) };
    let (skipped_bytes, bytes) = filled.as_ref().map_or((offset, 1), |f| (skipped(f.ty), f.size_bytes()));
    match filled {
        Some(filled) if skipped_bytes.checked_add(bytes).is_some_and(|end| end <= room_bytes) => {
            Ok(Filled { skipped_bytes, ..filled })
        }
        _ => {
            let (bytes, room) = (counted(bytes, "byte"), counted(room_bytes, "byte"));
            let message = format!("{bytes} from byte {skipped_bytes} on do not fit: the variable has {room}");
            Err(here(message))
        }
    }
}

/// Bytes of what `length` counts.
fn element_bytes(spec: &BufferSpec, ty: ScalarType) -> usize {
    if let Content::Structs(one) = &spec.content { one.bytes } else { ty.bytes() }
}

fn contents(
    file: &LaunchFile,
    spec: &BufferSpec,
    length: Option<u64>,
    scope: &Contents<'_>,
) -> Result<Filled, Problem> {
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
            let (ty, mut written) = (ty?, Written::default());
            let place = Place { scope, rounds: &[], element: 0 };
            values.iter().try_for_each(|element| written.element(element, ty, place))?;
            Filled { addresses: written.addresses, ..Filled::new(ty, written.bytes) }
        }
        content => {
            let (ty, length) = (ty?, length.ok_or_else(|| here("the length is not known".to_owned()))?);
            let element_bytes = element_bytes(spec, ty);
            let most = if matches!(content, Content::Zero | Content::Kept) { MAX_BYTES } else { MAX_CONTENT_BYTES };
            if length.saturating_mul(element_bytes as u64) > most {
                let elements = most / element_bytes as u64;
                return Err(here(format!("{length} elements are too many; {elements} ({most} bytes) are the maximum")));
            }
            let written = generate(file, spec, ty, length, scope)?;
            // The elements of structures are bytes.
            let length = length * (element_bytes / ty.bytes()) as u64;
            return Ok(Filled { length, addresses: written.addresses, ..Filled::new(ty, written.bytes) });
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
    ty: ScalarType,
    length: u64,
    scope: &Contents<'_>,
) -> Result<Written, Problem> {
    let mut written = Written::default();
    let mut reserve = |element_bytes: usize| {
        let size_bytes = length as usize * element_bytes;
        let reserved = written.bytes.try_reserve_exact(size_bytes);
        reserved.map_err(|_| {
            Problem::new(spec.name.span.clone(), format!("no room for {size_bytes} bytes on this machine"))
        })
    };
    match &spec.content {
        Content::Formula(formula) => {
            reserve(ty.bytes())?;
            for i in 0..length {
                look(spec, i)?;
                written.bytes.extend(encode(formula, formula.evaluate(scope, &[], i)?, ty)?);
            }
        }
        Content::Structs(one) => {
            reserve(one.bytes)?;
            for element in 0..length {
                look(spec, element)?;
                written.structure(one, Place { scope, rounds: &[], element })?;
            }
        }
        Content::Random { distribution, seed } => {
            let mut rng = ChaCha8Rng::seed_from_u64(seed.unwrap_or(file.seed));
            if seed.is_none() {
                // Each buffer draws from a sequence of its own, whatever the others' sizes.
                rng.set_stream(fnv1a(&spec.name.item));
            }
            let mut draw = sampler(distribution, ty, scope)?;
            reserve(ty.bytes())?;
            for i in 0..length {
                look(spec, i)?;
                written.bytes.extend(draw(&mut rng));
            }
        }
        // Zeros take no room, the device has what is kept; the other kinds have been dealt with.
        Content::Zero | Content::Kept | Content::Values(_) | Content::File(_) => {}
    }
    Ok(written)
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
    let number = |e: &Expr| e.evaluate(scope, &[], 0);
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
