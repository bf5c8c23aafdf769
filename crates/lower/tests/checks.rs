//! Accesses outside allocations, reads of unwritten memory, races: what the checks find and what they do not.

use crate::common::{kernel, module};
use crate::sass_memory::{Bench, ldg, stg};
use exec::check::{Finding, Hazard};
use exec::{Arg, DeviceState, Launch, OutOfBounds, decisive_races, run, run_screened};
use isa::{Dim3, Fault};
use std::ops::ControlFlow;

/// A run of a kernel with a buffer of 64 words that the host has written.
struct Run {
    state: DeviceState,
    buffer: u64,
    outcome: Result<(), Box<Fault>>,
}

fn run_with(policy: OutOfBounds, checks: bool, items: &str, grid: u32, block: u32) -> Run {
    let loaded = module(items);
    let mut state = DeviceState::default();
    state.check(policy, checks);
    state.load(&loaded.module).unwrap();
    let buffer = state.memory.allocate("buffer", 256).unwrap();
    state.memory.write(buffer, &[0; 256]).unwrap();
    // A second one, which nobody writes.
    state.memory.allocate("fresh", 256).unwrap();
    let kernel = loaded.module.kernels[0].clone();
    let (grid, block) = (Dim3::new(grid, 1, 1), Dim3::new(block, 1, 1));
    let launch = Launch::new(kernel, grid, block, 0, &[Arg::Pointer(buffer)]).unwrap();
    let outcome = run(&mut state, &launch).map(drop);
    Run { state, buffer, outcome }
}

/// Findings of the checks in a kernel with this body.
fn found(body: &str, grid: u32, block: u32) -> Vec<Finding> {
    let run = run_with(OutOfBounds::Error, true, &kernel(body), grid, block);
    run.outcome.unwrap_or_else(|fault| panic!("{fault}"));
    run.state.findings().unwrap().found().to_vec()
}

fn kinds(body: &str, grid: u32, block: u32) -> Vec<(Hazard, u64)> {
    found(body, grid, block).iter().map(|finding| (finding.kind, finding.count)).collect()
}

/// Offset of `fresh` in a register of the kernel's buffer.
const FRESH: &str = "[%buf+4352]";

#[test]
fn accesses_near_allocations_follow_the_policy() {
    // Lanes 30 and 31 of the second warp access beyond the end; what they store they load again.
    let body = "add.s64 %at, %at, 8; ld.global.u32 %r1, [%at]; add.u32 %r1, %r1, %i; st.global.u32 [%at], %r1;\n\
                ld.global.u32 %r2, [%at]; setp.ne.u32 %p1, %r1, %r2; @%p1 trap; red.global.add.u32 [%at], 1;";
    let of = |policy| run_with(policy, false, &kernel(body), 1, 64);
    let fault = of(OutOfBounds::Error).outcome.unwrap_err();
    assert!(fault.what.contains("directly after its last byte"), "{fault}");

    let run = of(OutOfBounds::Warn);
    run.outcome.unwrap();
    let findings = run.state.findings().unwrap();
    assert_eq!(findings.count(Hazard::OutOfBounds), 8);
    let [first, ..] = findings.found() else { panic!("nothing found") };
    assert_eq!((first.thread.x, first.count, findings.found().len()), (62, 2, 4));
    assert!(first.what.starts_with("out-of-bounds load of 4 bytes at global address 0x7f00000100"), "{first}");
    assert!(first.what.ends_with("nearest is `buffer` (256 bytes at 0x7f00000000): directly after its last byte"));
    assert!(first.to_string().contains("ld.global.u32 %r1, [%at]"), "{first}");
    let mut words = [0; 256];
    run.state.memory.read(run.buffer, &mut words).unwrap();
    assert_eq!(words[4 * 63], 61 + 1, "stores in bounds are kept");

    let run = of(OutOfBounds::Allow);
    assert!(run.outcome.is_ok() && run.state.findings().is_none());
    let far = kernel("ld.global.u32 %r1, [%buf+4194304];");
    let fault = run_with(OutOfBounds::Allow, false, &far, 1, 32).outcome.unwrap_err();
    assert_eq!(fault.kind, isa::FaultKind::IllegalAddress);
    let constant = ".const .u32 c = 1;\n".to_owned() + &kernel("mov.u64 %rd1, c; st.global.u32 [%rd1], 2;");
    assert!(run_with(OutOfBounds::Allow, false, &constant, 1, 1).outcome.is_err());
}

/// Hardware gives a CTA shared memory in units, here of 128 bytes: the rest of the last one is there.
#[test]
fn accesses_beyond_shared_memory_follow_the_policy() {
    let of = |policy, at: u32| {
        let body = format!(
            "mov.u32 %r1, tile; st.shared.v2.u32 [%r1+{at}], {{%i, %i}}; ld.shared.v2.u32 {{%r2, %r3}}, [%r1+{at}];\n\
             setp.ne.u32 %p1, %r2, %i; @%p1 trap; atom.shared.add.u32 %r2, [%r1+{at}], 1;"
        );
        let items = ".shared .align 16 .b8 tile[28];\n".to_owned() + &kernel(&body);
        run_with(policy, false, &items, 1, 1)
    };
    let whats = |run: &Run| run.state.findings().map_or(0, |findings| findings.count(Hazard::OutOfBounds));
    for at in [0, 16] {
        let run = of(OutOfBounds::Warn, at);
        run.outcome.as_ref().unwrap();
        assert_eq!(whats(&run), 0, "{at}");
    }
    let fault = of(OutOfBounds::Error, 24).outcome.unwrap_err();
    assert!(fault.what.contains("outside the CTA's 28 bytes"), "{fault}");
    for (at, count) in [(24, 2), (32, 3), (120, 3)] {
        let run = of(OutOfBounds::Warn, at);
        run.outcome.as_ref().unwrap_or_else(|fault| panic!("{at}: {fault}"));
        assert_eq!(whats(&run), count, "{at}");
        let run = of(OutOfBounds::Allow, at);
        assert!(run.outcome.is_ok() && run.state.findings().is_none());
    }
    let run = of(OutOfBounds::Warn, 24);
    let first = run.state.findings().unwrap().found()[0].what.clone();
    assert!(first.starts_with("out-of-bounds store of 8 bytes at shared address 0x18: beyond"), "{first}");
    for policy in [OutOfBounds::Error, OutOfBounds::Warn, OutOfBounds::Allow] {
        assert!(of(policy, 128).outcome.unwrap_err().what.contains("outside the CTA's 28 bytes"));
    }
}

#[test]
fn machine_code_follows_the_policy_too() {
    for sm in [70, 80, 90] {
        let mut bench = Bench::new(3);
        let end = bench.base + 4096;
        bench.point(2, |lane| end - 64 + 4 * lane);
        let code = [stg(sm, 2, 0, 9, 4).0, ldg(sm, 8, 2, 0, 4).0];
        assert!(bench.fault(sm, &code).contains("out-of-bounds store to global"));
        bench.setting.state.check(OutOfBounds::Warn, false);
        let result = bench.run(sm, &code);
        assert_eq!(result.general[8], result.general[9]);
        let findings = bench.setting.state.findings().unwrap();
        assert_eq!(findings.count(Hazard::OutOfBounds), 32);
        assert_eq!(findings.found()[0].thread.x, 16);
        bench.setting.state.check(OutOfBounds::Allow, false);
        assert_eq!(bench.run(sm, &code).general[8], result.general[8]);
    }
}

#[test]
fn reads_of_what_was_never_written_are_found() {
    let global = found(&format!("ld.global.u32 %r1, {FRESH}; ld.global.u32 %r2, [%buf];"), 1, 32);
    let [finding] = &global[..] else { panic!("{global:?}") };
    assert_eq!((finding.kind, finding.count), (Hazard::UninitialisedGlobal, 32));
    assert!(finding.what.contains("never written: it is in `fresh`"), "{finding}");
    // Half of the eight bytes are written.
    let half = format!("st.global.u32 {FRESH}, %i; ld.global.u32 %r1, {FRESH}; ld.global.u64 %rd1, {FRESH};");
    assert_eq!(kinds(&half, 1, 32), [(Hazard::UninitialisedGlobal, 32)]);
    let atomic = format!("red.global.add.u32 {FRESH}, 1;");
    assert_eq!(kinds(&atomic, 1, 2), [(Hazard::UninitialisedGlobal, 1)]);
    let shared =
        ".shared .align 4 .b8 s[128]; ld.shared.u32 %r1, [s+4]; st.shared.u8 [s+8], 1; ld.shared.u8 %r2, [s+8];";
    assert_eq!(kinds(shared, 1, 32), [(Hazard::UninitialisedShared, 32)]);
    let generic = ".shared .align 4 .b8 s[128]; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1; ld.u32 %r1, [%rd1];";
    assert_eq!(kinds(generic, 1, 32), [(Hazard::UninitialisedShared, 32)]);
}

/// Each thread stores to its word of shared memory and loads that of a thread of the other warp.
fn exchange(between: &str) -> String {
    format!(
        ".shared .align 4 .b8 s[256]; mov.u32 %r1, s; shl.b32 %r2, %i, 2; add.u32 %r3, %r1, %r2;\n\
         xor.b32 %r2, %r2, 128; add.u32 %r4, %r1, %r2;\n\
         st.shared.u32 [%r3], %i; {between} ld.shared.u32 %r5, [%r4];"
    )
}

#[test]
fn races_in_shared_memory_are_found() {
    let races = found(&exchange(""), 1, 64);
    let race = races.iter().find(|finding| finding.kind == Hazard::SharedRace).unwrap();
    // The first warp has loaded what the second one stores; the second one loads what the first has stored.
    assert!(race.what.contains("read by thread (0,0,0)") && race.what.contains("no barrier"), "{race}");
    assert_eq!((race.thread.x, race.count), (32, 32));
    assert!(race.earlier.as_ref().unwrap().text.starts_with("ld.shared"), "{race}");
    let [.., race] = &races[..] else { panic!("{races:?}") };
    assert!(race.what.contains("written by thread (0,0,0)") && race.thread.x == 32, "{race}");

    assert_eq!(kinds(&exchange("bar.sync 0;"), 1, 64), []);
    assert_eq!(kinds(&exchange("bar.sync 3, 64;"), 1, 64), []);
    assert_eq!(kinds(&exchange("bar.red.popc.u32 %r9, 0, 1;"), 1, 64), []);
    // The barrier is only of each warp's own threads.
    let own = "shr.u32 %r8, %i, 5; bar.sync %r8, 32;";
    assert!(kinds(&exchange(own), 1, 64).iter().any(|(kind, _)| *kind == Hazard::SharedRace));
    // A later store without a barrier after the loads.
    let after = exchange("bar.sync 0;") + "st.shared.u32 [%r3], 7;";
    assert_eq!(kinds(&after, 1, 64), [(Hazard::SharedRace, 32); 2]);
    let twice = exchange("bar.sync 0;") + "bar.sync 0; st.shared.u32 [%r3], 7;";
    assert_eq!(kinds(&twice, 1, 64), []);
    // One warp produces, the other consumes.
    let flow = ".shared .align 4 .b8 s[128]; mov.u32 %r1, s; and.b32 %r2, %i, 31; shl.b32 %r2, %r2, 2; add.u32 %r1, %r1, %r2;\n\
                setp.lt.u32 %p1, %i, 32; @%p1 st.shared.u32 [%r1], %i; @%p1 bar.arrive 1, 64; @!%p1 bar.sync 1, 64;\n\
                @!%p1 ld.shared.u32 %r3, [%r1];";
    assert_eq!(kinds(flow, 1, 64), []);
}

#[test]
fn atomic_operations_do_not_race_with_each_other() {
    let sum = |between: &str| {
        format!(
            ".shared .align 4 .b8 s[4]; setp.eq.u32 %p1, %i, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;\n\
             red.shared.add.u32 [s], 1; {between} ld.shared.u32 %r1, [s];"
        )
    };
    assert_eq!(kinds(&sum("bar.sync 0;"), 1, 96), []);
    assert!(kinds(&sum(""), 1, 96).iter().any(|(kind, _)| *kind == Hazard::SharedRace));
    let bytes = ".shared .align 4 .b8 s[64]; mov.u32 %r1, s; add.u32 %r1, %r1, %i; st.shared.u8 [%r1], %i;";
    assert_eq!(kinds(bytes, 1, 64), [], "bytes of a word are apart");
}

#[test]
fn races_in_global_memory_between_ctas_are_found() {
    let races = found("st.global.u32 [%buf], %i;", 2, 1);
    let [race] = &races[..] else { panic!("{races:?}") };
    assert!(race.what.contains("written by thread (0,0,0) of CTA (0,0,0)"), "{race}");
    assert!(race.what.contains("it is in `buffer`"), "{race}");
    assert_eq!((race.kind, race.cta.x, race.count), (Hazard::GlobalRace, 1, 1));
    assert_eq!(kinds("st.global.u32 [%at], %i; ld.global.u32 %r1, [%at];", 2, 32), []);
    assert_eq!(kinds("red.global.add.u32 [%buf], 1;", 4, 32), []);
    // A counter tells the last CTA that the others have stored.
    let last = "st.global.u32 [%at], %i; membar.gl; atom.global.inc.u32 %r1, [%buf+128], 7;\n\
                setp.eq.u32 %p1, %r1, 3; @%p1 ld.global.u32 %r2, [%buf]; @%p1 st.global.u32 [%buf+132], %r2;";
    assert_eq!(kinds(last, 4, 1), []);
}

/// Races that decide what a launch of this kernel leaves, and where. It changes nothing.
fn decisive(body: &str, grid: u32, block: u32) -> Vec<(Hazard, String)> {
    looked_at(body, grid, block).0
}

/// Whether a launch of this kernel is executed to its end without a closer look at races.
fn passes(body: &str, grid: u32, block: u32) -> bool {
    looked_at(body, grid, block).1
}

fn looked_at(body: &str, grid: u32, block: u32) -> (Vec<(Hazard, String)>, bool) {
    let loaded = module(&kernel(body));
    let mut state = DeviceState::default();
    state.check(OutOfBounds::Warn, false);
    let buffer = state.memory.allocate("buffer", 4096).unwrap();
    let before: Vec<u8> = (0..4096_u32).map(|byte| (byte / 4 * 7) as u8).collect();
    state.memory.write(buffer, &before).unwrap();
    let (grid, block) = (Dim3::new(grid, 1, 1), Dim3::new(block, 1, 1));
    let launch = Launch::new(loaded.module.kernels[0].clone(), grid, block, 0, &[Arg::Pointer(buffer)]).unwrap();
    let races = decisive_races(&mut state, &launch);
    let mut after = vec![0; 4096];
    state.memory.read(buffer, &mut after).unwrap();
    assert!(after == before && state.findings().unwrap().found().is_empty(), "{body}");
    let undo = state.begin_undo();
    let passes = run_screened(&mut state, &launch, Some(undo), &mut |_, _: &_| ControlFlow::Continue(())).is_some();
    if !passes {
        state.memory.read(buffer, &mut after).unwrap();
        assert!(after == before, "what has run is undone: {body}");
    }
    assert!(races.is_empty() || !passes, "{body}");
    (races.into_iter().map(|race| (race.kind, race.spot.text)).collect(), passes)
}

#[test]
fn races_that_decide_a_result_are_found_before_it_is_computed() {
    // The neighbour's word, before or after the neighbour has stored to it.
    let store = "st.global.u32 [%at], %r5;";
    let race = |text: &str| (Hazard::SharedRace, text.to_owned());
    let both = [race("st.shared.u32 [%r3], %i;"), race("ld.shared.u32 %r5, [%r4];")];
    assert_eq!(decisive(&(exchange("") + store), 1, 64), both);
    assert_eq!(decisive(&(exchange("bar.sync 0;") + store), 1, 64), []);
    // Two reductions in a row: the second overwrites the sum of the first while others have yet to read it.
    let sum = |between: &str| {
        format!(
            ".shared .align 4 .b8 s[8]; and.b32 %r1, %i, 31; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %i, 32;\n\
             and.pred %p2, %p1, %p2; @%p2 st.shared.u32 [s], 100; bar.sync 0; ld.shared.u32 %r2, [s];\n\
             {between} @%p2 st.shared.u32 [s], 200; bar.sync 0; st.global.u32 [%at], %r2;"
        )
    };
    assert_eq!(decisive(&sum(""), 1, 128), [race("ld.shared.u32 %r2, [s];")]);
    assert_eq!(decisive(&sum("bar.sync 0;"), 1, 128), []);
    // Between CTAs: each takes its neighbour's word and overwrites its own.
    let shift = "ld.global.u32 %r1, [%at+128]; add.u32 %r1, %r1, 1; st.global.u32 [%at], %r1;";
    assert_eq!(decisive(shift, 3, 32), [(Hazard::GlobalRace, "st.global.u32 [%at], %r1;".to_owned())]);
    assert_eq!(decisive(shift, 1, 32), []);
    assert_eq!(decisive(&shift.replace("[%at]", "[%at+2048]"), 3, 32), [], "another buffer");
}

#[test]
fn races_that_decide_nothing_are_not_reported() {
    // All write the same value.
    assert_eq!(decisive("st.global.u32 [%buf], 1; .shared .align 4 .b8 s[4]; st.shared.u32 [s], 1;", 2, 64), []);
    // Who comes first marks the word, and marks it as all would.
    let mark = "ld.global.u32 %r1, [%buf+512]; setp.ne.u32 %p1, %r1, 5; @%p1 st.global.u32 [%buf+512], 5;";
    assert_eq!(decisive(mark, 2, 64), []);
    // The order of atomic operations is the kernel's choice.
    let append = "atom.global.add.u32 %r1, [%buf], 4; cvt.u64.u32 %rd1, %r1; add.s64 %rd1, %rd1, %buf;\n\
                  st.global.u32 [%rd1+1024], %i;";
    assert_eq!(decisive(append, 2, 64), []);
    // A flag of plain accesses, as volatile ones are in machine code: the other warp's data is there when it is set.
    let flag = ".shared .align 4 .b8 s[8]; setp.lt.u32 %p1, %i, 32; @%p1 bra WAIT;\n\
                st.shared.u32 [s+4], 9; st.shared.u32 [s], 1; ret;\n\
                WAIT: ld.shared.u32 %r1, [s]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;\n\
                ld.shared.u32 %r2, [s+4]; st.global.u32 [%at], %r2;";
    assert_eq!(decisive(flag, 1, 64), []);
    // From a fence on, lanes may have an order that nobody sees.
    assert_eq!(decisive(&(exchange("membar.cta;") + "st.global.u32 [%at], %r5;"), 1, 64), []);
    // Of kernels without an end nothing is said, and that ends.
    let endless = exchange("") + "AGAIN: st.global.u32 [%at], %r5; bra AGAIN;";
    assert_eq!(decisive(&endless, 1, 64), []);
    assert_eq!(decisive("ld.global.u32 %r1, [%buf+536870912];", 1, 64), [], "the launch reports the fault");
}

#[test]
fn launches_without_conflicts_are_not_looked_at_twice() {
    let store = "st.global.u32 [%at], %r5;";
    assert!(passes(&(exchange("bar.sync 0;") + store), 2, 64));
    assert!(passes(&(exchange("bar.sync 3, 64;") + store), 2, 64));
    assert!(passes(&(exchange("membar.cta;") + store), 1, 64), "an order by memory may follow the fence");
    assert!(!passes(&(exchange("bar.arrive 1, 128;") + store), 1, 64));
    // The barriers of some warps are not counted.
    assert!(!passes(&(exchange("shr.u32 %r8, %i, 5; bar.sync %r8, 32;") + store), 1, 64));
    // Each CTA has words of its own; an order by memory is every thread's after the barrier that follows it.
    assert!(passes("st.global.u32 [%at], %i; ld.global.u32 %r1, [%at];", 3, 32));
    assert!(!passes("st.global.u32 [%buf], 1;", 2, 32));
    let ordered = "setp.eq.u32 %p1, %i, 0; @%p1 red.global.add.u32 [%buf], 1; bar.sync 0; st.global.u32 [%buf+4], 1;";
    assert!(passes(ordered, 2, 64));
    assert!(!passes(&ordered.replace("bar.sync 0;", ""), 2, 64));
    // Through generic addresses, too.
    let generic = ".shared .align 4 .b8 s[64]; cvta.shared.u64 %rd1, s; st.u32 [%rd1], %i;";
    assert!(!passes(generic, 1, 64));
    assert!(passes(generic, 1, 32));
    assert!(passes("st.u32 [%at], %i;", 2, 32) && !passes("st.u32 [%buf], 1;", 2, 32));
}

#[test]
fn launches_follow_each_other_and_need_no_synchronisation() {
    let loaded =
        module(&kernel("ld.global.u32 %r1, [%buf]; setp.eq.u32 %p1, %b, 1; @%p1 st.global.u32 [%buf+64], %r1;"));
    let other = module(&kernel("st.global.u32 [%buf], 1;"));
    let mut state = DeviceState::default();
    state.check(OutOfBounds::Error, true);
    let buffer = state.memory.allocate("buffer", 256).unwrap();
    state.memory.fill(buffer, exec::memory::Fill::Byte(0), 256).unwrap();
    for (loaded, grid) in [(&other, 1), (&loaded, 2), (&other, 1)] {
        let (grid, block) = (Dim3::new(grid, 1, 1), Dim3::new(1, 1, 1));
        let kernel = loaded.module.kernels[0].clone();
        run(&mut state, &Launch::new(kernel, grid, block, 0, &[Arg::Pointer(buffer)]).unwrap()).unwrap();
    }
    assert_eq!(state.findings().unwrap().found(), []);
}

#[test]
fn a_constant_that_nobody_has_set_is_a_remark_of_the_kernels_that_read_it() {
    let run_all = |items: &str, set: bool| {
        let loaded = module(items);
        let mut state = DeviceState::default();
        state.load(&loaded.module).unwrap();
        let buffer = state.memory.allocate("buffer", 256).unwrap();
        for variable in loaded.module.variables.iter().filter(|_| set) {
            state.memory.write(variable.address, &[0; 4]).unwrap();
        }
        let one = Dim3::new(1, 1, 1);
        for kernel in [&loaded.module.kernels[0]; 2] {
            run(&mut state, &Launch::new(kernel.clone(), one, one, 0, &[Arg::Pointer(buffer)]).unwrap()).unwrap();
        }
        state.remarks().to_vec()
    };
    let expected = "kernel `k` reads the constant `c`, which was never set: it is zero";
    let variable = ".const .align 4 .b8 c[64];\n".to_owned();
    let bodies = ["ld.const.u32 %r1, [c+8];", "mov.u64 %rd1, c; add.s64 %rd1, %rd1, 4; ld.const.u32 %r1, [%rd1];"];
    for body in bodies {
        assert_eq!(run_all(&(variable.clone() + &kernel(body)), false), [expected]);
        assert_eq!(run_all(&(variable.clone() + &kernel(body)), true), [""; 0]);
        let initialised = ".const .align 4 .b8 c[64] = {0, 0, 0, 0, 0, 0, 0, 0, 1};\n".to_owned();
        assert_eq!(run_all(&(initialised + &kernel(body)), false), [""; 0]);
    }
    // The words of the variable's address are numbers of this kernel: it does not read the variable.
    let [low, high] = {
        let address = module(&(variable.clone() + &kernel("ret;"))).module.variables[0].address;
        [address as u32, (address >> 32) as u32]
    };
    let numbers =
        format!("mov.u32 %r1, {low}; mov.u32 %r2, {high}; add.u32 %r1, %r1, {low}; add.u32 %r2, %r1, {high};");
    assert_eq!(run_all(&(variable + &kernel(&numbers)), false), [""; 0]);
}
