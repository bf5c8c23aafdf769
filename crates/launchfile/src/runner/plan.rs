//! Checks before the first launch: each launch against its kernel, and numbers for first rounds.

use crate::diagnostics::Problem;
use crate::expr::{Expr, Scope};
use crate::model::{ArgSpec, LaunchFile, LaunchSpec, LoopSpec, MOST_LOOPS, SetSpec, SetValue, Step};
use crate::scope::{Contents, Place, whole};
use crate::values::{Written, described, image_of};
use isa::Dim3;
use kit::text::counted;
use std::ops::RangeInclusive;
use workloads::device::{Device, MOST_LAUNCHES, ModuleId, ParameterInfo, ThreadRegisters};

/// Hardware limit on the first dimension of a grid; the others are smaller and the device knows.
const MAX_GRID: u64 = (1 << 31) - 1;

/// A step that is checked.
pub enum Planned<'a> {
    /// A launch.
    Launch(Plan<'a>),
    /// New contents of buffers.
    Set(&'a [SetSpec]),
    /// A loop over steps.
    Loop(&'a LoopSpec, Vec<Planned<'a>>),
}

/// A launch that fits its kernel.
pub struct Plan<'a> {
    /// The launch file.
    pub spec: &'a LaunchSpec,
    parameters: Vec<ParameterInfo>,
}

/// A launch's numbers for one repetition.
#[allow(missing_docs, reason = "the names say it")]
pub struct Numbers {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared_bytes: u32,
    pub registers: ThreadRegisters,
    pub stream: u32,
}

/// Checks the steps of `file` for their first round and what references are bound to, and reports all problems.
pub fn plan<'a>(
    file: &'a LaunchFile,
    device: &dyn Device,
    modules: &[ModuleId],
    scope: &Contents<'_>,
) -> Result<Vec<Planned<'a>>, Vec<Problem>> {
    let mut planner = Planner { device, modules, scope, depth: 0, launches: 0, problems: Vec::new() };
    let planned = planner.steps(&file.steps);
    let place = Place { scope, rounds: &[], element: 0 };
    planner.problems.extend(file.references.iter().filter_map(|reference| image_of(&reference.image, place).err()));
    if planner.problems.is_empty() { Ok(planned) } else { Err(planner.problems) }
}

struct Planner<'a> {
    device: &'a dyn Device,
    modules: &'a [ModuleId],
    scope: &'a Contents<'a>,
    /// Loops around the present step.
    depth: usize,
    /// Launches outside loops so far.
    launches: u64,
    problems: Vec<Problem>,
}

/// First rounds, as many as loops can be nested with a launch that repeats.
const FIRST: [u64; MOST_LOOPS + 1] = [0; MOST_LOOPS + 1];

impl Planner<'_> {
    fn steps<'s>(&mut self, steps: &'s [Step]) -> Vec<Planned<'s>> {
        steps.iter().filter_map(|step| self.step(step)).collect()
    }

    fn step<'s>(&mut self, step: &'s Step) -> Option<Planned<'s>> {
        match step {
            Step::Launch(spec) => self.launch(spec).map(Planned::Launch),
            Step::Set(sets) => {
                sets.iter().for_each(|set| self.set(set));
                Some(Planned::Set(sets))
            }
            Step::Loop(spec) => {
                for expr in spec.repeat.iter().chain(&spec.at_most) {
                    let checked = whole(expr, self.scope, &FIRST[..self.depth], 0..=MOST_LAUNCHES);
                    self.problems.extend(checked.err());
                }
                self.depth += 1;
                let steps = self.steps(&spec.steps);
                self.depth -= 1;
                Some(Planned::Loop(spec, steps))
            }
        }
    }

    /// Checks a launch against its kernel, and its numbers for the first repetition.
    fn launch<'s>(&mut self, spec: &'s LaunchSpec) -> Option<Plan<'s>> {
        let before = self.problems.len();
        let repeat = optional(spec.repeat.as_ref(), self.scope, &FIRST[..self.depth], 1, 0..=MOST_LAUNCHES);
        let repeat = repeat.map_err(|problem| self.problems.push(problem)).unwrap_or(0);
        let parameters = self.device.parameters(self.modules[spec.module], &spec.kernel.item);
        let parameters =
            parameters.map_err(|e| self.problems.push(Problem::new(spec.kernel.span.clone(), e.to_string()))).ok()?;
        self.problems.extend(check_count(spec, &parameters));
        let place = Place { scope: self.scope, rounds: &FIRST[..self.depth + 1], element: 0 };
        for (arg, parameter) in spec.args.item.iter().zip(&parameters) {
            self.problems.extend(check_arg(arg, parameter, place).err());
        }
        spec.set.iter().for_each(|set| self.set(set));
        let plan = Plan { spec, parameters };
        if repeat > 0 && self.problems.len() == before {
            self.problems.extend(plan.numbers(place).err());
        }
        if self.depth == 0 {
            self.count(spec, repeat);
        }
        Some(plan)
    }

    fn count(&mut self, spec: &LaunchSpec, repeat: u64) {
        self.launches += repeat;
        let all = self.launches;
        if all > MOST_LAUNCHES && all - repeat <= MOST_LAUNCHES {
            let message = format!("with this one there are {all} launches; {MOST_LAUNCHES} are the maximum of a run");
            self.problems.push(Problem::new(spec.kernel.span.clone(), message));
        }
    }

    /// Checks the elements of `set` that are listed, or the first.
    fn set(&mut self, set: &SetSpec) {
        let place = Place { scope: self.scope, rounds: &FIRST[..self.depth + 1], element: 0 };
        let ty = self.scope.buffers[set.buffer].ty;
        let elements = match &set.value {
            SetValue::Fill { value, .. } => std::slice::from_ref(value),
            SetValue::Values(values) => values,
            SetValue::Copy { from, .. } => {
                let of = self.scope.buffers[*from].ty;
                if of.bytes() != ty.bytes() {
                    let message = format!("elements of type {} cannot be copied to {}", of.name(), ty.name());
                    self.problems.push(Problem::new(set.span.clone(), message));
                }
                &[]
            }
        };
        let mut written = Written::default();
        let checked = elements.iter().try_for_each(|element| written.element(element, ty, place));
        self.problems.extend(checked.err());
    }
}

fn check_count(spec: &LaunchSpec, parameters: &[ParameterInfo]) -> Option<Problem> {
    let args = &spec.args;
    if parameters.len() == args.item.len() {
        return None;
    }
    // Machine code knows sizes only.
    let ty = |p: &ParameterInfo| match p.type_name.as_str() {
        "" => counted(p.bytes.into(), "byte"),
        name => name.to_owned(),
    };
    let types: Vec<String> = parameters.iter().map(ty).collect();
    let message = format!(
        "kernel `{}` takes {} ({}), not {}",
        spec.kernel.item,
        counted(parameters.len() as u64, "argument"),
        types.join(", "),
        args.item.len()
    );
    Some(Problem::new(args.span.clone(), message))
}

/// Checks an argument against its parameter, with its value for the first repetition.
fn check_arg(arg: &ArgSpec, parameter: &ParameterInfo, place: Place<'_>) -> Result<(), Problem> {
    let mut written = Written::default();
    written.argument(arg, Some(parameter), place)?;
    written.addresses.iter().try_for_each(|address| address.check(place.scope))?;
    if written.bytes.len() == parameter.bytes as usize {
        return Ok(());
    }
    let (span, what) = match arg {
        ArgSpec::Address(address) => (&address.span, "a buffer's address"),
        ArgSpec::Image(image) => (&image.span, "a texture or surface"),
        ArgSpec::Struct(structure) => (&structure.span, "this structure"),
        ArgSpec::Scalar { value, .. } => (&value.span, "this argument"),
        ArgSpec::Array(values, _) => (&values.span, "this argument"),
        ArgSpec::Bytes(bytes) => (&bytes.span, "this argument"),
    };
    let bytes = counted(written.bytes.len() as u64, "byte");
    let message = format!("{what} has {bytes}, parameter `{}` {}", parameter.name, described(parameter));
    Err(Problem::new(span.clone(), message))
}

/// A whole number, or a default.
pub fn optional(
    expr: Option<&Expr>,
    scope: &dyn Scope,
    rounds: &[u64],
    default: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, Problem> {
    expr.map_or(Ok(default), |e| whole(e, scope, rounds, range))
}

impl Plan<'_> {
    /// Its numbers.
    pub fn numbers(&self, place: Place<'_>) -> Result<Numbers, Problem> {
        let dim3 = |sizes: &[Expr], most: u64| {
            let mut all = [1; 3];
            for (size, expr) in all.iter_mut().zip(sizes) {
                *size = whole(expr, place.scope, place.rounds, 1..=most)? as u32;
            }
            Ok(Dim3::new(all[0], all[1], all[2]))
        };
        let number = |expr: &Option<Expr>, least: u64, most: u32| match expr {
            Some(expr) => whole(expr, place.scope, place.rounds, least..=most.into()).map(|n| Some(n as u32)),
            None => Ok(None),
        };
        Ok(Numbers {
            grid: dim3(&self.spec.grid, MAX_GRID)?,
            block: dim3(&self.spec.block, 1024)?,
            shared_bytes: number(&self.spec.shared_bytes, 0, 1 << 30)?.unwrap_or(0),
            registers: number(&self.spec.registers, 1, 255)?.map_or(ThreadRegisters::Estimated, ThreadRegisters::Given),
            stream: number(&self.spec.stream, 0, u32::MAX)?.unwrap_or(0),
        })
    }

    /// Its arguments, addresses and images missing.
    pub fn args(&self, place: Place<'_>) -> Result<Vec<Written>, Problem> {
        let pairs = self.spec.args.item.iter().zip(&self.parameters);
        let one = |(arg, parameter)| {
            let mut written = Written::default();
            written.argument(arg, Some(parameter), place).map(|()| written)
        };
        pairs.map(one).collect()
    }
}
