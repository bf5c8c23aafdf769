//! Instructions between decode and completion, in a slab by id.

use crate::kernel::{Banks, Code, Kernel, Micro, Operands, RegSet};
use crate::scalar::Route;
use crate::spec::Pipe;
use crate::work::Work;
use isa::{Control, DynInst, KernelId, OpClass, Pc, RegId, WarpSlot};
use kit::LaneMask;

kit::id! {
    /// An instruction in flight.
    pub struct InstId(u16);
}

/// How far an instruction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// In its warp's instruction buffer.
    Buffered,
    /// Issued, waiting for an operand collector (ID_OC).
    Issued,
    /// In an operand collector.
    Collecting,
    /// Waiting for its unit (OC_EX).
    Dispatched,
    /// In its unit.
    Executing,
}

/// What stages need to know of an instruction in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// Its warp.
    pub warp: WarpSlot,
    /// The static instruction, resolved: reached by dereference.
    pub micro: Micro,
    /// How it goes through collectors and unit.
    pub route: Route,
    /// How far it has come.
    pub stage: Stage,
    /// All threads of its warp have exited with it.
    pub ends_warp: bool,
    /// Its kernel.
    pub kernel: KernelId,
    /// The static instruction.
    pub pc: Pc,
    /// Place in the program order of its warp, from 0.
    pub order: u32,
    /// Lanes that execute it.
    pub mask: LaneMask,
    /// Memory accesses that have not returned.
    pub pending: u16,
    /// Its unit, once it executes.
    pub unit: u16,
    /// Its operand collector, where it awaits operands.
    pub station: u8,
    /// Group of asynchronous copies it belongs to.
    pub group: u32,
    /// How many had issued on its SM before it.
    pub issue_number: u64,
}

impl std::ops::Deref for InFlight {
    type Target = Micro;
    #[inline]
    fn deref(&self) -> &Micro {
        &self.micro
    }
}

impl InFlight {
    /// Orders instructions by issue.
    #[inline]
    pub(crate) fn issue_order(&self) -> u64 {
        self.issue_number
    }
}

/// The instructions in flight. Grows to the most that were ever in flight at once, then allocates
/// no more.
#[derive(Debug, Default)]
pub struct Slab {
    insts: Vec<InFlight>,
    dynamics: Vec<DynInst>,
    free: Vec<InstId>,
}

impl Slab {
    /// An empty slab with room for `capacity` instructions.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            insts: Vec::with_capacity(capacity),
            dynamics: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
        }
    }

    /// Takes a free entry, whose contents are those of a former user.
    #[inline]
    pub fn take(&mut self) -> InstId {
        match self.free.pop() {
            Some(id) => id,
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> InstId {
        let id = InstId::from(self.insts.len());
        let micro = Micro {
            class: OpClass::Nop,
            work: Work::None,
            pipe: Pipe(0),
            control: Control::None,
            mem: None,
            latency_cycles: 1,
            initiation_cycles: 1,
            operands: Operands::default(),
            reads: RegSet::default(),
            writes: RegSet::default(),
            banks: Banks::default(),
        };
        self.insts.push(InFlight {
            warp: WarpSlot(0),
            micro,
            route: Route::vector(Pipe(0)),
            stage: Stage::Buffered,
            ends_warp: false,
            kernel: KernelId(0),
            pc: Pc(0),
            order: 0,
            mask: 0,
            pending: 0,
            unit: 0,
            station: 0,
            group: 0,
            issue_number: 0,
        });
        self.dynamics.push(DynInst::default());
        id
    }

    /// Gives an entry back.
    #[inline]
    pub fn release(&mut self, id: InstId) {
        debug_assert!(!self.free.contains(&id), "{id:?} released twice");
        self.free.push(id);
    }

    /// The instruction.
    #[inline]
    pub fn get(&self, id: InstId) -> &InFlight {
        &self.insts[id.index()]
    }

    /// The instruction, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: InstId) -> &mut InFlight {
        &mut self.insts[id.index()]
    }

    /// What the stream said of it.
    #[inline]
    pub fn dynamic(&self, id: InstId) -> &DynInst {
        &self.dynamics[id.index()]
    }

    /// What the stream says of it, to be filled in.
    #[inline]
    pub fn dynamic_mut(&mut self, id: InstId) -> &mut DynInst {
        &mut self.dynamics[id.index()]
    }

    /// Instructions in flight now.
    pub fn len(&self) -> usize {
        self.insts.len() - self.free.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What an issue policy and an observer may see of the instructions in flight.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// The instructions.
    pub slab: &'a Slab,
    /// Their kernels.
    pub kernels: &'a [Kernel],
}

impl<'a> Window<'a> {
    /// The instruction.
    #[inline]
    pub fn inst(self, id: InstId) -> &'a InFlight {
        self.slab.get(id)
    }

    /// What the stream said of it: addresses, lanes, next PC.
    #[inline]
    pub fn dynamic(self, id: InstId) -> &'a DynInst {
        self.slab.dynamic(id)
    }

    /// The code it belongs to.
    #[inline]
    pub fn code(self, id: InstId) -> &'a Code {
        &self.kernels[self.slab.get(id).kernel.index()].code
    }

    /// Registers it writes.
    #[inline]
    pub fn dsts(self, id: InstId) -> &'a [RegId] {
        let inst = self.slab.get(id);
        inst.micro.operands.dsts(self.kernels, inst.kernel)
    }

    /// Registers it reads, its guard among them, those of the banked register file first.
    #[inline]
    pub fn srcs(self, id: InstId) -> &'a [RegId] {
        let inst = self.slab.get(id);
        inst.micro.operands.srcs(self.kernels, inst.kernel)
    }

    /// Vector registers it reads: the first of [`Window::srcs`].
    #[inline]
    pub fn vector_srcs(self, id: InstId) -> &'a [RegId] {
        let inst = self.slab.get(id);
        inst.micro.operands.vector_srcs(self.kernels, inst.kernel)
    }

    /// Its text.
    pub fn text(self, id: InstId) -> &'a str {
        self.code(id).program.text(self.slab.get(id).pc)
    }
}
