//! Encoding of dynamic instructions.
//!
//! The instructions of a warp are written in columns, so that similar values are adjacent:
//!
//! | column | holds |
//! | --- | --- |
//! | ops | a byte for each instruction: the columns in which it has data |
//! | jumps | program counters that do not follow the one before, as a signed distance from it |
//! | masks | changed active masks, then masks that differ from the active one: four bytes each |
//! | memory | addresses that differ from the prediction |
//! | extra | spaces, barriers, sleeps, groups of copies |
//! | reconvergence | changes of the reconvergence point: number of instructions since the last change, then the program counter plus 1, or 0 for none |
//! | values | values of the registers that are read ([`values`](super::values)); only if requested |
//!
//! An address is predicted from the last access by the same instruction of the same warp: the same distance
//! from it as between the last two, with the same stride from lane to lane. A warp's first access is
//! predicted at the CTA's first one. The predictions are a small table indexed by the lowest bits of the
//! program counter; instructions that share a place cost bytes, never correctness.

use super::bytes::{Cursor, Expected, put, put_signed};
use super::codes;
use super::values::LastValues;
use isa::{Access, BarrierArrival, Control, DynInst, Inst, OperandValues, Pc, Program, RegId, Space};
use kit::{LaneMask, WARP_LANES};

/// The program counter does not follow the last one.
const JUMP: u8 = 1;
/// The active mask has changed.
const ACTIVE: u8 = 2;
/// The mask differs from the active one.
const MASK: u8 = 4;
/// The lanes diverged.
const DIVERGED: u8 = 8;
/// Form of the addresses: two bits.
const ADDRESSES: u8 = 0x30;
/// The space differs from that of the warp's last generic access.
const SPACE: u8 = 0x40;
/// Data for the kind of instruction: a barrier, a sleep, groups of copies, second addresses.
const MORE: u8 = 0x80;

const AS_PREDICTED: u8 = 0x10;
const AFFINE: u8 = 0x20;
const LIST: u8 = 0x30;

const OPS: usize = 0;
const JUMPS: usize = 1;
const MASKS: usize = 2;
const MEMORY: usize = 3;
const EXTRA: usize = 4;
const RECONVERGENCE: usize = 5;
const VALUES: usize = 6;
const COLUMNS: usize = 7;

/// Optional columns of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub reconvergence: bool,
    pub values: bool,
}

impl Layout {
    /// The columns, in their order.
    fn columns(self) -> impl Iterator<Item = usize> {
        (0..COLUMNS).filter(move |&column| match column {
            RECONVERGENCE => self.reconvergence,
            VALUES => self.values,
            _ => true,
        })
    }
}

/// Number of places in a table of predictions.
const PLACES: usize = 64;

/// Maximum number of bits of an address in device memory and in a thread's local memory on a GPU; arithmetic
/// of the memory model stays within 64.
const ADDRESS_BITS: u32 = 57;
const LOCAL_BITS: u32 = 24;

/// Number of barriers of a CTA.
const BARRIERS: u8 = 16;

/// Prediction for the next access at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Prediction {
    /// Address of the last access's first lane.
    base: u64,
    /// Distance from the access before it.
    step: i64,
    /// Difference between the addresses of consecutive lanes.
    stride: i64,
}

const fn place(pc: Pc) -> usize {
    pc.0 as usize % PLACES
}

/// The place of predictions for the second addresses of `pc`.
const fn second_place(pc: Pc) -> usize {
    (pc.0 as usize + PLACES / 2) % PLACES
}

impl Prediction {
    /// Distance of `base` from its prediction.
    fn residual(&self, base: u64) -> i64 {
        base.wrapping_sub(self.base).wrapping_sub(self.step as u64) as i64
    }

    fn base_at(&self, residual: i64) -> u64 {
        self.base.wrapping_add_signed(self.step).wrapping_add_signed(residual)
    }

    fn learn(&mut self, base: u64, stride: i64) {
        *self = Self { base, step: base.wrapping_sub(self.base) as i64, stride };
    }
}

/// The stride between lanes of `mask`, if it is constant; `any` for one lane.
fn stride(mask: LaneMask, addresses: &[u64; WARP_LANES], any: i64) -> Option<i64> {
    let first = mask.trailing_zeros() as usize;
    let rest = mask & (mask - 1);
    if rest == 0 {
        return Some(any);
    }
    let second = rest.trailing_zeros() as usize;
    let (distance, lanes) = (addresses[second].wrapping_sub(addresses[first]) as i64, (second - first) as i64);
    let stride = (distance % lanes == 0).then(|| distance / lanes)?;
    kit::lanes(rest).all(|lane| addresses[lane] == at(addresses[first], stride, lane - first)).then_some(stride)
}

#[inline]
fn at(base: u64, stride: i64, lanes: usize) -> u64 {
    base.wrapping_add_signed(stride.wrapping_mul(lanes as i64))
}

/// Instructions so far of a warp of a CTA that has not ended.
#[derive(Debug)]
struct WarpLog {
    count: u64,
    columns: [Vec<u8>; COLUMNS],
    /// The next program counter without a jump.
    next: u32,
    active: LaneMask,
    reconverge: Option<Pc>,
    /// Instructions before the last change of `reconverge`.
    reconverge_since: u64,
    space: Space,
    predictions: [Prediction; PLACES],
    /// Places at which the warp has had an access.
    seen: u64,
    /// Present if values are recorded.
    last: Option<LastValues>,
}

impl WarpLog {
    fn new(has_values: bool) -> Self {
        Self {
            count: 0,
            columns: [const { Vec::new() }; COLUMNS],
            next: 0,
            active: LaneMask::MAX,
            reconverge: None,
            reconverge_since: 0,
            space: Space::Global,
            predictions: [Prediction::default(); PLACES],
            seen: 0,
            last: has_values.then(LastValues::default),
        }
    }
}

/// Instructions so far of a CTA that has not ended.
#[derive(Debug)]
pub(crate) struct CtaLog {
    warps: Vec<WarpLog>,
    /// The first access at each place, by any warp.
    first: [Option<(u64, i64)>; PLACES],
}

impl CtaLog {
    /// An empty log for `warps` warps, with operand values if `has_values`.
    pub fn new(warps: usize, has_values: bool) -> Self {
        Self { warps: (0..warps).map(|_| WarpLog::new(has_values)).collect(), first: [None; PLACES] }
    }

    /// Records the values of the registers `srcs` that an instruction of a warp with `active` lanes reads.
    pub fn note_values(&mut self, warp: usize, srcs: &[RegId], active: LaneMask, values: &OperandValues) {
        let log = &mut self.warps[warp];
        if let Some(last) = &mut log.last {
            last.note(&mut log.columns[VALUES], srcs, active, values);
        }
    }

    /// Records an instruction of a warp; `inst` is its static instruction.
    pub fn note(&mut self, warp: usize, inst: &Inst, done: &DynInst) {
        let Self { warps, first } = self;
        let log = &mut warps[warp];
        let mut op = 0;
        if done.pc.0 != log.next {
            op |= JUMP;
            put_signed(&mut log.columns[JUMPS], i64::from(done.pc.0) - i64::from(log.next));
        }
        if done.active != log.active {
            op |= ACTIVE;
            log.columns[MASKS].extend(done.active.to_le_bytes());
        }
        if done.mask != done.active {
            op |= MASK;
            log.columns[MASKS].extend(done.mask.to_le_bytes());
        }
        if done.reconverge != log.reconverge {
            let column = &mut log.columns[RECONVERGENCE];
            put(column, log.count - log.reconverge_since);
            put(column, done.reconverge.map_or(0, |pc| u64::from(pc.0) + 1));
            (log.reconverge, log.reconverge_since) = (done.reconverge, log.count);
        }
        if inst.control == Control::Branch && done.diverged {
            op |= DIVERGED;
        }
        if let Some(mem) = inst.mem.filter(|_| done.mask != 0) {
            if mem.space == Space::Generic && done.space != log.space {
                op |= SPACE;
                log.space = done.space;
                log.columns[EXTRA].push(codes::space_code(done.space));
            }
            op |= log.addresses(first, place(done.pc), done.mask, &done.addresses);
            if mem.has_two_addresses() {
                op |= MORE;
                // The mode precedes the addresses.
                let mode_at = log.columns[MEMORY].len();
                log.columns[MEMORY].push(0);
                let mode = log.addresses(first, second_place(done.pc), done.mask, &done.addresses2);
                log.columns[MEMORY][mode_at] = mode;
            }
        }
        op |= more(inst.control, done, &mut log.columns[EXTRA]);
        log.columns[OPS].push(op);
        log.next = done.pc.0.wrapping_add(1);
        log.active = done.active;
        log.count += 1;
    }

    /// The bytes of the whole CTA. All its warps have ended.
    pub fn finish(self) -> Vec<u8> {
        let mut out = Vec::new();
        let layout = Layout { reconvergence: true, values: self.warps.iter().any(|warp| warp.last.is_some()) };
        put(&mut out, self.warps.len() as u64);
        let places = self.first.iter().enumerate().fold(0, |bits, (i, f)| bits | u64::from(f.is_some()) << i);
        out.extend(places.to_le_bytes());
        for (base, stride) in self.first.into_iter().flatten() {
            put(&mut out, base);
            put_signed(&mut out, stride);
        }
        for warp in &self.warps {
            put(&mut out, warp.count);
            layout.columns().skip(JUMPS).for_each(|column| put(&mut out, warp.columns[column].len() as u64));
        }
        for column in layout.columns() {
            self.warps.iter().for_each(|warp| out.extend_from_slice(&warp.columns[column]));
        }
        out
    }
}

impl WarpLog {
    /// Records addresses; returns their form.
    fn addresses(
        &mut self,
        first: &mut [Option<(u64, i64)>; PLACES],
        place: usize,
        mask: LaneMask,
        addresses: &[u64; WARP_LANES],
    ) -> u8 {
        let base = addresses[mask.trailing_zeros() as usize];
        let prediction = &mut self.predictions[place];
        if self.seen >> place & 1 == 0 {
            self.seen |= 1 << place;
            let (base, stride) =
                *first[place].get_or_insert_with(|| (base, stride(mask, addresses, 0).unwrap_or_default()));
            *prediction = Prediction { base, step: 0, stride };
        }
        let out = &mut self.columns[MEMORY];
        let residual = prediction.residual(base);
        let expected = prediction.stride;
        match stride(mask, addresses, expected) {
            Some(stride) if residual == 0 && stride == expected => {
                prediction.learn(base, stride);
                AS_PREDICTED
            }
            Some(stride) => {
                put_signed(out, residual);
                put_signed(out, stride.wrapping_sub(expected));
                prediction.learn(base, stride);
                AFFINE
            }
            None => {
                put_signed(out, residual);
                let mut last = base;
                for lane in kit::lanes(mask & (mask - 1)) {
                    put_signed(out, addresses[lane].wrapping_sub(last) as i64);
                    last = addresses[lane];
                }
                prediction.learn(base, expected);
                LIST
            }
        }
    }
}

/// Records the data of a kind of control instruction.
fn more(control: Control, done: &DynInst, out: &mut Vec<u8>) -> u8 {
    match control {
        Control::BarrierSync | Control::BarrierArrive if done.barrier != BarrierArrival::default() => {
            out.push(done.barrier.id);
            put(out, done.barrier.threads.into());
        }
        Control::Sleep if done.sleep_cycles != 0 => put(out, done.sleep_cycles.into()),
        Control::AsyncWait if done.async_groups_left != 0 => out.push(done.async_groups_left),
        _ => return 0,
    }
    MORE
}

/// A warp's position in its CTA's bytes.
#[derive(Clone, Debug)]
struct WarpCursor {
    /// Number of instructions after the next one.
    left: u64,
    columns: [Cursor; COLUMNS],
    /// The next instruction; `None` at the end.
    next: Option<(Pc, u8)>,
    active: LaneMask,
    reconverge: Option<Pc>,
    /// Number of instructions before `reconverge` changes.
    reconverge_for: u64,
    space: Space,
    predictions: [Prediction; PLACES],
    /// Last values of registers, if the warp was stepped with values.
    last: Option<LastValues>,
    /// The expected part where the bytes are invalid.
    wrong: Option<Expected>,
}

/// A CTA that is decoded while its warps execute.
#[derive(Clone, Debug, Default)]
pub(crate) struct CtaCode {
    bytes: Vec<u8>,
    warps: Vec<WarpCursor>,
    /// Number of static instructions of its program.
    instructions: usize,
    has_values: bool,
}

impl CtaCode {
    /// Starts to decode a CTA of `warps` warps that executes `program`, from a file of this `layout`. Reuses
    /// the memory of the previous CTA.
    pub fn take(&mut self, bytes: &[u8], warps: usize, program: &Program, layout: Layout) -> Result<(), Expected> {
        self.warps.clear();
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.instructions = program.insts().len();
        self.has_values = layout.values;
        let mut cursor = Cursor::over(bytes);
        if cursor.number(bytes)? != warps as u64 {
            return Err("as many warps as the block has");
        }
        let predictions = first_accesses(&mut cursor, bytes)?;
        let mut lengths = Vec::with_capacity(warps);
        for _ in 0..warps {
            let mut of_warp = [0; COLUMNS];
            for column in layout.columns() {
                of_warp[column] = cursor.number(bytes)?;
            }
            if of_warp[OPS] == 0 {
                return Err("instructions of every warp");
            }
            lengths.push(of_warp);
        }
        let mut columns = vec![[Cursor::default(); COLUMNS]; warps];
        for column in layout.columns() {
            for (cursors, of_warp) in columns.iter_mut().zip(&lengths) {
                cursors[column] = cursor.split(of_warp[column])?;
            }
        }
        if cursor.left() != 0 {
            return Err("no bytes after the last column");
        }
        for (columns, of_warp) in columns.into_iter().zip(&lengths) {
            let mut warp = WarpCursor {
                left: of_warp[OPS],
                columns,
                next: None,
                active: LaneMask::MAX,
                reconverge: None,
                reconverge_for: u64::MAX,
                space: Space::Global,
                predictions,
                last: None,
                wrong: None,
            };
            warp.find_reconvergence(bytes)?;
            warp.advance(0, bytes, self.instructions);
            self.warps.push(warp);
        }
        Ok(())
    }

    /// The next instruction of `warp`; an invalid one is some instruction, which then fails.
    #[inline]
    pub fn next_pc(&self, warp: usize) -> Option<Pc> {
        let warp = self.warps.get(warp)?;
        warp.next.map(|(pc, _)| pc).or(warp.wrong.map(|_| Pc(0)))
    }

    /// Number of remaining instructions of `warp`.
    pub fn left(&self, warp: usize) -> u64 {
        self.warps.get(warp).map_or(0, |w| w.left + u64::from(w.next.is_some()))
    }

    /// Describes the next instruction of `warp` and consumes it.
    #[inline]
    pub fn step(&mut self, warp: usize, program: &Program, out: &mut DynInst) -> Result<(), Expected> {
        let warp = self.warps.get_mut(warp).ok_or("a warp of the CTA")?;
        if let Some(wrong) = warp.wrong {
            return Err(wrong);
        }
        let (pc, op) = warp.next.ok_or("another instruction of the warp")?;
        warp.describe(pc, op, program.inst(pc), &self.bytes, out)?;
        warp.advance(pc.0 + 1, &self.bytes, self.instructions);
        out.next_pc = warp.next.map(|(pc, _)| pc).or(warp.wrong.map(|_| Pc(0)));
        Ok(())
    }

    /// Adds to `values` the values that the last described instruction of `warp` reads, if the file has them.
    /// Values must be read for all instructions of a warp or for none.
    pub fn read_values(
        &mut self,
        warp: usize,
        program: &Program,
        done: &DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Expected> {
        let Some(warp) = self.warps.get_mut(warp).filter(|_| self.has_values) else { return Ok(()) };
        let srcs = program.srcs(program.inst(done.pc));
        let last = warp.last.get_or_insert_default();
        last.take(&mut warp.columns[VALUES], &self.bytes, srcs, done.active, values)
    }
}

/// The initial predictions of every warp.
fn first_accesses(cursor: &mut Cursor, bytes: &[u8]) -> Result<[Prediction; PLACES], Expected> {
    let places = u64::from(cursor.word(bytes)?) | u64::from(cursor.word(bytes)?) << 32;
    let mut predictions = [Prediction::default(); PLACES];
    for (i, prediction) in predictions.iter_mut().enumerate() {
        if places >> i & 1 != 0 {
            *prediction = Prediction { base: cursor.number(bytes)?, step: 0, stride: cursor.signed(bytes)? };
        }
    }
    Ok(predictions)
}

impl WarpCursor {
    /// Finds the next instruction, which follows sequentially at `expected` if nothing says otherwise.
    #[inline]
    fn advance(&mut self, expected: u32, bytes: &[u8], instructions: usize) {
        self.next = None;
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        match self.find_next(expected, bytes) {
            Ok((pc, op)) if pc.index() < instructions => self.next = Some((pc, op)),
            Ok(_) => self.wrong = Some("a program counter within the program"),
            Err(wrong) => self.wrong = Some(wrong),
        }
    }

    #[inline]
    fn find_next(&mut self, expected: u32, bytes: &[u8]) -> Result<(Pc, u8), Expected> {
        let op = self.columns[OPS].byte(bytes)?;
        if op & JUMP == 0 {
            return Ok((Pc(expected), op));
        }
        let distance = self.columns[JUMPS].signed(bytes)?;
        let pc = i64::from(expected).checked_add(distance).and_then(|pc| u32::try_from(pc).ok());
        Ok((Pc(pc.ok_or("a program counter within the program")?), op))
    }

    #[inline]
    fn describe(&mut self, pc: Pc, op: u8, inst: &Inst, bytes: &[u8], out: &mut DynInst) -> Result<(), Expected> {
        if op & ACTIVE != 0 {
            self.active = self.columns[MASKS].word(bytes)?;
        }
        out.pc = pc;
        out.active = self.active;
        out.mask = if op & MASK != 0 { self.columns[MASKS].word(bytes)? } else { self.active };
        out.diverged = op & DIVERGED != 0;
        if self.reconverge_for == 0 {
            self.change_reconvergence(bytes)?;
        }
        self.reconverge_for -= 1;
        out.reconverge = self.reconverge;
        if let Some(mem) = inst.mem {
            out.space = if mem.space == Space::Generic { self.space } else { mem.space };
            if out.mask != 0 {
                self.access(mem.space, mem.access, op, bytes, out)?;
            }
        }
        match inst.control {
            Control::BarrierSync | Control::BarrierArrive => out.barrier = self.barrier(op, bytes)?,
            Control::Sleep if op & MORE != 0 => out.sleep_cycles = self.columns[EXTRA].narrow(bytes)?,
            Control::Sleep => out.sleep_cycles = 0,
            Control::AsyncWait if op & MORE != 0 => out.async_groups_left = self.columns[EXTRA].byte(bytes)?,
            Control::AsyncWait => out.async_groups_left = 0,
            _ => {}
        }
        Ok(())
    }

    /// Finds out when `reconverge` changes next.
    fn find_reconvergence(&mut self, bytes: &[u8]) -> Result<(), Expected> {
        let column = &mut self.columns[RECONVERGENCE];
        self.reconverge_for = if column.left() == 0 { u64::MAX } else { column.number(bytes)? };
        Ok(())
    }

    #[cold]
    fn change_reconvergence(&mut self, bytes: &[u8]) -> Result<(), Expected> {
        let next: u32 = self.columns[RECONVERGENCE].narrow(bytes)?;
        self.reconverge = next.checked_sub(1).map(Pc);
        self.find_reconvergence(bytes)?;
        if self.reconverge_for == 0 { Err("an instruction between two changes") } else { Ok(()) }
    }

    fn barrier(&mut self, op: u8, bytes: &[u8]) -> Result<BarrierArrival, Expected> {
        if op & MORE == 0 {
            return Ok(BarrierArrival::default());
        }
        let id = self.columns[EXTRA].byte(bytes)?;
        let threads = self.columns[EXTRA].narrow(bytes)?;
        if id < BARRIERS { Ok(BarrierArrival { id, threads }) } else { Err("a barrier from 0 to 15") }
    }

    #[inline]
    fn access(
        &mut self,
        space: Space,
        access: Access,
        op: u8,
        bytes: &[u8],
        out: &mut DynInst,
    ) -> Result<(), Expected> {
        if op & SPACE != 0 {
            self.space = codes::space(self.columns[EXTRA].byte(bytes)?)?;
            if space == Space::Generic {
                out.space = self.space;
            }
        }
        let local = out.space == Space::Local;
        if local {
            // The model maps all lanes at once.
            out.addresses.fill(0);
        }
        self.addresses(place(out.pc), op & ADDRESSES, out.mask, bytes, &mut out.addresses)?;
        if access == Access::AsyncCopy || space == Space::Texture {
            let mode = self.columns[MEMORY].byte(bytes)?;
            self.addresses(second_place(out.pc), mode, out.mask, bytes, &mut out.addresses2)?;
        }
        let limit = if local { LOCAL_BITS } else { ADDRESS_BITS };
        let bits = kit::lanes(out.mask).fold(0, |bits, lane| bits | out.addresses[lane]);
        if bits >> limit == 0 { Ok(()) } else { Err("addresses that a GPU has") }
    }

    #[inline]
    fn addresses(
        &mut self,
        place: usize,
        mode: u8,
        mask: LaneMask,
        bytes: &[u8],
        out: &mut [u64; WARP_LANES],
    ) -> Result<(), Expected> {
        let (prediction, memory) = (&mut self.predictions[place], &mut self.columns[MEMORY]);
        let first = mask.trailing_zeros() as usize;
        let residual = if mode == AS_PREDICTED { 0 } else { memory.signed(bytes)? };
        let base = prediction.base_at(residual);
        let mut stride = prediction.stride;
        match mode {
            AS_PREDICTED => {}
            AFFINE => stride = stride.wrapping_add(memory.signed(bytes)?),
            LIST => {
                out[first] = base;
                let mut last = base;
                for lane in kit::lanes(mask & (mask - 1)) {
                    last = last.wrapping_add_signed(memory.signed(bytes)?);
                    out[lane] = last;
                }
                prediction.learn(base, stride);
                return Ok(());
            }
            _ => return Err("addresses"),
        }
        prediction.learn(base, stride);
        if mask == LaneMask::MAX {
            out.iter_mut().enumerate().for_each(|(lane, address)| *address = at(base, stride, lane));
        } else {
            kit::lanes(mask).for_each(|lane| out[lane] = at(base, stride, lane - first));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
