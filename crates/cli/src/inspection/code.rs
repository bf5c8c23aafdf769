//! The contents of a cubin, or of a fat binary or host program that holds some.

use super::facts::{EntryFacts, Mix, VariableFacts, classes, most_first};
use crate::progress::Parts;
use lab::listing::{SourcePlace, Sources, TextLine};
use lab::{EarlyReadFinding, ReadChecker};
use lower::{Loaded, LowerOptions};
use sass::decode;
use sass::elf::lines::{LineTables, MOST_CALLS};
use sass::elf::{ConstantBank, Cubin, ElfError, ElfFunction, Space};
use sass::fatbin::{self, Entry, Kind};
use sass::meaning::{base, opcode_of};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Contents of a cubin.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CodeInspection {
    /// As the user named it.
    pub file: String,
    /// Entries of the file, if it is not a cubin itself.
    pub entries: Vec<EntryFacts>,
    /// Architecture of the code, as `sm_75`.
    pub architecture: String,
    /// Variables with a name.
    pub variables: Vec<VariableFacts>,
    /// Constant banks that all kernels share.
    pub constant_banks: Vec<BankFacts>,
    pub kernels: Vec<CodeKernel>,
    /// Names of the functions that cannot be launched.
    pub functions: Vec<String>,
}

/// A constant bank and its size.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct BankFacts {
    pub bank: u8,
    pub bytes: u64,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct ParameterFacts {
    /// Offset in constant bank 0.
    pub bank_offset: u32,
    /// Offset from the first parameter.
    pub offset: u32,
    pub bytes: u32,
}

/// A kernel in a cubin, and whether it can be executed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CodeKernel {
    /// Name in the file.
    pub name: String,
    /// Name in the source, where the other is mangled.
    pub source_name: Option<String>,
    pub instructions: usize,
    /// 32-bit registers per thread.
    pub registers_per_thread: u32,
    /// Static shared memory per CTA, in bytes.
    pub shared_bytes: u64,
    /// Its stack frame per thread, in bytes.
    pub frame_bytes: u32,
    /// Stack per thread that it needs at least, calls included, in bytes.
    pub stack_bytes: u32,
    /// CTA barriers.
    pub barriers: u8,
    /// Maximum number of threads per CTA in each dimension, if the file gives one.
    pub max_threads: Option<[u32; 3]>,
    /// Threads per CTA in each dimension, if the file fixes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_threads: Option<[u32; 3]>,
    pub parameters: Vec<ParameterFacts>,
    /// Its own constant banks.
    pub constant_banks: Vec<BankFacts>,
    /// Instructions by opcode without modifiers, most frequent first.
    pub opcodes: Mix,
    /// Whether all its instructions can be executed.
    pub executable: bool,
    /// Instructions by operation class, most frequent first: they choose the units. Absent if it is not
    /// executable.
    pub classes: Option<Mix>,
    /// Instructions and features that cannot be executed.
    pub not_executable: Vec<Obstacle>,
    /// Remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Reads that come too early by a GPU's latencies, if it is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_reads: Option<Vec<EarlyReadFinding>>,
    /// Stall counts above 11 without a yield, if it is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls_without_yield: Option<usize>,
    /// Its instructions, if they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Vec<CodeLine>>,
}

/// Something that is not executable.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Obstacle {
    /// Byte address of the instruction in the function, if it is one.
    pub address: Option<u64>,
    /// The instruction and why.
    pub message: String,
}

/// An instruction with its control bits.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CodeLine {
    /// Byte address in the function.
    pub address: u64,
    /// As NVIDIA's disassembler writes it; absent if the word is not a known instruction.
    pub text: Option<String>,
    /// Upper and lower half.
    pub word: [u64; 2],
    /// Cycles until the warp's next instruction may issue.
    pub stall_cycles: u8,
    /// The scheduler prefers another warp next.
    pub yields: bool,
    /// Scoreboard set when the results are written.
    pub write_barrier: Option<u8>,
    /// Scoreboard set when the sources are read.
    pub read_barrier: Option<u8>,
    /// Scoreboards that the instruction waits for.
    pub waits_for: Vec<u8>,
    /// Source slots whose value the operand cache keeps.
    pub reuse: Vec<u8>,
    /// Line of CUDA, if it is asked for and known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<TextLine>,
    /// Calls that the code was inlined for, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<TextLine>,
    /// Line of PTX, if it is asked for and known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx: Option<TextLine>,
}

/// The code of a file for an architecture: of one or more source files.
pub enum Contents<'a> {
    Cubins(Vec<Cow<'a, [u8]>>),
    Ptx(Vec<Cow<'a, [u8]>>),
}

/// Whether code of the architecture of an entry can be read.
fn is_readable(entry: &Entry<'_>) -> bool {
    match entry.kind {
        Kind::Cubin => sass::elf::KNOWN.contains(&entry.sm),
        Kind::Ptx => true,
        Kind::Other(_) => false,
    }
}

/// The entries of a file, and those to show: of each container what a GPU of architecture `sm` runs; without one, what
/// a GPU of the newest cubin that can be read runs, or else PTX. If some are cubins, only these.
///
/// # Errors
/// If the file is damaged or holds nothing that fits.
pub fn choose(file: &[u8], sm: Option<u32>) -> Result<(Vec<EntryFacts>, Contents<'_>), String> {
    let problem = |e: ElfError| e.to_string();
    let containers = fatbin::containers(file).map_err(problem)?;
    let cubins = containers.iter().flatten().filter(|e| e.kind == Kind::Cubin && is_readable(e)).map(|e| e.sm);
    let wanted = sm.or(cubins.max()).unwrap_or(u32::MAX);
    let mut shown: Vec<&Entry<'_>> = containers.iter().filter_map(|c| fatbin::select_code(c, wanted)).collect();
    let Some(kind) = [Kind::Cubin, Kind::Ptx].into_iter().find(|kind| shown.iter().any(|e| e.kind == *kind)) else {
        let each: BTreeSet<_> = containers.iter().flatten().map(|e| (kind_name(e.kind), e.sm)).collect();
        let list: Vec<String> = each.iter().map(|(kind, sm)| format!("{kind} for sm_{sm}")).collect();
        let list = if list.is_empty() { "nothing".to_owned() } else { list.join(", ") };
        return Err(match sm {
            Some(sm) => format!("it has no code for sm_{sm} (--arch); it holds {list}"),
            None => {
                let [oldest, newest] = [sass::elf::KNOWN.first(), sass::elf::KNOWN.last()].map(|sm| sm.unwrap_or(&0));
                format!(
                    "it has no code that can be shown; it holds {list}; of cubins those for sm_{oldest} to sm_{newest} can be read: compile for one of these, or to PTX"
                )
            }
        });
    };
    shown.retain(|e| e.kind == kind);
    let contents = shown.iter().map(|e| e.extract()).collect::<Result<Vec<_>, _>>().map_err(problem)?;
    let facts = |e: &Entry<'_>| EntryFacts {
        kind: kind_name(e.kind),
        architecture: format!("sm_{}", e.sm),
        compressed: e.is_compressed(),
        shown: shown.iter().any(|shown| std::ptr::eq(e, *shown)),
        readable: is_readable(e),
    };
    let list = if sass::elf::is_cubin(file) { Vec::new() } else { containers.iter().flatten().map(facts).collect() };
    Ok((list, if kind == Kind::Ptx { Contents::Ptx(contents) } else { Contents::Cubins(contents) }))
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Ptx => "ptx",
        Kind::Cubin => "cubin",
        Kind::Other(_) => "other",
    }
}

/// Parts of a cubin to show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// Only the kernel of this name, plain or mangled.
    pub kernel: Option<&'a str>,
    /// Its instructions.
    pub code: bool,
    /// Their lines of sources that are here.
    pub place: Option<&'a SourcePlace>,
    /// By whose latencies reads are checked.
    pub checker: Option<&'a ReadChecker>,
    /// Told of each kernel.
    pub progress: Option<&'a Parts>,
}

/// Takes a cubin apart.
///
/// # Errors
/// If it is damaged.
pub fn inspect(file: &str, content: &[u8], shown: Shown<'_>) -> Result<CodeInspection, String> {
    let cubin = Cubin::parse(content).map_err(|e| e.to_string())?;
    // Why a whole cubin cannot be loaded is why each of its kernels cannot be executed.
    let options = LowerOptions { deferred: true, ..LowerOptions::default() };
    let mut loaded = lower::load_cubin(file, content, options).map_err(|e| e.text.clone());
    let is_shown = |f: &&ElfFunction<'_>| shown.kernel.is_none_or(|name| exec::is_named(f.name, name));
    let functions: Vec<&ElfFunction<'_>> = cubin.kernels().filter(is_shown).collect();
    let kernels = functions.iter().map(|function| {
        shown.progress.inspect(|parts| parts.begin());
        kernel(cubin.sm, function, &mut loaded, shown)
    });
    let mut kernels: Vec<CodeKernel> = kernels.collect();
    if let Some(place) = shown.place {
        add_lines(&cubin.lines(), place, functions.iter().map(|function| function.id).zip(&mut kernels));
    }
    Ok(CodeInspection {
        file: file.to_owned(),
        entries: Vec::new(),
        architecture: format!("sm_{}", cubin.sm),
        variables: cubin.variables.iter().map(variable).collect(),
        constant_banks: banks(&cubin.constants),
        kernels,
        functions: cubin.functions.iter().filter(|f| !f.is_kernel).map(|f| f.name.to_owned()).collect(),
    })
}

impl CodeInspection {
    /// Adds the code of another source file.
    pub fn absorb(&mut self, other: Self) {
        self.variables.extend(other.variables);
        self.constant_banks.extend(other.constant_banks);
        self.kernels.extend(other.kernels);
        self.functions.extend(other.functions);
    }
}

fn variable(v: &sass::elf::ElfVariable<'_>) -> VariableFacts {
    let space = if matches!(v.space, Space::Constant(_)) { "const" } else { "global" };
    VariableFacts { name: v.name.to_owned(), space, ty: "b8", bytes: Some(v.bytes) }
}

fn banks(banks: &[ConstantBank<'_>]) -> Vec<BankFacts> {
    banks.iter().map(|b| BankFacts { bank: b.bank, bytes: b.data.len() as u64 }).collect()
}

/// Names of the kernels of a cubin; none if it is damaged.
pub fn kernel_names(content: &[u8]) -> Vec<String> {
    Cubin::parse(content).map_or(Vec::new(), |cubin| cubin.kernels().map(|f| f.name.to_owned()).collect())
}

fn kernel(sm: u8, function: &ElfFunction<'_>, loaded: &mut Result<Loaded, String>, shown: Shown<'_>) -> CodeKernel {
    let lines = disassemble(function, sm);
    let mut opcodes: BTreeMap<String, u64> = BTreeMap::new();
    for line in &lines {
        *opcodes.entry(opcode(line.text.as_deref())).or_default() += 1;
    }
    let (mut classes, mut early_reads, mut stalls_without_yield) = (None, None, None);
    let (mut not_executable, mut hint) = (Vec::new(), None);
    match loaded {
        Err(text) => not_executable.push(Obstacle { address: None, message: text.clone() }),
        Ok(loaded) => {
            loaded.prepare(Some(function.name));
            if let Some(kernel) = loaded.module.kernels.iter().find(|k| k.name() == function.name) {
                classes = Some(self::classes(kernel));
                early_reads = shown.checker.map(|checker| checker.check(&kernel.program));
                stalls_without_yield = shown.checker.map(|_| lab::stalls_without_yield(&kernel.program));
            } else if let Some(rejected) = loaded.rejected.iter().find(|r| r.name == function.name) {
                (not_executable, hint) = obstacles(&rejected.error.text);
            }
            // With the functions that it calls through pointers, a kernel of a library can take a GiB.
            loaded.module.kernels.clear();
        }
    }
    let parameter = |p: &sass::elf::Parameter| ParameterFacts {
        bank_offset: u32::from(function.parameter_base) + u32::from(p.offset),
        offset: p.offset.into(),
        bytes: p.bytes.into(),
    };
    CodeKernel {
        name: function.name.to_owned(),
        source_name: exec::plain_name(function.name).map(str::to_owned),
        instructions: lines.len(),
        registers_per_thread: function.registers,
        shared_bytes: function.shared_bytes,
        frame_bytes: function.frame_bytes,
        stack_bytes: function.min_stack_bytes,
        barriers: function.barriers,
        max_threads: function.max_threads,
        required_threads: function.required_threads,
        parameters: function.parameters.iter().map(parameter).collect(),
        constant_banks: banks(&function.constants),
        opcodes: most_first(opcodes.iter().map(|(name, n)| (name.as_str(), *n)).collect()),
        executable: classes.is_some(),
        classes,
        not_executable,
        hint,
        early_reads,
        stalls_without_yield,
        code: shown.code.then_some(lines),
    }
}

/// Adds the lines of CUDA and PTX to the instructions.
fn add_lines<'a>(tables: &LineTables, place: &SourcePlace, kernels: impl Iterator<Item = (u32, &'a mut CodeKernel)>) {
    let mut sources = Sources::new(place);
    let ptx: Vec<&str> = tables.ptx_text.as_deref().unwrap_or_default().lines().collect();
    for (id, kernel) in kernels {
        let Some(of) = tables.function(id) else { continue };
        for line in kernel.code.iter_mut().flatten() {
            let chain = std::iter::successors(of.source_at(line.address), |entry| of.call_of(*entry)).take(MOST_CALLS);
            let mut chain =
                chain.filter_map(|entry| Some(sources.line((&tables.files[entry.file? as usize], entry.line))));
            line.source = chain.next();
            line.calls = chain.collect();
            line.ptx = of.ptx_at(line.address).map(|number| TextLine::of(&ptx, number));
        }
    }
}

/// The opcode without guard and modifiers.
fn opcode(text: Option<&str>) -> String {
    text.map_or("(unknown)", |text| base(opcode_of(text))).to_owned()
}

/// The loader's message, line by line: a heading, then `address: instruction: problem`; and its hint.
fn obstacles(text: &str) -> (Vec<Obstacle>, Option<String>) {
    let (mut obstacles, mut hint) = (Vec::new(), None);
    for line in text.lines().skip(1).map(str::trim) {
        let address = |at| u64::from_str_radix(at, 16).ok();
        match line.split_once(": ") {
            Some(("hint", text)) => hint = Some(text.to_owned()),
            Some((at, rest)) if address(at).is_some() => {
                obstacles.push(Obstacle { address: address(at), message: rest.to_owned() })
            }
            _ => obstacles.push(Obstacle { address: None, message: line.to_owned() }),
        }
    }
    (obstacles, hint)
}

fn disassemble(function: &ElfFunction<'_>, sm: u8) -> Vec<CodeLine> {
    let (words, _) = function.code.as_chunks::<{ decode::INSTRUCTION_BYTES as usize }>();
    let line = |(number, word): (usize, &[u8; 16])| {
        let address = number as u64 * decode::INSTRUCTION_BYTES;
        let word = u128::from_le_bytes(*word);
        let control = decode::control_bits(word);
        let set = |mask: u8| (0..8).filter(|bit| mask >> bit & 1 == 1).collect();
        CodeLine {
            address,
            text: decode::decode(word, address, sm).ok().map(|inst| inst.to_string()),
            word: [(word >> 64) as u64, word as u64],
            stall_cycles: control.stall_cycles,
            yields: control.yields,
            write_barrier: control.write_barrier,
            read_barrier: control.read_barrier,
            waits_for: set(control.wait_mask),
            reuse: set(control.reuse),
            source: None,
            calls: Vec::new(),
            ptx: None,
        }
    };
    words.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obstacles_keep_their_addresses() {
        let text =
            "k.cubin: kernel `k` is not executable:\n  0010: FOO R1: no\n  its table is missing\n  hint: another GPU";
        let expected = [
            Obstacle { address: Some(0x10), message: "FOO R1: no".to_owned() },
            Obstacle { address: None, message: "its table is missing".to_owned() },
        ];
        assert_eq!(obstacles(text), (Vec::from(expected), Some("another GPU".to_owned())));
    }
}
