//! The simulated GPUs of the devices, and waiting for their operations.

use crate::error::{Error, Result};
use crate::link::Link;
use crate::memory::HEAP_BYTES;
use crate::platform::{Device, Platform};
use crate::report::ProgramReport;
use crate::timeline::{OpId, Ran, Timeline, Until};
use crate::work::Call;
use isa::{Fault, FaultKind};
use lab::{Monitor, Progress, SimulatedDevice};
use std::ops::ControlFlow;
use workloads::DeviceError;

/// Event that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Nothing,
    /// An operation of a device.
    Op(usize, OpId),
    /// All operations of a device.
    Device(usize),
    /// An operation, or a microsecond.
    Query(usize, OpId),
    /// The end of half of a device's operations, of which there are too many.
    Room(usize),
}

/// How a wait continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is over.
    Done,
    /// A function of the host program has to be called, then [`Platform::called`].
    Call(usize, OpId, Call),
    /// Another thread has to return from a function of the host program, or the program has to store a value.
    Elsewhere,
}

/// Operations of a device that may be pending. Before it requests more the program waits, as with CUDA.
pub const MOST_PENDING: usize = 4096;

/// Ends a simulation when the user asks for it.
struct Stoppable;

impl Monitor for Stoppable {
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        if kit::stop::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Platform {
    /// The operations of a device; the simulated GPU is made at the first use.
    pub(crate) fn timeline(&mut self, device: usize) -> Result<&mut Timeline> {
        let Self { devices, host, origin, times_fills, .. } = self;
        let ordinal = device;
        let device = &mut devices[device];
        if device.timeline.is_none() {
            match SimulatedDevice::watched(&device.setup, Box::new(Stoppable)) {
                Ok(mut simulated) => {
                    simulated.memory().skip_addresses(HEAP_BYTES * ordinal as u64);
                    let (gpu, most) = (&device.setup.gpu, device.setup.gpu.launch.max_concurrent_kernels as usize);
                    let mut timeline = Timeline::new(simulated, Link::of(gpu), most, device.first_op);
                    timeline.times_fills = *times_fills;
                    device.timeline = Some(timeline);
                }
                Err(problem) => {
                    host.message(&problem.to_string());
                    return Err(Error::DEVICE_UNAVAILABLE);
                }
            }
        }
        let timeline = device.timeline.as_mut().ok_or(Error::DEVICE_UNAVAILABLE)?;
        timeline.origin = *origin;
        Ok(timeline)
    }

    /// Takes the simulated GPU of a device out of use: its figures go into the report, the next use makes a new one.
    pub(crate) fn retire(&mut self, device: usize) {
        if let Some(mut timeline) = self.devices[device].timeline.take() {
            self.devices[device].first_op = timeline.next_op();
            let grouping = self.by.map(|by| (by, &self.origins));
            self.notes.retire(device, &mut timeline, grouping);
        }
    }

    /// Event that a program waits for when it has requested too much.
    pub fn backlog(&self) -> Wait {
        let pending = |device: &Device| device.timeline.as_ref().map_or(0, Timeline::pending);
        self.devices.iter().position(|device| pending(device) > MOST_PENDING).map_or(Wait::Nothing, Wait::Room)
    }

    /// Simulates until a wait is over or the program has to do something.
    ///
    /// # Errors
    /// A kernel failed: the contexts of the device are broken.
    pub fn wait(&mut self, wait: Wait) -> Result<Step> {
        let (device, until) = match wait {
            Wait::Nothing => return Ok(Step::Done),
            Wait::Room(device) => (device, Until::AtMost(MOST_PENDING / 2)),
            Wait::Op(device, op) => (device, Until::Done(op)),
            Wait::Device(device) => (device, Until::AllDone),
            Wait::Query(device, op) => {
                let microsecond = self.devices[device].setup.gpu.clocks.core_mhz.ceil() as u64;
                (device, Until::DoneOr(op, self.timeline(device)?.now() + microsecond))
            }
        };
        let Some(timeline) = &mut self.devices[device].timeline else { return Ok(Step::Done) };
        match timeline.run(until, &*self.host) {
            Ok(Ran::Done) if self.has_failed(wait) => Err(Error::INVALID_VALUE),
            Ok(Ran::Done) => Ok(Step::Done),
            Ok(Ran::Call(op, call)) => Ok(Step::Call(device, op, call)),
            Ok(Ran::Elsewhere) => Ok(Step::Elsewhere),
            Ok(Ran::Stuck) => Err(self.fail(device, &DeviceError::Deadlock("operations wait for each other".into()))),
            Err(problem) => Err(self.fail(device, &problem)),
        }
    }

    /// Whether a copy that a wait includes could not reach memory of the program. Each wait learns it once.
    fn has_failed(&mut self, wait: Wait) -> bool {
        let (Wait::Op(device, _) | Wait::Query(device, _) | Wait::Device(device)) = wait else { return false };
        let Some(timeline) = &mut self.devices[device].timeline else { return false };
        match wait {
            Wait::Device(_) => timeline.any_failed(),
            Wait::Op(_, op) | Wait::Query(_, op) => timeline.take_failed(op),
            _ => false,
        }
    }

    /// A call that [`Platform::wait`] has asked for was made.
    pub fn called(&mut self, device: usize, op: OpId) {
        if let Some(timeline) = &mut self.devices[device].timeline {
            timeline.called(op);
        }
    }

    /// A device on which functions of the host program wait to be called.
    pub fn device_with_calls(&self) -> Option<usize> {
        self.devices.iter().position(|device| device.timeline.as_ref().is_some_and(Timeline::has_calls))
    }

    /// Whether an operation has ended.
    pub(crate) fn is_done(&self, device: usize, op: OpId) -> bool {
        self.devices[device].timeline.as_ref().is_none_or(|timeline| timeline.is_done(op))
    }

    /// Does what is left to do, and reports what the program did.
    pub fn finish(&mut self) -> ProgramReport {
        for index in 0..self.devices.len() {
            let Some(mut timeline) = self.devices[index].timeline.take() else { continue };
            // A function of the host program is not called any more.
            if let Err(problem) = timeline.run(Until::AllDone, &*self.host)
                && let Some(text) = failure(&problem)
            {
                self.host.message(&text);
                self.notes.faulted(text);
            }
            let grouping = self.by.map(|by| (by, &self.origins));
            self.notes.retire(index, &mut timeline, grouping);
        }
        std::mem::take(&mut self.notes).report()
    }

    /// Notes a failure on a device: its contexts are broken. Returns the error code.
    fn fail(&mut self, device: usize, problem: &DeviceError) -> Error {
        let error = code_of(problem);
        if let Some(text) = failure(problem) {
            self.host.message(&text);
            self.notes.faulted(text);
        }
        if let Some(timeline) = &mut self.devices[device].timeline {
            timeline.abandon();
        }
        let broken: Vec<u64> = self.contexts.iter().filter(|(_, c)| c.device == device).map(|(c, _)| c).collect();
        for context in broken {
            if let Ok(context) = self.contexts.get_mut(context) {
                context.broken = Some(error);
            }
        }
        error
    }
}

/// A failure on the device in words; `None` if the program or the user ends the simulation, as the report says.
fn failure(problem: &DeviceError) -> Option<String> {
    match problem {
        DeviceError::Interrupted if kit::stop::requested() => None,
        DeviceError::Interrupted => {
            Some("the simulation ended at the bound of --max-cycles before its kernels".to_owned())
        }
        problem => Some(problem.to_string()),
    }
}

/// The error code of a failure on the device.
fn code_of(problem: &DeviceError) -> Error {
    match problem {
        DeviceError::Fault(fault) => code_of_fault(fault),
        DeviceError::Deadlock(_) => Error::LAUNCH_TIMEOUT,
        DeviceError::Shape { .. } => Error::LAUNCH_OUT_OF_RESOURCES,
        DeviceError::OutOfMemory { .. } => Error::OUT_OF_MEMORY,
        _ => Error::LAUNCH_FAILED,
    }
}

fn code_of_fault(fault: &Fault) -> Error {
    match fault.kind {
        FaultKind::IllegalAddress => Error::ILLEGAL_ADDRESS,
        FaultKind::MisalignedAddress => Error::MISALIGNED_ADDRESS,
        FaultKind::Assert => Error::ASSERT,
        FaultKind::IllegalInstruction => Error::ILLEGAL_INSTRUCTION,
        FaultKind::InvalidPc => Error::INVALID_PC,
        FaultKind::StackOverflow => Error::HARDWARE_STACK_ERROR,
        FaultKind::Trap | FaultKind::Other => Error::LAUNCH_FAILED,
    }
}
