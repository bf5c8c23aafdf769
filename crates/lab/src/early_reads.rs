//! Machine code in which an instruction issues before a register that it reads has its value, by its control bits and
//! the latencies of a GPU description.
//!
//! The compiler knows the hardware: such a read is a finding about the description. Reads of known reasons say which.

use config::GpuConfig;
use isa::{Form, Pc, Program};
use sass::meaning::opcode_of;
use serde::Serialize;
use sm::{CoreOptions, CoreSpec, EarlyRead, early_reads};

/// Why a read may come early: opcodes of the writer and of the reader by their first letters, and the reason.
const KNOWN: &[(&str, &str, &str)] = &[
    ("", "BAR", BARRIER),
    ("", "LDC", "`LDC` reads its address like a decoupled instruction, before other accesses read theirs"),
    ("", "FCHK", DECOUPLED),
    ("", "MATCH", DECOUPLED),
    ("", "F2F", DECOUPLED),
    ("", "I2F", DECOUPLED),
    ("", "I2I", DECOUPLED),
    ("", "FRND", DECOUPLED),
    ("IMAD.WIDE", "", "the lower word of a wide product comes two cycles before the upper one"),
    ("", "IMAD.WIDE", "a wide product reads its third operand two cycles later"),
    ("", "IMAD.HI", "the upper word of a product reads its third operand two cycles later"),
    ("DSETP", "FSEL", PREDICATE_OF_DOUBLES),
    ("DSETP", "SEL", PREDICATE_OF_DOUBLES),
    ("D", "MUFU", "special functions read double precision after 6 cycles, before its own operations do"),
    ("DSETP", "DSETP", PREDICATE_OF_DOUBLES),
    ("DSETP", "ISETP", PREDICATE_OF_DOUBLES),
    ("DSETP", "PLOP3", PREDICATE_OF_DOUBLES),
    ("D", "ST", DOUBLES),
    ("D", "RED", DOUBLES),
    ("D", "SHFL", DOUBLES),
    ("", "WARPSYNC", "the mask is read like a decoupled instruction's operand"),
    ("HMMA.1688", "", SMALL_PRODUCTS),
    ("IMMA.8816", "", SMALL_PRODUCTS),
    ("IMAD.MOV", "HMMA.1688", MATRICES),
    ("MOV", "HMMA.1688", MATRICES),
    ("HADD", "H", HALVES),
    ("HFMA", "H", HALVES),
    ("HMUL", "H", HALVES),
    ("HSET", "H", HALVES),
    ("", "SYNCS", "a wait at an `mbarrier` reads its parity like a decoupled instruction's operand"),
    ("ELECT", "", "the predicate of an election is read after 4 cycles; it has a uniform one's latency here"),
    ("VOTEU", "PLOP3", VOTE),
    ("VOTEU", "USEL", VOTE),
];
const SMALL_PRODUCTS: &str =
    "on sm_90 products of small matrices are read after 14 to 18 cycles; they take 19 or 21 here";
const MATRICES: &str =
    "on sm_75 `HMMA` reads its operands after 6 cycles and `IMMA` after 8, for which there is one number";
const DECOUPLED: &str =
    "conversions, `FCHK` and `MATCH` read like decoupled instructions; here they read as their units do";
const VOTE: &str = "predicate logic and selections read the uniform predicate of a vote after a cycle";
const HALVES: &str =
    "since sm_80 packed halves read those before them after 4 or 5 cycles, for which there is one number";
const PREDICATE_OF_DOUBLES: &str =
    "selections and predicates that depend on a predicate of double precision read it after 6 to 9 cycles";
const DOUBLES: &str = "stores and shuffles read double precision after 7 cycles, before its own operations do";
const BARRIER: &str = "a barrier reads what its reductions would, whether or not it has one";

/// The same of reads that no counter of the writer's results keeps.
const KNOWN_UNCOUNTED: &[(&str, &str, &str)] = &[
    ("", "BAR", BARRIER),
    ("ATOM", "BRA", "the predicate of an atomic says the space of its address: it comes when that is read"),
];

/// The longest stall count that holds a warp without a yield.
const LONGEST_WITHOUT_YIELD: u8 = 11;

/// The instructions of `program` with a stall count above 11 and no yield. Hardware holds their warp for a cycle or two
/// (Huerta et al., MICRO 2025, section 4), the model for the count. Compilers do not write them.
pub fn stalls_without_yield(program: &Program) -> usize {
    let bits = program.insts().iter().filter_map(|inst| inst.control_bits);
    bits.filter(|bits| bits.stall_cycles > LONGEST_WITHOUT_YIELD && !bits.yields).count()
}

/// The latencies by which reads are checked.
#[derive(Debug)]
pub struct ReadChecker {
    spec: CoreSpec,
}

/// A read that comes early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EarlyReadFinding {
    /// Index of the instruction that makes the value.
    pub writer: u32,
    /// Its text.
    pub writer_text: String,
    /// Index of the instruction that reads it.
    pub reader: u32,
    /// Its text.
    pub reader_text: String,
    /// From issue to issue by the stall counts, in core cycles.
    pub distance: u32,
    /// The least distance by the latencies; `None` if nothing waits for a counter of the writer.
    pub needed: Option<u32>,
    /// Why our latency is not exact there, if that is known.
    pub reason: Option<&'static str>,
}

impl ReadChecker {
    /// By the latencies of `gpu` as the core `modern` has them.
    ///
    /// # Errors
    /// The description cannot be built.
    pub fn new(gpu: &GpuConfig) -> Result<Self, String> {
        let options = CoreOptions { times_operations: true, ..CoreOptions::default() };
        let spec = CoreSpec::new(gpu, Form::Sass, options).map_err(|e| e.to_string())?;
        Ok(Self { spec })
    }

    /// The reads of `program` that come early: none in a program without control bits. An instruction that executes only
    /// where the writer does not is not its reader.
    pub fn check(&self, program: &Program) -> Vec<EarlyReadFinding> {
        let finding = |early: EarlyRead| EarlyReadFinding {
            writer: early.writer.0,
            writer_text: program.text(early.writer).to_owned(),
            reader: early.reader.0,
            reader_text: program.text(early.reader).to_owned(),
            distance: early.distance,
            needed: early.needed,
            reason: reason(program, &early),
        };
        let exclusive = |early: &EarlyRead| {
            let [writer, reader] = [early.writer, early.reader].map(|pc| guard(program, pc));
            writer.zip(reader).is_some_and(|(a, b)| a.0 == b.0 && a.1 != b.1)
        };
        early_reads(program, &self.spec).into_iter().filter(|early| !exclusive(early)).map(finding).collect()
    }
}

/// The reason of an early read, if it is known.
fn reason(program: &Program, early: &EarlyRead) -> Option<&'static str> {
    let [writer, reader] = [early.writer, early.reader].map(|pc| opcode_of(program.text(pc)));
    let known = if early.needed.is_some() { KNOWN } else { KNOWN_UNCOUNTED };
    let (.., reason) = known.iter().find(|(from, to, _)| writer.starts_with(from) && reader.starts_with(to))?;
    Some(reason)
}

/// The predicate that guards the instruction at `pc`, and whether it is negated.
fn guard(program: &Program, pc: Pc) -> Option<(&str, bool)> {
    let guard = program.text(pc).split(' ').next()?.strip_prefix('@')?;
    Some(guard.strip_prefix('!').map_or((guard, false), |predicate| (predicate, true)))
}
