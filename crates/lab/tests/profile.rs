//! A profile is the run's own account, split over the instructions, and changes nothing.

use lab::profile::{InstructionProfile, Profile};
use lab::{Job, Report, Setup, Unattended};
use std::collections::BTreeMap;
use workloads::{Form, Size};

fn run(workload: &str, gpu: &str, core: &str, code: Form, profile: bool) -> Report {
    let setup = Setup { core: core.into(), code, profile, ..Setup::new(config::load(gpu).unwrap()) };
    let job = Job::Workload { name: workload.into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
    lab::run(&setup, &job, &mut Unattended).unwrap()
}

fn each(profile: &Profile) -> impl Iterator<Item = &InstructionProfile> {
    profile.kernels.iter().flat_map(|kernel| &kernel.instructions)
}

/// Statistics but for those of the host, as text.
fn statistics(report: &Report) -> String {
    let kernels = report.kernels.iter().map(|kernel| kernel.statistics.unpacked());
    kernels
        .chain([report.total.clone()])
        .flat_map(|all| all.0)
        .map(|(info, value)| format!("{} {value:?}\n", info.name))
        .collect()
}

/// Counts that both the report and the profile have.
fn check(workload: &str, gpu: &str, core: &str, code: Form) {
    let name = format!("{workload} on {gpu}, core {core}, {code:?}");
    let (plain, report) = (run(workload, gpu, core, code, false), run(workload, gpu, core, code, true));
    assert_eq!(statistics(&plain), statistics(&report), "{name}: profiling changes what happens");
    assert!(plain.profile.is_none(), "{name}");
    let profile = report.profile.as_ref().unwrap();
    let total = |what: &str| report.total.number(what) as u64;
    assert_eq!(each(profile).map(|i| i.issues).sum::<u64>(), total("warp_instructions"), "{name}");
    assert_eq!(each(profile).map(|i| i.lanes).sum::<u64>(), total("thread_instructions"), "{name}");
    let lost = profile.lost();
    for stall in sm::Stall::ALL.iter().filter(|stall| **stall != sm::Stall::Idle) {
        let counted = lost.get(stall.name()).copied().unwrap_or(0);
        assert_eq!(counted, total(&format!("slots.{}", stall.name())), "{name}: {}", stall.name());
    }
    assert!(lost["idle"] >= total("slots.idle"), "{name}: those of launch latencies come on top");
    let has_warp = each(profile).map(|i| i.slots()).sum::<u64>();
    let not_idle = total("slots.all") - total("slots.idle");
    assert_eq!(has_warp, not_idle, "{name}: some warp waits in each slot that is not idle");
    check_energy(profile, &report, &name);
    for i in each(profile) {
        assert!(i.lanes <= 32 * i.issues && i.divergences <= i.issues, "{name}: {i:?}");
        let latency = i.latency.as_ref().filter(|_| i.issues > 0);
        if let Some(latency) = latency {
            assert_eq!(latency.histogram.iter().map(|(_, n)| n).sum::<u64>(), i.issues, "{name}: {i:?}");
            assert!(latency.mean <= latency.max as f64 && latency.p95 <= latency.max, "{name}: {i:?}");
        }
    }
}

/// Energy of instructions and the rest add up to the run's, by component.
fn check_energy(profile: &Profile, report: &Report, name: &str) {
    let Some(shared) = &profile.shared_energy else {
        assert!(each(profile).all(|i| i.energy.is_none()) && report.energy_model.is_none(), "{name}");
        return;
    };
    let of_instructions = || each(profile).map(|i| i.energy.as_ref().unwrap());
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for &(component, joules) in of_instructions().flat_map(|energy| &energy.parts).chain(shared) {
        // A design's structures may take less than those of the in-order core.
        assert!(joules > 0.0 || component == "design", "{name}: {component} {joules}");
        *sums.entry(component).or_default() += joules;
    }
    for (component, joules) in sums {
        let expected = report.total.number(&format!("energy.{component}"));
        assert!((joules / expected - 1.0).abs() < 1e-9, "{name}: {component} {joules} of {expected}");
    }
    let (all, rest) = (report.total.number("energy.total"), shared.iter().map(|(_, joules)| joules).sum::<f64>());
    let charged: f64 = of_instructions().map(|energy| energy.joules).sum();
    assert!(((charged + rest) / all - 1.0).abs() < 1e-9, "{name}: {charged} and {rest} of {all}");
    for component in ["static", "idle_sms", "constant"] {
        assert!(of_instructions().flat_map(|energy| &energy.parts).all(|(name, _)| *name != component), "{name}");
    }
    for component in ["l1", "register_file", "pipeline", "instruction_buffer", "instruction_cache", "fp_lanes"] {
        assert!(shared.iter().all(|(name, _)| *name != component), "{name}: some {component} is nobody's: {shared:?}");
    }
}

#[test]
fn energy_is_charged_to_what_causes_it() {
    let report = run("vectoradd", "v100", "inorder", Form::Sass, true);
    let profile = report.profile.unwrap();
    let of = |text: &str, component: &str| -> f64 {
        let chosen = each(&profile).filter(|i| i.text.contains(text)).filter_map(|i| i.energy.as_ref());
        chosen.flat_map(|energy| &energy.parts).filter(|(name, _)| *name == component).map(|(_, joules)| joules).sum()
    };
    let (loads, stores, all) = (of("LDG", "l2"), of("STG", "l2"), of("", "l2"));
    assert!(loads > 0.0 && stores > 0.0, "{loads} {stores}");
    assert!(((loads + stores) / all - 1.0).abs() < 1e-9, "only accesses reach L2: {loads} and {stores} of {all}");
    assert!(of("FADD", "fp_lanes") > 0.0 && of("FADD", "fp_lanes") == of("", "fp_lanes"));
}

#[test]
fn instructions_have_their_lines() {
    let report = run("matmul", "v100", "inorder", Form::Sass, true);
    let profile = report.profile.unwrap();
    let multiply = each(&profile).find(|i| i.text.starts_with("FFMA")).unwrap();
    let (source, ptx) = (multiply.source.as_ref().unwrap(), multiply.ptx.as_ref().unwrap());
    assert!(source.text.as_ref().is_some_and(|text| text.contains("+=")), "{source:?}");
    assert!(ptx.text.as_ref().is_some_and(|text| text.starts_with("fma.rn.f32")), "{ptx:?}");
    let lines = profile.kernels[0].lines();
    assert_eq!(lines.iter().map(|line| line.slots()).sum::<u64>(), profile.kernels[0].slots());
    assert!(lines.len() > 3 && lines.iter().filter(|line| line.source.is_none()).count() <= 1);
    let none = profile.of_kernels("no such kernel");
    assert!(none.kernels.is_empty());
    let joules = |profile: &Profile| -> f64 {
        let charged: f64 = each(profile).map(|i| i.energy.as_ref().unwrap().joules).sum();
        charged + profile.shared_energy.iter().flatten().map(|(_, joules)| joules).sum::<f64>()
    };
    assert!((joules(&none) / joules(&profile) - 1.0).abs() < 1e-9);
}

#[test]
fn totals_are_those_of_the_run() {
    for (workload, code) in [("matmul", Form::Sass), ("bfs", Form::Ptx), ("reduction", Form::Sass)] {
        check(workload, "rtx2060s", "inorder", code);
    }
    for core in ["ghost", "socgpu", "loog", "ideal", "warpboard-commit", "load-slice", "inorder+scalar"] {
        check("reduction", "v100", core, Form::Ptx);
    }
    // Two issue slots to a scheduler.
    check("matmul", "gtx480", "inorder", Form::Ptx);
}

#[test]
fn waiting_is_charged_to_what_is_waited_for() {
    let report = run("vectoradd", "v100", "inorder", Form::Sass, true);
    let profile = report.profile.unwrap();
    let slots =
        |reason: &str, of: &[(&'static str, u64)]| of.iter().find(|(name, _)| *name == reason).map_or(0, |r| r.1);
    let waited: u64 = each(&profile).map(|i| slots("raw_memory", &i.stalls)).sum();
    let awaited: u64 = each(&profile).map(|i| slots("raw_memory", &i.causes)).sum();
    assert!(waited > 0);
    assert_eq!(waited, awaited, "each wait for a load has its load");
    // Only loads are waited for so, and only what reads their results waits.
    for i in each(&profile).filter(|i| slots("raw_memory", &i.causes) > 0) {
        assert!(i.text.contains("LD"), "{i:?}");
    }
    let hottest = each(&profile).max_by_key(|i| i.stalled()).unwrap();
    assert!(hottest.text.contains("ADD"), "the sum waits for its operands: {hottest:?}");
    let loads: Vec<_> = each(&profile).filter(|i| i.text.contains("LDG")).collect();
    assert_eq!(loads.len(), 2);
    for load in loads {
        let memory = load.memory.unwrap();
        assert_eq!(memory.accesses, load.issues);
        assert_eq!(memory.excess_sectors, 0, "neighbouring lanes read neighbouring words: {memory:?}");
        assert_eq!(memory.sectors, 4 * memory.accesses);
        assert_eq!(memory.served.iter().map(|(_, n)| n).sum::<u64>(), memory.transactions);
        let by_level: u64 = load.latency_by_level.iter().flat_map(|(_, l)| &l.histogram).map(|(_, n)| n).sum();
        assert_eq!(by_level, load.issues, "each load has a level");
    }
}

/// It has the hits that L2 otherwise has, and their loads take longer.
#[test]
fn the_far_half_of_l2_is_a_level_of_its_own() {
    let profile = |far_latency_cycles| {
        let mut gpu = config::load("v100").unwrap();
        gpu.l2.far_latency_cycles = far_latency_cycles;
        let setup = Setup { code: Form::Sass, profile: true, ..Setup::new(gpu) };
        let job = Job::Workload { name: "matmul".into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
        lab::run(&setup, &job, &mut Unattended).unwrap().profile.unwrap()
    };
    let served = |profile: &Profile| {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for memory in each(profile).filter_map(|i| i.memory) {
            memory.served.iter().for_each(|(level, n)| *sums.entry(level.name()).or_default() += n);
        }
        sums
    };
    let (near, far) = (profile(None), profile(Some(200)));
    assert_eq!(served(&near).into_keys().collect::<Vec<_>>(), ["DRAM", "L1", "L2"]);
    let [all, all_with_halves] = [&near, &far].map(|profile| served(profile).values().sum::<u64>());
    assert_eq!(all, all_with_halves, "each transaction has a level");
    let halves = ["L2", "L2 far"].map(|half| served(&far)[half]);
    assert!(halves.iter().all(|&n| n > 100), "{halves:?}");
    let mut compared = 0;
    for load in each(&far) {
        let mean = |level: &str| load.latency_by_level.iter().find(|(name, _)| *name == level).map(|(_, l)| l.mean);
        if let (Some(near), Some(far)) = (mean("L2"), mean("L2 far")) {
            assert!(far > near + 100.0, "{}: {near} and {far} cycles", load.text);
            compared += 1;
        }
    }
    assert!(compared > 0, "no load has hits in both halves");
}

#[test]
fn a_core_that_is_no_sm_has_no_profile() {
    let setup = Setup { core: "sgmf".into(), profile: true, ..Setup::new(config::load("gtx480").unwrap()) };
    let job = Job::Workload { name: "nn".into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
    let error = lab::run(&setup, &job, &mut Unattended).unwrap_err();
    assert!(error.to_string().contains("not an SM and has no issue slots"), "{error}");
}
