//! A kernel from its first function to its description for the timing model.

use super::body::lower_function;
use super::build::KernelBuilder;
use super::scope::ModuleScope;
use crate::access::mem_access;
use crate::cfg::{Flow, Graph};
use crate::divergence;
use crate::inlined::Calls;
use crate::listing::{Groups, Line, Listing, LoweredFunction, Names, settle};
use crate::registers::liveness::{Effects, max_live};
use crate::registers::{self, RegisterLimits, Registers};
use exec::atomic::Atomic;
use exec::kernel::{Callee, Guarded, Kernel, Param, RegisterAllocation, RegisterCount, Save, SourceMap};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::{OperandUse, Origin, Use};
use exec::simt::NOWHERE;
use exec::system_shared::SystemShared;
use exec::uses;
use isa::{Access, CacheOp, Dim3, InstSpec, OpClass, Pc, ProgramBuilder, RegFile, RegId, Traits};
use ptx::ast;
use ptx::{Diagnostic, Diagnostics, SourceText, Span, StateSpace};
use std::collections::HashSet;
use std::sync::Arc;

/// Registers that machine code needs in addition to the live ones of PTX: addresses, temporaries, loads moved
/// ahead. The median over the bundled suite's 29 kernels against ptxas 11.8 for sm_75; single kernels need up
/// to 7 fewer, and those with unrolled loops of loads up to 39 more.
const REGISTER_OVERHEAD: u32 = 8;
/// Minimum and maximum of registers per thread.
const REGISTER_RANGE: (u32, u32) = (8, 255);

/// Lowers `kernel` and all that it calls.
pub(super) fn lower<'a>(scope: &'a ModuleScope<'a>, kernel: &'a ast::Function) -> Result<Kernel, Diagnostics> {
    let mut b = KernelBuilder::new(scope);
    if kernel.params.iter().any(|v| v.space != StateSpace::Param) {
        let problem = "a parameter of a kernel is not in the state space `.param`";
        b.diagnostics.push(Diagnostic::error(kernel.name_span, problem).hint("declare it as `.param`"));
        return Err(b.diagnostics);
    }
    let params = kernel_params(scope, kernel);
    let mut functions = vec![lower_function(&mut b, kernel, Some(&params))];
    let mut next = 0;
    while next < b.queue.len() {
        let index = b.queue[next];
        next += 1;
        functions.push(lower_function(&mut b, scope.functions[index], None));
    }
    b.check_limits(kernel.name_span);
    if b.diagnostics.has_errors() {
        return Err(b.diagnostics);
    }
    b.save_across_recursion(&functions);
    b.find_unused_results(&functions);
    let allocation = b.allocate(kernel, &mut functions)?;
    Ok(b.finish(kernel, params, functions, allocation))
}

impl KernelBuilder<'_> {
    fn check_limits(&mut self, span: Span) {
        let limit = usize::from(Reg::CONSTANTS) - 1;
        if self.constants.columns.len() > limit {
            let what = format!("the kernel uses more than {limit} different constants of 32 bits");
            self.diagnostics.push(Diagnostic::error(span, what));
        }
    }

    /// A call of a function that may call the caller again saves the caller's registers.
    fn save_across_recursion(&mut self, functions: &[LoweredFunction]) {
        let groups = Groups::of(functions);
        for (caller, f) in functions.iter().enumerate() {
            if !groups.is_recursive(caller) {
                continue;
            }
            // Where there are more, they are allocated, and allocation says anew which to save.
            let [first, next] = f.registers.map(|(r, p)| (r as u16, p as u16));
            let save = Save {
                registers: (first.0, next.0.wrapping_sub(first.0)),
                predicates: (first.1, next.1.wrapping_sub(first.1)),
            };
            for pc in f.range.0..f.range.1 {
                if let Op::Call(site) = self.code[pc as usize].op {
                    let back = match self.calls[site as usize].callee {
                        Callee::Function(g) => groups.group(g as usize) == groups.group(caller),
                        Callee::Pointer(_) => true,
                        Callee::Runtime(_) => false,
                    };
                    if back {
                        self.calls[site as usize].save = Some(save);
                    }
                }
            }
        }
    }

    /// Marks the atomics whose results nothing reads: source code that adds to memory and ignores the old value.
    fn find_unused_results(&mut self, functions: &[LoweredFunction]) {
        let mut read = HashSet::new();
        for line in &self.code {
            line.uses(&self.matrix, &self.calls, &mut |used| {
                if let OperandUse::Read(first, columns) = used {
                    read.extend(first..first + u32::from(columns));
                }
            });
        }
        for (first, columns) in functions.iter().flat_map(|f| f.names.in_registers(&f.function.returns)) {
            read.extend(first..first + u32::from(columns));
        }
        for line in &mut self.code {
            if let Op::Atomic(Atomic { d: Some(d), ty, count, unused, .. }) = &mut line.op {
                let columns = u32::from(ty.columns() * *count);
                let first = line.names.column(*d).expect("a destination is not a constant");
                *unused = (first..first + columns).all(|column| !read.contains(&column));
            }
        }
    }

    /// Allocates the kernel's registers, if the options request it.
    fn allocate(
        &mut self,
        kernel: &ast::Function,
        functions: &mut [LoweredFunction],
    ) -> Result<Option<RegisterAllocation>, Diagnostics> {
        let (limits, hazard_free) = match self.scope.options.registers {
            Registers::Virtual if self.vectors.max(self.predicates) as usize <= Names::MOST => return Ok(None),
            Registers::Virtual => (RegisterLimits::default(), false),
            Registers::Allocated(limits) => (limits, false),
            Registers::HazardFree(limits) => (limits, true),
        };
        let limit = limits.of(|name| kernel.directive(name));
        let listing = Listing {
            code: &mut self.code,
            branches: &mut self.tables,
            calls: &mut self.calls,
            matrix: &mut self.matrix,
            constants: &mut self.constants,
            functions,
            columns: &mut self.vectors,
            predicates: &mut self.predicates,
        };
        let found = registers::allocate(listing, limit, hazard_free);
        found.map(Some).map_err(|registers::Shortage| {
            let what = format!("the kernel does not fit into {limit} registers, even with everything spilled");
            self.diagnostics.push(Diagnostic::error(kernel.name_span, what).hint("allow it more registers"));
            std::mem::take(&mut self.diagnostics)
        })
    }

    fn finish(
        mut self,
        kernel: &ast::Function,
        params: Vec<Param>,
        mut functions: Vec<LoweredFunction>,
        allocation: Option<RegisterAllocation>,
    ) -> Kernel {
        settle(&mut self.code, &mut functions, (&mut self.matrix, &mut self.calls));
        if let Some(align) = self.dynamic_align {
            self.shared_bytes = self.shared_bytes.next_multiple_of(align);
            for (reg, wide, addend) in std::mem::take(&mut self.dynamic) {
                let value = i64::from(self.shared_bytes) + addend;
                let index = (reg.0 - Reg::CONSTANTS) as usize;
                self.constants.columns[index] = [value as u32; 32];
                if wide {
                    self.constants.columns[index + 1] = [(value >> 32) as u32; 32];
                }
            }
        }
        let calls_poll = self.code.iter().any(polls);
        let live = functions.iter().map(|f| self.resolve_control(f.range, calls_poll)).collect::<Vec<u32>>();
        let registers = if allocation.is_some() && self.scope.options.registers_per_thread.is_none() {
            RegisterCount { per_thread: self.vectors.max(1), estimated: false }
        } else {
            self.register_count(kernel, &live)
        };
        let files = RegFile { vector: self.vectors as u16, predicate: self.predicates as u16, uniform: 0 };
        let mut program = ProgramBuilder::new(self.scope.ast.name(kernel.name), 8);
        for (pc, pending) in self.code.iter().enumerate() {
            let in_kernel = (pc as u32) < functions[0].range.1;
            self.describe(pending, in_kernel, files, &mut program);
        }
        let names = self.scope.ast.files.iter().map(|f| f.path.to_string()).collect();
        let mut program = program.finish(files, names);
        program.code_file = self.scope.source.name.to_string();
        let (mut calls, all) = (Calls::default(), self.code.len());
        for (pc, line) in self.code.iter().enumerate() {
            if let Some(inlined) = self.inlined.get(&line.span.start) {
                calls.add(&mut program.lines, (pc, all), inlined.clone());
            }
        }
        let max_threads = kernel.directive("maxntid");
        let asks = |at: &Line| matches!(at.op, Op::Special(special, _) if special.is_of_system_shared());
        let asks_for_system_shared = self.code.iter().any(asks);
        let mut kernel = Kernel {
            program: Arc::new(program),
            origin: Some(Arc::new(Places {
                text: self.scope.source.clone(),
                spans: self.code.iter().map(|p| p.span).collect(),
            })),
            code: self.code.iter().map(|p| Guarded { op: p.op, guard: p.guard }).collect(),
            constants: self.constants.columns,
            launch_words: self.launch_words,
            matrix: self.matrix,
            tables: self.tables,
            calls: self.calls,
            local_bytes: functions[0].function.frame_bytes,
            functions: functions.into_iter().map(|f| f.function).collect(),
            numbers: self.numbers,
            machine: None,
            params,
            static_shared: self.shared_bytes,
            system_shared: if asks_for_system_shared { SystemShared::Behind } else { SystemShared::None },
            shared_symbols: self.shared_symbols,
            registers,
            allocation,
            max_threads: max_threads.map(|n| n.iter().product::<u64>().min(u64::from(u32::MAX)) as u32),
            required_block: kernel.directive("reqntid").map(block),
            required_cluster: kernel.directive("reqnctapercluster").map(block),
            needs_cluster: kernel.directive("explicitcluster").is_some(),
            max_cluster: kernel
                .directive("maxclusterrank")
                .and_then(|n| n.first())
                .map(|&n| n.min(u64::from(u32::MAX)) as u32),
        };
        divergence::mark(&mut kernel, None);
        kernel
    }

    fn register_count(&self, kernel: &ast::Function, live: &[u32]) -> RegisterCount {
        if let Some(per_thread) = self.scope.options.registers_per_thread {
            return RegisterCount { per_thread, estimated: false };
        }
        let callees = live[1..].iter().max().copied().unwrap_or(0);
        let (least, most) = REGISTER_RANGE;
        let most = kernel.directive("maxnreg").and_then(|n| n.first()).map_or(most, |&n| (n as u32).clamp(least, most));
        RegisterCount { per_thread: (live[0] + callees + REGISTER_OVERHEAD).clamp(least, most), estimated: true }
    }

    /// Finds the reconvergence points of a function's branches. Returns the maximum number of 32-bit
    /// registers that are live at once.
    fn resolve_control(&mut self, (start, end): (u32, u32), calls_poll: bool) -> u32 {
        let code = &self.code[start as usize..end as usize];
        let flow: Vec<Flow> = code.iter().map(|p| self.flow(p, start)).collect();
        if flow.is_empty() {
            return 0;
        }
        let graph = Graph::new(&flow);
        let meets = graph.post_dominators();
        let effects = self.effects(code);
        let registers = self.vectors as usize;
        let given = self.given_registers(code, registers);
        let live = max_live(&graph, &effects, registers, |r| !given.contains(r as usize));
        let polling = self.polling_branches((start, end), calls_poll);
        for (i, pending) in self.code[start as usize..end as usize].iter_mut().enumerate() {
            if let Op::Branch { polls, .. } = &mut pending.op {
                *polls = polling.contains(i);
            }
            if let Op::Branch { reconverge, .. } | Op::BranchTable { reconverge, .. } = &mut pending.op {
                *reconverge = meets[graph.block_of(i as u32)].map_or(NOWHERE, |pc| pc + start);
            }
        }
        live
    }

    /// Backward branches of loops that may wait for other lanes. As ptxas has it: a loop with a volatile, relaxed or
    /// acquiring load, or an atomic whose result is used. A call counts as one if any function has one (`calls_poll`).
    fn polling_branches(&self, (start, end): (u32, u32), calls_poll: bool) -> kit::BitSet {
        let mut branches = kit::BitSet::new((end - start) as usize);
        // The last instruction that may poll.
        let mut last = None;
        for at in start..end {
            let line = &self.code[at as usize];
            if polls(line) || calls_poll && matches!(line.op, Op::Call(_)) {
                last = Some(at);
            }
            if let Op::Branch { target, .. } = line.op
                && (start..=at).contains(&target)
                && last.is_some_and(|last| target <= last)
            {
                branches.insert((at - start) as usize);
            }
        }
        branches
    }

    fn flow(&self, pending: &Line, start: u32) -> Flow {
        let guarded = pending.guard != Pred::TRUE;
        match &pending.op {
            Op::Branch { target, .. } => Flow { falls_through: guarded, targets: vec![target - start] },
            Op::BranchTable { table, .. } => {
                let targets = self.tables[*table as usize].iter().map(|t| t - start).collect();
                Flow { falls_through: guarded, targets }
            }
            Op::Return | Op::Exit | Op::Trap => Flow { falls_through: guarded, targets: Vec::new() },
            _ => Flow::next(),
        }
    }

    fn effects(&self, code: &[Line]) -> Vec<Effects> {
        let one = |p: &Line| {
            let mut e = Effects::default();
            uses(&p.op, &self.matrix, &self.calls, &mut |u| match u {
                Use::Read(r, n) if !r.is_constant() => e.uses.extend((r.0..r.0 + u16::from(n)).map(u32::from)),
                Use::Write(r, n) => e.defs.extend((r.0..r.0 + u16::from(n)).map(u32::from)),
                _ => {}
            });
            if p.guard == Pred::TRUE {
                e.kills.clone_from(&e.defs);
            }
            e
        };
        code.iter().map(one).collect()
    }

    /// Registers that only hold a kernel parameter: machine code reads the parameter from the constant bank
    /// at each use, so they take no register.
    fn given_registers(&self, code: &[Line], registers: usize) -> kit::BitSet {
        let (mut given, mut other) = (kit::BitSet::new(registers.max(1)), kit::BitSet::new(registers.max(1)));
        for p in code {
            let from_param =
                matches!(&p.op, Op::Load(t) if t.space == isa::Space::Param && t.address.base.is_constant());
            let copies = match &p.op {
                // `cvta.to.global` of a parameter is a copy of it.
                Op::Int1(exec::int::Int1::Mov64, _, [s]) => !s.is_constant() && given.contains(s.0 as usize),
                _ => false,
            };
            uses(&p.op, &self.matrix, &self.calls, &mut |u| {
                if let Use::Write(r, n) = u {
                    for k in r.0..r.0 + u16::from(n) {
                        if (from_param || copies) && p.guard == Pred::TRUE {
                            given.insert(k as usize);
                        } else {
                            other.insert(k as usize);
                        }
                    }
                }
            });
        }
        let both: Vec<usize> = given.iter().filter(|&r| other.contains(r)).collect();
        for r in both {
            given.remove(r);
        }
        given
    }

    /// Appends the static description of an instruction to the program.
    fn describe(&self, p: &Line, in_kernel: bool, files: RegFile, program: &mut ProgramBuilder) {
        let (mut dsts, mut srcs) = (Vec::new(), Vec::new());
        let pred = |p: Pred| p.number().map(|n| RegId(files.vector + n));
        uses(&p.op, &self.matrix, &self.calls, &mut |u| match u {
            Use::Read(r, n) if !r.is_constant() => srcs.extend((r.0..r.0 + u16::from(n)).map(RegId)),
            Use::Write(r, n) => dsts.extend((r.0..r.0 + u16::from(n)).map(RegId)),
            Use::ReadPred(p) => srcs.extend(pred(p)),
            Use::WritePred(p) => dsts.extend(pred(p)),
            Use::Read(..) => {}
        });
        dedup(&mut dsts);
        dedup(&mut srcs);
        let guard = pred(p.guard);
        srcs.retain(|&src| Some(src) != guard);
        srcs.extend(guard);
        // Hardware issues packed halves at the rate of single precision (TITAN V: 249 flop per cycle and SM),
        // which is the rate of the class. `partial` is set when the whole kernel is known.
        let mut traits = Traits {
            work: p.op.work(),
            control: p.op.control(),
            mem: mem_access(&p.op, p.cache),
            per_lane: p.op.origin() == Origin::Own,
            guarded: guard.is_some(),
            ..Traits::of(p.op.class())
        };
        match &p.op {
            Op::Matrix(number) => {
                let matrix = &self.matrix[usize::from(*number)];
                let (mem, work) = (matrix.memory(), matrix.work());
                let Traits { per_lane, guarded, .. } = traits;
                traits = Traits { mem, matrix: work, per_lane, guarded, ..Traits::of(matrix.class()) };
            }
            Op::Return if in_kernel => (traits.class, traits.control) = (OpClass::Exit, isa::Control::Exit),
            _ => {}
        }
        program.push(InstSpec { traits, dsts: &dsts, srcs: &srcs, source: p.source, text: &p.text });
    }
}

/// Whether an instruction in a loop may be what the loop waits for.
fn polls(line: &Line) -> bool {
    let is_strong = |cache| matches!(cache, CacheOp::Volatile | CacheOp::L2);
    mem_access(&line.op, line.cache)
        .is_some_and(|m| m.access == Access::Atomic || m.access == Access::Load && is_strong(m.cache))
}

/// The shape in a directive; missing sizes are 1.
fn block(sizes: &[u64]) -> Dim3 {
    let size = |i: usize| sizes.get(i).map_or(1, |&n| u32::try_from(n).unwrap_or(u32::MAX));
    Dim3::new(size(0), size(1), size(2))
}

fn dedup(list: &mut Vec<RegId>) {
    let mut kept: Vec<RegId> = Vec::with_capacity(list.len());
    for &r in list.iter() {
        if !kept.contains(&r) {
            kept.push(r);
        }
    }
    *list = kept;
}

/// The parameters of a kernel in order, each at the next aligned offset.
fn kernel_params(scope: &ModuleScope<'_>, kernel: &ast::Function) -> Vec<Param> {
    let mut next = 0;
    let mut params = Vec::new();
    for v in &kernel.params {
        let bytes = v.bytes().unwrap_or(0).min(1 << 16) as u32;
        let offset = u32::next_multiple_of(next, v.alignment());
        next = offset + bytes;
        let dims: String = v.dims.iter().map(|d| format!("[{}]", d.unwrap_or(0))).collect();
        params.push(Param {
            name: v.name.map_or("_", |n| scope.ast.name(n)).to_owned(),
            ty: format!("{}{dims}", v.ty),
            offset,
            bytes,
            is_float: v.ty.is_float(),
        });
    }
    params
}

/// The position of each instruction in the text.
#[derive(Debug)]
struct Places {
    text: Arc<SourceText>,
    spans: Vec<Span>,
}

impl SourceMap for Places {
    fn describe(&self, pc: Pc) -> (String, String) {
        let span = self.spans.get(pc.index()).copied().unwrap_or_default();
        let at = self.text.position(span.start);
        (format!("{}:{}:{}", self.text.name, at.line, at.column), self.text.excerpt(span))
    }
}
