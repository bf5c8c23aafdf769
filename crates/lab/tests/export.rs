//! A recording of a live run replays as the same run.

use isa::{Access, CtaSlot, DynInst, KernelId, OperandValues, Space, StepContext, WarpSlot, WarpStream};
use lab::{Compression, Export, HostThreads, Job, Report, Setup, TraceFormat, Unattended, export, run};
use launchfile::Overrides;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use trace::{NativeShared, NativeStream, NativeTrace};
use workloads::Form;

/// Loops, divergence, shared memory, atomics, asynchronous copies, matrix units, stencils, textures.
const WORKLOADS: [&str; 10] =
    ["vectoradd", "matmul", "bfs", "reduction", "histogram", "asynccopy", "wmma", "hotspot", "imagefilter", "spmv"];

fn setup(gpu: &str) -> Setup {
    Setup { max_cycles: Some(50_000_000), core: lab::CORE_OF_TRACES.into(), ..Setup::new(config::load(gpu).unwrap()) }
}

fn job(name: &str) -> Job {
    Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 3 }
}

fn replayed(setup: &Setup, path: &Path) -> Report {
    let job = Job::Trace { path: path.to_owned(), concurrent_streams: false };
    run(setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn exported(setup: &Setup, name: &str, folder: &Path, format: TraceFormat) -> Export {
    export(setup, &job(name), folder, format, false, &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Recording, which is done in order, changes nothing, and a native trace gives every figure again, under
/// `core` too.
fn native_round_trip(gpu: &str, code: Form, core: &str) {
    let in_order = Setup { code, ..setup(gpu) };
    let setup = Setup { core: core.into(), ..in_order.clone() };
    for name in WORKLOADS {
        let live = run(&setup, &job(name), &mut Unattended).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let recorded = exported(&in_order, name, folder.path(), TraceFormat::Native { values: false });
        if setup.core == in_order.core {
            assert_eq!(recorded.report.kernels, live.kernels, "{name} on {gpu}: recording changes the run");
        }
        let again = replayed(&setup, &recorded.path);
        assert_eq!(again.total, live.total, "{name} on {gpu}");
        assert_eq!(again.kernels.len(), live.kernels.len(), "{name} on {gpu}");
        for (again, live) in again.kernels.iter().zip(&live.kernels) {
            assert_eq!(again.statistics, live.statistics, "{name} on {gpu}, launch {}", live.launch);
            assert_eq!((again.start_cycle, &again.name), (live.start_cycle, &live.name), "{name} on {gpu}");
        }
        let written = recorded.written;
        assert_eq!(written.warp_instructions as f64, live.total.number("warp_instructions"), "{name} on {gpu}");
        assert_eq!(written.thread_instructions as f64, live.total.number("thread_instructions"), "{name} on {gpu}");
    }
}

#[test]
fn a_native_trace_runs_as_the_live_run_did_on_rtx2060s() {
    native_round_trip("rtx2060s", Form::Ptx, "inorder");
}

#[test]
fn a_native_trace_runs_as_the_live_run_did_on_v100() {
    native_round_trip("v100", Form::Ptx, "ghost");
}

#[test]
fn a_native_trace_of_machine_code_runs_as_the_live_run_did_on_rtx3070() {
    native_round_trip("rtx3070", Form::Sass, "inorder");
}

/// It issues by what the file has of control bits, operand positions and constants.
#[test]
fn a_native_trace_of_machine_code_runs_as_the_live_run_did_on_the_modern_core() {
    native_round_trip("rtx3070", Form::Sass, "modern");
}

/// Which CTA's host thread comes first does not show in the file.
#[test]
fn a_trace_is_the_same_file_for_any_number_of_host_threads() {
    for name in ["vectoradd", "histogram", "bfs"] {
        let bytes = |threads| {
            let folder = tempfile::tempdir().unwrap();
            let recorded = Setup { threads, ..setup("rtx2060s") };
            let format = TraceFormat::Native { values: false };
            std::fs::read(exported(&recorded, name, folder.path(), format).path).unwrap()
        };
        let alone = bytes(HostThreads::new(1));
        for threads in 1..=4 {
            assert!(bytes(HostThreads::new(threads).shuffled(threads as u64)) == alone, "{name}, {threads} threads");
        }
    }
}

/// SOCGPU looks at where lanes that are apart meet again.
/// More launches than may wait at a time, in two streams: the host waits at the same places.
#[test]
fn a_native_trace_of_many_launches_runs_as_the_live_run_did() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";
    let launch = |stream: u32, repeat: u32| {
        format!("[[launch]]\nkernel = \"k\"\ngrid = 3\nblock = 64\nargs = []\nstream = {stream}\nrepeat = {repeat}\n")
    };
    let path = folder.path().join("k.toml");
    std::fs::write(folder.path().join("k.ptx"), kernel).unwrap();
    std::fs::write(&path, format!("module = \"k.ptx\"\n{}{}", launch(0, 1500), launch(1, 700))).unwrap();
    let (setup, job) = (setup("rtx2060s"), Job::LaunchFile { path, overrides: Overrides::default() });
    let live = run(&setup, &job, &mut Unattended).unwrap();
    let native = TraceFormat::Native { values: false };
    let recorded = export(&setup, &job, folder.path(), native, false, &mut Unattended).unwrap();
    let again = replayed(&setup, &recorded.path);
    let starts = |report: &Report| report.kernels.iter().map(|k| (k.launch, k.start_cycle)).collect::<Vec<_>>();
    assert_eq!(starts(&live).len(), 2200);
    assert_eq!(starts(&recorded.report), starts(&live));
    assert_eq!(starts(&again), starts(&live));
    assert_eq!(again.total, live.total);
}

#[test]
fn a_native_trace_says_where_lanes_meet_again() {
    native_round_trip("v100", Form::Ptx, "socgpu");
}

/// The recorded values explain what the instructions did: the guard holds in the lanes that execute, and
/// addresses lie as far from the base register in each lane. Timing of the replay does not change.
fn values_round_trip(name: &str, code: Form) -> (u64, u64) {
    let setup = Setup { code, ..setup("rtx3070") };
    let folder = tempfile::tempdir().unwrap();
    let recorded = exported(&setup, name, folder.path(), TraceFormat::Native { values: true });
    assert_eq!(replayed(&setup, &recorded.path).total, recorded.report.total, "{name}");
    let trace = Arc::new(NativeTrace::open(&recorded.path).unwrap());
    let mut shared = NativeShared::new(trace.clone()).unwrap();
    let (mut guards, mut bases) = (0, 0);
    let context = StepContext { now: 0, sm: 0 };
    for (launch, info) in trace.launches().iter().enumerate() {
        let program = trace.code(launch);
        let slots: Vec<WarpSlot> = (0..info.shape.warps() as usize).map(WarpSlot::from).collect();
        let mut stream = NativeStream::new();
        let (mut out, mut values) = (DynInst::default(), OperandValues::default());
        for cta in 0..info.shape.grid.volume() {
            let position = info.shape.grid.position(cta);
            stream.prepare_cta(&mut shared, KernelId::from(launch), position);
            stream.start_cta(&shared, KernelId::from(launch), position, CtaSlot(0), &slots);
            for &warp in &slots {
                while stream.next_pc(warp).is_some() {
                    stream.step_with_values(&shared, warp, context, &mut out, &mut values).unwrap();
                    let (inst, text) = (program.inst(out.pc), program.text(out.pc));
                    let srcs = program.srcs(inst);
                    assert_eq!(values.columns.len(), srcs.len(), "{text}");
                    if text.starts_with('@') {
                        let guard = values.columns.last().unwrap();
                        let holds = (0..32).fold(0, |mask, lane| mask | guard[lane] << lane);
                        let holds = if text.starts_with("@!") { !holds } else { holds };
                        assert_eq!(holds & out.active, out.mask, "{text}");
                        guards += 1;
                    }
                    // A load whose only registers are the two words of its address, and perhaps its guard.
                    let is_plain = inst.mem.is_some_and(|m| m.space == Space::Global && m.access == Access::Load)
                        && srcs.iter().filter(|r| program.regs.is_vector(**r)).count() == 2
                        && srcs.len() == 2 + usize::from(text.starts_with('@'));
                    if is_plain && out.mask != 0 {
                        let base =
                            |lane: usize| u64::from(values.columns[0][lane]) | u64::from(values.columns[1][lane]) << 32;
                        let mut offsets = kit::lanes(out.mask).map(|lane| out.addresses[lane].wrapping_sub(base(lane)));
                        let first = offsets.next().unwrap();
                        assert!(offsets.all(|offset| offset == first), "{text}");
                        bases += 1;
                    }
                }
            }
            stream.end_cta(CtaSlot(0));
        }
    }
    (guards, bases)
}

#[test]
fn recorded_values_explain_what_ptx_did() {
    for name in ["bfs", "pathfinder", "lud"] {
        let (guards, bases) = values_round_trip(name, Form::Ptx);
        assert!(guards > 50 && bases > 50, "{name}: {guards} guards, {bases} bases");
    }
}

#[test]
fn recorded_values_explain_what_machine_code_did() {
    for name in ["bfs", "pathfinder", "nbody"] {
        let (guards, bases) = values_round_trip(name, Form::Sass);
        assert!(guards > 50 && bases > 50, "{name}: {guards} guards, {bases} bases");
    }
}

#[test]
fn an_accelsim_trace_has_the_instructions_of_the_live_run() {
    accelsim_round_trip(Form::Ptx);
}

#[test]
fn an_accelsim_trace_of_machine_code_has_its_instructions() {
    accelsim_round_trip(Form::Sass);
}

fn accelsim_round_trip(code: Form) {
    let setup = Setup { code, ..setup("rtx3070") };
    let formats = [Compression::None, Compression::Gzip, Compression::Xz, Compression::Zstd];
    for (name, compression) in WORKLOADS.into_iter().zip(formats.into_iter().cycle()) {
        let folder = tempfile::tempdir().unwrap();
        let recorded = exported(&setup, name, folder.path(), TraceFormat::AccelSim(compression));
        let (again, live) = (replayed(&setup, &recorded.path), &recorded.report);
        for figure in ["warp_instructions", "thread_instructions"] {
            assert_eq!(again.total.number(figure), live.total.number(figure), "{name}: {figure}");
        }
        assert_eq!(again.kernels.len(), live.kernels.len(), "{name}");
        assert!(again.remarks.is_empty(), "{name}: {:?}", again.remarks);
        let bytes: u64 = std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert_eq!(bytes, recorded.written.bytes, "{name}: nothing else is left in the directory");
    }
}

#[test]
fn an_earlier_trace_is_overwritten_only_when_asked() {
    let (setup, folder) = (setup("rtx2060s"), tempfile::tempdir().unwrap());
    let export = |overwrite| {
        export(
            &setup,
            &job("vectoradd"),
            folder.path(),
            TraceFormat::Native { values: false },
            overwrite,
            &mut Unattended,
        )
    };
    let first = std::fs::read(export(false).unwrap().path).unwrap();
    let error = export(false).unwrap_err();
    assert!(error.bad_input && error.message.contains("--force"), "{error}");
    assert_eq!(std::fs::read(export(true).unwrap().path).unwrap(), first, "the same run, the same bytes");
}

#[test]
fn a_run_that_does_not_end_leaves_no_trace() {
    let (mut setup, folder) = (setup("accel-sim/rtx2060s"), tempfile::tempdir().unwrap());
    setup.max_cycles = Some(10);
    let error =
        export(&setup, &job("matmul"), folder.path(), TraceFormat::Native { values: false }, false, &mut Unattended)
            .unwrap_err();
    assert!(error.message.contains("broken off"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
