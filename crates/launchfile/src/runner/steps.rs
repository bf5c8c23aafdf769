//! Carries out launches, new contents of buffers, and loops.

use super::outcome::{LaunchFileRunError, LaunchOutcome, refused};
use super::plan::{Plan, Planned, optional};
use crate::diagnostics::{LaunchFileError, Problem};
use crate::expr::{Expr, Scope};
use crate::model::{ArgSpec, Element, LaunchFile, LoopSpec, SetSpec, SetValue};
use crate::scope::{ADDRESS_BYTES, Contents, Filled, Place, write_addresses};
use crate::values::{Written, image_of};
use isa::Image;
use kit::text::counted;
use std::ops::Range;
use workloads::device::{ArgBytes, Buffer, Device, DeviceError, LaunchRequest, MOST_LAUNCHES, ModuleId};
use workloads::element::{Number, ScalarType};

/// Bytes of a `[[set]]` that the host makes at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// A launch file that is being carried out.
pub struct Running<'a> {
    file: &'a LaunchFile,
    device: &'a mut dyn Device,
    modules: &'a [ModuleId],
    scope: &'a Contents<'a>,
    /// The memory that each buffer's name means now.
    buffers: Vec<Buffer>,
    /// Images that the device has made, each once.
    images: Vec<(Image, u64)>,
    /// Binding of each reference.
    bound: Vec<Option<Image>>,
    /// Repetitions of each loop, outermost first.
    rounds: Vec<u64>,
    /// Rounds of all loops.
    rounds_made: u64,
    outcome: LaunchOutcome,
}

impl<'a> Running<'a> {
    /// Nothing is done yet.
    pub fn new(
        file: &'a LaunchFile,
        device: &'a mut dyn Device,
        modules: &'a [ModuleId],
        scope: &'a Contents<'a>,
        buffers: Vec<Buffer>,
    ) -> Self {
        Self {
            file,
            device,
            modules,
            scope,
            buffers,
            images: Vec::new(),
            bound: vec![None; file.references.len()],
            rounds: Vec::new(),
            rounds_made: 0,
            outcome: LaunchOutcome::default(),
        }
    }

    /// Waits for the launches; gives the memory that each buffer's name means at the end.
    pub fn end(self) -> Result<(Vec<Buffer>, LaunchOutcome), DeviceError> {
        self.device.synchronize()?;
        Ok((self.buffers, self.outcome))
    }

    fn refused(&self, problem: Problem) -> LaunchFileRunError {
        refused(self.file, problem)
    }

    /// Carries out steps in order.
    pub fn steps(&mut self, steps: &[Planned<'_>]) -> Result<(), LaunchFileRunError> {
        steps.iter().try_for_each(|step| match step {
            Planned::Launch(plan) => self.launches(plan),
            Planned::Set(sets) => self.set_all(sets),
            Planned::Loop(spec, steps) => self.repeat(spec, steps),
        })
    }

    fn repeat(&mut self, spec: &LoopSpec, steps: &[Planned<'_>]) -> Result<(), LaunchFileRunError> {
        let most = spec.repeat.as_ref().or(spec.at_most.as_ref());
        let most = optional(most, self.scope, &self.rounds, MOST_LAUNCHES, 0..=MOST_LAUNCHES);
        let most = most.map_err(|problem| self.refused(problem))?;
        for round in 0..most {
            if kit::stop::requested() {
                return Err(DeviceError::Interrupted.into());
            }
            self.rounds_made += 1;
            if self.rounds_made > MOST_LAUNCHES {
                let message = format!("the loops have made {MOST_LAUNCHES} rounds, the maximum of a run");
                return Err(self.refused(Problem::new(spec.span.clone(), message)));
            }
            self.rounds.push(round);
            self.steps(steps)?;
            spec.swap.iter().for_each(|&(a, b)| self.buffers.swap(a, b));
            let again = spec.condition.as_ref().map_or(Ok(true), |condition| self.holds(condition))?;
            self.rounds.pop();
            if !again {
                return Ok(());
            }
        }
        match &spec.condition {
            Some(condition) if spec.repeat.is_none() => Err(self.endless(condition, most)),
            _ => Ok(()),
        }
    }

    fn endless(&self, condition: &Expr, rounds: u64) -> LaunchFileRunError {
        let message = format!("this still holds after {}, `at_most` of the loop", counted(rounds, "round"));
        let problem = Problem::new(condition.span.clone(), message);
        LaunchFileRunError::Endless(Box::new(LaunchFileError::new(&self.file.path, &self.file.text, vec![problem])))
    }

    /// Whether a condition holds over the present contents of buffers.
    fn holds(&mut self, condition: &Expr) -> Result<bool, LaunchFileRunError> {
        let mut present = Present { first: self.scope, read: Vec::new() };
        for index in condition.buffers() {
            let (buffer, ty) = (self.buffers[index], self.scope.buffers[index].ty);
            let mut bytes = vec![0; buffer.bytes as usize];
            self.device.read(buffer, 0, &mut bytes)?;
            present.read.push((index, Filled::new(ty, bytes)));
        }
        let value = condition.evaluate(&present, &self.rounds, 0);
        Ok(value.map_err(|problem| self.refused(problem))?.as_f64() != 0.0)
    }

    fn launches(&mut self, plan: &Plan<'_>) -> Result<(), LaunchFileRunError> {
        let spec = plan.spec;
        let repeat = optional(spec.repeat.as_ref(), self.scope, &self.rounds, 1, 0..=MOST_LAUNCHES);
        // Without repetitions of its own, its round is the round of the loop that it is in.
        let own = spec.repeat.is_some() || self.rounds.is_empty();
        for round in 0..repeat.map_err(|problem| self.refused(problem))? {
            self.rounds.extend(own.then_some(round));
            self.launch(plan)?;
            if own {
                self.rounds.pop();
            }
        }
        Ok(())
    }

    fn launch(&mut self, plan: &Plan<'_>) -> Result<(), LaunchFileRunError> {
        let spec = plan.spec;
        if self.outcome.launches == MOST_LAUNCHES {
            let message = format!("the loops have made {MOST_LAUNCHES} launches, the maximum of a run");
            return Err(self.refused(Problem::new(spec.kernel.span.clone(), message)));
        }
        self.set_all(&spec.set)?;
        self.bind()?;
        let place = Place { scope: self.scope, rounds: &self.rounds, element: 0 };
        let launch = plan.numbers(place).map_err(|problem| refused(self.file, problem))?;
        let values = plan.args(place).map_err(|problem| refused(self.file, problem))?;
        let mut args = Vec::new();
        for (value, arg) in values.into_iter().zip(&spec.args.item) {
            args.push(self.argument(value, arg)?);
        }
        self.device.launch(&LaunchRequest {
            module: self.modules[spec.module],
            kernel: &spec.kernel.item,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared_bytes: launch.shared_bytes,
            args: &args,
            registers: launch.registers,
            stream: launch.stream,
        })?;
        self.outcome.launches += 1;
        spec.swap.iter().for_each(|&(a, b)| self.buffers.swap(a, b));
        Ok(())
    }

    /// An argument with its addresses and images.
    fn argument(&mut self, mut value: Written, arg: &ArgSpec) -> Result<ArgBytes, LaunchFileRunError> {
        let checked = value.addresses.iter().try_for_each(|address| address.check(self.scope));
        checked.map_err(|problem| self.refused(problem))?;
        write_addresses(&mut value.bytes, &value.addresses, self.scope, &self.buffers);
        for (at, buffer, image) in value.images {
            let image = Image { base: self.buffers[buffer].address, ..image };
            let object = self.image(&image).map_err(|error| match (error, arg) {
                (DeviceError::Image(what), ArgSpec::Image(spec)) => self.refused(Problem::new(spec.span.clone(), what)),
                (DeviceError::Image(what), ArgSpec::Struct(spec)) => {
                    self.refused(Problem::new(spec.span.clone(), what))
                }
                (error, _) => error.into(),
            })?;
            value.bytes[at..at + ADDRESS_BYTES].copy_from_slice(&object.to_le_bytes());
        }
        Ok(ArgBytes::from_bytes(value.bytes))
    }

    /// Binds references to the memory that the names of their buffers mean now.
    fn bind(&mut self) -> Result<(), LaunchFileRunError> {
        let file = self.file;
        for (index, spec) in file.references.iter().enumerate() {
            let place = Place { scope: self.scope, rounds: &[], element: 0 };
            let image = image_of(&spec.image, place).map_err(|problem| self.refused(problem))?;
            let image = Image { base: self.buffers[spec.image.buffer].address, ..image };
            if self.bound[index] == Some(image) {
                continue;
            }
            let object = self.image(&image);
            let bound =
                object.and_then(|object| self.device.bind_image(self.modules[spec.module], &spec.name.item, object));
            bound.map_err(|error| match error {
                DeviceError::Image(what) => self.refused(Problem::new(spec.image.span.clone(), what)),
                DeviceError::UnknownReference { .. } => {
                    self.refused(Problem::new(spec.name.span.clone(), error.to_string()))
                }
                error => error.into(),
            })?;
            self.bound[index] = Some(image);
        }
        Ok(())
    }

    fn image(&mut self, image: &Image) -> Result<u64, DeviceError> {
        if let Some((_, object)) = self.images.iter().find(|(known, _)| known == image) {
            return Ok(*object);
        }
        let object = self.device.image(image)?;
        self.images.push((*image, object));
        Ok(object)
    }

    fn set_all(&mut self, sets: &[SetSpec]) -> Result<(), LaunchFileRunError> {
        sets.iter().try_for_each(|set| self.set(set))
    }

    fn set(&mut self, set: &SetSpec) -> Result<(), LaunchFileRunError> {
        let buffer = self.buffers[set.buffer];
        let each = self.scope.buffers[set.buffer].ty.bytes() as u64;
        let length = buffer.bytes / each;
        let at = self.whole(set.at.as_ref(), 0, length)?;
        match &set.value {
            SetValue::Values(values) => {
                if values.len() as u64 > length - at {
                    let message = format!(
                        "{} from element {at} on do not fit the {length} of the buffer",
                        counted(values.len() as u64, "value")
                    );
                    return Err(self.refused(Problem::new(set.span.clone(), message)));
                }
                self.write(set, values, at..at + values.len() as u64)
            }
            SetValue::Fill { value, count } => {
                let count = self.whole(count.as_ref(), length - at, length - at)?;
                self.write(set, std::slice::from_ref(value), at..at + count)
            }
            SetValue::Copy { from, offset, count } => {
                let source = self.buffers[*from];
                let there = source.bytes / each;
                let offset = self.whole(offset.as_ref(), 0, there)?;
                let most = (there - offset).min(length - at);
                let count = self.whole(count.as_ref(), most, most)?;
                let mut bytes = vec![0; (count * each) as usize];
                self.device.read(source, offset * each, &mut bytes)?;
                Ok(self.device.write(buffer, at * each, &bytes)?)
            }
        }
    }

    fn whole(&self, expr: Option<&Expr>, default: u64, most: u64) -> Result<u64, LaunchFileRunError> {
        optional(expr, self.scope, &self.rounds, default, 0..=most).map_err(|problem| self.refused(problem))
    }

    /// Writes elements: one of `values` each, the last also for those that follow.
    fn write(&mut self, set: &SetSpec, values: &[Element], range: Range<u64>) -> Result<(), LaunchFileRunError> {
        let ty = self.scope.buffers[set.buffer].ty;
        let each = ty.bytes() as u64;
        let same = matches!(values, [Element::Number(expr)] if !expr.uses_element());
        let mut written = Written::default();
        let mut from = range.start;
        while from < range.end {
            let to = range.end.min(from + CHUNK_BYTES / each);
            // One value for all elements is computed for the first chunk only.
            if !same || from == range.start {
                written = self.elements(values, ty, from..to, range.start)?;
            }
            self.device.write(
                self.buffers[set.buffer],
                from * each,
                &written.bytes[..((to - from) * each) as usize],
            )?;
            if kit::stop::requested() {
                return Err(DeviceError::Interrupted.into());
            }
            from = to;
        }
        Ok(())
    }

    /// The bytes of elements; `values` are for those from `start` on.
    fn elements(
        &self,
        values: &[Element],
        ty: ScalarType,
        range: Range<u64>,
        start: u64,
    ) -> Result<Written, LaunchFileRunError> {
        let mut written = Written::default();
        let made = range.into_iter().try_for_each(|element| {
            let value = &values[values.len().min((element - start) as usize + 1) - 1];
            written.element(value, ty, Place { scope: self.scope, rounds: &self.rounds, element })
        });
        made.map_err(|problem| self.refused(problem))?;
        let checked = written.addresses.iter().try_for_each(|address| address.check(self.scope));
        checked.map_err(|problem| self.refused(problem))?;
        write_addresses(&mut written.bytes, &written.addresses, self.scope, &self.buffers);
        Ok(written)
    }
}

/// Present contents of some buffers.
struct Present<'a> {
    first: &'a Contents<'a>,
    read: Vec<(usize, Filled)>,
}

impl Present<'_> {
    fn of(&self, buffer: usize) -> Option<&Filled> {
        self.read.iter().find(|(index, _)| *index == buffer).map(|(_, filled)| filled)
    }
}

impl Scope for Present<'_> {
    fn value(&self, slot: usize) -> Number {
        self.first.value(slot)
    }
    fn length(&self, buffer: usize) -> u64 {
        self.of(buffer).map_or_else(|| self.first.length(buffer), |filled| filled.length)
    }
    fn element(&self, buffer: usize, index: u64) -> Option<Number> {
        self.of(buffer)?.element(index)
    }
}
