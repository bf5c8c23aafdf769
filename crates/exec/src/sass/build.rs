//! A kernel under construction.

use super::link::Linked;
use super::module::Layout;
use super::{FAMILIES, Lowered, stack};
use crate::divergence;
use crate::kernel::{Guarded, Kernel, Origin, Param, RegisterCount};
use crate::lanes::{Column, Pred, Reg};
use crate::lower::{LowerOptions, mem_access};
use crate::machine::{LaunchWord, MachineCode, WordSource};
use crate::op::{Op, Use};
use isa::{CacheOp, Control, Dim3, InstSpec, ProgramBuilder, RegFile, RegId, Source};
use sass::decode::operand::{Register, URZ};
use sass::decode::{Inst, Op as Opcode, Operand};
use sass::elf::{Cubin, Function};
use sass::meaning::{Generation, meaning};
use std::collections::HashMap;
use std::sync::Arc;

/// General predicates P0 to P6 come first, then uniform ones.
pub(super) const UNIFORM_PREDICATES: u16 = 7;
/// Predicates that machine code names.
const PREDICATES: u16 = 2 * UNIFORM_PREDICATES;
/// Truth of the last reduction at a CTA barrier.
const REDUCTION_PREDICATE: u16 = PREDICATES;
/// Registers that take what is written to RZ, the widest destination.
const SINK_COLUMNS: u16 = 8;
/// Convergence barrier registers B0 to B15.
const BARRIERS: u16 = 16;
/// The constant bank of `__constant__` variables.
const CONSTANTS: u8 = 3;
/// Offset of its address in constant bank 0, before Hopper and since: from compiled code.
const CONSTANTS_BASE_AT: u32 = 0x50;
const CONSTANTS_BASE_AT_90: u32 = 0xd0;
/// Bytes of an instruction.
const BYTES: usize = sass::decode::INSTRUCTION_BYTES as usize;

/// The control bits of an instruction, once they stand lowest.
const CONTROL_MASK: u32 = (1 << 21) - 1;

/// Numbers of the first registers of each kind.
#[derive(Clone, Copy, Debug)]
struct Files {
    /// Of a thread, as the cubin says.
    registers: u32,
    /// R0 … come first: as many as the kernel has.
    general: u16,
    sink: u16,
    uniform: u16,
    uniform_count: u16,
    barriers: u16,
    /// Count of the last reduction at a CTA barrier.
    reduction: u16,
    /// Where lanes go after a collective stretch.
    collective: u16,
    scratch: u16,
}

/// A kernel while its instructions are lowered.
pub(super) struct Builder<'a> {
    /// Architecture, such as 75.
    pub sm: u8,
    /// Byte address of the instruction that is lowered.
    pub address: u64,
    /// Matrix operations of the kernel, which operations name by number.
    pub matrix: Vec<crate::tensor::MatrixOp>,
    /// The instruction is of the uniform datapath but works on lanes: `S2UR`, `R2UR`, `VOTEU`.
    pub in_lanes: bool,
    layout: &'a Layout,
    kernel: &'a Function<'a>,
    /// The function that the instruction which is lowered is of.
    function: &'a Function<'a>,
    /// Bytes of the code of all functions.
    code_bytes: u64,
    files: Files,
    /// Scratch registers and predicates: next free ones, and the most that were in use.
    scratch: (u16, u16),
    scratch_predicates: (u16, u16),
    constants: Vec<Column>,
    by_value: HashMap<Vec<ConstantWord>, Reg>,
    launch_words: Vec<LaunchWord>,
    /// Operations of the instruction that is lowered.
    current: Vec<Op>,
    code: Vec<Guarded>,
    sequences: Vec<Op>,
    control_words: Vec<u32>,
    /// Bytes of a thread's stack.
    stack_bytes: u32,
    /// The first instruction of each function that memory holds a pointer to.
    functions: Vec<u32>,
    /// Instructions that are a `CALL`, and those that are a `RET`.
    calls: Vec<u32>,
    returns: Vec<u32>,
}

/// A word of a constant operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ConstantWord {
    Value(u32),
    Bank(u8, u32),
}

impl<'a> Builder<'a> {
    /// Lowers `function`.
    ///
    /// # Errors
    /// Everything in it that is not executable, a line each.
    pub fn build(
        cubin: &'a Cubin<'a>,
        layout: &'a Layout,
        function: &'a Function<'a>,
        options: LowerOptions,
    ) -> Result<Kernel, Vec<String>> {
        let linked = Linked::new(cubin, function, layout.pointers());
        let insts = linked.decode(cubin, layout)?;
        let stack_bytes = stack::bytes(&linked, &insts, options).map_err(|problem| vec![problem])?;
        let registers = linked.functions().map(|f| f.registers).max().unwrap_or(0);
        let mut b = Self {
            sm: cubin.sm,
            address: 0,
            matrix: Vec::new(),
            in_lanes: false,
            layout,
            kernel: function,
            function,
            code_bytes: linked.bytes(),
            files: Files::of(registers, &insts),
            scratch: (0, 0),
            scratch_predicates: (0, 0),
            constants: Vec::new(),
            by_value: HashMap::new(),
            launch_words: Vec::new(),
            current: Vec::new(),
            code: Vec::new(),
            sequences: Vec::new(),
            control_words: insts.iter().map(|inst| (inst.word >> 105) as u32 & CONTROL_MASK).collect(),
            stack_bytes,
            functions: linked.targets(layout.pointers()),
            calls: Vec::new(),
            returns: Vec::new(),
        };
        let mut program = ProgramBuilder::new(function.name, BYTES as u32);
        let mut problems = Vec::new();
        for inst in &insts {
            b.function = linked.function_at(inst.address);
            if let Err(problem) = b.lower(inst, &mut program) {
                problems.push(format!("  {:04x}: {inst}: {problem}", inst.address));
            }
        }
        // Operands number them with 15 bits.
        if b.constants.len() > usize::from(Reg::CONSTANTS) {
            problems
                .push(format!("  {} different words of constants are more than can be executed", b.constants.len()));
        }
        if problems.is_empty() { Ok(b.finish(program, options)) } else { Err(problems) }
    }

    fn lower(&mut self, inst: &Inst, program: &mut ProgramBuilder) -> Lowered<()> {
        self.current.clear();
        self.scratch.0 = 0;
        self.scratch_predicates.0 = 0;
        self.in_lanes = false;
        self.address = inst.address;
        let mut known = false;
        for family in FAMILIES {
            known = family(self, inst)?;
            if known {
                break;
            }
        }
        if !known {
            return Err("this operation is not executable yet".into());
        }
        let guard = inst.guard();
        let guard = self.pred(Operand::Predicate { index: guard.index, uniform: guard.uniform, not: guard.not })?;
        self.describe(inst, guard, program);
        let op = match self.current[..] {
            [] => Op::Nop,
            [op] => op,
            _ => {
                let first = self.sequences.len() as u32;
                self.sequences.extend_from_slice(&self.current);
                Op::Sequence(first, self.current.len() as u16)
            }
        };
        match inst.row.op {
            Opcode::Call => self.calls.push(self.code.len() as u32),
            Opcode::Ret => self.returns.push(self.code.len() as u32),
            _ => {}
        }
        self.code.push(Guarded { op, guard, uniform: inst.row.uniform && !self.in_lanes });
        Ok(())
    }

    /// Appends the static description of the instruction: registers follow from its operations.
    fn describe(&self, inst: &Inst, guard: Pred, program: &mut ProgramBuilder) {
        let (mut dsts, mut srcs) = (Vec::new(), Vec::new());
        let add = |list: &mut Vec<RegId>, id: Option<RegId>| {
            if let Some(id) = id.filter(|id| !list.contains(id)) {
                list.push(id);
            }
        };
        let mut note = |u: Use| match u {
            Use::Read(r, n) => {
                (0..u16::from(n)).for_each(|k| add(&mut srcs, self.register_id(Reg(r.0.wrapping_add(k)))))
            }
            Use::Write(r, n) => {
                (0..u16::from(n)).for_each(|k| add(&mut dsts, self.register_id(Reg(r.0.wrapping_add(k)))))
            }
            Use::ReadPred(p) => add(&mut srcs, self.predicate_id(p)),
            Use::WritePred(p) => add(&mut dsts, self.predicate_id(p)),
        };
        for op in &self.current {
            op.uses(&mut note);
            if let Op::Matrix(number) = op {
                self.matrix[usize::from(*number)].uses(&mut note);
            }
        }
        note(Use::ReadPred(guard));
        let text = inst.to_string();
        let opcode = text.split(' ').find(|word| !word.starts_with('@')).unwrap_or_default();
        let mut meaning = meaning(opcode, Generation::of(self.sm.into()));
        // Traces know neither place nor kind of what goes through textures and surfaces.
        if let [op @ (Op::Fetch(_) | Op::Surface(_) | Op::Query(_)), ..] = &self.current[..] {
            (meaning.class, meaning.mem) = (op.class(), mem_access(op, CacheOp::All));
        }
        program.push(InstSpec {
            class: meaning.class,
            control: control(inst, meaning.control),
            mem: meaning.mem,
            // Hardware issues packed halves at the rate of single precision, which is what the class has.
            packed_half: false,
            per_lane: self.current.iter().any(Op::is_per_lane),
            // Found out when all of the kernel is known.
            partial: false,
            dsts: &dsts,
            srcs: &srcs,
            source: Source { line: 0, origin: (0, 0) },
            text: &text,
        });
    }

    fn register_id(&self, r: Reg) -> Option<RegId> {
        let f = &self.files;
        if r.0 < f.general {
            return Some(RegId(r.0));
        }
        let uniform = r.0.checked_sub(f.uniform).filter(|&n| n < f.uniform_count)?;
        Some(RegId(f.general + UNIFORM_PREDICATES + uniform))
    }

    fn predicate_id(&self, p: Pred) -> Option<RegId> {
        let f = &self.files;
        match p.number()? {
            n if n < UNIFORM_PREDICATES => Some(RegId(f.general + n)),
            n if n < PREDICATES => Some(RegId(f.general + f.uniform_count + n)),
            _ => None,
        }
    }

    fn finish(self, program: ProgramBuilder, options: LowerOptions) -> Kernel {
        let f = self.files;
        let regs =
            RegFile { vector: f.general, predicate: UNIFORM_PREDICATES, uniform: f.uniform_count + UNIFORM_PREDICATES };
        let function = self.kernel;
        let params = function.parameters.iter().map(|p| Param {
            name: format!("param_{}", p.ordinal),
            ty: String::new(),
            offset: p.offset.into(),
            bytes: p.bytes.into(),
            is_float: false,
        });
        let registers = match options.registers_per_thread {
            Some(per_thread) => RegisterCount { per_thread, estimated: false },
            None => RegisterCount { per_thread: f.registers, estimated: false },
        };
        let mut kernel = Kernel {
            program: Arc::new(program.finish(regs, Vec::new())),
            origin: Origin::Cubin,
            code: self.code,
            constants: self.constants,
            matrix: self.matrix,
            tables: Vec::new(),
            calls: Vec::new(),
            functions: Vec::new(),
            numbers: HashMap::new(),
            params: params.collect(),
            static_shared: function.shared_bytes.min(1 << 20) as u32,
            shared_symbols: Vec::new(),
            local_bytes: self.stack_bytes,
            registers,
            allocation: None,
            max_threads: function.max_threads.map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z)),
            required_block: function.required_threads.map(|[x, y, z]| Dim3::new(x, y, z)),
            machine: Some(MachineCode {
                parameter_base: function.parameter_base.into(),
                constants_base: (
                    if self.sm < 90 { CONSTANTS_BASE_AT } else { CONSTANTS_BASE_AT_90 },
                    self.layout.bank_address(function, CONSTANTS).unwrap_or(0),
                ),
                launch_words: self.launch_words,
                sequences: self.sequences,
                control_words: self.control_words,
                functions: self.functions,
                first_uniform: f.uniform,
                columns: usize::from(f.scratch + self.scratch.1),
                predicates: usize::from(REDUCTION_PREDICATE + 1 + self.scratch_predicates.1),
            }),
        };
        let beyond = divergence::Machine {
            calls: &self.calls,
            returns: &self.returns,
            uniform: [f.uniform..f.barriers, UNIFORM_PREDICATES..PREDICATES],
            barriers: f.barriers..f.reduction,
            collective: Reg(f.collective),
            scratch: [f.scratch, REDUCTION_PREDICATE + 1],
        };
        divergence::mark(&mut kernel, Some(&beyond));
        kernel
    }

    /// Adds an operation to the instruction. Those that write its own results come last.
    pub fn emit(&mut self, op: Op) {
        self.current.push(op);
    }

    /// `count` consecutive registers that hold nothing beyond the instruction.
    pub fn scratch(&mut self, count: u16) -> Reg {
        let first = self.scratch.0;
        self.scratch.0 += count;
        self.scratch.1 = self.scratch.1.max(self.scratch.0);
        Reg(self.files.scratch + first)
    }

    /// A predicate that holds nothing beyond the instruction.
    pub fn scratch_pred(&mut self) -> Pred {
        let first = self.scratch_predicates.0;
        self.scratch_predicates.0 += 1;
        self.scratch_predicates.1 = self.scratch_predicates.1.max(self.scratch_predicates.0);
        Pred(REDUCTION_PREDICATE + 1 + first)
    }

    /// Where the results of the last reduction at a CTA barrier stand: count and truth.
    pub fn reduction_result(&self) -> (Reg, Pred) {
        (Reg(self.files.reduction), Pred(REDUCTION_PREDICATE))
    }

    /// Where results go that nobody reads: [`SINK_COLUMNS`] columns.
    pub fn sink(&self) -> Reg {
        Reg(self.files.sink)
    }

    /// The register of convergence barrier `number`.
    pub fn barrier(&self, number: u8) -> Reg {
        Reg(self.files.barriers + u16::from(number) % BARRIERS)
    }

    /// Where the byte address stands to which a lane goes after a collective stretch.
    pub fn collective_return(&self) -> Reg {
        Reg(self.files.collective)
    }

    /// `count` consecutive registers from `register` on; zeros for RZ.
    pub fn register(&mut self, register: Register, count: u16) -> Lowered<Reg> {
        if register.is_zero() {
            return Ok(self.words(&vec![ConstantWord::Value(0); count.into()]));
        }
        let index = u16::from(register.index);
        let (first, most) =
            if register.uniform { (self.files.uniform, self.files.uniform_count) } else { (0, self.files.general) };
        if index + count > most {
            return Err(format!("the kernel has {most} registers only"));
        }
        Ok(Reg(first + index))
    }

    /// A constant.
    pub fn constant(&mut self, value: u32) -> Reg {
        self.words(&[ConstantWord::Value(value)])
    }

    /// A constant of two columns.
    pub fn constant64(&mut self, value: u64) -> Reg {
        self.words(&[ConstantWord::Value(value as u32), ConstantWord::Value((value >> 32) as u32)])
    }

    /// `count` words of a constant bank.
    pub fn bank(&mut self, bank: u8, offset: i32, count: u16) -> Lowered<Reg> {
        let offset = u32::try_from(offset).map_err(|_| "a negative offset in a constant bank")?;
        let words: Vec<ConstantWord> = (0..u32::from(count))
            .map(|k| {
                let at = offset + 4 * k;
                match self.layout.fixed_word(self.owner(bank), bank, at.into()) {
                    Some(value) => ConstantWord::Value(value),
                    None => ConstantWord::Bank(bank, at),
                }
            })
            .collect();
        let missing = !matches!(bank, 0)
            && words.iter().any(|w| matches!(w, ConstantWord::Bank(..)))
            && self.bank_address(bank).is_none();
        if missing {
            return Err(format!("the cubin has no constant bank {bank}"));
        }
        Ok(self.words(&words))
    }

    /// The word of a constant bank that names a texture or surface.
    pub fn handle(&mut self, bank: u8, offset: i32) -> Lowered<Reg> {
        let parameters = i64::from(self.kernel.parameter_base) + i64::from(self.kernel.parameter_bytes);
        if bank == 0 && i64::from(offset) >= parameters {
            return Err("texture and surface references are not executable: pass texture and surface objects".into());
        }
        self.bank(bank, offset, 1)
    }

    /// Whose constant bank an instruction reads: of a called function, its own or the kernel's.
    fn owner(&self, bank: u8) -> &'a Function<'a> {
        if self.function.constants.iter().any(|own| own.bank == bank) { self.function } else { self.kernel }
    }

    /// Address in device memory of a constant bank other than 0.
    pub fn bank_address(&self, bank: u8) -> Option<u64> {
        self.layout.bank_address(self.owner(bank), bank)
    }

    /// Number of the instruction at a byte address of the function.
    pub fn target(&self, address: i64) -> Lowered<u32> {
        let bytes = BYTES as u64;
        let at = u64::try_from(address).ok().filter(|a| a % bytes == 0 && *a < self.code_bytes);
        at.map(|a| (a / bytes) as u32).ok_or_else(|| format!("it jumps to {address:#x}, outside the code"))
    }

    fn words(&mut self, words: &[ConstantWord]) -> Reg {
        if let Some(&reg) = self.by_value.get(words) {
            return reg;
        }
        let first = self.constants.len() as u16;
        for word in words {
            let constant = self.constants.len() as u16;
            let value = match *word {
                ConstantWord::Value(value) => value,
                ConstantWord::Bank(bank, offset) => {
                    let address = self.bank_address(bank).filter(|_| bank != 0);
                    let source =
                        address.map_or(WordSource::LaunchBank(offset), |a| WordSource::Memory(a + u64::from(offset)));
                    self.launch_words.push(LaunchWord { constant, source });
                    0
                }
            };
            self.constants.push([value; 32]);
        }
        let reg = Reg::constant(first);
        self.by_value.insert(words.to_vec(), reg);
        reg
    }
}

impl Files {
    fn of(registers: u32, insts: &[Inst]) -> Self {
        let uniform = insts.iter().flat_map(|i| i.operands().collect::<Vec<_>>()).filter_map(highest_uniform).max();
        // A 64-bit operand names the lower of two.
        let uniform_count = uniform.map_or(0, |n| u16::from(n) + 2).min(u16::from(URZ) + 1);
        let general = registers.clamp(1, 255) as u16;
        let sink = general;
        let uniform = sink + SINK_COLUMNS;
        let barriers = uniform + uniform_count;
        Self {
            registers,
            general,
            sink,
            uniform,
            uniform_count,
            barriers,
            reduction: barriers + BARRIERS,
            collective: barriers + BARRIERS + 1,
            scratch: barriers + BARRIERS + 2,
        }
    }
}

fn highest_uniform(operand: Operand) -> Option<u8> {
    let index = match operand {
        Operand::Register(r) if r.uniform => r.index,
        Operand::Memory(m) => m.uniform?,
        Operand::Constant(c) => c.bindless.or_else(|| c.index.filter(|r| r.uniform).map(|r| r.index))?,
        Operand::Indirect { register, .. } if register.uniform => register.index,
        _ => return None,
    };
    (index != URZ).then_some(index)
}

/// What the instruction does to its warp's flow. Instructions at which groups of lanes may change
/// are changes of control flow.
fn control(inst: &Inst, control: Control) -> Control {
    match inst.row.op {
        Opcode::BSync | Opcode::WarpSync | Opcode::WarpSyncAll | Opcode::EndCollective | Opcode::Yield => {
            Control::Branch
        }
        Opcode::Kill => Control::Exit,
        Opcode::NanoSleep => Control::Sleep,
        Opcode::Bar if inst.modifier("mode") == Some(1) => Control::BarrierArrive,
        _ => control,
    }
}
