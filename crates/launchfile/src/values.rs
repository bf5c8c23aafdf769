//! Values of expressions in memory and parameters: numbers, addresses, structures, textures.

use super::diagnostics::Problem;
use super::expr::Expr;
use super::model::{Address, ArgSpec, Element, ImageSpec, StructSpec};
use super::scope::{ADDRESS_BYTES, Pending, Place, as_whole, encode};
use isa::{Channel, Image, Shape};
use kit::text::counted;
use std::ops::RangeInclusive;
use workloads::device::ParameterInfo;
use workloads::element::{Number, ScalarType};

/// Bytes with the places of addresses and images that only the device knows.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The bytes; zero where something is missing.
    pub bytes: Vec<u8>,
    /// Addresses that are missing.
    pub addresses: Vec<Pending>,
    /// Textures and surfaces that are missing: byte, buffer, and the image, whose base is missing.
    pub images: Vec<(usize, usize, Image)>,
}

impl Written {
    /// Appends an element of a buffer of type `ty`.
    pub fn element(&mut self, element: &Element, ty: ScalarType, place: Place<'_>) -> Result<(), Problem> {
        match element {
            Element::Number(expr) => {
                let number = expr.evaluate(place.scope, place.rounds, place.element)?;
                self.bytes.extend(encode(expr, number, ty)?);
                Ok(())
            }
            Element::Address(address) if !matches!(ty, ScalarType::U64 | ScalarType::I64) => {
                let message = format!("an address takes 64 bits, not {}: the type is `pointer`", ty.with_article());
                Err(Problem::new(address.span.clone(), message))
            }
            Element::Address(address) => self.address(address, place),
        }
    }

    fn address(&mut self, address: &Address, place: Place<'_>) -> Result<(), Problem> {
        let at = self.bytes.len();
        self.bytes.extend([0; ADDRESS_BYTES]);
        if let Some(when) = &address.when
            && when.evaluate(place.scope, place.rounds, place.element)?.as_f64() == 0.0
        {
            return Ok(());
        }
        let known = place.scope.buffers.get(address.buffer);
        let (element, span) = match &address.offset {
            Some(expr) => {
                let range = 0..=known.map_or(u64::MAX / ADDRESS_BYTES as u64, |b| b.length);
                (number(expr, place, range)?, expr.span.clone())
            }
            None => (0, address.span.clone()),
        };
        self.addresses.push(Pending { at, buffer: address.buffer, element, span });
        Ok(())
    }

    /// Appends an argument; `parameter` gives a number its type if it has none of its own.
    pub fn argument(
        &mut self,
        arg: &ArgSpec,
        parameter: Option<&ParameterInfo>,
        place: Place<'_>,
    ) -> Result<(), Problem> {
        match arg {
            ArgSpec::Address(address) => self.address(address, place)?,
            ArgSpec::Bytes(bytes) => self.bytes.extend(&bytes.item),
            ArgSpec::Struct(structure) => self.structure(structure, place)?,
            ArgSpec::Image(spec) => {
                self.images.push((self.bytes.len(), spec.buffer, image_of(spec, place)?));
                self.bytes.extend([0; ADDRESS_BYTES]);
            }
            ArgSpec::Array(values, ty) => {
                for value in &values.item {
                    let number = value.evaluate(place.scope, place.rounds, place.element)?;
                    self.bytes.extend(encode(value, number, *ty)?);
                }
            }
            ArgSpec::Scalar { value, ty } => {
                let number = value.evaluate(place.scope, place.rounds, place.element)?;
                let ty = ty.or_else(|| type_of(parameter?, number)).ok_or_else(|| untyped(value, number, parameter))?;
                self.bytes.extend(encode(value, number, ty)?);
            }
        }
        Ok(())
    }

    /// Appends a structure with its padding.
    pub fn structure(&mut self, spec: &StructSpec, place: Place<'_>) -> Result<(), Problem> {
        let start = self.bytes.len();
        let mut whole = vec![0; spec.bytes];
        for (offset, member) in &spec.members {
            let mut part = Self::default();
            part.argument(member, None, place)?;
            whole[*offset..*offset + part.bytes.len()].copy_from_slice(&part.bytes);
            let moved = start + offset;
            self.addresses.extend(part.addresses.into_iter().map(|p| Pending { at: moved + p.at, ..p }));
            self.images.extend(part.images.into_iter().map(|(at, buffer, image)| (moved + at, buffer, image)));
        }
        self.bytes.extend(whole);
        Ok(())
    }
}

fn untyped(value: &Expr, number: Number, parameter: Option<&ParameterInfo>) -> Problem {
    let what = parameter.map_or_else(
        || "a member has the type that is said".to_owned(),
        |parameter| format!("parameter `{}` has {}", parameter.name, described(parameter)),
    );
    Problem::new(value.span.clone(), format!("{what}: say what this number is, as in {{ f32 = {number} }}"))
}

/// The size of a parameter, and its type if the module gives it.
pub fn described(parameter: &ParameterInfo) -> String {
    let bytes = counted(parameter.bytes.into(), "byte");
    match parameter.type_name.as_str() {
        "" => bytes,
        name => format!("{bytes} ({name})"),
    }
}

/// The type that a parameter gives to a number. Untyped bits take a fraction as floating point.
fn type_of(parameter: &ParameterInfo, number: Number) -> Option<ScalarType> {
    let fraction = matches!(number, Number::Float(f) if f.fract() != 0.0 || !f.is_finite());
    let float = match parameter.type_name.as_str() {
        "b16" => Some(ScalarType::F16),
        "b32" => Some(ScalarType::F32),
        "b64" => Some(ScalarType::F64),
        _ => None,
    };
    let named = ScalarType::parse(&parameter.type_name);
    let ty = if fraction { float.or(named) } else { named };
    ty.filter(|ty| ty.bytes() == parameter.bytes as usize)
}

fn number(expr: &Expr, place: Place<'_>, range: RangeInclusive<u64>) -> Result<u64, Problem> {
    as_whole(expr, expr.evaluate(place.scope, place.rounds, place.element)?, range)
}

/// The image that `spec` describes, which its buffer must hold. It has no base yet.
pub fn image_of(spec: &ImageSpec, place: Place<'_>) -> Result<Image, Problem> {
    let problem = |what: String| Problem::new(spec.span.clone(), what);
    let ty = place.scope.buffers[spec.buffer].ty;
    let channel = match ty {
        ScalarType::U8 => Channel::U8,
        ScalarType::I8 => Channel::S8,
        ScalarType::U16 => Channel::U16,
        ScalarType::I16 => Channel::S16,
        ScalarType::U32 => Channel::U32,
        ScalarType::I32 => Channel::S32,
        ScalarType::F16 => Channel::F16,
        ScalarType::F32 => Channel::F32,
        _ => return Err(problem(format!("texels cannot be made of {}", ty.name()))),
    };
    let size = |expr: &Option<Expr>| match expr {
        Some(expr) => number(expr, place, 1..=u32::MAX.into()).map(Some),
        None => Ok(None),
    };
    let elements = place.scope.buffers[spec.buffer].length;
    let channels = size(&spec.channels)?.unwrap_or(1);
    let (height, depth, layers) = (size(&spec.height)?, size(&spec.depth)?, size(&spec.layers)?);
    let rows = height.unwrap_or(1).saturating_mul(depth.or(layers).unwrap_or(1));
    let width = match size(&spec.width)? {
        Some(width) => width,
        None if rows == 1 => elements / channels,
        None => return Err(problem("`width` is missing: an image of several rows says it".into())),
    };
    let pitch = size(&spec.pitch)?.unwrap_or_else(|| width.saturating_mul(channels));
    let shape = match (height, depth, layers) {
        (_, Some(_), _) => Shape::D3,
        (Some(_), _, Some(_)) => Shape::Layered2,
        (None, _, Some(_)) => Shape::Layered1,
        (Some(_), ..) => Shape::D2,
        _ => Shape::D1,
    };
    let needed = (rows - 1).saturating_mul(pitch).saturating_add(width.saturating_mul(channels));
    if needed > elements {
        return Err(problem(format!("the image takes {needed} elements, the buffer has {elements}")));
    }
    // A smaller value than a buffer fits.
    let size = [width, height.unwrap_or(1), depth.or(layers).unwrap_or(1)].map(|n| n as u32);
    let pitch = pitch * ty.bytes() as u64;
    let channels = u8::try_from(channels).unwrap_or(u8::MAX);
    Ok(Image { base: 0, shape, size, pitch, channel, channels, sampler: spec.sampler })
}
