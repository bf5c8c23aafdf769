//! Findings of an audit.

use isa::{Pc, WarpSlot};
use kit::Cycle;
use kit::text::counted;
use std::fmt;

macro_rules! violations {
    ($($(#[doc = $text:literal])+ $violation:ident = $name:literal,)*) => {
        /// Kinds of violation of a warp's program order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Violation { $($(#[doc = $text])+ $violation,)* }

        impl Violation {
            /// Every kind: `ALL[v as usize] == v`.
            pub const ALL: &'static [Violation] = &[$(Violation::$violation,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();
            /// Name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Violation::$violation => $name,)* }
            }
        }
    };
}

violations! {
    /// A register is read before the instruction that produces the value has written it.
    Raw = "RAW",
    /// A register is written before an older instruction has read it.
    War = "WAR",
    /// A register is written before an older instruction has written it.
    Waw = "WAW",
    /// Accesses to the same address, or an access and a barrier, fence or atomic, out of order.
    Memory = "memory",
    /// An instruction issues before an older branch or exit.
    Control = "control",
    /// An instruction passes a stage twice, out of turn or never.
    Duplicate = "duplicate",
}

/// An instruction that has a part in a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Its place in the program.
    pub pc: Pc,
    /// Its text.
    pub text: String,
    /// When it issued, if it has.
    pub issued: Option<Cycle>,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (pc {}, ", self.text, self.pc.0)?;
        match self.issued {
            Some(cycle) => write!(f, "issued in cycle {cycle})"),
            None => write!(f, "has not issued)"),
        }
    }
}

/// One violation: who did what, and before whom. Reads as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The kernel, where it is known.
    pub kernel: Option<String>,
    /// When it was found.
    pub cycle: Cycle,
    /// The warp's slot.
    pub warp: WarpSlot,
    /// The instruction out of order, where it is one.
    pub younger: Option<Party>,
    /// Its action.
    pub what: String,
    /// The older instruction that should have come first, where it is another.
    pub older: Option<Party>,
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, cycle, warp, younger, what, older } = self;
        kernel.iter().try_for_each(|kernel| write!(f, "in `{kernel}`, "))?;
        write!(f, "cycle {cycle}, warp {}: ", warp.0)?;
        younger.iter().try_for_each(|party| write!(f, "{party} "))?;
        write!(f, "{what}")?;
        older.iter().try_for_each(|party| write!(f, " {party}"))
    }
}

/// How often each kind of violation was found, and the first of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    counts: [u64; Violation::COUNT],
    first: [Option<Example>; Violation::COUNT],
    /// Instructions seen from decode to completion.
    pub instructions: u64,
    /// Dependences between instructions that were in flight together, each of which was checked.
    pub dependences: u64,
}

impl Findings {
    /// Counts a violation, which `describe` describes if it is the first of its kind.
    pub(super) fn note(&mut self, violation: Violation, describe: impl FnOnce() -> Example) {
        self.counts[violation as usize] += 1;
        self.first[violation as usize].get_or_insert_with(describe);
    }

    /// Violations of one kind.
    pub fn count(&self, violation: Violation) -> u64 {
        self.counts[violation as usize]
    }

    /// Violations of all kinds.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The first violation of a kind.
    pub fn first(&self, violation: Violation) -> Option<&Example> {
        self.first[violation as usize].as_ref()
    }

    /// Adds what another audit, of another SM or run, has found.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        for (mine, theirs) in self.first.iter_mut().zip(&other.first) {
            *mine = mine.take().or_else(|| theirs.clone());
        }
        self.instructions += other.instructions;
        self.dependences += other.dependences;
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instructions, dependences, .. } = self;
        let (instructions, dependences) = (counted(*instructions, "instruction"), counted(*dependences, "dependence"));
        write!(f, "{instructions} and {dependences} checked: ")?;
        if self.total() == 0 {
            return write!(f, "no violation");
        }
        write!(f, "{} violations", self.total())?;
        for &violation in Violation::ALL {
            if let Some(first) = self.first(violation) {
                write!(f, "\n  {} {}, the first: {first}", self.count(violation), violation.name())?;
            }
        }
        Ok(())
    }
}

kit::persist! {
    new struct Party { pc, text, issued }
    new struct Example { kernel, cycle, warp, younger, what, older }
    struct Findings { counts, first, instructions, dependences }
}
