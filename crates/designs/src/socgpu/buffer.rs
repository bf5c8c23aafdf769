//! The instruction buffer of SOCGPU and its dependence matrix, of all warps.

use super::parameters::{SocgpuConfig, Until};
use isa::{Access, CacheOp, Control, RegId, WarpSlot};
use kit::bits::set_bits;
use sm::PerWarp;
use sm::Pipe;
use sm::Stall;
use sm::WarpMask;
use sm::Window;
use sm::{InFlight, InstId};
use sm::{Names, RegSet};

/// An entry of a warp's buffer, by its physical place.
pub(super) type Place = u8;

/// Without a re-convergence PC.
const NOWHERE: u32 = u32::MAX;

/// The entries of one warp, one bit each. An entry that is not valid is in no mask.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    /// Holds an instruction that has not written back.
    valid: u64,
    /// Its instruction has issued.
    issued: u64,
    /// Its row of the matrix is not clear, or it waits for an issue.
    waiting: u64,
    /// Of those, the ones that wait for an issue.
    behind: u64,
    loads: u64,
    /// Stores, and accesses that count as such.
    stores: u64,
    /// Barriers, fences, sleep, waits for copies.
    syncs: u64,
    /// Branches and returns.
    steers: u64,
    /// The oldest that has not issued, if there is one.
    oldest: Place,
}

impl Places {
    fn unissued(&self) -> u64 {
        self.valid & !self.issued
    }
}

/// An entry of a warp's buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Its row of the dependence matrix: older instructions that must write back first.
    row: u64,
    /// Older instructions that must issue first.
    behind: u64,
    /// Of the row, those that write a register which this one reads,
    raw: u64,
    /// or writes,
    waw: u64,
    /// and those that read a register which this one writes.
    war: u64,
    /// Seniority: its place in program order.
    order: u32,
    /// The next PC if it is not a taken branch.
    next_pc: u32,
    /// The re-convergence PC of the SIMT unit's entry that it executes under.
    reconverge: u32,
    pipe: u8,
}

/// The registers of an entry.
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    reads: RegSet,
    writes: RegSet,
}

/// How many older instructions an instruction depended on when it entered the buffer, by type.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dependences {
    pub raw: u32,
    /// WAW or WAR.
    pub waw_war: u32,
    /// A branch or return is one of the two.
    pub stop: u32,
    /// Order of memory accesses and synchronisation.
    pub memory: u32,
}

/// Offer of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// It has no instruction that has not issued.
    Nothing,
    /// The instruction at this place, which goes to this pipe.
    Candidate(Place, Pipe),
    /// Its oldest instruction may not issue for this reason, nor may any other.
    Stalled(Stall),
}

/// Buffers and matrices of all warps.
#[derive(Debug)]
pub(super) struct Buffer<M: WarpMask> {
    /// Entries of a warp.
    size: usize,
    per_fetch: usize,
    stops_end: Until,
    accesses_end: Until,
    reads_end: Until,
    ids: Box<[InstId]>,
    entries: Box<[Entry]>,
    registers: Box<[Registers]>,
    warps: PerWarp<Places, M>,
    /// Warps with room for a fetch.
    pub room: M,
}

impl<M: WarpMask> Buffer<M> {
    /// Empty, with sizes as in `config`, for `warps` warps, filled `per_fetch` at a time.
    pub fn new(config: &SocgpuConfig, warps: usize, per_fetch: usize) -> Self {
        let SocgpuConfig { buffer: entries, stops_end, accesses_end, reads_end } = *config;
        let size = entries as usize;
        Self {
            size,
            per_fetch,
            stops_end,
            accesses_end,
            reads_end,
            ids: vec![InstId(0); warps * size].into(),
            entries: vec![Entry::default(); warps * size].into(),
            registers: vec![Registers::default(); warps * size].into(),
            warps: PerWarp::new(Places::default()),
            room: M::ALL,
        }
    }

    /// Where the entries of a warp are.
    #[inline]
    fn of(&self, warp: WarpSlot) -> std::ops::Range<usize> {
        let first = warp.index() * self.size;
        first..first + self.size
    }

    #[inline]
    pub fn id(&self, warp: WarpSlot, place: Place) -> InstId {
        self.ids[warp.index() * self.size + usize::from(place)]
    }

    /// The oldest instruction of `warp` that has not issued.
    pub fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        let places = &self.warps[warp.index()];
        (places.unissued() != 0).then(|| self.id(warp, places.oldest))
    }

    /// Whether `id`, at `place`, passes an older instruction of its warp if it issues now.
    pub fn reorders(&self, warp: WarpSlot, place: Place) -> bool {
        self.warps[warp.index()].oldest != place
    }

    /// Phase one: `id`, the youngest of its warp, takes the first free entry, and its dependences on
    /// those in the buffer its row.
    #[inline]
    pub fn insert(&mut self, window: Window<'_>, id: InstId) -> Dependences {
        let inst = window.inst(id);
        let range = self.of(inst.warp);
        let mut places = self.warps[inst.warp.index()];
        let place = places.valid.trailing_ones() as usize;
        debug_assert!(place < self.size, "decoded without room");
        let (older, unissued, mine) = (places.valid, places.unissued(), 1u64 << place);
        let Names { reads, writes, .. } = *window.names(id);
        let registers = Registers { reads, writes };
        let (mut raw, mut waw, mut war) = (0, 0, 0);
        for (p, other) in self.registers[range.clone()].iter().enumerate() {
            raw |= u64::from(other.writes.meets(&registers.reads)) << p;
            waw |= u64::from(other.writes.meets(&registers.writes)) << p;
            war |= u64::from(other.reads.meets(&registers.writes)) << p;
        }
        if inst.is_wide {
            let (r, w, a) = self.compare_wide(window, id, older);
            (raw, waw, war) = (raw | r, waw | w, war | a);
        }
        (raw, waw, war) = (raw & older, waw & older, war & older);
        let kind = Kind::of(window, id);
        let ordered = match kind {
            Kind { loads: true, .. } => places.stores | places.syncs,
            Kind { stores: true, .. } => places.loads | places.stores | places.syncs,
            _ => 0,
        };
        let stop = if kind.steers { older } else { places.steers };
        let in_order = if kind.syncs { (places.loads | places.stores | places.syncs) & unissued } else { 0 };
        let (mut row, mut behind) = (raw | waw, in_order);
        for (older, until) in [(stop, self.stops_end), (ordered, self.accesses_end), (war, self.reads_end)] {
            match until {
                Until::WriteBack => row |= older,
                Until::Issue => behind |= older & unissued,
            }
        }
        places.valid |= mine;
        places.waiting |= if row | behind != 0 { mine } else { 0 };
        places.behind |= if behind != 0 { mine } else { 0 };
        places.loads |= if kind.loads { mine } else { 0 };
        places.stores |= if kind.stores { mine } else { 0 };
        places.syncs |= if kind.syncs { mine } else { 0 };
        places.steers |= if kind.steers { mine } else { 0 };
        places.oldest = if unissued == 0 { place as Place } else { places.oldest };
        self.warps[inst.warp.index()] = places;
        let reconverge = window.dynamic(id).reconverge.map_or(NOWHERE, |pc| pc.0);
        let (next_pc, pipe) = (inst.pc.0 + 1, inst.pipe.0);
        self.ids[range.start + place] = id;
        self.entries[range.start + place] =
            Entry { row, behind, raw, waw, war, order: inst.order, next_pc, reconverge, pipe };
        self.registers[range.start + place] = registers;
        self.note_room(inst.warp);
        Dependences {
            raw: raw.count_ones(),
            waw_war: (waw | war).count_ones(),
            stop: stop.count_ones(),
            memory: (ordered | in_order).count_ones(),
        }
    }

    /// Dependences of `id` on the `older` through registers that have no place in a set.
    #[cold]
    fn compare_wide(&self, window: Window<'_>, id: InstId, older: u64) -> (u64, u64, u64) {
        let meets = |a: &[RegId], b: &[RegId]| u64::from(a.iter().any(|r| b.contains(r)));
        let (srcs, dsts) = (window.srcs(id), window.dsts(id));
        let first = self.of(window.inst(id).warp).start;
        set_bits(older).fold((0, 0, 0), |(raw, waw, war), p| {
            let other = self.ids[first + p];
            let (reads, writes) = (window.srcs(other), window.dsts(other));
            (raw | meets(writes, srcs) << p, waw | meets(writes, dsts) << p, war | meets(reads, dsts) << p)
        })
    }

    #[inline]
    fn note_room(&mut self, warp: WarpSlot) {
        let taken = self.warps[warp.index()].valid.count_ones() as usize;
        if taken + self.per_fetch <= self.size {
            self.room.insert(warp);
        } else {
            self.room.remove(warp);
        }
    }

    /// Phase two, instruction ready checking and the local instruction policy: the first entry, by
    /// place, that has not issued (a1), whose row is clear (a2) and that is not after the
    /// re-convergence PC (a3).
    #[inline]
    pub fn offer(&self, warp: WarpSlot) -> Offer {
        let places = &self.warps[warp.index()];
        let unissued = places.unissued();
        if unissued == 0 {
            // Nothing more can come while all that it has waits for write-back.
            let full = places.valid != 0 && !self.room.contains(warp);
            return if full { Offer::Stalled(Stall::Design) } else { Offer::Nothing };
        }
        let entries = &self.entries[self.of(warp)];
        // All changes of the SIMT unit before the oldest have been made, and none after it.
        let reconverge = entries[usize::from(places.oldest)].reconverge;
        let mut clear = set_bits(unissued & !places.waiting);
        let reached = |place: usize| entries[place].next_pc >= reconverge && !self.is_oldest(places, entries, place);
        match clear.find(|&place| !reached(place)) {
            Some(place) => Offer::Candidate(place as Place, Pipe(entries[place].pipe)),
            None => Offer::Stalled(Self::stall(places, &entries[usize::from(places.oldest)])),
        }
    }

    /// Whether the instruction at `place` is the oldest in the buffer.
    #[cold]
    fn is_oldest(&self, places: &Places, entries: &[Entry], place: usize) -> bool {
        let others = match self.stops_end {
            Until::WriteBack => places.valid,
            Until::Issue => places.unissued(),
        };
        set_bits(others).all(|other| entries[other].order >= entries[place].order)
    }

    /// Why the oldest instruction that has not issued may not.
    fn stall(places: &Places, oldest: &Entry) -> Stall {
        let Entry { row, behind, raw, waw, war, .. } = *oldest;
        if row & raw & (places.loads | places.stores) != 0 {
            Stall::RawMemory
        } else if row & raw != 0 {
            Stall::Raw
        } else if row & waw != 0 {
            Stall::Waw
        } else if (row | behind) & war != 0 {
            Stall::War
        } else if row & !places.steers == 0 || places.steers >> places.oldest & 1 != 0 {
            // Behind a branch, or one itself, or at a re-convergence point.
            Stall::Control
        } else {
            Stall::MemoryOrder
        }
    }

    /// Phase two, issue: the entry is marked.
    #[inline]
    pub fn issue(&mut self, warp: WarpSlot, place: Place) {
        let range = self.of(warp);
        let places = &mut self.warps[warp.index()];
        let entries = &mut self.entries[range];
        let mine = 1u64 << place;
        places.issued |= mine;
        for p in set_bits(places.behind) {
            let Entry { row, behind, .. } = &mut entries[p];
            *behind &= !mine;
            places.behind &= !(u64::from(*behind == 0) << p);
            places.waiting &= !(u64::from(*row | *behind == 0) << p);
        }
        if place == places.oldest {
            let left = set_bits(places.unissued());
            places.oldest = left.min_by_key(|&p| entries[p].order).unwrap_or(0) as Place;
        }
    }

    /// Phase three: `id` has written back; its entry is free and its column clear.
    #[inline]
    pub fn write_back(&mut self, window: Window<'_>, id: InstId) {
        let warp = window.inst(id).warp;
        let range = self.of(warp);
        let place = self.ids[range.clone()].iter().enumerate();
        let places = &mut self.warps[warp.index()];
        let place = place.filter(|&(p, &other)| other == id && places.valid >> p & 1 != 0).map(|(p, _)| p).next();
        let gone = 1u64 << place.expect("it is in the buffer");
        for mask in [
            &mut places.valid,
            &mut places.issued,
            &mut places.loads,
            &mut places.stores,
            &mut places.syncs,
            &mut places.steers,
        ] {
            *mask &= !gone;
        }
        let entries = &mut self.entries[range];
        for p in set_bits(places.waiting) {
            let Entry { row, behind, .. } = &mut entries[p];
            *row &= !gone;
            places.waiting &= !(u64::from(*row | *behind == 0) << p);
        }
        self.note_room(warp);
    }

    /// The matrix of `warp` as figure 3 has it: a row of bits for each entry, `.` on the diagonal.
    #[cfg(test)]
    pub fn matrix(&self, warp: WarpSlot) -> String {
        let valid = self.warps[warp.index()].valid;
        let row = |(p, e): (usize, &Entry)| -> String {
            let row = if valid >> p & 1 != 0 { e.row } else { 0 };
            (0..self.size).map(|c| if c == p { '.' } else { char::from(b'0' + (row >> c & 1) as u8) }).collect()
        };
        self.entries[self.of(warp)].iter().enumerate().map(row).collect::<Vec<_>>().join(" ")
    }
}

/// The type field of an entry.
#[derive(Clone, Copy, Debug)]
struct Kind {
    loads: bool,
    stores: bool,
    syncs: bool,
    steers: bool,
}

impl Kind {
    #[inline]
    fn of(window: Window<'_>, id: InstId) -> Self {
        let inst: &InFlight = window.inst(id);
        let loads =
            inst.mem.is_some_and(|m| m.access == Access::Load && !matches!(m.cache, CacheOp::L2 | CacheOp::Volatile));
        Self {
            loads,
            stores: inst.mem.is_some() && !loads,
            syncs: !matches!(inst.control, Control::None | Control::Branch | Control::Exit),
            steers: matches!(inst.control, Control::Branch | Control::Exit) || inst.turns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::Form;
    use isa::{Dim3, DynInst, InstSpec, KernelId, LaunchShape, OpClass, Pc, ProgramBuilder, RegFile, Traits};
    use sm::Slab;
    use sm::{Code, ResidentKernel};
    use sm::{CoreOptions, CoreSpec};
    use std::sync::Arc;

    const WARP: WarpSlot = WarpSlot(3);

    /// Instructions that write and read the registers given, in program order.
    struct Script {
        kernels: [ResidentKernel; 1],
        slab: Slab,
        ids: Vec<InstId>,
    }

    impl Script {
        fn new(lines: &[(&[u16], &[u16])]) -> Self {
            let mut builder = ProgramBuilder::new("scripted", 16);
            for (dsts, srcs) in lines {
                let regs = |r: &[u16]| r.iter().map(|&r| RegId(r)).collect::<Vec<_>>();
                builder.push(InstSpec {
                    dsts: &regs(dsts),
                    srcs: &regs(srcs),
                    ..InstSpec::of(Traits::of(OpClass::IntAdd))
                });
            }
            let program = builder.finish(RegFile { vector: 64, predicate: 0, uniform: 0 }, vec![]);
            let gpu = config::load("accel-sim/rtx2060s").expect("a built-in GPU");
            let spec = CoreSpec::new(&gpu, Form::Sass, CoreOptions::default()).expect("it is consistent");
            let code = Arc::new(Code::new(Arc::new(program), &spec));
            let one = Dim3::new(1, 1, 1);
            let shape = LaunchShape { grid: one, block: one, registers_per_thread: 16, shared_bytes: 0, cluster: None };
            let mut slab = Slab::with_capacity(lines.len());
            let ids = (0..lines.len()).map(|order| {
                let pc = Pc::from(order);
                let template = code.template(pc);
                let record = slab.take_record(&template.inst);
                *slab.record_mut(record) = DynInst { pc, next_pc: Some(Pc(pc.0 + 1)), ..DynInst::default() };
                slab.insert(template, (WARP, KernelId(0), order as u32), (0, false, false), record)
            });
            let ids = ids.collect();
            Self { kernels: [ResidentKernel::new(code, shape, &spec)], slab, ids }
        }

        fn window(&self) -> Window<'_> {
            Window { slab: &self.slab, kernels: &self.kernels }
        }
    }

    #[test]
    fn figure_3() {
        // Two instructions that leave at once, then the four of the figure: those at places 0 and 3
        // have no dependence, the one at place 1 depends on that at place 0, the one at 2 on that at 1.
        let script =
            Script::new(&[(&[1], &[]), (&[2], &[1]), (&[3], &[2]), (&[4], &[50]), (&[5], &[51]), (&[6], &[5])]);
        let (window, ids) = (script.window(), &script.ids);
        let mut buffer = Buffer::<u64>::new(&SocgpuConfig { buffer: 4, ..SocgpuConfig::default() }, 4, 2);
        let candidate = |buffer: &Buffer<u64>| match buffer.offer(WARP) {
            Offer::Candidate(place, _) => Some(place),
            _ => None,
        };
        ids[..4].iter().for_each(|&id| {
            buffer.insert(window, id);
        });
        assert_eq!(buffer.matrix(WARP), ".000 1.00 01.0 000.");
        assert!(!buffer.room.contains(WARP));
        buffer.issue(WARP, 0);
        assert_eq!(candidate(&buffer), Some(3), "a candidate has not issued and has a clear row");
        buffer.write_back(window, ids[0]);
        assert_eq!(buffer.matrix(WARP), ".000 0.00 01.0 000.", "a write-back clears the column");
        assert_eq!(candidate(&buffer), Some(1), "the first by place");
        buffer.issue(WARP, 1);
        buffer.write_back(window, ids[1]);
        assert!(buffer.room.contains(WARP));
        buffer.insert(window, ids[4]);
        buffer.insert(window, ids[5]);
        assert_eq!(buffer.matrix(WARP), ".000 1.00 00.0 000.", "the first free places, in no order");
        assert_eq!(candidate(&buffer), Some(0), "though it is younger than those at 2 and 3");
        buffer.issue(WARP, 0);
        assert_eq!(candidate(&buffer), Some(2));
    }

    #[test]
    fn a_war_dependence_ends_when_it_should() {
        // The second writes what the first reads.
        let script = Script::new(&[(&[1], &[2]), (&[2], &[50])]);
        let (window, ids) = (script.window(), &script.ids);
        for (reads_end, ends_at_issue) in [(Until::WriteBack, false), (Until::Issue, true)] {
            let mut buffer = Buffer::<u64>::new(&SocgpuConfig { reads_end, ..SocgpuConfig::default() }, 4, 2);
            ids.iter().for_each(|&id| assert!(buffer.insert(window, id).waw_war <= 1));
            assert_eq!(buffer.offer(WARP), Offer::Candidate(0, window.inst(ids[0]).pipe));
            buffer.issue(WARP, 0);
            let candidate = Offer::Candidate(1, window.inst(ids[1]).pipe);
            let expected = if ends_at_issue { candidate } else { Offer::Stalled(Stall::War) };
            assert_eq!(buffer.offer(WARP), expected, "{reads_end:?}");
            buffer.write_back(window, ids[0]);
            assert_eq!(buffer.offer(WARP), candidate);
        }
    }
}
