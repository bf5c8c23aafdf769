//! Checks one instruction in all its forms against what a host function expects, register by register.

use super::{Registers, Setting, Word, run};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Positions of sources in the test: register at bit 24, at 32, at 64; each also with the next register.
pub const A: usize = 2;
pub const AT_32: usize = 4;
pub const AT_64: usize = 6;
/// Words of the parameter that constant operands name: an even one.
const CONSTANT: usize = 2;

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    General(usize),
    Uniform(usize),
    Immediate(u32),
    Constant(usize),
}

/// An instruction word with its sources at the positions of its form.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub word: Word,
    pub a: Source,
    pub b: Source,
    pub c: Source,
    /// Bits that negate B and C; none for an immediate.
    pub minus_b: Option<u32>,
    pub minus_c: Option<u32>,
}

impl Form {
    /// The same with other bits set.
    pub fn with(self, change: impl FnOnce(Word) -> Word) -> Self {
        Self { word: change(self.word), ..self }
    }
}

/// Edges of integers among random ones.
pub const EDGES: [u32; 12] = [0, 1, 2, 31, 32, 33, 64, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff];

/// Offset of the first parameter in constant bank 0.
pub fn parameter_base(sm: u8) -> u64 {
    if sm < 90 { 0x160 } else { 0x210 }
}

/// An opcode in `forms`; `immediate` is that of the forms that have one.
pub fn general(sm: u8, code: u128, forms: &[u128], immediate: u32) -> Vec<Form> {
    let place = |form: u128| {
        let word = Word::new(code, form).d(30).a(A as u64).bits(81, 6, 0x3f).bits(77, 3, 7).bits(87, 3, 7);
        let register = Source::General(AT_64);
        let at_32 = match form {
            2 | 4 => Source::Immediate(immediate),
            3 | 5 => Source::Constant(CONSTANT),
            6 | 7 => Source::Uniform(AT_32),
            _ => Source::General(AT_32),
        };
        let word = match at_32 {
            Source::Immediate(value) => word.b(value),
            Source::Constant(k) => word.bank(0, parameter_base(sm) + 4 * k as u64),
            _ => word.b(AT_32 as u32),
        };
        // Bit 91 says that a register at 32 is uniform.
        let word = if form >= 6 { word.bits(91, 1, 1) } else { word };
        let minus_32 = (!matches!(at_32, Source::Immediate(_))).then_some(63);
        let (b, c) = if matches!(form, 2 | 3 | 7) { (register, at_32) } else { (at_32, register) };
        let (minus_b, minus_c) = if matches!(form, 2 | 3 | 7) { (Some(75), minus_32) } else { (minus_32, Some(75)) };
        Form { word: word.c(AT_64 as u64), a: Source::General(A), b, c, minus_b, minus_c }
    };
    forms.iter().map(|&form| place(form)).collect()
}

/// The same of the uniform datapath: all registers are uniform.
pub fn uniform(code: u128, forms: &[u128], immediate: u32) -> Vec<Form> {
    let turn = |source| match source {
        Source::General(n) => Source::Uniform(n),
        source => source,
    };
    let mut list = general(75, code, forms, immediate);
    for form in &mut list {
        form.word = form.word.bits(91, 1, 1);
        (form.a, form.b, form.c) = (turn(form.a), turn(form.b), turn(form.c));
    }
    list
}

/// Operands of an instruction in a lane.
pub struct Lane<'a> {
    registers: &'a Registers,
    parameter: &'a [u32],
    pub lane: usize,
}

impl Lane<'_> {
    pub fn get(&self, source: Source) -> u32 {
        self.word(source, 0)
    }

    /// Of an immediate, zero-extended.
    pub fn get64(&self, source: Source) -> u64 {
        u64::from(self.word(source, 0)) | u64::from(self.word(source, 1)) << 32
    }

    fn word(&self, source: Source, next: usize) -> u32 {
        match source {
            Source::General(n) => self.registers.general[n + next][self.lane],
            Source::Uniform(n) => self.registers.uniform[n + next],
            Source::Immediate(value) => {
                if next == 0 {
                    value
                } else {
                    0
                }
            }
            Source::Constant(k) => self.parameter[k + next],
        }
    }

    pub fn p(&self, n: usize) -> bool {
        n == 7 || self.registers.predicates[n] >> self.lane & 1 == 1
    }

    pub fn up(&self, n: usize) -> bool {
        n == 7 || self.registers.uniform_predicates[n]
    }

    /// A general predicate, or a uniform one of the uniform datapath.
    pub fn pred(&self, uniform: bool, n: usize) -> bool {
        if uniform { self.up(n) } else { self.p(n) }
    }
}

/// The effect of an instruction on one lane; other registers keep their values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    R(usize, u32),
    P(usize, bool),
    U(usize, u32),
    Up(usize, bool),
}

/// A change of a destination register or predicate of the datapath.
pub fn register(uniform: bool, n: usize, value: u32) -> Change {
    if uniform { Change::U(n, value) } else { Change::R(n, value) }
}

/// A change of a predicate of the datapath.
pub fn predicate(uniform: bool, n: usize, value: bool) -> Change {
    if uniform { Change::Up(n, value) } else { Change::P(n, value) }
}

/// Random values with edges among them.
pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn word(&mut self) -> u32 {
        let bits: u32 = self.0.random();
        match self.0.random_range(0..4) {
            0 => EDGES[bits as usize % EDGES.len()],
            1 => bits % 70,
            _ => bits,
        }
    }

    pub fn bits(&mut self) -> u32 {
        self.0.random()
    }

    /// A warp full of them.
    pub fn registers(&mut self) -> Registers {
        let mut r = Registers::default();
        r.general.iter_mut().for_each(|column| column.iter_mut().for_each(|x| *x = self.word()));
        r.uniform.iter_mut().for_each(|x| *x = self.word());
        r.predicates.iter_mut().for_each(|p| *p = self.0.random());
        r.uniform_predicates.iter_mut().for_each(|p| *p = self.0.random());
        r
    }
}

/// Rounds of 32 lanes for each word.
const ROUNDS: u64 = 4;

/// Runs `word` on random registers under a guard, and compares every register with what `expected`
/// says. Predicate 6 must not be among the destinations: it is the guard.
pub fn check(sm: u8, word: Word, expected: impl Fn(&Lane<'_>) -> Vec<Change>) {
    let inst = sass::decode::decode(word.0, 0, sm).unwrap_or_else(|e| panic!("{e}"));
    for round in 0..ROUNDS {
        let mut random = Random::new(round ^ (word.0 as u64) ^ (word.0 >> 64) as u64);
        let before = random.registers();
        let parameter: Vec<u32> = (0..16).map(|_| random.word()).collect();
        let mut setting = Setting::default().with_words(&parameter);
        // The first round has no guard, the others a guard, negated or not.
        let guard = (round > 0).then_some(round % 2 == 0);
        let word = guard.map_or(word, |not| word.guard(6, not));
        let after = run(sm, &[word.0], &before, &mut setting);
        let mut wanted = before.clone();
        for lane in 0..32 {
            let at = Lane { registers: &before, parameter: &parameter, lane };
            if guard.is_some_and(|not| at.pred(inst.row.uniform, 6) == not) {
                continue;
            }
            for change in expected(&at) {
                match change {
                    Change::R(n, value) => wanted.general[n][lane] = value,
                    Change::P(n, value) => {
                        let p = &mut wanted.predicates[n];
                        *p = *p & !(1 << lane) | u32::from(value) << lane;
                    }
                    Change::U(n, value) => wanted.uniform[n] = value,
                    Change::Up(n, value) => wanted.uniform_predicates[n] = value,
                }
            }
        }
        for (n, (got, want)) in after.general.iter().zip(&wanted.general).enumerate() {
            assert_eq!(got, want, "{inst} (sm_{sm}): R{n} of {:x?}", inputs(&before));
        }
        assert_eq!(after.predicates, wanted.predicates, "{inst} (sm_{sm}): predicates");
        assert_eq!(after.uniform, wanted.uniform, "{inst} (sm_{sm}): uniform registers");
        assert_eq!(after.uniform_predicates, wanted.uniform_predicates, "{inst} (sm_{sm}): uniform predicates");
    }
}

fn inputs(registers: &Registers) -> [&super::Column; 3] {
    [A, AT_32, AT_64].map(|n| &registers.general[n])
}
