//! Live execution in windows: what warps see of their own writes and of other SMs', and what waits for the exchange.

use crate::common::{kernel, module};
use exec::{Arg, DeviceState, Launch, LiveStream, OutOfBounds};
use isa::{CtaSlot, Dim3, DynInst, Fault, StepContext, WarpSlot, WarpStream};
use kit::Cycle;

const WARP: WarpSlot = WarpSlot(0);

/// SMs with a warp each, CTA *n* on SM *n*, and a buffer of zeros.
struct Machine {
    state: DeviceState,
    streams: Vec<LiveStream>,
    buffer: u64,
    now: Cycle,
    out: DynInst,
}

impl Machine {
    /// `body` finds the number of its SM in `%b`.
    fn new(sms: u32, body: &str) -> Self {
        Self::of(&kernel(body), sms, |_| ())
    }

    fn of(items: &str, sms: u32, prepare: impl FnOnce(&mut DeviceState)) -> Self {
        let mut state = DeviceState::default();
        prepare(&mut state);
        let loaded = module(items);
        state.load(&loaded.module).unwrap();
        let buffer = state.memory.allocate("buffer", 1 << 17).unwrap();
        let kernel = loaded.kernel("k").unwrap().clone();
        let launch = Launch::new(kernel, Dim3::new(sms, 1, 1), Dim3::new(1, 1, 1), 0, &[Arg::Pointer(buffer)]).unwrap();
        let id = state.add_launch(launch);
        let streams = (0..sms).map(|cta| {
            let mut stream = LiveStream::new();
            stream.start_cta(&state, id, Dim3::new(cta, 0, 0), CtaSlot(0), &[WARP]);
            stream
        });
        let streams = streams.collect();
        Self { state, streams, buffer, now: 0, out: DynInst::default() }
    }

    /// SM `sm` executes until its warp is held or has ended. Returns whether it is held.
    fn run(&mut self, sm: usize) -> Result<bool, Box<Fault>> {
        while self.streams[sm].next_pc(WARP).is_some() {
            let context = StepContext { now: self.now, sm: sm as u16 };
            self.streams[sm].step(&self.state, WARP, context, &mut self.out)?;
            self.now += 1;
            if self.out.held {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The end of a window. Returns the SMs of the operations, in their order.
    fn end_window(&mut self) -> Result<Vec<usize>, Box<Fault>> {
        self.streams.iter_mut().for_each(|stream| stream.merge(&mut self.state));
        let mut order = Vec::new();
        let first = |streams: &[LiveStream]| {
            let all = streams.iter().enumerate().filter_map(|(sm, stream)| Some((*stream.waiting().first()?, sm)));
            all.min()
        };
        while let Some((_, sm)) = first(&self.streams) {
            self.streams[sm].exchange(&mut self.state)?;
            order.push(sm);
        }
        Ok(order)
    }

    fn word(&self, index: u64) -> u32 {
        let mut bytes = [0; 4];
        self.state.memory.read(self.buffer + 4 * index, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }
}

#[test]
fn a_warp_sees_its_own_stores_at_once_and_those_of_other_sms_in_the_next_window() {
    // Each adds one to a word, and stores what it has read before and after.
    let body = "ld.global.u32 %r1, [%buf+1024]; add.u32 %r2, %r1, 1; st.global.u32 [%buf+1024], %r2;\n\
                ld.global.u32 %r3, [%buf+1024]; st.global.u32 [%at], %r3;";
    let mut machine = Machine::new(2, body);
    assert!(!machine.run(0).unwrap() && !machine.run(1).unwrap());
    assert_eq!([0, 1, 256].map(|i| machine.word(i)), [0; 3], "nothing is merged");
    assert_eq!(machine.end_window().unwrap(), []);
    assert_eq!([0, 1, 256].map(|i| machine.word(i)), [1; 3]);
    let mut machine = Machine::new(2, body);
    machine.run(1).unwrap();
    machine.end_window().unwrap();
    machine.run(0).unwrap();
    machine.end_window().unwrap();
    assert_eq!([0, 1, 256].map(|i| machine.word(i)), [2, 1, 2]);
}

#[test]
fn sms_merge_the_bytes_that_they_have_written() {
    // Bytes 0 to 3 of a word, one by each SM, on both sides of a page's border.
    let body = "cvt.u64.u32 %rd1, %b; add.u64 %rd1, %rd1, %buf; add.u32 %r1, %b, 0x41;\n\
                st.global.u8 [%rd1+65532], %r1; st.global.u8 [%rd1+65536], %r1;\n\
                ld.global.u32 %r2, [%buf+65532]; st.global.u32 [%at], %r2;";
    let mut machine = Machine::new(4, body);
    for sm in [2, 0, 3, 1] {
        machine.run(sm).unwrap();
    }
    machine.end_window().unwrap();
    assert_eq!([16_383, 16_384].map(|i| machine.word(i)), [0x4443_4241; 2]);
    assert_eq!([0, 1, 2, 3].map(|i| machine.word(i)), [0x41, 0x4200, 0x43_0000, 0x4400_0000], "only its own byte");
}

#[test]
fn atomics_are_performed_in_the_order_of_their_cycles() {
    let mut machine = Machine::new(3, "atom.global.add.u32 %r1, [%buf+1024], 10; st.global.u32 [%at], %r1; membar.gl;");
    for sm in [2, 0, 1] {
        assert!(machine.run(sm).unwrap(), "held at the atomic");
        assert_eq!((machine.out.mask, machine.out.addresses[0]), (1, machine.buffer + 1024));
        assert_eq!(machine.out.next_pc, machine.streams[sm].next_pc(WARP));
    }
    assert_eq!(machine.word(256), 0);
    assert_eq!(machine.end_window().unwrap(), [2, 0, 1]);
    assert_eq!(machine.word(256), 30);
    (0..3).for_each(|sm| assert!(machine.run(sm).unwrap(), "held at the fence, after its store"));
    machine.end_window().unwrap();
    assert_eq!([0, 1, 2].map(|i| machine.word(i)), [10, 20, 0]);
    (0..3).for_each(|sm| assert!(!machine.run(sm).unwrap()));
}

#[test]
fn reductions_do_not_hold_their_warp_until_their_word_is_accessed() {
    let body = "red.global.add.u32 [%buf+1024], 3; ld.global.u32 %r1, [%buf+1028]; st.global.u32 [%at], 7;\n\
                ld.global.u32 %r2, [%buf+1024]; st.global.u32 [%at], %r2;";
    let mut machine = Machine::new(2, body);
    assert!(machine.run(0).unwrap() && machine.run(1).unwrap(), "held at the load");
    assert_eq!(machine.out.addresses[0], machine.buffer + 1024);
    // Reductions and loads in the order of their cycles: SM 0 was first with both.
    assert_eq!(machine.end_window().unwrap(), [0, 0, 1, 1]);
    assert_eq!([0, 1].map(|i| machine.word(i)), [7, 7]);
    assert!(!machine.run(0).unwrap() && !machine.run(1).unwrap());
    machine.end_window().unwrap();
    assert_eq!([0, 1, 256].map(|i| machine.word(i)), [3, 6, 6]);
}

#[test]
fn stores_and_atomics_to_a_reduced_word_come_after_the_reduction() {
    for (then, result) in [
        ("st.global.u32 [%buf+1024], 100;", 100),
        ("st.global.u8 [%buf+1025], 1;", 0x103),
        ("atom.global.exch.b32 %r1, [%buf+1024], 50; st.global.u32 [%at], %r1;", 50),
        ("red.global.max.u32 [%buf+1024], 2;", 3),
        ("red.global.max.u32 [%buf+1024], 20;", 20),
    ] {
        let mut machine = Machine::new(1, &format!("red.global.add.u32 [%buf+1024], 3; {then}"));
        while machine.run(0).unwrap() {
            machine.end_window().unwrap();
        }
        machine.end_window().unwrap();
        assert_eq!(machine.word(256), result, "{then}");
        assert!(!then.starts_with("atom") || machine.word(0) == 3);
    }
    // An earlier store is merged before the reduction is performed.
    let mut machine = Machine::new(1, "st.global.u32 [%buf+1024], 5; red.global.add.u32 [%buf+1024], 3;");
    assert!(!machine.run(0).unwrap());
    machine.end_window().unwrap();
    assert_eq!(machine.word(256), 8);
}

#[test]
fn a_fence_waits_only_for_what_others_have_yet_to_see() {
    for (body, held) in [
        ("membar.gl;", false),
        ("ld.global.u32 %r1, [%buf]; fence.acq_rel.gpu;", false),
        ("st.global.u32 [%buf], 1; membar.cta;", false),
        ("st.global.u32 [%buf], 1; fence.acq_rel.cta;", false),
        ("st.global.u32 [%buf], 1; membar.gl;", true),
        ("st.global.u32 [%buf], 1; fence.sc.sys;", true),
        ("red.global.add.u32 [%buf], 1; membar.gl;", true),
    ] {
        let mut machine = Machine::new(1, body);
        assert_eq!(machine.run(0).unwrap(), held, "{body}");
        machine.end_window().unwrap();
        assert!(!machine.run(0).unwrap(), "{body}");
    }
}

#[test]
fn faults_are_found_at_the_instruction() {
    for (body, message) in [
        ("atom.global.add.u32 %r1, [%buf+131072], 1;", "out-of-bounds atomic access to global address"),
        ("red.global.add.u32 [%buf+131072], 1;", "out-of-bounds atomic access to global address"),
        ("red.global.add.u32 [%buf+2], 1;", "misaligned atomic access to global address"),
        ("st.global.u32 [%buf+131072], 1;", "out-of-bounds store to global address"),
        ("st.global.u32 [%buf+2], 1;", "misaligned store to global address"),
    ] {
        let fault = Machine::new(1, body).run(0).expect_err(body);
        assert!(fault.what.starts_with(message), "{body}: {fault}");
        assert!(!fault.spot.kernel.is_empty());
    }
}

#[test]
fn output_is_in_the_order_of_the_exchange() {
    let items = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
                 .global .align 1 .b8 text[8] = {83, 77, 32, 37, 117, 10, 0, 0};\n"
        .to_owned()
        + &kernel(
            "{ .param .b64 a; .param .b64 b; .param .b32 r; .local .align 8 .b8 args[8];\n\
             mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1; mov.u64 %rd2, args; cvta.local.u64 %rd3, %rd2;\n\
             st.local.u32 [%rd2], %b; st.param.b64 [a], %rd1; st.param.b64 [b], %rd3;\n\
             call.uni (r), vprintf, (a, b); }",
        );
    let mut machine = Machine::of(&items, 3, |_| ());
    for sm in [1, 2, 0] {
        assert!(machine.run(sm).unwrap(), "held at the call");
    }
    assert_eq!(machine.state.output, "");
    machine.end_window().unwrap();
    assert_eq!(machine.state.output, "SM 1\nSM 2\nSM 0\n");
    (0..3).for_each(|sm| assert!(!machine.run(sm).unwrap()));
}

#[test]
fn checks_see_the_accesses_of_a_window_when_it_ends() {
    // SM 0 writes a word and raises a flag by an atomic; the others test the flag by an atomic, then read the word.
    let body = "setp.ne.u32 %p1, %b, 0; @%p1 bra reader; st.global.u32 [%buf+1024], 1; membar.gl;\n\
                atom.global.exch.b32 %r1, [%buf+2048], 1; bra done;\n\
                reader: atom.global.add.u32 %r1, [%buf+2048], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra reader;\n\
                ld.global.u32 %r2, [%buf+1024]; done:";
    let findings = |body: &str, order: &[usize]| {
        let mut machine = Machine::of(&kernel(body), 3, |state| state.check(OutOfBounds::Warn, true));
        machine.state.memory.write(machine.buffer, &[0; 4096]).unwrap();
        for _ in 0..8 {
            for &sm in order {
                machine.run(sm).unwrap();
            }
            machine.end_window().unwrap();
        }
        let findings = machine.state.findings().unwrap();
        assert!(findings.instructions() > 20, "{}", findings.instructions());
        findings.found().iter().map(|finding| (finding.kind.name(), finding.count)).collect::<Vec<_>>()
    };
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        assert_eq!(findings(body, &order), [], "{order:?}");
    }
    // Without the atomics it is a race, in whatever order the SMs are merged.
    let body = "setp.ne.u32 %p1, %b, 0; @%p1 bra reader; st.global.u32 [%buf+1024], 1; bra done;\n\
                reader: ld.global.u32 %r2, [%buf+1024]; ld.global.u32 %r2, [%buf]; ld.global.u32 %r2, [%buf];\n\
                ld.global.u32 %r2, [%buf]; ld.global.u32 %r2, [%buf]; done:";
    assert_eq!(findings(body, &[0, 1, 2]), [("global_race", 2)]);
    // An atomic beyond the buffer is reported once, although it is performed later.
    let stray = "atom.global.add.u32 %r1, [%buf+131072], 1; mov.u32 %r1, 1; mov.u32 %r1, 2;";
    assert_eq!(findings(stray, &[0, 1, 2]), [("out_of_bounds", 3)]);
}
