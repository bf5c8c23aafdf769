//! Instructions of the copy engine: their start and end, the receivers of their data, and accesses to bytes of memory.

use crate::access::{self, Spaces};
use crate::atomic::modify;
use crate::cluster::{RANK_BIT, offset};
use crate::fault::{Outcome, Stop, Trap};
use crate::lanes::Lanes;
use crate::mbarrier::{Arriving, located};
use crate::memory::Reduction;
use crate::update::{AtomicOp, AtomicType, Update};
use isa::{DynInst, FaultKind, Space, Transfer, TransferKind};
use kit::text::counted;
use kit::{LaneMask, WARP_LANES};

/// When the transfer that an instruction starts ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// With the instruction: nothing models its time.
    AtOnce,
    /// When the timing model says so ([`isa::WarpStream::transferred`]).
    Later,
    /// It has been started, and its data are moved in the exchange.
    Started,
}

/// A transfer that has started: the barriers that count its bytes at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Started {
    pub barriers: Vec<Arriving>,
}

/// CTAs of the cluster that receive data, all at the same offset of their shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receivers {
    /// Their ranks, a bit each.
    ranks: u16,
    offset: u64,
}

impl Receivers {
    /// Addresses of the data, as the CTA of the copy has them.
    pub fn addresses(self, m: &Spaces<'_, '_>) -> impl Iterator<Item = u64> + use<> {
        let cluster = m.cluster;
        ranks(self.ranks).map(move |rank| cluster.map_or(self.offset, |place| place.address(rank, self.offset)))
    }
}

/// The ranks in a mask.
fn ranks(mask: u16) -> impl Iterator<Item = u32> {
    kit::lanes(mask.into()).map(|rank| rank as u32)
}

/// The checks of a CTA, as far as the copy engine informs them.
pub(crate) trait SeesWrites {
    /// The copy engine writes these bytes of shared memory.
    fn note_written(&mut self, address: u64, bytes: u64);
}

/// Memory and checks, as an instruction of the copy engine uses them for one lane.
pub(crate) struct Engine<'a, 'b, 'm> {
    pub m: &'a mut Spaces<'b, 'm>,
    pub watch: Option<&'a mut dyn SeesWrites>,
    pub lane: usize,
}

/// An instruction that starts a copy in each of its lanes.
pub(crate) trait Copies {
    /// A lane's copy, after its checks.
    type Copy;

    fn kind(&self) -> TransferKind;

    /// The warp executes it once, not each lane.
    fn is_once(&self) -> bool;

    /// Checks the operands of the engine's lane. Appends the lane's accesses to `transfer`, and the barriers that count
    /// its bytes to `barriers`.
    ///
    /// # Errors
    /// An operand is invalid.
    fn prepare(
        &self,
        file: &Lanes<'_>,
        engine: &Engine<'_, '_, '_>,
        transfer: &mut Transfer,
        barriers: &mut Vec<Arriving>,
    ) -> Result<Self::Copy, Stop>;

    /// Moves the data of a lane.
    fn move_data(&self, copy: &Self::Copy, engine: &mut Engine<'_, '_, '_>) -> Outcome;
}

/// Executes `instruction` for the lanes of `file`; `started` receives the transfer that it starts.
pub(crate) fn start<'a, 'b, 'm>(
    instruction: &impl Copies,
    file: &Lanes<'_>,
    (m, watch): (&'a mut Spaces<'b, 'm>, Option<&'a mut dyn SeesWrites>),
    (ends, started): (Ends, &mut Option<Started>),
    out: &mut DynInst,
) -> Outcome {
    let mask = if instruction.is_once() { file.mask & file.mask.wrapping_neg() } else { file.mask };
    if mask == 0 {
        return Ok(());
    }
    let engine = &mut Engine { m, watch, lane: 0 };
    let mut transfer = Transfer { kind: instruction.kind(), ..Transfer::default() };
    let (mut barriers, mut copies) = (Vec::new(), Vec::new());
    for lane in kit::lanes(mask) {
        engine.lane = lane;
        copies.push((lane, instruction.prepare(file, engine, &mut transfer, &mut barriers)?));
    }
    if ends != Ends::Started {
        *started = Some(Started { barriers });
        let is_elsewhere = transfer.others != 0 && engine.m.peers.is_none();
        out.transfer = Some(Box::new(transfer));
        if is_elsewhere {
            return Err(Stop::Deferred);
        }
    }
    for (lane, copy) in &copies {
        engine.lane = *lane;
        instruction.move_data(copy, engine)?;
    }
    Ok(())
}

/// Adds a run of global bytes to a transfer.
pub(crate) fn add_run(transfer: &mut Transfer, address: u64, bytes: u32) {
    match transfer.runs.last_mut() {
        _ if bytes == 0 => {}
        Some((start, length)) if *start + u64::from(*length) == address && length.checked_add(bytes).is_some() => {
            *length += bytes;
        }
        _ => transfer.runs.push((address, bytes)),
    }
}

/// Lanes of accesses to the bytes from `address` on: the size of each, and their number.
fn piece(address: u64, left: usize) -> (u64, usize) {
    match () {
        () if address.is_multiple_of(16) && left >= 16 => (16, (left / 16).min(WARP_LANES)),
        () if address.is_multiple_of(4) && left >= 4 => {
            (4, if left >= 16 { ((16 - address % 16) / 4) as usize } else { left / 4 })
        }
        () => (1, left.min(4 - (address % 4) as usize)),
    }
}

impl Engine<'_, '_, '_> {
    /// A fault of this lane.
    pub fn fault(&self, kind: FaultKind, what: impl Into<String>) -> Stop {
        Trap::stop(kind, what, self.mask())
    }

    fn mask(&self) -> LaneMask {
        1 << self.lane
    }

    /// Faults unless `value` is a multiple of `of`.
    pub fn is_multiple(&self, value: u64, of: u64, what: &str) -> Outcome {
        if value.is_multiple_of(of) {
            return Ok(());
        }
        let kind = if what.contains("address") { FaultKind::MisalignedAddress } else { FaultKind::IllegalInstruction };
        Err(self.fault(kind, format!("{what} {value:#x} is not a multiple of {of}")))
    }

    /// The fault of an access, as one of this lane.
    fn own(&self, done: Outcome) -> Outcome {
        done.map_err(|stop| match stop {
            Stop::Trap(trap) => Stop::Trap(Box::new(Trap { lanes: self.mask(), ..*trap })),
            other => other,
        })
    }

    /// Reads bytes from any address of a space.
    pub fn read(&self, space: Space, mut address: u64, mut out: &mut [u8]) -> Outcome {
        while !out.is_empty() {
            let (size, count) = piece(address, out.len());
            let addresses = std::array::from_fn(|lane| address + size * lane.min(count - 1) as u64);
            let mask = LaneMask::MAX >> (WARP_LANES - count);
            let (here, rest) = out.split_at_mut(size as usize * count);
            let mut words = [[0; WARP_LANES]; 4];
            if size == 16 {
                self.own(access::read(self.m, space, &addresses, mask, size, &mut words))?;
            } else {
                let mut word = [[0; WARP_LANES]; 1];
                self.own(access::read(self.m, space, &addresses, mask, size, &mut word))?;
                words[0] = word[0];
            }
            for (lane, bytes) in here.chunks_exact_mut(size as usize).enumerate() {
                for (word, column) in bytes.chunks_mut(4).zip(&words) {
                    word.copy_from_slice(&column[lane].to_le_bytes()[..word.len()]);
                }
            }
            address += here.len() as u64;
            out = rest;
        }
        Ok(())
    }

    /// Writes bytes to any address of a space.
    pub fn write(&mut self, space: Space, mut address: u64, mut bytes: &[u8]) -> Outcome {
        if let (Space::Shared, Some(watch)) = (space, &mut self.watch) {
            watch.note_written(address, bytes.len() as u64);
        }
        while !bytes.is_empty() {
            let (size, count) = piece(address, bytes.len());
            let addresses = std::array::from_fn(|lane| address + size * lane.min(count - 1) as u64);
            let mask = LaneMask::MAX >> (WARP_LANES - count);
            let (here, rest) = bytes.split_at(size as usize * count);
            let mut words = [[0; WARP_LANES]; 4];
            for (lane, bytes) in here.chunks_exact(size as usize).enumerate() {
                for (word, column) in bytes.chunks(4).zip(&mut words) {
                    let mut whole = [0; 4];
                    whole[..word.len()].copy_from_slice(word);
                    column[lane] = u32::from_le_bytes(whole);
                }
            }
            let done = if size == 16 {
                access::write(self.m, space, &addresses, mask, size, &words)
            } else {
                access::write(self.m, space, &addresses, mask, size, &[words[0]])
            };
            self.own(done)?;
            address += here.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// Combines elements with those from `address` on, which is a multiple of their size. In global memory that other
    /// SMs see too, that is for the exchange.
    pub fn reduce(&mut self, space: Space, address: u64, bytes: &[u8], (op, ty): (AtomicOp, AtomicType)) -> Outcome {
        let (update, size) = (Update { op, ty }, usize::from(ty.bytes()));
        let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        for (part, elements) in bytes.chunks(size * WARP_LANES).enumerate() {
            let first = address + (part * size * WARP_LANES) as u64;
            let (count, mut operands) = (elements.len() / size, [[0; 2]; WARP_LANES]);
            operands.iter_mut().zip(elements.chunks_exact(size)).for_each(|(operand, bytes)| operand[0] = value(bytes));
            let addresses = std::array::from_fn(|lane| first + (size * lane) as u64);
            let mask = LaneMask::MAX >> (WARP_LANES - count);
            let outside = |m: &Spaces<'_, '_>, lane: usize| {
                access::explain(m, "reduction in", space, &addresses, 1 << lane, size as u64)
            };
            if space == Space::Global && self.m.device.own().is_some() {
                let room = |lane: &usize| !self.m.device.has_room(addresses[*lane], size as u64);
                if let Some(lane) = (0..count).find(room) {
                    return self.own(Err(outside(self.m, lane).into()));
                }
                let Some((own, ..)) = self.m.device.own() else { continue };
                addresses[..count].iter().for_each(|&at| own.overlay.mark_reduced(at, size as u64));
                own.reductions.push(Reduction { update, mask, addresses, operands });
                continue;
            }
            for lane in 0..count {
                let shared = space == Space::Shared;
                let apply = |old| update.apply(old, operands[lane][0], 0, shared);
                if modify(self.m, space, addresses[lane], size as u64, lane, apply).is_none() {
                    return self.own(Err(outside(self.m, lane).into()));
                }
            }
        }
        Ok(())
    }

    /// The CTAs that receive data at the shared `address`: all CTAs in the mask `ctas` of a multicast, or without a
    /// mask the CTA that has the address. Adds them to `transfer`.
    ///
    /// # Errors
    /// The address or a CTA is outside the cluster, or the mask is empty.
    pub fn receivers(&self, address: u32, ctas: Option<u16>, transfer: &mut Transfer) -> Result<Receivers, Stop> {
        let (rank, within) = located(self.m, address.into(), "the destination of a copy", self.mask())?;
        let cluster = self.m.cluster;
        let size = cluster.map_or(1, |place| place.ctas);
        let ranks = ctas.unwrap_or(1 << rank);
        if ranks == 0 || u32::from(ranks) >> size != 0 {
            let ctas = counted(size.into(), "CTA");
            let what = format!("multicast to the CTAs {ranks:#06x} of a cluster of {ctas}: a bit for each receiver");
            return Err(self.fault(FaultKind::IllegalInstruction, what));
        }
        transfer.others |= ranks & !(1 << cluster.map_or(0, |place| place.rank));
        Ok(Receivers { ranks, offset: offset(within) })
    }

    /// Adds `bytes` for the barrier at the shared `address`: in each CTA of the mask `ctas` of a multicast, or without
    /// a mask in the CTA that has the address.
    ///
    /// # Errors
    /// The address is outside the cluster or misaligned.
    pub fn arriving(
        &self,
        (address, bytes): (u32, u32),
        ctas: Option<u16>,
        barriers: &mut Vec<Arriving>,
    ) -> Result<(), Stop> {
        let (rank, within) = located(self.m, address.into(), "an `mbarrier`", self.mask())?;
        if !within.is_multiple_of(8) {
            let what = format!("the address {within:#x} of an `mbarrier` is not a multiple of 8");
            return Err(self.fault(FaultKind::MisalignedAddress, what));
        }
        let is_by_rank = self.m.cluster.is_some_and(|place| place.by_rank);
        for rank in ranks(ctas.unwrap_or(1 << rank)) {
            let start = if is_by_rank { rank << RANK_BIT } else { 0 };
            barriers.push(Arriving { rank, address: start | offset(within) as u32, bytes });
        }
        Ok(())
    }
}
