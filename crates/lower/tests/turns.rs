//! How lanes of a warp diverge and meet, drawn: a row for lanes that do the same, a column for each mark that they
//! pass, in the order of time. Each program is written once and becomes PTX and machine code.

use crate::{common, words};

use exec::{Arg, DeviceState, Kernel, Launch, LiveStream};
use isa::{CtaSlot, Dim3, DynInst, StepContext, WarpSlot, WarpStream};
use lower::load_words;
use std::fmt::Write;
use std::sync::Arc;
use words::Word;

/// Lanes of the warp.
const LANES: u32 = 8;
/// Repetitions of a column are written as a number from here on.
const SHORT: usize = 4;

/// A program: one instruction or label a line.
///
/// | line | meaning |
/// | --- | --- |
/// | `A` | the mark A |
/// | `L:` | a label |
/// | `bra L` | a branch |
/// | `flag` | sets a flag in memory |
/// | `until L` | a branch that is taken until the flag is set; reads it in PTX |
/// | `warpsync` | waits for all lanes |
/// | `bar` | a CTA barrier |
/// | `exit` | |
/// | `bssy B L`, `bsync B`, `break B`, `yield` | machine code only |
///
/// `@low` before it: in lanes 0 to 3; `@high`: in lanes 4 to 7; `@even`: in lanes 0, 2, 4 and 6.
struct Program(&'static str);

impl Program {
    fn lines(&self) -> impl Iterator<Item = (Option<&'static str>, Vec<&'static str>)> {
        self.0.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
            let mut parts: Vec<_> = line.split_whitespace().collect();
            let guard = parts[0].strip_prefix('@');
            if guard.is_some() {
                parts.remove(0);
            }
            (guard, parts)
        })
    }

    fn ptx(&self) -> String {
        let mut body = "setp.lt.u32 %p1, %i, 4; and.b32 %r1, %i, 1; setp.eq.u32 %p2, %r1, 0;\n".to_owned();
        for (guard, parts) in self.lines() {
            let on = match guard {
                None => "",
                Some("low") => "@%p1 ",
                Some("high") => "@!%p1 ",
                Some("even") => "@%p2 ",
                Some(other) => panic!("lanes {other}?"),
            };
            let text = match parts[..] {
                ["bra", to] => format!("{on}bra {to};"),
                ["flag"] => format!("{on}st.volatile.global.u32 [%buf], 1;"),
                ["until", to] => {
                    format!("ld.volatile.global.u32 %r2, [%buf]; setp.eq.u32 %p3, %r2, 0; @%p3 bra {to};")
                }
                ["warpsync"] => format!("{on}bar.warp.sync 0xffffffff;"),
                ["bar"] => format!("{on}barrier.sync 0;"),
                ["exit"] => format!("{on}exit;"),
                ["bssy" | "bsync" | "break" | "yield", ..] => continue,
                [label] if label.ends_with(':') => label.to_owned(),
                [mark] => format!("{on}mov.u32 %r9, {};", u32::from(letter(mark))),
                _ => panic!("{parts:?}?"),
            };
            writeln!(body, "{text}").unwrap();
        }
        common::kernel(&body)
    }

    fn words(&self) -> Vec<u128> {
        let is_label = |parts: &[&str]| parts[0].ends_with(':');
        let mut labels = std::collections::HashMap::new();
        let mut at = 0;
        for (_, parts) in self.lines() {
            if is_label(&parts) {
                labels.insert(parts[0].trim_end_matches(':'), at);
            } else {
                at += 1;
            }
        }
        let code = self.lines().filter(|(_, parts)| !is_label(parts)).zip(0..);
        let code = code.map(|((guard, parts), at)| {
            let (p, not) = match guard {
                None => (7, false),
                Some("low") => (0, false),
                Some("high") => (0, true),
                Some("even") => (2, false),
                Some(other) => panic!("lanes {other}?"),
            };
            let jump = |word: Word, to: &str| word.p(7, false).bits(34, 48, ((labels[to] - at - 1) * 4) as u64);
            let barrier = |name: &str| name[1..].parse().unwrap();
            let word = match parts[..] {
                ["bra", to] => jump(Word::new(0x147, 4), to),
                ["until", to] => return jump(Word::new(0x147, 4).guard(1, true), to).0,
                ["bssy", b, to] => jump(Word::new(0x145, 4), to).bits(16, 4, barrier(b)),
                ["bsync", b] => Word::new(0x141, 4).p(7, false).bits(16, 4, barrier(b)),
                ["break", b] => Word::new(0x142, 4).p(7, false).bits(16, 4, barrier(b)),
                ["yield"] => Word::new(0x146, 4).p(7, false),
                ["warpsync"] => Word::new(0x148, 4).p(7, false).b(!0),
                ["bar"] => Word::new(0x11d, 5).bits(79, 1, 1),
                ["exit"] => Word::new(0x14d, 4).p(7, false),
                ["flag"] => Word::new(0x02, 4).d(9).bits(72, 4, 15).b(1),
                [mark] => Word::new(0x02, 4).d(9).bits(72, 4, 15).b(letter(mark).into()),
                _ => panic!("{parts:?}?"),
            };
            word.guard(p, not).0
        });
        code.chain([words::EXIT]).collect()
    }
}

/// The letter of a mark.
fn letter(mark: &str) -> u8 {
    match mark.as_bytes() {
        [letter @ b'A'..=b'Z'] => *letter,
        _ => panic!("{mark}?"),
    }
}

/// Runs a kernel of one warp, and draws the marks. `mark` gives the mark of an instruction; 1 is the flag.
/// Predicates of machine code are set here: P0 `low`, P2 `even`, P1 the flag.
fn drawn(
    kernel: Kernel,
    mut state: DeviceState,
    args: &[Arg],
    is_ptx: bool,
    mark: impl Fn(u32) -> Option<u8>,
) -> String {
    let one = Dim3::new(1, 1, 1);
    let launch = Launch::new(Arc::new(kernel), one, Dim3::new(LANES, 1, 1), 0, args).unwrap();
    let id = state.add_launch(launch);
    let (warp, mut stream, mut out) = (WarpSlot(0), LiveStream::new(), DynInst::default());
    stream.start_cta(&state, id, Dim3::new(0, 0, 0), CtaSlot(0), &[warp]);
    if !is_ptx {
        stream.registers_mut(warp).unwrap().1[..3].copy_from_slice(&[0x0f, 0, 0x55]);
    }
    let mut columns: Vec<(u8, u32, usize)> = Vec::new();
    let mut now = 0;
    while stream.next_pc(warp).is_some() {
        assert!(now < 10_000, "no end");
        stream.step_alone(&mut state, warp, StepContext { now, sm: 0 }, &mut out).unwrap();
        match mark(out.pc.0) {
            Some(1) if !is_ptx && out.mask != 0 => stream.registers_mut(warp).unwrap().1[1] = !0,
            Some(1) | None => {}
            Some(_) if out.mask == 0 => {}
            Some(letter) => match columns.last_mut() {
                Some(last) if (last.0, last.1) == (letter, out.mask) => last.2 += 1,
                _ => columns.push((letter, out.mask, 1)),
            },
        }
        now += 1;
    }
    picture(&columns)
}

/// Rows of lanes that pass the same marks. A column is a mark, the lanes that pass it, and how often in a row.
fn picture(columns: &[(u8, u32, usize)]) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for lane in 0..LANES {
        let mut row = String::new();
        for &(mark, lanes, times) in columns {
            let text = char::from(mark).to_string();
            let text = if times < SHORT { text.repeat(times) } else { format!("{text}*{times}") };
            row += &if lanes >> lane & 1 == 1 { text } else { " ".repeat(text.len()) };
        }
        let row = row.trim_end().to_owned();
        match rows.iter_mut().find(|(_, known)| *known == row) {
            Some((name, _)) => *name += &lane.to_string(),
            None => rows.push((lane.to_string(), row)),
        }
    }
    rows.iter().map(|(name, row)| format!("{name:<4} {row}\n")).collect()
}

/// A drawing, line by line.
fn lines(drawing: &str) -> Vec<&str> {
    drawing.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Compares the drawings of a program as PTX and as machine code.
#[track_caller]
fn check(program: &'static str, ptx: &str, machine_code: &str) {
    let program = Program(program);
    let seen = program.as_ptx();
    assert!(lines(&seen) == lines(ptx), "PTX:\n{seen}");
    let seen = program.as_machine_code();
    assert!(lines(&seen) == lines(machine_code), "machine code:\n{seen}");
}

impl Program {
    fn as_ptx(&self) -> String {
        let loaded = common::module(&self.ptx());
        let kernel = Kernel::clone(&loaded.module.kernels[0]);
        let program = kernel.program.clone();
        let mark = |pc: u32| {
            let text = program.text((pc as usize).into());
            let number = text.split("mov.u32 %r9, ").nth(1)?;
            Some(number.trim_end_matches(';').parse().unwrap())
        };
        let mut state = DeviceState::default();
        state.load(&loaded.module).unwrap();
        let buffer = state.memory.allocate("buffer", 4).unwrap();
        drawn(kernel, state, &[Arg::Pointer(buffer)], true, mark)
    }

    fn as_machine_code(&self) -> String {
        let code = self.words();
        let kernel = load_words("words", 75, &code, 16).unwrap_or_else(|e| panic!("{}", e.join("\n")));
        let mark = |pc: u32| (code[pc as usize] & 0x1ff == 2).then_some((code[pc as usize] >> 32) as u8);
        drawn(kernel, DeviceState::default(), &[Arg::Bytes(vec![0; 64])], false, mark)
    }
}

#[test]
fn lanes_that_jump_execute_first_and_wait_for_the_others() {
    check(
        "
            bssy B0 M
            @low bra T
            A
            bra M
            T:
            B
            M:
            bsync B0
            C",
        "
            0123 B C
            4567  AC",
        "
            0123 B C
            4567  AC",
    );
}

#[test]
fn lanes_that_have_yielded_hold_nobody_at_a_join() {
    check(
        "
            bssy B0 M
            @low bra L
            A
            flag
            B
            bra M
            L:
            yield
            S
            until L
            M:
            bsync B0
            C",
        "
            0123 S   SC
            4567  ABC",
        "
            0123    SC
            4567 ABC",
    );
}

#[test]
fn lanes_that_come_late_wait_for_each_other() {
    check(
        "
            bssy B0 M
            @low bra L
            A
            flag
            bra M
            L:
            yield
            S
            until L
            @even bra M
            B
            M:
            bsync B0
            C",
        "
            02   S  S C
            13   S  SBC
            4567  AC",
        "
            02     S C
            13     SBC
            4567 AC",
    );
}

#[test]
fn lanes_at_warpsync_hold_nobody_at_a_join() {
    check(
        "
            bssy B0 M
            @low bra T
            A
            bra M
            T:
            B
            warpsync
            M:
            bsync B0
            C
            @low bra E
            warpsync
            E:
            D",
        "
            0123 B   CD
            4567  ACD",
        "
            0123 B   CD
            4567  ACD",
    );
}

#[test]
fn lanes_that_have_yielded_hold_those_at_warpsync() {
    check(
        "
            @low bra L
            A
            flag
            warpsync
            C
            bra E
            L:
            yield
            S
            until L
            B
            warpsync
            E:
            D",
        "
            0123 S SB D
            4567  A  CD",
        "
            0123  SBD
            4567 A   CD",
    );
}

#[test]
fn lanes_at_a_cta_barrier_hold_those_at_a_join() {
    check(
        "
            bssy B0 M
            @low bra T
            bssy B1 N
            @even bra U
            A
            bra N
            U:
            B
            N:
            bsync B1
            C
            bar
            bra M
            T:
            D
            bar
            E
            M:
            bsync B0
            F",
        "
            0123 D   EF
            46    B C F
            57     AC F",
        "
            0123 D   EF
            46    B C F
            57     AC F",
    );
}

#[test]
fn lanes_that_exit_hold_nobody() {
    check(
        "
            bssy B0 M
            @low bra T
            A
            @even exit
            bra M
            T:
            B
            M:
            bsync B0
            C",
        "
            0123 B C
            46    A
            57    AC",
        "
            0123 B C
            46    A
            57    AC",
    );
}

#[test]
fn lanes_that_leave_a_loop_early() {
    check(
        "
            bssy B0 M
            A
            @low break B0
            @low bra T
            B
            bra M
            T:
            C
            exit
            M:
            bsync B0
            D",
        "
            0123 AC
            4567 A BD",
        "
            0123 AC
            4567 A BD",
    );
}

/// A loop that reads memory in PTX gives way in each turn; one without `YIELD` in machine code only now and then.
#[test]
fn a_loop_without_yield_lets_others_execute() {
    check(
        "
            bssy B0 M
            @low bra L
            A
            flag
            bra M
            L:
            S
            bra X
            X:
            until L
            M:
            bsync B0
            B",
        "
            0123 S  SB
            4567  AB",
        "
            0123 S*32 SB
            4567     A B",
    );
}

#[test]
fn lanes_that_spin_take_turns() {
    check(
        "
            @low bra L
            @even bra K
            A
            B
            flag
            bra E
            L:
            yield
            S
            until L
            bra E
            K:
            yield
            T
            until K
            E:
            C",
        "
            0123 S S     SC
            46    T    TC
            57      ABC",
        "
            0123 S     SC
            46       TC
            57    ABC",
    );
}
