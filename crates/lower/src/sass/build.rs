//! A kernel from its first instruction to its description for the timing model.

use super::builder::{BYTES, Builder, CONSTANTS, Files, Lowered, PREDICATES, REDUCTION_PREDICATE, UNIFORM_PREDICATES};
use super::lines::annotate;
use super::link::Linked;
use super::module::Layout;
use super::{control, families, reach, stack};
use crate::access::mem_access;
use crate::divergence;
use crate::loaded::LowerOptions;
use exec::kernel::{Guarded, Kernel, Param, RegisterCount, RuntimeFunction};
use exec::lanes::{Pred, Reg};
use exec::machine_code::{MachineCode, SystemSharedAt};
use exec::memory::PARAM_WINDOW;
use exec::op::Op;
use exec::operand::{Origin, Use};
use exec::system_shared::SystemShared;
use isa::{
    CacheOp, ConstantOperand, Control, ControlBits, CounterBound, Dim3, InstSpec, ProgramBuilder, RegFile, RegId,
    SingleOperation, Source, Traits,
};
use sass::decode::modifier::{Barrier, GroupEnd, key};
use sass::decode::operand::Constant;
use sass::decode::{SassInst, SassOp, SassOperand};
use sass::elf::lines::LineTables;
use sass::elf::{Cubin, ElfFunction};
use sass::meaning::{Generation, Meaning, meaning, of_instruction};
use std::collections::HashMap;
use std::sync::Arc;

/// Offset in constant bank 0 of the address of constant bank 3, before Hopper and since Hopper, found in
/// compiled code.
const CONSTANTS_BASE_AT: u32 = 0x50;
const CONSTANTS_BASE_AT_90: u32 = 0xd0;

/// Offset in constant bank 0 of the generic address of that bank, before Hopper, and of the parameters in it, since
/// Hopper: what `cvta.param` is compiled to (CUDA 11.8).
const BANK_ADDRESS_AT: u32 = 0x40;
const PARAMETERS_ADDRESS_AT_90: u32 = 0x198;

/// Offsets in constant bank 0 of the words of the address of a cooperative launch's workspace, lower first,
/// before Hopper and since Hopper: what `%envreg2` and `%envreg1` are compiled to (CUDA 11.8 and 12.9).
const WORKSPACE_AT: [u32; 2] = [0x90, 0x8c];
const WORKSPACE_AT_90: [u32; 2] = [0x48, 0x44];

/// Words of constant bank 0 about the system's part of shared memory.
const SYSTEM_SHARED_AT: SystemSharedAt = SystemSharedAt { bytes: 0x114, end: 0x120, groups: 0x124, all: None };
const SYSTEM_SHARED_AT_90: SystemSharedAt = SystemSharedAt { bytes: 0x114, end: 0x68, groups: 0x6c, all: Some(0x13c) };

/// Lowers `function`.
///
/// # Errors
/// Everything in it that is not executable, one line each.
pub(super) fn lower<'a>(
    cubin: &'a Cubin<'a>,
    layout: &'a Layout,
    function: &'a ElfFunction<'a>,
    options: LowerOptions,
    lines: &LineTables,
) -> Result<Kernel, Vec<String>> {
    let linked = Linked::new(cubin, function, layout.pointers());
    let insts = linked.decode(cubin, layout, lines)?;
    let unknown = layout.unknown(&linked.functions().collect::<Vec<_>>(), &insts);
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let stack_bytes = stack::bytes(&linked, &insts, options).map_err(|problem| vec![problem])?;
    let registers = linked.functions().map(|f| f.registers).max().unwrap_or(0);
    let asks = insts.iter().any(|inst| asks_for_system_shared(cubin.sm, inst));
    let mut b = Builder {
        sm: cubin.sm,
        system_shared: match asks || function.reserved_shared_bytes > 0 {
            true if cubin.sm >= 90 => SystemShared::Before,
            true if cubin.sm >= 80 => SystemShared::Behind,
            _ => SystemShared::None,
        },
        address: 0,
        matrix: Vec::new(),
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
        stack_bytes,
        functions: linked.targets(layout.pointers()),
        calls: Vec::new(),
        returns: Vec::new(),
        call_sites: Vec::new(),
    };
    let mut program = ProgramBuilder::new(function.name, BYTES as u32);
    let mut problems = reach::problems(&linked, &insts);
    for inst in &insts {
        b.function = linked.function_at(inst.address);
        if let Err(problem) = b.lower(inst, &mut program) {
            problems.push(format!("  {:04x}: {inst}: {problem}", inst.address));
        }
    }
    for &function in linked.runtime() {
        if let Err(problem) = b.runtime_function(function, &mut program) {
            problems.push(format!("  {function:?}: {problem}"));
        }
    }
    // Operands hold 15-bit numbers of constants.
    if b.constants.len() > usize::from(Reg::CONSTANTS) {
        problems.push(format!("  {} different words of constants are more than can be executed", b.constants.len()));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut kernel = b.finish(program, options);
    annotate(Arc::make_mut(&mut kernel.program), &insts, &linked, lines);
    Ok(kernel)
}

/// Where constant bank 0 says what is known of the system's part of shared memory.
fn system_shared_at(sm: u8) -> SystemSharedAt {
    if sm < 90 { SYSTEM_SHARED_AT } else { SYSTEM_SHARED_AT_90 }
}

/// Whether `inst` reads where the system's part of shared memory is.
fn asks_for_system_shared(sm: u8, inst: &SassInst) -> bool {
    let at = system_shared_at(sm);
    inst.operands().any(|operand| match operand {
        SassOperand::Constant(Constant { bank: 0, bindless: None, index, offset, .. }) => {
            let is_fixed = index.is_none_or(|register| register.is_zero());
            is_fixed && [at.bytes, at.end, at.groups].contains(&(offset as u32))
        }
        _ => false,
    })
}

/// The constant that `inst` names by number and does not load.
fn constant(inst: &SassInst) -> Option<ConstantOperand> {
    if inst.row.op == SassOp::LdC {
        return None;
    }
    inst.operands().find_map(|operand| match operand {
        SassOperand::Constant(Constant { bank, bindless: None, index: None, offset, .. }) => {
            Some(ConstantOperand { bank, offset: offset as u16 })
        }
        _ => None,
    })
}

/// The compiler's scheduling of an instruction, and what it reads from elsewhere than registers of operations.
#[derive(Clone, Copy)]
struct Scheduled {
    bits: ControlBits,
    slots: [Option<u8>; 3],
    counter_bound: Option<CounterBound>,
    constant: Option<ConstantOperand>,
}

impl Builder<'_> {
    fn lower(&mut self, inst: &SassInst, program: &mut ProgramBuilder) -> Lowered<()> {
        self.current.clear();
        self.scratch.0 = 0;
        self.scratch_predicates.0 = 0;
        self.address = inst.address;
        families::lower(self, inst)?;
        let guard = inst.guard();
        let guard = self.pred(SassOperand::Predicate { index: guard.index, uniform: guard.uniform, not: guard.not })?;
        let text = inst.to_string();
        let meaning = of_instruction(inst);
        let meaning = Meaning { control: control(inst).unwrap_or(meaning.control), ..meaning };
        let scheduled = Scheduled {
            bits: inst.control_bits(),
            slots: inst.slots(),
            counter_bound: inst.counter_bound(),
            constant: constant(inst),
        };
        self.describe(&text, meaning, scheduled, guard, program);
        let op = self.operation();
        match inst.row.op {
            SassOp::Call => self.calls.push(self.code.len() as u32),
            SassOp::Ret => self.returns.push(self.code.len() as u32),
            _ => {}
        }
        self.code.push(Guarded { op, guard });
        Ok(())
    }

    /// The operations of the present instruction as one.
    fn operation(&mut self) -> Op {
        match self.current[..] {
            [] => Op::Nop,
            [op] => op,
            _ => {
                let first = self.sequences.len() as u32;
                self.sequences.extend_from_slice(&self.current);
                Op::Sequence(first, self.current.len() as u16)
            }
        }
    }

    /// Appends a function of the device runtime: one instruction, which returns as `RET` does.
    fn runtime_function(&mut self, function: RuntimeFunction, program: &mut ProgramBuilder) -> Lowered<()> {
        self.current.clear();
        control::runtime_function(self, function)?;
        // It waits for its arguments.
        let bits = ControlBits {
            stall_cycles: 5,
            yields: false,
            write_barrier: None,
            read_barrier: None,
            wait_mask: 0x3f,
            reuse: 0,
        };
        let meaning = meaning("RET", Generation::of(self.sm.into()));
        let scheduled = Scheduled { bits, slots: [None; 3], counter_bound: None, constant: None };
        self.describe("RET.ABS.NODEC R20 0x0", meaning, scheduled, Pred::TRUE, program);
        let op = self.operation();
        self.returns.push(self.code.len() as u32);
        self.code.push(Guarded { op, guard: Pred::TRUE });
        Ok(())
    }

    /// Appends the static description of the instruction. Its registers come from its operations.
    fn describe(
        &self,
        text: &str,
        mut meaning: Meaning,
        scheduled: Scheduled,
        guard: Pred,
        program: &mut ProgramBuilder,
    ) {
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
            exec::uses(op, &self.matrix, &self.call_sites, &mut note);
        }
        let guard = self.predicate_id(guard);
        srcs.retain(|&src| Some(src) != guard);
        srcs.extend(guard);
        // Accesses through textures and surfaces have neither address nor kind in traces.
        if let [op @ (Op::Fetch(_) | Op::Surface(_) | Op::Query(_)), ..] = &self.current[..] {
            (meaning.class, meaning.work, meaning.mem) = (op.class(), op.work(), mem_access(op, CacheOp::All));
        }
        // Lanes of a constant load may have different addresses, which traces lack, if a general register is among them.
        if meaning.single == Some(SingleOperation::ConstantLoad) && srcs.iter().any(|src| src.0 < self.files.general) {
            meaning.mem = self.current.iter().find_map(|op| mem_access(op, CacheOp::All));
        }
        // The opcode does not say where a warp group's A is.
        if let ([Op::Matrix(number)], Some(work)) = (&self.current[..], &mut meaning.matrix) {
            work.group = self.matrix[usize::from(*number)].work().and_then(|work| work.group);
        }
        let traits = Traits {
            work: meaning.work,
            control: meaning.control,
            mem: meaning.mem,
            matrix: meaning.matrix,
            single: meaning.single,
            per_lane: self.current.iter().any(|op| op.origin() == Origin::Own),
            guarded: guard.is_some(),
            control_bits: Some(scheduled.bits),
            slots: scheduled.slots,
            counter_bound: scheduled.counter_bound,
            constant: scheduled.constant,
            // Hardware issues packed halves at the rate of single precision, which is the rate of the class.
            // `partial` is set when the whole kernel is known.
            ..Traits::of(meaning.class)
        };
        program.push(InstSpec { traits, dsts: &dsts, srcs: &srcs, source: Source { line: 0, origin: (0, 0) }, text });
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
            origin: None,
            code: self.code,
            constants: self.constants,
            launch_words: self.launch_words,
            matrix: self.matrix,
            tables: Vec::new(),
            calls: self.call_sites,
            functions: Vec::new(),
            numbers: HashMap::new(),
            params: params.collect(),
            static_shared: function.shared_bytes.min(1 << 20) as u32,
            system_shared: self.system_shared,
            shared_symbols: Vec::new(),
            local_bytes: self.stack_bytes,
            registers,
            allocation: None,
            max_threads: function.max_threads.map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z)),
            required_block: function.required_threads.map(|[x, y, z]| Dim3::new(x, y, z)),
            required_cluster: function.required_cluster.map(|[x, y, z]| Dim3::new(x, y, z)),
            needs_cluster: function.needs_cluster,
            max_cluster: function.max_cluster,
            machine: Some(MachineCode {
                parameter_base: function.parameter_base.into(),
                constants_base: (
                    if self.sm < 90 { CONSTANTS_BASE_AT } else { CONSTANTS_BASE_AT_90 },
                    self.layout.bank_address(function, CONSTANTS).unwrap_or(0),
                ),
                // Generic accesses to the window of parameters are to constant bank 0.
                parameters_base: if self.sm < 90 {
                    (BANK_ADDRESS_AT, PARAM_WINDOW)
                } else {
                    (PARAMETERS_ADDRESS_AT_90, PARAM_WINDOW + u64::from(function.parameter_base))
                },
                system_shared_at: system_shared_at(self.sm),
                has_clusters: self.sm >= 90,
                workspace_at: if self.sm < 90 { WORKSPACE_AT } else { WORKSPACE_AT_90 },
                sequences: self.sequences,
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
}

/// Effect of the instruction on the warp's control flow, where its opcode does not say it. Instructions at which
/// groups of lanes may change count as changes of control flow.
fn control(inst: &SassInst) -> Option<Control> {
    Some(match inst.row.op {
        SassOp::BSync | SassOp::WarpSync | SassOp::WarpSyncAll | SassOp::EndCollective | SassOp::Yield => {
            Control::Branch
        }
        SassOp::Kill => Control::Exit,
        SassOp::ArriveS => Control::AsyncWait,
        SassOp::WarpGroup if super::operand::list(inst).is_empty() => Control::None,
        SassOp::WarpGroup => Control::MatrixWait,
        SassOp::HGmma | SassOp::QGmma | SassOp::IGmma | SassOp::BGmma
            if inst.modifier(key::GROUP_END) == Some(GroupEnd::Last) =>
        {
            Control::MatrixCommit
        }
        SassOp::NanoSleep => Control::Sleep,
        SassOp::Bar if inst.modifier(key::BARRIER) == Some(Barrier::Arrive) => Control::BarrierArrive,
        _ => return None,
    })
}
