//! The instructions between decode and completion, by number.

use crate::inflight::{Entry, InFlight, InstId, RecordId};
use crate::kernel::{Code, ResidentKernel};
use crate::operands::Route;
use crate::resolved::{Banks, Micro, Names};
use isa::{Control, DynInst, KernelId, Pc, RegId, WarpSlot};
use kit::LaneMask;
use kit::persist::{Archive, Mismatch, Persist};

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

    /// A place for the stream's record of the next instruction, to be filled in. The contents are a former user's. It
    /// stays until the instruction leaves if that is a memory access or steers its warp, as `micro` says, else until
    /// the next one is decoded.
    #[inline]
    pub fn take_record(&mut self, micro: &Micro) -> RecordId {
        if micro.mem.is_none() && micro.control == Control::None {
            return RecordId::SHARED;
        }
        self.free_records.pop().unwrap_or_else(|| self.add_record())
    }

    /// One more record. They are large: room, which is touched as it is used, is made rarely.
    #[cold]
    fn add_record(&mut self) -> RecordId {
        if self.records.len() == self.records.capacity() {
            self.records.reserve_exact(64.max(self.records.len()));
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

    /// The stream's record.
    #[inline]
    pub fn record_mut(&mut self, record: RecordId) -> &mut DynInst {
        &mut self.records[record.index()]
    }

    /// The stream's record.
    #[inline]
    pub fn record(&self, record: RecordId) -> &DynInst {
        &self.records[record.index()]
    }

    /// An instruction comes, an execution of `template`: the next one of `warp`, whose place in its program
    /// order is `order`. Its lanes are `mask`, it turns its warp, which it may end, and the stream has described it in
    /// `record`.
    #[inline(always)]
    pub fn insert(
        &mut self,
        template: &Entry,
        (warp, kernel, order): (WarpSlot, KernelId, u32),
        (mask, ends_warp, turns): (LaneMask, bool, bool),
        record: RecordId,
    ) -> InstId {
        let id = self.free.pop().unwrap_or_else(|| self.grow());
        let entry = &mut self.insts[id.index()];
        *entry = *template;
        let inst = &mut entry.inst;
        (inst.warp, inst.kernel, inst.order) = (warp, kernel, order);
        (inst.mask, inst.record) = (mask, record);
        (inst.ends_warp, inst.turns) = (ends_warp, turns);
        inst.has_effect |= turns;
        id
    }

    #[cold]
    fn grow(&mut self) -> InstId {
        self.insts.push(Entry::template(Pc(0), Micro::NOTHING, Names::default()));
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
        let inst = self.get_mut(id);
        (inst.is_routed, inst.has_effect) = (true, true);
    }

    /// The stream's record of it, if it is a memory access or steers its warp, or is the youngest.
    #[inline]
    pub fn dynamic(&self, id: InstId) -> &DynInst {
        self.record(self.get(id).record)
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
    /// Its registers.
    #[inline(always)]
    pub fn names(self) -> &'a Names {
        &self.entry.names
    }

    /// The banks of the registers that it reads and writes there.
    #[inline]
    pub fn banks(self) -> Banks {
        if self.is_routed { self.window.slab.routes[self.id.index()].banks } else { self.names().banks }
    }

    /// How it collects its operands, where that is not as its operands say.
    #[inline]
    pub(crate) fn route(self) -> Route {
        if self.is_routed { self.window.slab.routes[self.id.index()] } else { Route::default() }
    }

    /// The code it belongs to.
    #[inline]
    pub fn code(self) -> &'a Code {
        &self.window.kernels[self.kernel.index()].code
    }

    /// Registers it writes.
    #[inline]
    pub fn dsts(self) -> &'a [RegId] {
        self.names().operands.dsts(|| self.code().registers())
    }

    /// Registers it reads, its guard among them, registers of the banked file first.
    #[inline]
    pub fn srcs(self) -> &'a [RegId] {
        self.names().operands.srcs(|| self.code().registers())
    }

    /// Vector registers it reads: the first of [`Flight::srcs`].
    #[inline]
    pub fn vector_srcs(self) -> &'a [RegId] {
        self.names().operands.vector_srcs(|| self.code().registers())
    }
}

/// View of the instructions in flight for issue policies and observers.
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

    /// The stream's record of it, if it is a memory access or steers its warp, or is the youngest.
    #[inline]
    pub fn dynamic(self, id: InstId) -> &'a DynInst {
        self.slab.dynamic(id)
    }

    /// The code it belongs to.
    #[inline]
    pub fn code(self, id: InstId) -> &'a Code {
        self.flight(id).code()
    }

    /// Its registers.
    #[inline]
    pub fn names(self, id: InstId) -> &'a Names {
        self.flight(id).names()
    }

    /// The banks of the registers that it reads and writes there.
    #[inline]
    pub fn banks(self, id: InstId) -> Banks {
        self.flight(id).banks()
    }

    /// Registers it writes.
    #[inline]
    pub fn dsts(self, id: InstId) -> &'a [RegId] {
        self.flight(id).dsts()
    }

    /// Registers it reads, its guard among them, registers of the banked file first.
    #[inline]
    pub fn srcs(self, id: InstId) -> &'a [RegId] {
        self.flight(id).srcs()
    }

    /// Vector registers it reads: the first of [`Window::srcs`].
    #[inline]
    pub fn vector_srcs(self, id: InstId) -> &'a [RegId] {
        self.flight(id).vector_srcs()
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
            insts.resize(free.len(), Entry::template(Pc(0), Micro::NOTHING, Names::default()));
            records.resize(free_records.len() + 1, DynInst::default());
        }
        Ok(())
    }
}
