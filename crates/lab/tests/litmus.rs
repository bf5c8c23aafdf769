//! Litmus tests of PTX's memory model on the whole machine: outcomes that the model forbids never come, wherever in
//! their windows the CTAs meet.

use isa::Dim3;
use lab::{HostThreads, Setup, SimulatedDevice};
use workloads::{ArgBytes, Device, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters};

/// Words of a test: `x` and `y` and what each CTA has read, on lines of their own.
const WORDS: u64 = 32;

/// CTA *n* executes `bodies[n]` after its delay of the two; gives the words at the end. The bodies have addresses
/// `%x`, `%y` and `%out`, the last one the CTA's own.
fn outcome(bodies: &[&str], delays: [u32; 2], threads: usize) -> Vec<u32> {
    let mut text = String::from(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .visible .entry k(.param .u64 p, .param .u32 first, .param .u32 second)\n{\n\
         .reg .b32 %c, %d, %a, %b, %t;\n.reg .b64 %x, %y, %out, %o;\n.reg .pred %q, %r;\n\
         ld.param.u64 %x, [p];\nadd.u64 %y, %x, 4096;\nmov.u32 %c, %ctaid.x;\n\
         mul.wide.u32 %o, %c, 128;\nadd.u64 %out, %x, 8192;\nadd.u64 %out, %out, %o;\n\
         mov.u32 %a, 0;\nmov.u32 %b, 0;\n\
         and.b32 %t, %c, 1;\nsetp.eq.u32 %q, %t, 0;\n\
         ld.param.u32 %d, [first];\n@!%q ld.param.u32 %d, [second];\n\
         wait:\nsetp.eq.u32 %r, %d, 0;\n@%r bra go;\nsub.u32 %d, %d, 1;\nbra wait;\ngo:\n",
    );
    for number in 0..bodies.len() {
        text += &format!("setp.eq.u32 %q, %c, {number};\n@%q bra body{number};\n");
    }
    text += "ret;\n";
    for (number, body) in bodies.iter().enumerate() {
        text += &format!("body{number}:\n{body}\nst.global.u32 [%out], %a;\nst.global.u32 [%out+4], %b;\nret;\n");
    }
    text += "}\n";
    let gpu = config::load("rtx2060s").expect("a built-in GPU");
    let setup = Setup { max_cycles: Some(2_000_000), threads: HostThreads::new(threads), ..Setup::new(gpu) };
    let mut device = SimulatedDevice::new(&setup).expect("a sound set-up");
    let source = ModuleSource { name: "litmus.ptx", code: ModuleCode::Ptx(&text) };
    let module = device.load_module(&source).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let bytes = 8192 + 128 * WORDS;
    let buffer = device.alloc("words", bytes).expect("room");
    device.write(buffer, 0, &vec![0; bytes as usize]).expect("in bounds");
    let launch = LaunchRequest {
        module,
        kernel: "k",
        grid: Dim3::new(bodies.len() as u32, 1, 1),
        block: Dim3::new(1, 1, 1),
        dynamic_shared_bytes: 0,
        args: &[ArgBytes::from(buffer), ArgBytes::from(delays[0]), ArgBytes::from(delays[1])],
        registers: ThreadRegisters::Given(16),
        stream: 0,
    };
    device.launch(&launch).expect("a sound launch");
    let mut contents = vec![0; bytes as usize];
    device.read(buffer, 0, &mut contents).unwrap_or_else(|e| panic!("{e}"));
    let words = contents.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect::<Vec<_>>();
    // x, y, and two words of each CTA.
    let own = (0..bodies.len()).flat_map(|cta| [words[2048 + 32 * cta], words[2049 + 32 * cta]]);
    [words[0], words[1024]].into_iter().chain(own).collect()
}

/// All outcomes over start offsets of some windows.
fn outcomes(bodies: &[&str]) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for delay in (0..60).step_by(3) {
        for delays in [[delay, 0], [0, delay], [delay, 20]] {
            let found = outcome(bodies, delays, 1 + delay as usize % 3);
            if !all.contains(&found) {
                all.push(found);
            }
        }
    }
    all
}

#[test]
fn a_message_is_there_when_its_flag_is() {
    let writer = "st.volatile.global.u32 [%x], 1;\nmembar.gl;\nst.volatile.global.u32 [%y], 1;";
    let reader = "ld.volatile.global.u32 %a, [%y];\nmembar.gl;\nld.volatile.global.u32 %b, [%x];";
    let all = outcomes(&[writer, reader]);
    assert!(all.iter().all(|o| !(o[4] == 1 && o[5] == 0)), "{all:?}");
    assert!(all.len() > 1, "the offsets matter: {all:?}");
}

#[test]
fn stores_are_not_behind_loads_across_fences() {
    let one = "st.volatile.global.u32 [%x], 1;\nfence.sc.gpu;\nld.volatile.global.u32 %a, [%y];";
    let other = "st.volatile.global.u32 [%y], 1;\nfence.sc.gpu;\nld.volatile.global.u32 %a, [%x];";
    let all = outcomes(&[one, other]);
    assert!(all.iter().all(|o| o[2] + o[4] > 0), "one sees the other's store: {all:?}");
}

#[test]
fn two_readers_agree_on_the_order_of_two_writers() {
    let write = |at: &str| format!("st.volatile.global.u32 [{at}], 1;");
    let read = |first: &str, second: &str| {
        format!("ld.volatile.global.u32 %a, [{first}];\nfence.sc.gpu;\nld.volatile.global.u32 %b, [{second}];")
    };
    let bodies = [write("%x"), read("%x", "%y"), write("%y"), read("%y", "%x")];
    let all = outcomes(&bodies.each_ref().map(String::as_str));
    assert!(all.iter().all(|o| !(o[4..6] == [1, 0] && o[8..10] == [1, 0])), "{all:?}");
}

#[test]
fn a_later_load_sees_no_older_value() {
    let writer = "st.volatile.global.u32 [%x], 1;";
    let reader = "ld.volatile.global.u32 %a, [%x];\nld.volatile.global.u32 %b, [%x];";
    let all = outcomes(&[writer, reader]);
    assert!(all.iter().all(|o| o[5] >= o[4]), "{all:?}");
}

#[test]
fn stores_in_two_orders_do_not_both_come_first() {
    let one = "st.volatile.global.u32 [%x], 1;\nfence.sc.gpu;\nst.volatile.global.u32 [%y], 2;";
    let other = "st.volatile.global.u32 [%y], 1;\nfence.sc.gpu;\nst.volatile.global.u32 [%x], 2;";
    let all = outcomes(&[one, other]);
    assert!(all.iter().all(|o| o[..2] != [1, 1]), "{all:?}");
}

/// Each CTA takes a ticket, waits for its turn, adds one to a plain word and passes the turn on.
#[test]
fn a_ticket_lock_excludes_others() {
    let body = "atom.global.add.u32 %a, [%x], 1;\n\
                spinN:\nld.volatile.global.u32 %t, [%x+128];\nsetp.ne.u32 %r, %t, %a;\n@%r bra spinN;\nmembar.gl;\n\
                ld.volatile.global.u32 %b, [%y];\nadd.u32 %b, %b, 1;\nst.volatile.global.u32 [%y], %b;\nmembar.gl;\n\
                add.u32 %t, %a, 1;\nst.volatile.global.u32 [%x+128], %t;";
    let bodies: Vec<String> = (0..8).map(|n| body.replace("spinN", &format!("spin{n}"))).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    for delay in [0, 7, 31] {
        let found = outcome(&bodies, [delay, 0], 2);
        assert_eq!(found[..2], [8, 8]);
        let mut tickets: Vec<u32> = found[2..].chunks(2).map(|own| own[0]).collect();
        // The word counts turns: each CTA finds as many before it as its ticket says.
        assert!(found[2..].chunks(2).all(|own| own[1] == own[0] + 1), "{found:?}");
        tickets.sort_unstable();
        assert_eq!(tickets, (0..8).collect::<Vec<_>>());
    }
}

/// Reductions whose results nobody uses are not lost, and a load after them sees those of its own SM.
#[test]
fn reductions_of_all_ctas_add_up() {
    let body = "red.global.add.u32 [%x], 1;\nred.global.add.u32 [%x], 2;\nld.volatile.global.u32 %a, [%x];";
    let found = outcome(&[body; 12], [0, 5], 3);
    assert_eq!(found[0], 36);
    assert!(found[2..].chunks(2).all(|own| own[0] >= 3), "{found:?}");
}
