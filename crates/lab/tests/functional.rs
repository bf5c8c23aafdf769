//! The functional core: right results whatever its width, and nothing that it does not have. That its instructions are
//! those of an SM is checked in `suite.rs`.

use isa::Dim3;
use lab::{Job, Report, Setup, SimulatedDevice, TraceFormat, Unattended, Value, export, run};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use workloads::{
    ArgBytes, Buffer, Device, DeviceError, Form, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters, suite,
};

/// Workloads whose number of instructions depends on the order of their warps.
const ORDERED: [&str; 3] = ["hashtable", "hybridsort", "bfslevels"];

fn setup(gpu: &str, code: Form, core: &str) -> Setup {
    Setup { code, core: core.into(), max_cycles: Some(50_000_000), ..Setup::new(config::load(gpu).unwrap()) }
}

fn job(name: &str) -> Job {
    Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 7 }
}

fn simulate(setup: &Setup, job: &Job) -> Report {
    run(setup, job, &mut Unattended).unwrap_or_else(|e| panic!("{job:?} on {}: {e}", setup.core))
}

/// Runs the whole suite: the results are right, and the instructions do not depend on the width.
fn check_all(gpu: &str, code: Form, core: &str) {
    for workload in suite::on(code, config::load(gpu).unwrap().sm_version) {
        let (setup, name) = (setup(gpu, code, core), format!("{} on {gpu}, {core}", workload.name));
        let report = simulate(&setup, &job(workload.name));
        let check = report.check.as_ref().expect("every workload has a reference");
        assert!(check.passed && !report.interrupted, "{name}: {}", check.details);
        let usual = simulate(&Setup { core: "functional".into(), ..setup }, &job(workload.name));
        let figures = |r: &Report| ["warp_instructions", "thread_instructions"].map(|name| r.total.number(name));
        if !ORDERED.contains(&workload.name) {
            assert_eq!(figures(&report), figures(&usual), "{name}");
        }
        let occupancy = |r: &Report| r.kernels.iter().map(|k| k.occupancy.clone()).collect::<Vec<_>>();
        assert_eq!(occupancy(&report), occupancy(&usual), "{name}");
    }
}

#[test]
fn suite_on_gtx480() {
    check_all("gtx480", Form::Ptx, "functional:width=7");
}

#[test]
fn suite_on_rtx2060s() {
    check_all("rtx2060s", Form::Sass, "functional:width=1");
}

#[test]
fn suite_on_v100() {
    check_all("v100", Form::Sass, "functional:width=1000");
}

/// Many CTAs of one warp, which never waits: a turn is taken in each place of each cycle in which a core is full.
#[test]
fn the_width_is_the_number_of_turns_in_a_cycle() {
    let cycles = |width: u32| {
        let mut setup = setup("rtx2060s", Form::Ptx, &format!("functional:width={width}"));
        (setup.gpu.sm_count, setup.gpu.sms_per_cluster) = (1, 1);
        let mut kernel = Kernel::on(&setup, "");
        kernel.launch(16, 32);
        let total = kernel.device.total_statistics();
        let (instructions, cycles) = (total.number("warp_instructions"), total.number("cycles"));
        assert_eq!(total.number("design.ctas"), 16.0);
        assert!(cycles * f64::from(width) >= instructions, "{instructions} in {cycles} of {width}");
        cycles
    };
    // One CTA is dispatched in a cycle, into 30 turns of which it needs four.
    let [one, two, four] = [1, 2, 4].map(cycles);
    assert!(one > two && two > four, "{one} {two} {four}");
}

/// A kernel `k(u64 p)` with registers to use, `%i` the thread's number in its CTA and `%c` the CTA's.
struct Kernel {
    device: SimulatedDevice<'static>,
    module: workloads::ModuleId,
    buffer: Buffer,
}

impl Kernel {
    fn new(body: &str) -> Self {
        Self::on(&setup("rtx2060s", Form::Ptx, "functional"), body)
    }

    fn on(setup: &Setup, body: &str) -> Self {
        let text = format!(
            ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %i, %c, %r<9>;\n.reg .b64 %p, %d<4>;\n.reg .pred %q<4>;\n.shared .align 4 .b8 s[64];\n\
             mov.u32 %i, %tid.x;\nmov.u32 %c, %ctaid.x;\nld.param.u64 %p, [p];\n{body}\nret;\n}}\n"
        );
        let setup = Setup { livelock_cycles: NonZeroU64::new(20_000), ..setup.clone() };
        let mut device = SimulatedDevice::new(&setup).unwrap();
        let module = device.load_module(&ModuleSource { name: "test.ptx", code: ModuleCode::Ptx(&text) }).unwrap();
        let buffer = device.alloc("words", 4096).unwrap();
        device.memset(buffer, 0).unwrap();
        Self { device, module, buffer }
    }

    fn launch(&mut self, ctas: u32, threads: u32) {
        let launch = LaunchRequest {
            module: self.module,
            kernel: "k",
            grid: Dim3::new(ctas, 1, 1),
            block: Dim3::new(threads, 1, 1),
            dynamic_shared_bytes: 0,
            args: &[ArgBytes::from(self.buffer)],
            registers: ThreadRegisters::Given(16),
            stream: 0,
        };
        self.device.launch(&launch).unwrap();
        self.device.synchronize().ok();
    }

    fn first_word(&mut self) -> Result<u32, DeviceError> {
        let mut bytes = [0; 4];
        self.device.read(self.buffer, 0, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Why the kernel fails.
    fn failure(body: &str, ctas: u32, threads: u32, parts: &[&str]) {
        let mut kernel = Self::new(body);
        kernel.launch(ctas, threads);
        let message = kernel.first_word().expect_err("it fails").to_string();
        for part in parts {
            assert!(message.contains(part), "no {part} in:\n{message}");
        }
    }
}

/// CTAs count under a lock, and the one that has it sleeps: the others spin meanwhile.
#[test]
fn spinning_warps_keep_nobody_from_the_lock_that_they_wait_for() {
    let body = "setp.ne.u32 %q1, %i, 0;\n@%q1 bra E;\nL:\natom.global.cas.b32 %r1, [%p+4], 0, 1;\n\
                setp.ne.u32 %q1, %r1, 0;\n@%q1 bra L;\nld.volatile.global.u32 %r2, [%p];\nnanosleep.u32 200;\n\
                add.u32 %r2, %r2, 1;\nst.volatile.global.u32 [%p], %r2;\nmembar.gl;\n\
                atom.global.exch.b32 %r1, [%p+4], 0;\nE:";
    let mut kernel = Kernel::new(body);
    kernel.launch(200, 64);
    assert_eq!(kernel.first_word().unwrap(), 200);
}

/// Each warp of a CTA in turn adds its number to a word of shared memory: one barrier a turn, and the warps that have
/// had theirs exit.
#[test]
fn barriers_hold_warps_until_all_that_have_not_exited_arrive() {
    let body = "mov.u32 %r1, 0;\nshr.u32 %r2, %i, 5;\nL:\nsetp.ne.u32 %q1, %r1, %r2;\n@%q1 bra W;\n\
                and.b32 %r3, %i, 31;\nsetp.ne.u32 %q2, %r3, 0;\n@%q2 bra E;\n\
                ld.volatile.global.u32 %r4, [%p];\nmad.lo.u32 %r4, %r4, 3, %r2;\nst.volatile.global.u32 [%p], %r4;\n\
                E:\nret;\nW:\nbar.sync 0;\nadd.u32 %r1, %r1, 1;\nbra L;";
    let mut kernel = Kernel::new(body);
    kernel.launch(1, 8 * 32);
    assert_eq!(kernel.first_word().unwrap(), (0..8).fold(0, |word, warp| word * 3 + warp));
}

#[test]
fn what_cannot_end_or_is_undefined_is_reported_with_its_place() {
    let waits = "setp.lt.u32 %q1, %i, 32;\n@%q1 bra DONE;\nbar.sync 2, 128;\nDONE:";
    let parts =
        ["deadlock", "warp 1 of CTA (0,0,0) of `k` at `bar.sync 2, 128;` (test.ptx:", "barrier 2: 1 of 4 arrivals"];
    Kernel::failure(waits, 1, 64, &parts);
    let polls = "L:\nld.volatile.global.u32 %r1, [%p+8];\nsetp.eq.u32 %q1, %r1, 0;\n@%q1 bra L;";
    Kernel::failure(polls, 2, 64, &["livelock", "4 warps repeat themselves", "reads global 0x7f00000008 = 0x0"]);
    let beside = "st.global.u32 [%p+8192], %i;";
    Kernel::failure(beside, 2, 32, &["`words`", "`k`", "CTA (0,0,0)", "thread (0,0,0)", "st.global.u32", "test.ptx:"]);
}

/// Of both formats.
#[test]
fn traces_run_as_programs_do() {
    let (live, in_order) = (setup("rtx2060s", Form::Sass, "functional"), setup("rtx2060s", Form::Sass, "inorder"));
    for name in ["bfs", "reduction", "wmma"] {
        let expected = simulate(&live, &job(name));
        for format in [TraceFormat::Native { values: false }, TraceFormat::AccelSim(lab::Compression::None)] {
            let folder = tempfile::tempdir().unwrap();
            let path = export(&in_order, &job(name), folder.path(), format, false, &mut Unattended).unwrap().path;
            let replayed = simulate(&live, &Job::Trace { path, concurrent_streams: false });
            let instructions = |r: &Report| r.total.number("warp_instructions");
            assert_eq!(instructions(&replayed), instructions(&expected), "{name}");
            assert!(replayed.remarks.iter().any(|remark| remark.contains("no model of time")));
            if let TraceFormat::Native { .. } = format {
                assert_eq!(replayed.total, expected.total, "{name}");
            }
        }
    }
}

#[test]
fn a_report_has_what_the_core_knows_and_says_what_it_lacks() {
    let mut setup = setup("rtx2060s", Form::Ptx, "functional");
    setup.audit = true;
    let report = simulate(&setup, &job("vectoradd"));
    for part in ["no model of time", "no model of energy", "--check-memory lists races", "nothing to audit"] {
        assert!(report.remarks.iter().any(|remark| remark.contains(part)), "{part}: {:?}", report.remarks);
    }
    assert!(report.audit.is_none() && report.energy_model.is_none() && report.scheduler == "none");
    let of = |name: &str| report.total.get(name);
    assert!([of("slots.all"), of("l1d.accesses"), of("sm.fetches")].iter().all(Option::is_none));
    assert_eq!((of("energy.total"), of("l2.accesses")), (Some(Value::Real(None)), Some(Value::Count(0))));
    assert!(report.total.number("occupancy.achieved") > 0.0 && report.total.number("cycles") > 0.0);
    let listed = lab::schema();
    let known = |name: &str| listed.iter().any(|info| info.name == name);
    assert!(report.total.0.iter().all(|(info, _)| known(&info.name)));

    let refused = |setup: Setup| run(&setup, &job("vectoradd"), &mut Unattended).expect_err("it is refused").message;
    let scheduled = refused(Setup { scheduler: Some("lrr".into()), ..setup.clone() });
    assert_eq!(scheduled, "core `functional` is not an SM and has no warp schedulers: choose no scheduler");
    let metered = refused(Setup { power_interval: NonZeroU64::new(100), ..setup.clone() });
    assert_eq!(metered, "core `functional` is not an SM and has no model of energy, and so no power over time");
    assert!(refused(Setup { core: "functional+scalar".into(), ..setup }).contains("is not an SM"));
    assert!(lab::check_core("functional:width=65537").unwrap_err().contains("`width` is 0 to 65536"));
    assert!(!lab::is_sm("functional:width=2") && !lab::is_timed("functional") && lab::is_timed("ghost"));
}
