//! Runs traces of our own format.
//!
//! The model is the one that recorded them: what the warps did comes from the file, all else is as
//! in a live run. On the GPU and with the options of the recording, the figures are the same.

use crate::cores;
use crate::report::{RegisterSource, Report};
use crate::run::{Monitor, RunError, Setup};
use crate::session::{Expected, LaunchRecord, Session, check_fit, check_launches};
use crate::trace::{Remarks, Stop, check_architecture, conclude, plain};
use gpu::StreamId;
use sm::{Code, CoreSpec, TimingTable};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use trace::{Action, LaunchInfo, NativeShared, NativeStream, NativeTrace, Timing};
use workloads::Form;

/// Runs the trace of our own format at `path` on a GPU set up like `setup`.
pub(crate) fn run(setup: &Setup, path: &Path, monitor: &mut dyn Monitor) -> Result<Report, RunError> {
    let started = Instant::now();
    let input = |error: trace::TraceError| RunError::input(error.to_string());
    let trace = Arc::new(NativeTrace::open(path).map_err(input)?);
    let mut remarks = Remarks::default();
    let few = check_launches(trace.launches().len());
    few.map_err(|many| RunError::input(format!("{}: {many}", path.display())))?;
    let expected = check(&trace, setup, &mut remarks)?;
    let options = setup.core_options().map_err(RunError::input)?;
    if options.scalar.is_some() && !trace.contents.has_values {
        return Err(no_values(setup, path, "record it again with `warpwright trace --values`"));
    }
    let spec = |table| CoreSpec::new(&setup.gpu, table, options.clone()).map_err(|e| RunError::input(e.to_string()));
    let (ptx, sass) = (Arc::new(spec(TimingTable::Ptx)?), spec(TimingTable::Sass)?);
    let codes = codes(&trace, &ptx, &sass);
    let shared = NativeShared::new(trace.clone()).map_err(input)?;
    let engine = cores::build::<NativeStream>(setup, ptx.clone(), shared);
    let mut session = Session::new(engine.map_err(RunError::input)?, setup, Box::new(monitor));
    session.expected = Some(expected);
    let outcome = run_all(&mut session, &trace, &codes, setup.gpu.launch.host_copies_fill_l2);
    let mut report = session.summary(path.display().to_string(), ptx.scheduler_name(), started.elapsed().as_secs_f64());
    report.remarks = remarks.lines();
    conclude(outcome, report)
}

/// A scalar path looks at values, which the trace at `path` does not have.
pub(crate) fn no_values(setup: &Setup, path: &Path, remedy: &str) -> RunError {
    let (core, shown) = (&setup.core, path.display());
    RunError::input(format!("`{core}` looks at the values of operands, and `{shown}` has none; {remedy}"))
}

/// Does what was done, in the same order.
fn run_all(
    session: &mut Session<'_, NativeStream>,
    trace: &NativeTrace,
    codes: &[Arc<Code>],
    copies_fill_l2: bool,
) -> Result<(), Stop> {
    let mut launches = trace.launches().iter().zip(codes);
    for action in &trace.contents.actions {
        match *action {
            Action::Launch => {
                let Some((launch, code)) = launches.next() else { continue };
                let name = plain(code.program.name.clone());
                let form = match launch.timing {
                    Timing::Ptx => Form::Ptx,
                    Timing::Sass => Form::Sass,
                };
                let record = LaunchRecord { name, registers: RegisterSource::Given, code: form };
                session.make_room()?;
                session.launch(code.clone(), launch.shape, StreamId(launch.stream), record);
            }
            Action::Wait => wait(session)?,
            Action::CopyToDevice { address, bytes } => {
                wait(session)?;
                if copies_fill_l2 {
                    session.engine.copied_to_device(address, bytes);
                }
            }
        }
    }
    wait(session)
}

fn wait(session: &mut Session<'_, NativeStream>) -> Result<(), Stop> {
    if session.pending() > 0 {
        session.run()?;
    }
    Ok(())
}

/// The code of each launch; launches of one program share it.
fn codes(trace: &NativeTrace, ptx: &CoreSpec, sass: &CoreSpec) -> Vec<Arc<Code>> {
    let mut made: Vec<Option<Arc<Code>>> = vec![None; trace.contents.codes.len()];
    let code = |(index, launch): (usize, &LaunchInfo)| {
        let spec = match launch.timing {
            Timing::Ptx => ptx,
            Timing::Sass => sass,
        };
        let program = trace.code(index);
        made[launch.code as usize].get_or_insert_with(|| Arc::new(Code::new(program.clone(), spec))).clone()
    };
    trace.launches().iter().enumerate().map(code).collect()
}

/// Whether every launch can run on the GPU; if so, how much there is to do.
fn check(trace: &NativeTrace, setup: &Setup, remarks: &mut Remarks) -> Result<Expected, RunError> {
    let mut expected = Expected { kernels: trace.launches().len() as u32, ctas: 0 };
    for (index, launch) in trace.launches().iter().enumerate() {
        let name = plain(trace.code(index).name.clone());
        if launch.timing == Timing::Sass {
            check_architecture(&name, launch.architecture, setup, remarks).map_err(RunError::input)?;
        }
        check_fit(&setup.gpu, &launch.shape).map_err(|misfit| RunError::input(format!("{name}: {misfit}")))?;
        expected.ctas += launch.shape.ctas();
    }
    Ok(expected)
}
