//! Instructions between decode and completion, in a slab by id.

use crate::kernel::{Banks, Code, Micro, Names, ResidentKernel};
use crate::operands::Route;
use crate::spec::Pipe;
use isa::{Control, DynInst, KernelId, Pc, RegId, WarpSlot};
use kit::LaneMask;
use kit::persist::{Archive, Mismatch, Persist};

kit::id! {
    /// An instruction in flight.
    pub struct InstId(u16);
}

kit::id! {
    /// What the stream said of an instruction in flight, in full.
    pub struct RecordId(u16);
}

impl RecordId {
    /// That of all instructions of which nothing needs to be known later: of the youngest of them.
    const SHARED: Self = Self(0);
}

/// What stages need to know of an instruction in flight: a line of the host's caches.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct InFlight {
    /// Its warp.
    pub warp: WarpSlot,
    /// The static instruction, resolved: reached by dereference.
    pub micro: Micro,
    /// The pipe of its unit; [`Micro::pipe`] is that of its issue latch.
    pub unit_pipe: Pipe,
    /// A layer over the operand stage changes its way: [`Slab::route`].
    pub is_routed: bool,
    /// An atomic that keeps its warp from issuing.
    pub holds_warp: bool,
    /// All threads of its warp have exited with it.
    pub ends_warp: bool,
    /// Its warp goes on elsewhere than at the next instruction in memory, or not at all.
    pub turns: bool,
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
    /// Its reservation station, from when it has one.
    pub station: u8,
    /// Group of asynchronous copies it belongs to.
    pub group: u32,
    /// How many had issued on its SM before it.
    pub issue_number: u64,
    /// What the stream said of it.
    pub record: RecordId,
}

impl std::ops::Deref for InFlight {
    type Target = Micro;
    #[inline]
    fn deref(&self) -> &Micro {
        &self.micro
    }
}

impl InFlight {
    /// [`InFlight::station`] of an instruction without one.
    pub const NO_STATION: u8 = u8::MAX;

    /// What the stream has done, decoded: the first instruction of the first warp.
    #[inline]
    fn new(micro: &Micro, done: &DynInst) -> Self {
        Self {
            warp: WarpSlot(0),
            micro: *micro,
            unit_pipe: micro.pipe,
            is_routed: false,
            holds_warp: false,
            ends_warp: done.next_pc.is_none(),
            turns: done.next_pc != Some(Pc(done.pc.0 + 1)),
            kernel: KernelId(0),
            pc: done.pc,
            order: 0,
            mask: done.mask,
            pending: 0,
            unit: 0,
            station: Self::NO_STATION,
            group: 0,
            issue_number: 0,
            record: RecordId::SHARED,
        }
    }

    /// Orders instructions by issue.
    #[inline]
    pub(crate) fn issue_order(&self) -> u64 {
        self.issue_number
    }
}

/// An instruction in flight, and what it names.
#[derive(Clone, Copy, Debug)]
struct Entry {
    inst: InFlight,
    names: Names,
}

/// The instructions in flight. Grows to the most that were ever in flight at once, then allocates
/// no more.
#[derive(Debug)]
pub struct Slab {
    insts: Vec<Entry>,
    free: Vec<InstId>,
    records: Vec<DynInst>,
    free_records: Vec<RecordId>,
    /// How those that are routed collect their operands.
    routes: Vec<Route>,
}

impl Slab {
    /// An empty slab with room for `capacity` instructions.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            insts: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            records: vec![DynInst::default()],
            free_records: Vec::new(),
            routes: Vec::new(),
        }
    }

    /// A record for what the stream says of the next instruction, to be filled in. The contents are those
    /// of a former user. It stays until the instruction leaves if that is a memory access or steers its
    /// warp, as `micro` says, else until the next one is decoded.
    #[inline]
    pub fn take_record(&mut self, micro: &Micro) -> RecordId {
        if micro.mem.is_none() && micro.control == Control::None {
            return RecordId::SHARED;
        }
        self.free_records.pop().unwrap_or_else(|| self.add_record())
    }

    /// One more record. They are large: room is made for a few at a time.
    #[cold]
    fn add_record(&mut self) -> RecordId {
        if self.records.len() == self.records.capacity() {
            self.records.reserve_exact(16.max(self.records.len() / 2));
        }
        self.records.push(DynInst::default());
        RecordId::from(self.records.len() - 1)
    }

    /// Gives a record back.
    #[inline]
    pub fn release_record(&mut self, record: RecordId) {
        if record != RecordId::SHARED {
            self.free_records.push(record);
        }
    }

    /// What the stream says.
    #[inline]
    pub fn record_mut(&mut self, record: RecordId) -> &mut DynInst {
        &mut self.records[record.index()]
    }

    /// What the stream said.
    #[inline]
    pub fn record(&self, record: RecordId) -> &DynInst {
        &self.records[record.index()]
    }

    /// An instruction comes: the next one of `warp`, whose place in its program order is `order`, as the stream has
    /// described it in `record`.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        (warp, kernel, order): (WarpSlot, KernelId, u32),
        (micro, names): (&Micro, &Names),
        record: RecordId,
    ) -> InstId {
        let id = self.free.pop().unwrap_or_else(|| self.grow());
        let Entry { inst, names: named } = &mut self.insts[id.index()];
        *named = *names;
        *inst = InFlight::new(micro, &self.records[record.index()]);
        (inst.warp, inst.kernel, inst.order, inst.record) = (warp, kernel, order, record);
        id
    }

    #[cold]
    fn grow(&mut self) -> InstId {
        let inst = InFlight::new(&Micro::NOTHING, &self.records[RecordId::SHARED.index()]);
        self.insts.push(Entry { inst, names: Names::default() });
        InstId::from(self.insts.len() - 1)
    }

    /// An instruction has left, and its record; what it was can be seen until the next one comes.
    #[inline]
    pub fn release(&mut self, id: InstId, record: RecordId) {
        debug_assert!(!self.free.contains(&id), "{id:?} released twice");
        self.release_record(record);
        self.free.push(id);
    }

    /// The instruction.
    #[inline]
    pub fn get(&self, id: InstId) -> &InFlight {
        &self.insts[id.index()].inst
    }

    /// The instruction, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: InstId) -> &mut InFlight {
        &mut self.insts[id.index()].inst
    }

    /// How it collects its operands, where that is not as its operands say.
    #[inline]
    pub fn route(&self, id: InstId) -> Route {
        if self.get(id).is_routed { self.routes[id.index()] } else { Route::default() }
    }

    /// Changes how it collects its operands.
    #[cold]
    pub fn set_route(&mut self, id: InstId, route: Route) {
        self.routes.resize(self.insts.len().max(self.routes.len()), Route::default());
        self.routes[id.index()] = route;
        self.get_mut(id).is_routed = true;
    }

    /// What the stream said of it, if it is a memory access or steers its warp, or is the youngest.
    #[inline]
    pub fn dynamic(&self, id: InstId) -> &DynInst {
        self.record(self.get(id).record)
    }

    /// What it names.
    #[inline]
    pub(crate) fn names(&self, id: InstId) -> &Names {
        &self.insts[id.index()].names
    }

    /// The banks of the registers that it reads and writes there.
    #[inline]
    pub(crate) fn banks(&self, id: InstId) -> Banks {
        self.banks_of(id, &self.insts[id.index()])
    }

    #[inline]
    fn banks_of(&self, id: InstId, entry: &Entry) -> Banks {
        if entry.inst.is_routed { self.routes[id.index()].banks } else { entry.names.banks }
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

/// An instruction in flight that has been looked up.
#[derive(Clone, Copy, Debug)]
pub struct Flight<'a> {
    /// Its number.
    pub id: InstId,
    entry: &'a Entry,
    /// All that are in flight.
    pub window: Window<'a>,
}

impl std::ops::Deref for Flight<'_> {
    type Target = InFlight;
    #[inline(always)]
    fn deref(&self) -> &InFlight {
        &self.entry.inst
    }
}

impl<'a> Flight<'a> {
    /// What it names.
    #[inline(always)]
    pub(crate) fn names(self) -> &'a Names {
        &self.entry.names
    }

    /// The banks of the registers that it reads and writes there.
    #[inline]
    pub(crate) fn banks(self) -> Banks {
        self.window.slab.banks_of(self.id, self.entry)
    }

    /// How it collects its operands, where that is not as its operands say.
    #[inline]
    pub(crate) fn route(self) -> Route {
        if self.is_routed { self.window.slab.routes[self.id.index()] } else { Route::default() }
    }

    /// Registers it writes.
    #[inline]
    pub fn dsts(self) -> &'a [RegId] {
        self.window.dsts(self.id)
    }
}

/// What an issue policy and an observer may see of the instructions in flight.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// The instructions.
    pub slab: &'a Slab,
    /// Their kernels.
    pub kernels: &'a [ResidentKernel],
}

impl<'a> Window<'a> {
    /// The instruction `id`, looked up.
    #[inline(always)]
    pub fn flight(self, id: InstId) -> Flight<'a> {
        Flight { id, entry: &self.slab.insts[id.index()], window: self }
    }

    /// The instruction.
    #[inline]
    pub fn inst(self, id: InstId) -> &'a InFlight {
        self.slab.get(id)
    }

    /// What the stream said of it, if it is a memory access or steers its warp, or is the youngest.
    #[inline]
    pub fn dynamic(self, id: InstId) -> &'a DynInst {
        self.slab.dynamic(id)
    }

    /// The code it belongs to.
    #[inline]
    pub fn code(self, id: InstId) -> &'a Code {
        &self.kernels[self.slab.get(id).kernel.index()].code
    }

    /// What it names.
    #[inline]
    pub(crate) fn names(self, id: InstId) -> &'a Names {
        self.slab.names(id)
    }

    /// The banks of the registers that it reads and writes there.
    #[inline]
    pub(crate) fn banks(self, id: InstId) -> Banks {
        self.slab.banks(id)
    }

    /// Registers it writes.
    #[inline]
    pub fn dsts(self, id: InstId) -> &'a [RegId] {
        self.names(id).operands.dsts(self.code(id))
    }

    /// Registers it reads, its guard among them, those of the banked register file first.
    #[inline]
    pub fn srcs(self, id: InstId) -> &'a [RegId] {
        self.names(id).operands.srcs(self.code(id))
    }

    /// Vector registers it reads: the first of [`Window::srcs`].
    #[inline]
    pub fn vector_srcs(self, id: InstId) -> &'a [RegId] {
        self.names(id).operands.vector_srcs(self.code(id))
    }

    /// Its text.
    pub fn text(self, id: InstId) -> &'a str {
        self.code(id).program.text(self.slab.get(id).pc)
    }
}

/// Nothing is in flight. The numbers that come next are state: where instructions are in the order of their numbers,
/// they show.
impl Persist for Slab {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        if !self.is_empty() {
            return Err(Mismatch::new("an instruction is in flight"));
        }
        let Self { insts, free, records, free_records, routes: _ } = self;
        free.persist(archive)?;
        free_records.persist(archive)?;
        if archive.is_reading() {
            let nothing = DynInst::default();
            let inst = InFlight::new(&Micro::NOTHING, &nothing);
            insts.resize(free.len(), Entry { inst, names: Names::default() });
            records.resize(free_records.len() + 1, nothing);
        }
        Ok(())
    }
}
