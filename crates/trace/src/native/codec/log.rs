//! The dynamic instructions of a CTA that is recorded.

use super::*;
use crate::native::bytes::{put, put_signed};
use crate::native::codes;
use crate::native::values::LastValues;
use isa::{BarrierArrival, Control, DynInst, Inst, OperandValues, Pc, RegId, Space};
use kit::{LaneMask, WARP_LANES};

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
                let mode = log.addresses(first, second_place(done.pc), done.mask, done.second_addresses());
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
