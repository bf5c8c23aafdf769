//! Executes bundled workloads without time, for rates and profiles of the interpreter:
//! `rates [ptx|sass] [small|medium|large] WORKLOAD…`. Prints warp instructions and the processor time of their launches.

#[path = "../tests/host.rs"]
mod host;

use exec::{DeviceState, Launch, Observer};
use host::{Host, Runs};
use isa::DynInst;
use kit::LaneMask;
use std::ops::ControlFlow;
use std::time::Instant;
use workloads::device::DeviceError;
use workloads::{Form, Size};

/// Looks at nothing, as `--time none`.
struct Blind;

impl Observer for Blind {
    const IS_BLIND: bool = true;

    fn see(&mut self, _: LaneMask, _: &DynInst) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

struct Rates {
    state: DeviceState,
    launches: u64,
    warp_instructions: u64,
    seconds: f64,
    sm_version: u32,
}

/// Processor time so far, where the system says it; else the time of day.
fn seconds(begun: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    nanoseconds.map_or_else(|| begun.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

#[inline(never)]
fn execute(state: &mut DeviceState, launch: &Launch) -> Result<u64, DeviceError> {
    let ran = exec::run_ctas(state, launch, 0..launch.grid.volume(), &mut Blind);
    Ok(ran.map_err(DeviceError::Fault)?.map_or(0, |stats| stats.warp_instructions))
}

impl Runs for Rates {
    fn state(&mut self) -> &mut DeviceState {
        &mut self.state
    }

    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        let begun = Instant::now();
        let before = seconds(begun);
        self.warp_instructions += execute(&mut self.state, launch)?;
        self.seconds += seconds(begun) - before;
        self.launches += 1;
        Ok(())
    }

    fn sm_version(&self) -> u32 {
        self.sm_version
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [form, size, names @ ..] = &args[..] else {
        return Err("rates [ptx|sass] [small|medium|large] WORKLOAD…".into());
    };
    let form = if form == "sass" { Form::Sass } else { Form::Ptx };
    let size = Size::ALL.into_iter().find(|known| known.name() == size).ok_or("no such size")?;
    for name in names {
        let workload = workloads::suite::find(name)?;
        let newest = workload.module.cubins().map(|cubin| cubin.sm).max().unwrap_or(0);
        let sm_version = if form == Form::Sass { newest } else { 0 };
        let rates = Rates { state: host::memory(), launches: 0, warp_instructions: 0, seconds: 0.0, sm_version };
        let mut device = Host::from(rates);
        workload.run(&mut device, form, &workload.params(size, &[])?, 1)?;
        let Rates { launches, warp_instructions, seconds, .. } = device.runs;
        let rate = warp_instructions as f64 / seconds / 1e6;
        println!(
            "{name:12} {launches:5} launches {warp_instructions:11} warp instructions {seconds:7.3} s {rate:6.1} M/s"
        );
    }
    Ok(())
}
