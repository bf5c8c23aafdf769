//! Carries out a launch file on a device.

use super::content::{self, Contents, Filled, whole};
use super::data;
use super::diagnostics::{LaunchFileError, Problem};
use super::expr::{Expr, Scope};
use super::model::*;
use crate::check::Check;
use crate::device::{
    ArgBytes, Buffer, Code, Device, DeviceError, LaunchRequest, MOST_LAUNCHES, ModuleId, ModuleSource, ParameterInfo,
    Registers,
};
use crate::element::{Number, ScalarType};
use isa::{Channel, Dim3, Image, Shape};
use kit::output::NewFile;
use kit::stop::until_requested;
use kit::text::counted;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Why a launch file did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum LaunchFileRunError {
    /// Something is wrong with the file or with what it refers to.
    #[error("{0}")]
    File(#[from] Box<LaunchFileError>),
    /// An output cannot be written, known before anything runs.
    #[error("{0}")]
    Output(#[from] kit::output::Refused),
    /// A result could not be written.
    #[error("`{}` cannot be written: {source}", path.display())]
    Unwritten { path: PathBuf, source: std::io::Error },
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// The device could not do its part.
    #[error("{0}")]
    Device(#[from] DeviceError),
}

/// Outcome of the run.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LaunchOutcome {
    pub launches: u64,
    /// Text to print.
    pub prints: Vec<String>,
    pub written: Vec<PathBuf>,
    pub checks: Vec<Check>,
}

impl LaunchOutcome {
    /// Whether every comparison agrees.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(Check::passed)
    }
}

/// Hardware limit on the first dimension of a grid; the others are smaller and the device knows.
const MAX_GRID: u64 = (1 << 31) - 1;

impl LaunchFile {
    /// Runs it: fills the buffers, checks every launch against its kernel, launches, then prints,
    /// writes and compares. Problems that can be known before the first launch are reported
    /// together before it.
    pub fn run(&self, device: &mut dyn Device) -> Result<LaunchOutcome, LaunchFileRunError> {
        kit::output::check(&self.outputs(), &self.inputs())?;
        let filled = self.fill_buffers()?;
        if let Some(bytes) = self.stack_bytes {
            device.set_stack_bytes(bytes);
        }
        let modules = self.load_modules(device)?;
        let scope = Contents { values: &self.values, buffers: &filled };
        let plans = self.plan(device, &modules, &scope)?;
        let mut buffers = Vec::new();
        let result = self.run_on(device, &modules, &plans, &filled, &mut buffers);
        // Give the memory back also after an error.
        let freed: Result<(), DeviceError> = buffers.into_iter().try_for_each(|b| device.free(b));
        let outcome = result?;
        freed?;
        Ok(outcome)
    }

    fn error(&self, problems: Vec<Problem>) -> LaunchFileRunError {
        LaunchFileRunError::File(Box::new(LaunchFileError::new(&self.path, &self.text, problems)))
    }

    fn fill_buffers(&self) -> Result<Vec<Filled>, LaunchFileRunError> {
        let (mut filled, mut problems) = (Vec::new(), Vec::new());
        for spec in &self.buffers {
            let scope = Contents { values: &self.values, buffers: &filled };
            let contents = content::fill(self, spec, &scope).unwrap_or_else(|problem| {
                problems.push(problem);
                // Something for later expressions to refer to; nothing is run.
                let ty = spec.ty.unwrap_or(ScalarType::U8);
                Filled { ty, length: 1, bytes: Vec::new() }
            });
            filled.push(contents);
        }
        if problems.is_empty() { Ok(filled) } else { Err(self.error(problems)) }
    }

    fn load_modules(&self, device: &mut dyn Device) -> Result<Vec<ModuleId>, LaunchFileRunError> {
        let mut ids = Vec::new();
        for module in &self.modules {
            let path = self.beside(&module.item);
            let name = path.display().to_string();
            let bytes = kit::files::read_code(&path)
                .map_err(|e| self.error(vec![Problem::new(module.span.clone(), format!("{name}: {e}"))]))?;
            let text;
            let code = if path.extension().is_some_and(|e| e == "cubin" || e == "fatbin") {
                Code::Binary(&bytes)
            } else {
                // The PTX reader reports bytes that are not text, with their place.
                text = String::from_utf8_lossy(&bytes);
                Code::Ptx(&text)
            };
            ids.push(device.load_module(&ModuleSource { name: &name, code })?);
        }
        Ok(ids)
    }

    fn plan(
        &self,
        device: &dyn Device,
        modules: &[ModuleId],
        scope: &Contents<'_>,
    ) -> Result<Vec<Plan<'_>>, LaunchFileRunError> {
        let (mut plans, mut problems) = (Vec::new(), Vec::new());
        let mut all = 0;
        for spec in &self.launches {
            match self.plan_launch(device, modules[spec.module], spec, scope) {
                Ok(plan) => {
                    all += plan.repeat;
                    if all > MOST_LAUNCHES && all - plan.repeat <= MOST_LAUNCHES {
                        let message =
                            format!("with this one there are {all} launches; {MOST_LAUNCHES} are the maximum of a run");
                        problems.push(Problem::new(spec.kernel.span.clone(), message));
                    }
                    plans.push(plan);
                }
                Err(mut found) => problems.append(&mut found),
            }
        }
        if problems.is_empty() { Ok(plans) } else { Err(self.error(problems)) }
    }

    /// Checks a launch against its kernel, and its numbers for the first repetition.
    fn plan_launch<'a>(
        &self,
        device: &dyn Device,
        module: ModuleId,
        spec: &'a LaunchSpec,
        scope: &Contents<'_>,
    ) -> Result<Plan<'a>, Vec<Problem>> {
        let parameters = device
            .parameters(module, &spec.kernel.item)
            .map_err(|e| vec![Problem::new(spec.kernel.span.clone(), e.to_string())])?;
        let mut problems = Vec::new();
        let repeat = optional(spec.repeat.as_ref(), scope, 1, 0..=MOST_LAUNCHES).unwrap_or_else(|problem| {
            problems.push(problem);
            0
        });
        let args = &spec.args.item;
        if parameters.len() != args.len() {
            // Machine code knows sizes only.
            let ty = |p: &ParameterInfo| match p.type_name.as_str() {
                "" => byte_count(p.bytes as usize),
                name => name.to_owned(),
            };
            let types: Vec<String> = parameters.iter().map(ty).collect();
            let message = format!(
                "kernel `{}` takes {} ({}), not {}",
                spec.kernel.item,
                counted(parameters.len() as u64, "argument"),
                types.join(", "),
                args.len()
            );
            problems.push(Problem::new(spec.args.span.clone(), message));
        }
        for (arg, parameter) in args.iter().zip(&parameters) {
            if let Err(problem) = check_arg(arg, parameter, scope) {
                problems.push(problem);
            }
        }
        let plan = Plan { spec, parameters, repeat };
        if repeat > 0
            && problems.is_empty()
            && let Err(problem) = plan.numbers(scope, 0)
        {
            problems.push(problem);
        }
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    fn run_on(
        &self,
        device: &mut dyn Device,
        modules: &[ModuleId],
        plans: &[Plan<'_>],
        filled: &[Filled],
        buffers: &mut Vec<Buffer>,
    ) -> Result<LaunchOutcome, LaunchFileRunError> {
        for (spec, contents) in self.buffers.iter().zip(filled) {
            let buffer = device.alloc(&spec.name.item, contents.size_bytes())?;
            buffers.push(buffer);
            if (contents.bytes.len() as u64) < contents.size_bytes() {
                device.memset(buffer, 0)?;
            }
            if !contents.bytes.is_empty() {
                device.write(buffer, 0, &contents.bytes)?;
            }
        }
        let scope = Contents { values: &self.values, buffers: filled };
        let mut outcome = LaunchOutcome::default();
        let mut images = Images::default();
        for plan in plans {
            for round in 0..plan.repeat {
                let launch = plan.numbers(&scope, round).map_err(|problem| self.error(vec![problem]))?;
                let values = plan.args(&scope, round, buffers).map_err(|problem| self.error(vec![problem]))?;
                let mut args = Vec::new();
                for (value, spec) in values.into_iter().zip(&plan.spec.args.item) {
                    args.push(images.arg(device, value).map_err(|error| match (error, spec) {
                        (DeviceError::Image(what), ArgSpec::Image(image)) => {
                            self.error(vec![Problem::new(image.span.clone(), what)])
                        }
                        (error, _) => error.into(),
                    })?);
                }
                device.launch(&LaunchRequest {
                    module: modules[plan.spec.module],
                    kernel: &plan.spec.kernel.item,
                    grid: launch.grid,
                    block: launch.block,
                    dynamic_shared_bytes: launch.shared_bytes,
                    args: &args,
                    registers: launch.registers,
                    stream: launch.stream,
                })?;
                outcome.launches += 1;
                plan.spec.swap.iter().for_each(|&(a, b)| buffers.swap(a, b));
            }
        }
        device.synchronize()?;
        for output in &self.outputs {
            self.output(device, output, &scope, buffers, &mut outcome)?;
            // An interrupted comparison has no meaning.
            if kit::stop::requested() {
                return Err(DeviceError::Interrupted.into());
            }
        }
        Ok(outcome)
    }

    fn output(
        &self,
        device: &mut dyn Device,
        spec: &OutputSpec,
        scope: &Contents<'_>,
        buffers: &[Buffer],
        outcome: &mut LaunchOutcome,
    ) -> Result<(), LaunchFileRunError> {
        let ty = scope.buffers[spec.buffer].ty;
        let name = &self.buffers[spec.buffer].name.item;
        let in_file = |problem| self.error(vec![problem]);
        let all = scope.length(spec.buffer);
        let count = optional(spec.count.as_ref(), scope, all, 0..=all).map_err(in_file)?;
        let mut bytes = vec![0; count as usize * ty.bytes()];
        device.read(buffers[spec.buffer], 0, &mut bytes)?;
        if let Some(print) = &spec.print {
            let shown = whole(print, scope, 0, 0..=u64::MAX).map_err(in_file)?;
            outcome.prints.push(data::listing(name, &bytes, ty, usize::try_from(shown).unwrap_or(usize::MAX)));
        }
        if let Some(target) = &spec.write {
            let path = self.beside(&target.item);
            write(&path, &data::encode(&path, &bytes, ty))
                .map_err(|source| LaunchFileRunError::Unwritten { path: path.clone(), source })?;
            outcome.written.push(path);
        }
        if let Some(compare) = &spec.compare {
            outcome.checks.push(self.compare(name, compare, &bytes, ty, scope).map_err(in_file)?);
        }
        Ok(())
    }

    fn compare(
        &self,
        name: &str,
        spec: &Compare,
        bytes: &[u8],
        ty: ScalarType,
        scope: &Contents<'_>,
    ) -> Result<Check, Problem> {
        let tolerance = |expr: &Option<Expr>| expr.as_ref().map_or(Ok(0.0), |expr| tolerance(expr, scope));
        let (absolute, relative) = (tolerance(&spec.absolute)?, tolerance(&spec.relative)?);
        let count = bytes.len() / ty.bytes();
        let expected: Vec<Number> = match &spec.against {
            // The expected value is rounded to the buffer's type, as a kernel's result is.
            Against::Formula(formula) => until_requested(0..count as u64)
                .map(|i| {
                    let value = formula.evaluate(scope, 0, i)?;
                    Ok(rounded(value, ty))
                })
                .collect::<Result<_, Problem>>()?,
            Against::File(path) => {
                let full = self.beside(&path.item);
                let wrong = |e: String| Problem::new(path.span.clone(), format!("{}: {e}", full.display()));
                let contents = kit::files::read_data(&full).map_err(|e| wrong(e.to_string()))?;
                let data = data::decode(&full, &contents, Some(ty)).map_err(wrong)?;
                data::numbers(&data.bytes, ty).map(|b| ty.decode(b)).collect()
            }
        };
        let got: Vec<_> = data::numbers(bytes, ty).map(|b| ty.decode(b)).collect();
        Ok(compare_numbers(name, &got, &expected, absolute, relative))
    }
}

/// Writes a file unless the program is asked to stop: the old one is then as it was.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    const BYTES_AT_A_TIME: usize = 4 << 20;
    let mut file = NewFile::create(path)?;
    for part in bytes.chunks(BYTES_AT_A_TIME) {
        kit::stop::check()?;
        file.write_all(part)?;
    }
    kit::stop::check()?;
    file.finish()
}

/// A number as a kernel's result of a type has it: too large a one is infinite.
fn rounded(value: Number, ty: ScalarType) -> Number {
    let infinite = || Number::Float(f64::INFINITY.copysign(value.as_f64()));
    let otherwise = || if ty.is_float() { infinite() } else { value };
    ty.encode(value).map_or_else(otherwise, |bytes| ty.decode(&bytes))
}

/// A tolerance of a comparison.
fn tolerance(expr: &Expr, scope: &dyn Scope) -> Result<f64, Problem> {
    let value = expr.evaluate(scope, 0, 0)?.as_f64();
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(Problem::new(expr.span.clone(), format!("this tolerance is {value}; it must be a finite number from 0 on")))
}

fn compare_numbers(name: &str, got: &[Number], expected: &[Number], absolute: f64, relative: f64) -> Check {
    let rule = match (absolute > 0.0, relative > 0.0) {
        (false, false) => "equal".to_owned(),
        (true, false) => format!("within {absolute:e}"),
        (false, true) => format!("within {relative:e} of the value"),
        (true, true) => format!("within {absolute:e} plus {relative:e} of the value"),
    };
    if got.len() != expected.len() {
        let values = |numbers: &[Number]| counted(numbers.len() as u64, "value");
        let message = (values(expected), values(got));
        return Check::by_rule(name, &rule, 1, |_| Some(message.clone()));
    }
    Check::by_rule(name, &rule, got.len(), |i| {
        let (g, e) = (got[i], expected[i]);
        let (x, y) = (g.as_f64(), e.as_f64());
        let same = g == e || x.is_nan() && y.is_nan() || (x - y).abs() <= absolute + relative * y.abs();
        (!same).then(|| (e.to_string(), g.to_string()))
    })
}

/// A launch that fits its kernel.
struct Plan<'a> {
    spec: &'a LaunchSpec,
    parameters: Vec<ParameterInfo>,
    repeat: u64,
}

/// A launch's numbers for one repetition.
struct Numbers {
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    registers: Registers,
    stream: u32,
}

fn optional(
    expr: Option<&Expr>,
    scope: &dyn Scope,
    default: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, Problem> {
    expr.map_or(Ok(default), |e| whole(e, scope, 0, range))
}

impl Plan<'_> {
    fn numbers(&self, scope: &dyn Scope, round: u64) -> Result<Numbers, Problem> {
        let dim3 = |sizes: &[Expr], most: u64| {
            let mut all = [1; 3];
            for (size, expr) in all.iter_mut().zip(sizes) {
                *size = whole(expr, scope, round, 1..=most)? as u32;
            }
            Ok(Dim3::new(all[0], all[1], all[2]))
        };
        let number = |expr: &Option<Expr>, least: u64, most: u32| match expr {
            Some(expr) => whole(expr, scope, round, least..=most.into()).map(|n| Some(n as u32)),
            None => Ok(None),
        };
        Ok(Numbers {
            grid: dim3(&self.spec.grid, MAX_GRID)?,
            block: dim3(&self.spec.block, 1024)?,
            shared_bytes: number(&self.spec.shared_bytes, 0, 1 << 30)?.unwrap_or(0),
            registers: number(&self.spec.registers, 1, 255)?.map_or(Registers::Estimated, Registers::Given),
            stream: number(&self.spec.stream, 0, u32::MAX)?.unwrap_or(0),
        })
    }

    fn args(&self, scope: &Contents<'_>, round: u64, buffers: &[Buffer]) -> Result<Vec<ArgValue>, Problem> {
        let pairs = self.spec.args.item.iter().zip(&self.parameters);
        pairs.map(|(arg, parameter)| arg_value(arg, parameter, scope, round, buffers)).collect()
    }
}

enum ArgValue {
    Bytes(Vec<u8>),
    Image(Image),
}

/// Images that the device has made, each once.
#[derive(Default)]
struct Images(Vec<(Image, u64)>);

impl Images {
    fn arg(&mut self, device: &mut dyn Device, value: ArgValue) -> Result<ArgBytes, DeviceError> {
        let image = match value {
            ArgValue::Bytes(bytes) => return Ok(ArgBytes::from_bytes(bytes)),
            ArgValue::Image(image) => image,
        };
        if let Some((_, object)) = self.0.iter().find(|(known, _)| *known == image) {
            return Ok((*object).into());
        }
        let object = device.image(&image)?;
        self.0.push((image, object));
        Ok(object.into())
    }
}

/// Checks an argument against its parameter, with its value for the first repetition.
fn check_arg(arg: &ArgSpec, parameter: &ParameterInfo, scope: &Contents<'_>) -> Result<(), Problem> {
    let anywhere: Vec<Buffer> = scope.buffers.iter().map(|b| Buffer { address: 0, bytes: b.size_bytes() }).collect();
    let bytes = match arg_value(arg, parameter, scope, 0, &anywhere)? {
        ArgValue::Bytes(bytes) => bytes.len(),
        ArgValue::Image(_) => size_of::<u64>(),
    };
    if bytes == parameter.bytes as usize {
        return Ok(());
    }
    let span = match arg {
        ArgSpec::Buffer { span, .. } => span,
        ArgSpec::Scalar { value, .. } => &value.span,
        ArgSpec::Bytes(bytes) => &bytes.span,
        ArgSpec::Image(image) => &image.span,
    };
    let what = match arg {
        ArgSpec::Buffer { .. } => "a buffer's address",
        ArgSpec::Image(_) => "a texture or surface",
        _ => "this argument",
    };
    let message = format!("{what} has {}, parameter `{}` {}", byte_count(bytes), parameter.name, described(parameter));
    Err(Problem::new(span.clone(), message))
}

fn described(parameter: &ParameterInfo) -> String {
    let bytes = byte_count(parameter.bytes as usize);
    match parameter.type_name.as_str() {
        "" => bytes,
        name => format!("{bytes} ({name})"),
    }
}

fn byte_count(bytes: usize) -> String {
    counted(bytes as u64, "byte")
}

fn arg_value(
    arg: &ArgSpec,
    parameter: &ParameterInfo,
    scope: &Contents<'_>,
    round: u64,
    buffers: &[Buffer],
) -> Result<ArgValue, Problem> {
    let bytes = match arg {
        ArgSpec::Image(spec) => return image_of(spec, scope, round, buffers[spec.buffer]).map(ArgValue::Image),
        ArgSpec::Bytes(bytes) => Ok(bytes.item.clone()),
        ArgSpec::Buffer { buffer, offset, .. } => {
            let length = scope.length(*buffer);
            let element = match offset {
                Some(expr) => whole(expr, scope, round, 0..=length)?,
                None => 0,
            };
            let address = buffers[*buffer].address + element * scope.buffers[*buffer].ty.bytes() as u64;
            Ok(address.to_le_bytes().to_vec())
        }
        ArgSpec::Scalar { value, ty } => {
            let number = value.evaluate(scope, round, 0)?;
            let ty = ty.or_else(|| type_of(parameter, number)).ok_or_else(|| {
                let message = format!(
                    "parameter `{}` has {}: say what this number is, as in {{ f32 = {number} }}",
                    parameter.name,
                    described(parameter)
                );
                Problem::new(value.span.clone(), message)
            })?;
            content::encode(value, number, ty)
        }
    };
    bytes.map(ArgValue::Bytes)
}

/// The image over `buffer` that `spec` describes, which must hold it.
fn image_of(spec: &ImageSpec, scope: &Contents<'_>, round: u64, buffer: Buffer) -> Result<Image, Problem> {
    let problem = |what: String| Problem::new(spec.span.clone(), what);
    let ty = scope.buffers[spec.buffer].ty;
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
        Some(expr) => whole(expr, scope, round, 1..=u32::MAX.into()).map(Some),
        None => Ok(None),
    };
    let elements = scope.length(spec.buffer);
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
    // What is smaller than a buffer fits.
    let size = [width, height.unwrap_or(1), depth.or(layers).unwrap_or(1)].map(|n| n as u32);
    let pitch = pitch * ty.bytes() as u64;
    let channels = u8::try_from(channels).unwrap_or(u8::MAX);
    Ok(Image { base: buffer.address, shape, size, pitch, channel, channels, sampler: spec.sampler })
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
