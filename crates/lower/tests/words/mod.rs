//! Runs instruction words on one warp whose registers the test sets and reads.
pub mod check;

use exec::{Arg, DeviceState, Launch, LiveStream};
use isa::{CtaSlot, Dim3, DynInst, Fault, StepContext, WarpSlot, WarpStream};
use kit::lanes;
use lower::load_words;
use std::sync::Arc;

/// One value per lane.
pub type Column = [u32; 32];

/// General registers of a test kernel.
pub const GENERAL: usize = 64;
/// Columns between general and uniform ones.
const GAP: usize = 8;

/// The registers of the warp.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    /// From R0 on.
    pub general: Vec<Column>,
    /// From UR0 on: those that the instructions name, in the lanes that end last.
    pub uniform: Vec<u32>,
    /// P0 to P6.
    pub predicates: [u32; 7],
    /// UP0 to UP6, as truth values.
    pub uniform_predicates: [bool; 7],
}

impl Default for Registers {
    fn default() -> Self {
        Self {
            general: vec![[0; 32]; GENERAL],
            uniform: vec![0; 64],
            predicates: [0; 7],
            uniform_predicates: [false; 7],
        }
    }
}

/// The state around the warp.
pub struct Setting {
    /// Lanes of the warp: threads of the CTA.
    pub threads: u32,
    /// From the first parameter on: `c[0x0][0x160]`, on sm_90 `c[0x0][0x210]`.
    pub parameter: [u8; 64],
    /// Bytes of shared memory.
    pub shared: u32,
    /// Device memory.
    pub state: DeviceState,
}

impl Default for Setting {
    fn default() -> Self {
        Self { threads: 32, parameter: [0; 64], shared: 0, state: DeviceState::default() }
    }
}

impl Setting {
    /// Writes `words` to the parameter.
    pub fn with_words(mut self, words: &[u32]) -> Self {
        for (place, word) in self.parameter.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self
    }
}

/// `EXIT`, always.
pub const EXIT: u128 = 0x000fea00_03800000_00000000_0000794d;

/// Runs `words` and an exit on a warp that starts with `registers`, and returns the final state.
pub fn try_run(sm: u8, words: &[u128], registers: &Registers, setting: &mut Setting) -> Result<Registers, Box<Fault>> {
    let code: Vec<u128> = words.iter().copied().chain([EXIT]).collect();
    let kernel = load_words("words", sm, &code, GENERAL as u32).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let one = Dim3::new(1, 1, 1);
    let block = Dim3::new(setting.threads, 1, 1);
    let args = [Arg::Bytes(setting.parameter.to_vec())];
    let launch = Launch::new(Arc::new(kernel), one, block, setting.shared, &args).unwrap();
    let id = setting.state.add_launch(launch);
    let (warp, mut stream, mut out) = (WarpSlot::from(0_usize), LiveStream::new(), DynInst::default());
    stream.start_cta(&setting.state, id, Dim3::new(0, 0, 0), CtaSlot(0), &[warp]);
    let mut result = registers.clone();
    {
        let (columns, predicates) = stream.registers_mut(warp).unwrap();
        columns[..GENERAL].copy_from_slice(&registers.general);
        for (column, value) in columns[GENERAL + GAP..].iter_mut().zip(&registers.uniform) {
            *column = [*value; 32];
        }
        predicates[..7].copy_from_slice(&registers.predicates);
        for (p, holds) in predicates[7..14].iter_mut().zip(registers.uniform_predicates) {
            *p = if holds { !0 } else { 0 };
        }
    }
    let mut now = 1000;
    while stream.next_pc(warp).is_some() {
        stream.step_alone(&mut setting.state, warp, StepContext { now, sm: 0 }, &mut out)?;
        now += 1;
    }
    let (columns, predicates) = stream.registers_mut(warp).unwrap();
    result.general.copy_from_slice(&columns[..GENERAL]);
    let uniform = highest_uniform(sm, words);
    for (value, column) in result.uniform.iter_mut().zip(&columns[GENERAL + GAP..]).take(uniform) {
        let mut values = lanes(out.active).map(|lane| column[lane]);
        *value = values.next().unwrap();
        assert!(values.all(|x| x == *value), "a uniform register differs between lanes");
    }
    result.predicates.copy_from_slice(&predicates[..7]);
    for (holds, p) in result.uniform_predicates.iter_mut().zip(&predicates[7..14]) {
        let p = *p & out.active;
        assert!(p == 0 || p == out.active, "a uniform predicate differs between lanes: {p:#x}");
        *holds = p != 0;
    }
    setting.state.end_launch(id);
    Ok(result)
}

/// As [`try_run`]; the run must succeed.
pub fn run(sm: u8, words: &[u128], registers: &Registers, setting: &mut Setting) -> Registers {
    try_run(sm, words, registers, setting).unwrap_or_else(|fault| panic!("{fault}"))
}

/// Uniform registers that the code names: as many columns the kernel has.
fn highest_uniform(sm: u8, words: &[u128]) -> usize {
    use sass::decode::{SassOperand, decode};
    let mut count = 0;
    for &word in words {
        let inst = decode(word, 0, sm).unwrap();
        for operand in inst.operands() {
            let index = match operand {
                SassOperand::Register(r) if r.uniform => Some(r.index),
                SassOperand::Memory(m) => m.uniform,
                SassOperand::Constant(c) => c.bindless.or_else(|| c.index.filter(|r| r.uniform).map(|r| r.index)),
                _ => None,
            };
            count = count.max(index.filter(|&i| i != 63).map_or(0, |i| usize::from(i) + 2));
        }
    }
    count
}

/// A word under construction: opcode and form, guard PT, control bits without effect.
///
/// ```ignore
/// // IADD3 R0, R1, -R2, R3
/// let word = Word::new(0x010, 1).bits(16, 8, 0).bits(24, 8, 1).bits(32, 8, 2).bits(63, 1, 1).bits(64, 8, 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Word(pub u128);

impl Word {
    /// Bits 0 to 8 and 9 to 11; the guard is PT; all other bits except the control bits are 0.
    pub fn new(code: u128, form: u128) -> Self {
        Self(code | form << 9 | 7 << 12 | 0x7e2_u128 << 105)
    }

    /// Sets a field.
    pub fn bits(self, lo: u32, len: u32, value: u64) -> Self {
        let mask = ((1_u128 << len) - 1) << lo;
        Self(self.0 & !mask | u128::from(value) << lo & mask)
    }

    /// Destination register.
    pub fn d(self, register: u64) -> Self {
        self.bits(16, 8, register)
    }

    /// First source register.
    pub fn a(self, register: u64) -> Self {
        self.bits(24, 8, register)
    }

    /// The register or immediate at bit 32.
    pub fn b(self, value: u32) -> Self {
        self.bits(32, 32, value.into())
    }

    /// Constant bank at bit 32.
    pub fn bank(self, bank: u64, offset: u64) -> Self {
        self.bits(38, 16, offset).bits(54, 5, bank)
    }

    /// Register at bit 64.
    pub fn c(self, register: u64) -> Self {
        self.bits(64, 8, register)
    }

    /// Predicate destinations at bits 81 and 84.
    pub fn pq(self, p: u64, q: u64) -> Self {
        self.bits(81, 3, p).bits(84, 3, q)
    }

    /// Predicate source at bit 87, negated or not.
    pub fn p(self, p: u64, not: bool) -> Self {
        self.bits(87, 3, p).bits(90, 1, not.into())
    }

    /// Guard.
    pub fn guard(self, p: u64, not: bool) -> Self {
        self.bits(12, 3, p).bits(15, 1, not.into())
    }
}
