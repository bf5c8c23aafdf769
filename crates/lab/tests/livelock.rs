//! Warps that execute indefinitely and change nothing are found, in time and without; programs that progress are not
//! stopped.

use isa::Dim3;
use lab::{Setup, SimulatedDevice, Time};
use std::num::NonZeroU64;
use workloads::{ArgBytes, Device, DeviceError, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters};

/// Far fewer cycles than the programs that progress take without changing anything.
const PATIENCE: u64 = 20_000;

/// Runs a kernel `k(u64 p)` on one SM's worth of threads; `%i` is the thread's number in its CTA, `%c` the
/// CTA's. Gives the first words of the buffer that it gets, which are 0 before.
fn run_as(time: Time, body: &str, ctas: u32, threads: u32, audit: bool) -> Result<Vec<u32>, DeviceError> {
    run_with((time, PATIENCE), body, ctas, threads, audit)
}

/// The same with another number of cycles after which warps are examined.
fn run_with(
    (time, patience): (Time, u64),
    body: &str,
    ctas: u32,
    threads: u32,
    audit: bool,
) -> Result<Vec<u32>, DeviceError> {
    let text = format!(
        ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b32 %i, %c, %r<9>;\n.reg .b64 %p, %d<4>;\n.reg .pred %q<4>;\n.shared .align 4 .b8 s[64];\n\
         mov.u32 %i, %tid.x;\nmov.u32 %c, %ctaid.x;\nld.param.u64 %p, [p];\n{body}\nret;\n}}\n"
    );
    let setup = Setup {
        max_cycles: Some(3_000_000),
        livelock_cycles: NonZeroU64::new(patience),
        audit,
        time,
        ..Setup::new(config::load("rtx2060s").unwrap())
    };
    let mut device = SimulatedDevice::new(&setup)?;
    let module = device.load_module(&ModuleSource { name: "test.ptx", code: ModuleCode::Ptx(&text) })?;
    let buffer = device.alloc("words", 4096)?;
    device.memset(buffer, 0)?;
    device.launch(&LaunchRequest {
        module,
        kernel: "k",
        grid: Dim3::new(ctas, 1, 1),
        block: Dim3::new(threads, 1, 1),
        dynamic_shared_bytes: 0,
        args: &[ArgBytes::from(buffer)],
        registers: ThreadRegisters::Given(16),
        stream: 0,
    })?;
    let mut bytes = [0; 256];
    device.read(buffer, 0, &mut bytes)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
}

/// The same in time and without.
fn run(body: &str, ctas: u32, threads: u32) -> [Result<Vec<u32>, DeviceError>; 2] {
    [Time::All, Time::None].map(|time| run_as(time, body, ctas, threads, false))
}

/// The words that both leave.
fn words(body: &str, ctas: u32, threads: u32) -> Vec<u32> {
    let [timed, untimed] = run(body, ctas, threads).map(|words| words.unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(timed, untimed);
    timed
}

/// The reports of a livelock in time and without, which must have all `parts`.
fn livelock(body: &str, ctas: u32, threads: u32, parts: &[&str]) -> [String; 2] {
    let messages = run(body, ctas, threads).map(|words| words.expect_err("it never ends").to_string());
    for (message, unit) in messages.iter().zip(["livelock at cycle", "livelock at warp instruction"]) {
        for part in [unit, "`k`"].iter().chain(parts) {
            assert!(message.contains(part), "no {part} in:\n{message}");
        }
    }
    messages
}

/// About 250,000 cycles of a loop that changes nothing but registers.
const LONG_LOOP: &str = "mov.u32 %r1, 20000;\nC:\nadd.u32 %r2, %r2, %r1;\nsub.u32 %r1, %r1, 1;\n\
                         setp.ne.u32 %q1, %r1, 0;\n@%q1 bra C;";

/// Takes the lock at the first word.
const TAKE: &str = "L:\natom.global.cas.b32 %r1, [%p], 0, 1;\nsetp.ne.u32 %q1, %r1, 0;\n@%q1 bra L;\n";

#[test]
fn a_lock_that_a_lane_of_the_same_warp_holds() {
    let give_back = "ld.global.u32 %r2, [%p+4];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%p+4], %r2;\nmembar.gl;\n\
                     atom.global.exch.b32 %r1, [%p], 0;";
    for words in run(&format!("{TAKE}{give_back}"), 2, 64) {
        assert_eq!(words.unwrap()[..2], [0, 128]);
    }
}

#[test]
fn a_lock_that_is_never_given_back() {
    let body = TAKE;
    let parts = [
        "atom.global.cas.b32",
        "(test.ptx:14)",
        "global 0x7f00000000 = 0x1",
        "lanes 0xfffffffe",
        "repeats 3 instructions",
    ];
    livelock(body, 1, 32, &parts);
    let [timed, untimed] = livelock(body, 2, 64, &["… and so do"]);
    assert!(timed.contains("4 warps repeat themselves") && !timed.contains("hint"), "{timed}");
    // The second CTA never begins.
    assert!(untimed.contains("2 warps repeat themselves") && untimed.contains("option time"), "{untimed}");
}

#[test]
fn a_flag_that_nobody_sets() {
    let poll = "L:\nld.volatile.global.u32 %r1, [%p+8];\nsetp.eq.u32 %q1, %r1, 0;\n@%q1 bra L;";
    livelock(poll, 1, 32, &["ld.volatile.global.u32", "global 0x7f00000008 = 0x0"]);
    // Other warps wait at a barrier for the one that polls.
    let others = format!("setp.ge.u32 %q2, %i, 32;\n@%q2 bra D;\n{poll}\nD:\nbar.sync 0;");
    livelock(&others, 1, 96, &["waits at a barrier", "`bar.sync 0;`", "ld.volatile.global.u32"]);
    // The same under an auditor.
    let message = run_as(Time::All, poll, 1, 32, true).unwrap_err().to_string();
    assert!(message.contains("livelock"), "{message}");
}

#[test]
fn a_flag_that_goes_round_through_shared_memory_and_barriers() {
    // A store that changes nothing is no progress.
    let body = "mov.u32 %r3, s;\nsetp.ne.u32 %q2, %i, 0;\nL:\n@%q2 bra D;\nld.volatile.global.u32 %r1, [%p];\n\
                st.shared.u32 [%r3], %r1;\nD:\nbar.sync 0;\nld.volatile.shared.u32 %r1, [%r3];\nbar.sync 0;\n\
                setp.eq.u32 %q1, %r1, 0;\n@%q1 bra L;";
    livelock(body, 1, 64, &["ld.volatile.global.u32", "shared 0x0 = 0x0"]);
}

/// As for a warp that waits at one.
#[test]
fn mbarriers_that_are_polled_say_what_they_lack() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry tests()\n{\n\
                .shared .align 8 .b64 bar[4];\n.reg .b32 %b, %t;\n.reg .pred p, f;\n.reg .b64 %s;\n\
                mov.u32 %b, bar;\nmov.u32 %t, %tid.x;\nsetp.eq.u32 f, %t, 0;\n\
                @f mbarrier.init.shared::cta.b64 [%b+16], 3;\nbar.sync 0;\n\
                @f mbarrier.arrive.expect_tx.shared::cta.b64 %s, [%b+16], 4096;\n\
                W: mbarrier.test_wait.parity.shared::cta.b64 p, [%b+16], 0;\n@!p bra W;\nret;\n}\n\
                .visible .entry apart()\n{\n.shared .align 8 .b64 bar[32];\n.reg .b32 %b, %t, %p;\n.reg .pred p;\n\
                mov.u32 %b, bar;\nmov.u32 %t, %tid.x;\nmad.lo.u32 %b, %t, 8, %b;\nand.b32 %p, %t, 1;\n\
                mbarrier.init.shared::cta.b64 [%b], 2;\nbar.sync 0;\n\
                W: mbarrier.try_wait.parity.shared::cta.b64 p, [%b], %p;\n@!p bra W;\nret;\n}\n";
    let even = |address: u32, lacks: &str| {
        format!("the even phase of the mbarrier at shared address {address:#x}, which lacks {lacks}")
    };
    // Lanes with the odd parity wait for a phase that is over, and leave.
    let apart = [0, 0x10, 0x20, 0x30].map(|address| even(address, "2 arrivals")).join(", for ");
    for (kernel, waits_for) in [("tests", even(0x10, "2 arrivals and 4096 bytes")), ("apart", apart)] {
        let expected = format!(" waits for {waits_for}\n");
        for time in [Time::All, Time::None] {
            let setup = Setup {
                livelock_cycles: NonZeroU64::new(PATIENCE),
                max_cycles: Some(3_000_000),
                time: time.clone(),
                ..Setup::new(config::load("h100").unwrap())
            };
            let mut device = SimulatedDevice::new(&setup).unwrap();
            let module = device.load_module(&ModuleSource { name: "test.ptx", code: ModuleCode::Ptx(text) }).unwrap();
            let launched = device.launch(&LaunchRequest {
                module,
                kernel,
                grid: Dim3::new(1, 1, 1),
                block: Dim3::new(32, 1, 1),
                dynamic_shared_bytes: 0,
                args: &[],
                registers: ThreadRegisters::Estimated,
                stream: 0,
            });
            let ended = launched.and_then(|()| device.synchronize());
            let message = ended.expect_err("it never ends").to_string();
            assert!(message.contains("livelock"), "{message}");
            assert!(message.contains(&expected), "{kernel}: no {expected} in:\n{message}");
        }
    }
}

#[test]
fn a_long_loop_goes_on() {
    let words = words(&format!("{LONG_LOOP}\nst.global.u32 [%p], %r2;"), 1, 64);
    assert_eq!(words[0], 20000 * 20001 / 2);
}

#[test]
fn polling_goes_on_while_another_warp_computes() {
    let consume =
        "L:\nld.volatile.global.u32 %r1, [%p];\nsetp.eq.u32 %q1, %r1, 0;\n@%q1 bra L;\nst.global.u32 [%p+4], %r1;";
    // In another CTA, in another warp of the CTA, and after a sleep.
    for (of_producer, ctas, threads, first) in [
        ("setp.eq.u32 %q2, %c, 0;", 2, 32, LONG_LOOP),
        ("setp.lt.u32 %q2, %i, 32;", 1, 64, LONG_LOOP),
        ("setp.lt.u32 %q2, %i, 32;", 1, 64, "mov.u32 %r4, 200000;\nnanosleep.u32 %r4;"),
    ] {
        let body = format!(
            "{of_producer}\n@!%q2 bra L;\n{first}\nmov.u32 %r5, 7;\nst.volatile.global.u32 [%p], %r5;\nret;\n{consume}"
        );
        assert_eq!(words(&body, ctas, threads)[..2], [7, 7]);
    }
}

#[test]
fn waiting_for_the_time_goes_on() {
    // Nothing of the time is left in a register when the loop comes round.
    let body = "mov.u64 %d1, %clock64;\nadd.u64 %d1, %d1, 300000;\nL:\nmov.u64 %d2, %clock64;\n\
                setp.lt.u64 %q1, %d2, %d1;\nmov.u64 %d2, 0;\n@%q1 bra L;\nmov.u32 %r1, 5;\nst.global.u32 [%p], %r1;";
    assert_eq!(words(body, 1, 32)[0], 5);
}

#[test]
fn a_change_that_is_taken_back_is_no_livelock_to_the_watchdog() {
    // It never ends, but nothing that looks at states now and then could tell: the limit on cycles does.
    let body = "L:\natom.global.add.u32 %r1, [%p], 1;\natom.global.add.u32 %r1, [%p], -1;\nbra L;";
    assert!(run(body, 1, 32).iter().all(|ended| matches!(ended, Err(DeviceError::Interrupted))));
}

#[test]
fn a_warp_that_counts_while_it_waits_ends_without_time() {
    let body = "L:\nadd.u32 %r2, %r2, 1;\nld.volatile.global.u32 %r1, [%p+8];\nsetp.eq.u32 %q1, %r1, 0;\n@%q1 bra L;\n\
                st.global.u32 [%p], %r2;";
    let message = run_with((Time::None, 1000), body, 1, 64, false).unwrap_err().to_string();
    for part in
        ["2 warps have not ended", "repeats 4 instructions", "global 0x7f00000008 = 0x0", "option livelock_cycles"]
    {
        assert!(message.contains(part), "no {part} in:\n{message}");
    }
    // Pure computation is a livelock after a thousand unchanged checks.
    let computes =
        |patience| run_with((Time::None, patience), &format!("{LONG_LOOP}\nst.global.u32 [%p], %r2;"), 1, 64, false);
    assert_eq!(computes(100).unwrap()[0], 20000 * 20001 / 2);
    assert!(computes(50).unwrap_err().to_string().contains("have not ended"));
}

#[test]
fn a_cta_that_waits_for_a_later_one_ends_in_time() {
    let body = "setp.ne.u32 %q2, %c, 0;\n@%q2 bra S;\nL:\nld.volatile.global.u32 %r1, [%p];\n\
                setp.eq.u32 %q1, %r1, 0;\n@%q1 bra L;\nret;\nS:\nmov.u32 %r2, 9;\nst.volatile.global.u32 [%p], %r2;";
    let [timed, untimed] = run(body, 2, 32);
    assert_eq!(timed.unwrap()[0], 9);
    let message = untimed.unwrap_err().to_string();
    assert!(message.contains("livelock") && message.contains("waits for later ones"), "{message}");
    // A failed trial is undone, and the launch timed.
    let representative: Time = "representative".parse().unwrap();
    assert_eq!(run_as(representative, body, 2, 32, false).unwrap()[0], 9);
}
