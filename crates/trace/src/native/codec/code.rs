//! The dynamic instructions of a CTA that is read.

use super::*;
use crate::native::bytes::{Cursor, Expected};
use crate::native::codes;
use crate::native::values::LastValues;
use isa::{Access, BarrierArrival, Control, DynInst, Inst, OperandValues, Pc, Program, Space};
use kit::{LaneMask, WARP_LANES};

/// Maximum number of bits of an address in device memory and in a thread's local memory on a GPU; arithmetic
/// of the memory model stays within 64.
const ADDRESS_BITS: u32 = 57;
pub(super) const LOCAL_BITS: u32 = 24;
/// Number of barriers of a CTA.
const BARRIERS: u8 = 16;

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
            self.addresses(second_place(out.pc), mode, out.mask, bytes, out.second_addresses_mut())?;
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
