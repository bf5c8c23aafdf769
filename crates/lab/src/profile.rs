//! Where the issue slots and the time of a run went, by static instruction: a profile as in reports. A profile that is
//! read back lacks energy, accesses to memory and latencies by level.

use crate::attribution::{self, ByEvent, InstructionEnergy, Parts, Prices};
use crate::listing::{ListedInstruction, SourcePlace, TextLine, listing};
pub use mem::{Level, Levels};
use serde::de::{Deserializer, Error};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use sm::Stall;
use sm::profile::{CodeProfile, Latencies, Row};
use std::collections::BTreeMap;

/// The profile of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The levels of memory of the GPU.
    #[serde(skip)]
    pub levels: Levels,
    /// Issue slots that stayed empty where no instruction waited, by reason. Idle slots are of schedulers without a warp,
    /// during launch latencies too.
    #[serde(deserialize_with = "reasons")]
    pub nobody: Vec<(&'static str, u64)>,
    /// Energy of the run that belongs to no instruction ([`attribution`]), by component in joules; `None` without
    /// an energy model.
    #[serde(skip_deserializing)]
    pub shared_energy: Option<Parts>,
    /// The kernels in the order in which they first ran.
    pub kernels: Vec<KernelProfile>,
}

/// Profile of the instructions of a line of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct LineProfile<'a> {
    /// The line; `None` for instructions without one.
    pub source: Option<&'a TextLine>,
    /// Its instructions, in the order of the code.
    pub instructions: Vec<&'a InstructionProfile>,
}

/// The instructions of a kernel, over all its launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelProfile {
    /// Its name.
    pub name: String,
    /// Number of instructions of its code, those that never ran among them.
    pub length: usize,
    /// The instructions to which anything happened, in the order of the code.
    pub instructions: Vec<InstructionProfile>,
}

/// Profile of a static instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstructionProfile {
    /// Its place in the code, from 0.
    pub pc: u32,
    /// Its text.
    pub text: String,
    /// Its position in the PTX, or in the machine code; empty if unknown.
    pub place: String,
    /// Line of the source that it was compiled from, if known.
    pub source: Option<TextLine>,
    /// Calls that it was inlined for, the innermost first.
    pub calls: Vec<TextLine>,
    /// Of machine code: the line of PTX, if known.
    pub ptx: Option<TextLine>,
    /// Warp instructions issued.
    pub issues: u64,
    /// Lanes that executed it, over all issues.
    pub lanes: u64,
    /// Issues after which lanes of the warp had diverged.
    pub divergences: u64,
    /// Issue slots that stayed empty because it waited, by reason, most first.
    #[serde(deserialize_with = "reasons")]
    pub stalls: Vec<(&'static str, u64)>,
    /// Issue slots that stayed empty because another instruction of the warp waited for this one, by reason, most first.
    #[serde(deserialize_with = "reasons")]
    pub causes: Vec<(&'static str, u64)>,
    /// Time from issue to write-back; `None` if it was never complete.
    pub latency: Option<Latency>,
    /// The same of loads and atomics by the furthest level that any of their data came from.
    #[serde(skip_deserializing)]
    pub latency_by_level: Vec<(&'static str, Latency)>,
    /// Accesses to memory; `None` if there were none.
    #[serde(skip_deserializing)]
    pub memory: Option<Accesses>,
    /// Dynamic energy that it caused; `None` without an energy model.
    #[serde(skip_deserializing)]
    pub energy: Option<InstructionEnergy>,
}

/// Time from issue to write-back, in core cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// 95th percentile: exact below 8 cycles, else up to a quarter too long.
    pub p95: u64,
    /// The longest.
    pub max: u64,
    /// Number of issues by the longest time of their group.
    pub histogram: Vec<(u64, u64)>,
}

/// Accesses to memory of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Accesses {
    /// Issues that access memory with any lane.
    pub accesses: u64,
    /// Transactions that they are split into; passes through the banks for shared memory.
    pub transactions: u64,
    /// Sectors of 32 bytes that these move, other than for shared memory.
    pub sectors: u64,
    /// Sectors beyond those in which the bytes of all active lanes would fit.
    pub excess_sectors: u64,
    /// Cycles that conflicts between banks of shared memory, or different words of constants, take.
    pub conflict_cycles: u64,
    /// Passes through the banks of shared memory beyond those that the bytes of all active lanes fill.
    pub excess_passes: u64,
    /// Transactions of loads and atomics by the level that their data came from.
    #[serde(flatten)]
    pub served: Served,
}

/// Counts by level of memory: of the levels of a GPU, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    levels: Levels,
    counts: [u64; Level::COUNT],
}

impl Served {
    /// The `counts` of `levels`.
    pub const fn new(levels: Levels, counts: [u64; Level::COUNT]) -> Self {
        Self { levels, counts }
    }

    /// The same counts for `levels`; a level that was not counted before has a count of zero.
    #[must_use]
    pub const fn over(self, levels: Levels) -> Self {
        Self { levels, ..self }
    }

    /// The levels, nearest first, and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Level, u64)> {
        self.levels.iter().map(|level| (level, self.counts[level as usize]))
    }
}

impl Serialize for Served {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Served", self.iter().count())?;
        self.iter().try_for_each(|(level, count)| fields.serialize_field(level.key(), &count))?;
        fields.end()
    }
}

/// Issue slots by reason.
fn reasons<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(&'static str, u64)>, D::Error> {
    let known = |(reason, slots): (String, u64)| match Stall::ALL.iter().find(|stall| stall.name() == reason) {
        Some(stall) => Ok((stall.name(), slots)),
        None => Err(D::Error::custom(format!("unknown stall reason `{reason}`"))),
    };
    Vec::deserialize(deserializer)?.into_iter().map(known).collect()
}

impl Latency {
    fn of(counted: &Latencies) -> Option<Self> {
        Some(Self {
            mean: counted.mean()?,
            p95: counted.quantile(0.95)?,
            max: counted.max(),
            histogram: counted.histogram().collect(),
        })
    }
}

fn by_level(row: &Row) -> Vec<(&'static str, Latency)> {
    let levels = row.by_level.iter().flat_map(|levels| Level::ALL.iter().zip(levels.iter()));
    levels.filter_map(|(level, counted)| Some((level.name(), Latency::of(counted)?))).collect()
}

impl Profile {
    /// The profile that SMs have counted on a GPU with these `levels` of memory, with the text of sources from `place`,
    /// in a run that took the energy `energy`. Kernels of the same name and code, as in traces, are one.
    pub(crate) fn of(counted: &sm::Profile, levels: Levels, place: &SourcePlace, energy: Option<&ByEvent>) -> Self {
        let mut codes: Vec<CodeProfile> = Vec::new();
        // By name, in the order in which they first ran.
        let mut order: Vec<&str> = Vec::new();
        let mut merged: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for code in counted.codes() {
            let name = code.code.program.name.as_str();
            let same_name = merged.entry(name).or_default();
            match same_name.iter().find(|&&other| is_same(&codes[other], code)) {
                Some(&other) => codes[other].merge(code),
                None => {
                    same_name.push(codes.len());
                    codes.push(code.clone());
                }
            }
            if !order.contains(&name) {
                order.push(name);
            }
        }
        let prices = energy.map(|run| Prices::new(run, &codes));
        let ordered = order.iter().flat_map(|name| &merged[name]).map(|&code| &codes[code]);
        let kernels: Vec<_> = ordered.map(|code| KernelProfile::of(code, levels, place, prices.as_ref())).collect();
        let charged = || kernels.iter().flat_map(|kernel| &kernel.instructions).filter_map(|i| i.energy.as_ref());
        let shared_energy = energy.map(|run| attribution::rest(&run.all, charged()));
        let nobody = by_reason(&Stall::ALL.iter().map(|&stall| counted.nobody(stall)).collect::<Vec<_>>());
        Self { levels, nobody, shared_energy, kernels }
    }

    /// Only the kernels with `part` in their names; energy of the others is shared.
    pub fn of_kernels(&self, part: &str) -> Self {
        let (kept, others): (Vec<_>, Vec<_>) =
            self.kernels.iter().cloned().partition(|kernel| kernel.name.contains(part));
        let charged = others.iter().flat_map(|kernel| &kernel.instructions).filter_map(|i| i.energy.as_ref());
        let others: f64 = charged.map(|energy| energy.joules).sum();
        let mut shared_energy = self.shared_energy.clone();
        if let Some(shared) = shared_energy.as_mut().filter(|_| others > 0.0) {
            shared.push(("other kernels", others));
            shared.sort_by(|one, other| other.1.total_cmp(&one.1));
        }
        Self { levels: self.levels, nobody: self.nobody.clone(), shared_energy, kernels: kept }
    }

    /// The issue slots of all instructions, with those that they caused: `None` if a damaged file has too many to be
    /// added up.
    pub(crate) fn checked_slots(&self) -> Option<u64> {
        let of_instruction = |i: &InstructionProfile| {
            let mut lost = i.stalls.iter().chain(&i.causes);
            lost.try_fold(i.issues, |sum, (_, slots)| sum.checked_add(*slots))
        };
        let nobody = self.nobody.iter().try_fold(0, |sum: u64, (_, slots)| sum.checked_add(*slots))?;
        let mut instructions = self.kernels.iter().flat_map(|kernel| &kernel.instructions);
        instructions.try_fold(nobody, |sum, i| sum.checked_add(of_instruction(i)?))
    }

    /// Issue slots that stayed empty for each reason, in all.
    pub fn lost(&self) -> BTreeMap<&'static str, u64> {
        let waiting = self.kernels.iter().flat_map(|kernel| &kernel.instructions).flat_map(|i| &i.stalls);
        let mut lost = BTreeMap::new();
        for &(reason, slots) in self.nobody.iter().chain(waiting) {
            *lost.entry(reason).or_default() += slots;
        }
        lost
    }
}

impl KernelProfile {
    fn of(counted: &CodeProfile, levels: Levels, place: &SourcePlace, prices: Option<&Prices>) -> Self {
        let program = &counted.code.program;
        let mut listed: Vec<Option<ListedInstruction>> = listing(program, place).into_iter().map(Some).collect();
        let instructions = attribution::rows(counted).filter_map(|(_, pc, row)| {
            let ListedInstruction { pc: number, text, source, calls, ptx } = listed[pc.index()].take()?;
            Some(InstructionProfile {
                pc: number,
                text,
                place: program.place(pc),
                source,
                calls,
                ptx,
                issues: row.issues,
                lanes: row.lanes,
                divergences: row.divergences,
                stalls: by_reason(&row.stalls),
                causes: by_reason(&row.causes),
                latency: Latency::of(&row.latencies),
                latency_by_level: by_level(row),
                memory: (row.memory.accesses > 0).then(|| Accesses {
                    accesses: row.memory.accesses,
                    transactions: row.memory.transactions,
                    sectors: row.memory.sectors,
                    excess_sectors: row.memory.sectors.saturating_sub(row.memory.sectors_needed),
                    conflict_cycles: row.memory.conflict_cycles,
                    excess_passes: row.memory.excess_passes,
                    served: Served::new(levels, row.memory.served),
                }),
                energy: prices.map(|prices| prices.of(counted, pc, row)),
            })
        });
        Self { name: program.name.clone(), length: program.insts().len(), instructions: instructions.collect() }
    }

    /// Its lines, in the order of their first instructions.
    pub fn lines(&self) -> Vec<LineProfile<'_>> {
        let mut lines: Vec<LineProfile<'_>> = Vec::new();
        let mut at: BTreeMap<Option<(&str, u32)>, usize> = BTreeMap::new();
        for instruction in &self.instructions {
            let source = instruction.source.as_ref();
            let key = source.map(|line| (line.file.as_deref().unwrap_or_default(), line.line));
            let number = *at.entry(key).or_insert(lines.len());
            if number == lines.len() {
                lines.push(LineProfile { source, instructions: Vec::new() });
            }
            lines[number].instructions.push(instruction);
        }
        lines
    }

    /// Issue slots that its instructions took: those in which they issued and those that stayed empty because they
    /// waited.
    pub fn slots(&self) -> u64 {
        self.instructions.iter().map(InstructionProfile::slots).sum()
    }
}

impl LineProfile<'_> {
    /// Issue slots that its instructions took.
    pub fn slots(&self) -> u64 {
        self.instructions.iter().map(|i| i.slots()).sum()
    }

    /// Issue slots that stayed empty because they waited, by reason, most first.
    pub fn stalls(&self) -> Vec<(&'static str, u64)> {
        let mut sums: BTreeMap<&'static str, u64> = BTreeMap::new();
        for &(reason, slots) in self.instructions.iter().flat_map(|i| &i.stalls) {
            *sums.entry(reason).or_default() += slots;
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|&(_, slots)| std::cmp::Reverse(slots));
        sums
    }
}

impl InstructionProfile {
    /// Issue slots that stayed empty because it waited.
    pub fn stalled(&self) -> u64 {
        self.stalls.iter().map(|(_, slots)| slots).sum()
    }

    /// Issue slots that stayed empty because another instruction waited for it.
    pub fn caused(&self) -> u64 {
        self.causes.iter().map(|(_, slots)| slots).sum()
    }

    /// Issue slots that it took: those in which it issued and those that stayed empty because it waited.
    pub fn slots(&self) -> u64 {
        self.issues + self.stalled()
    }
}

/// Whether two programs consist of the same instructions.
fn is_same(one: &CodeProfile, other: &CodeProfile) -> bool {
    let (one, other) = (&one.code.program, &other.code.program);
    let length = one.insts().len();
    length == other.insts().len() && (0..length).map(isa::Pc::from).all(|pc| one.text(pc) == other.text(pc))
}

/// The reasons that took any slots, most first.
fn by_reason(slots: &[u64]) -> Vec<(&'static str, u64)> {
    let mut some: Vec<_> = Stall::ALL.iter().map(|s| s.name()).zip(slots.iter().copied()).filter(|s| s.1 > 0).collect();
    // Stable: ties stay in the order of the reasons.
    some.sort_by_key(|&(_, slots)| std::cmp::Reverse(slots));
    some
}
