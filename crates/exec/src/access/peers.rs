//! Accesses to the shared memory of other CTAs of the cluster.

use super::transfer::Spaces;
use super::windows::{Refused, gather, scatter};
use crate::cluster::{MOST_CTAS, RANK_BIT};
use crate::lanes::{Column, blend};
use crate::memory::SharedMemory;
use kit::{LaneMask, WARP_LANES, lanes};

/// Whether a lane accesses shared memory that is not the CTA's own, or the own one at an address with its rank.
#[inline]
pub(crate) fn goes_beyond(m: &Spaces<'_, '_>, addresses: &[u64; WARP_LANES], mask: LaneMask) -> bool {
    m.cluster.is_some() && {
        let own = m.shared.start() >> RANK_BIT;
        lanes(mask).any(|lane| addresses[lane] >> RANK_BIT != own)
    }
}

/// The lanes that access each CTA's shared memory, and their addresses in it.
fn owners(
    m: &Spaces<'_, '_>,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
) -> Result<([LaneMask; MOST_CTAS as usize], [u64; WARP_LANES]), Refused> {
    let place = m.cluster.ok_or(Refused::BadAddress)?;
    let (mut of, mut within) = ([0; MOST_CTAS as usize], *addresses);
    for lane in lanes(mask) {
        let (rank, address) = place.resolve(addresses[lane]).ok_or(Refused::BadAddress)?;
        of[rank as usize % MOST_CTAS as usize] |= 1 << lane;
        within[lane] = address;
    }
    if m.peers.is_none() && of[place.rank as usize] != mask {
        return Err(Refused::Elsewhere);
    }
    Ok((of, within))
}

/// As [`gather`], from the shared memory of any CTAs of the cluster.
#[cold]
#[inline(never)]
pub(super) fn gather_beyond<const N: usize>(
    m: &Spaces<'_, '_>,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut [Column; N],
) -> Result<(), Refused> {
    let (of, within) = owners(m, addresses, mask)?;
    for (rank, &part) in of.iter().enumerate().filter(|(_, part)| **part != 0) {
        let shared = of_rank(m, rank as u32).ok_or(Refused::BadAddress)?;
        let mut found = [[0; WARP_LANES]; N];
        gather(shared, &within, part, size, &mut found)?;
        out.iter_mut().zip(&found).for_each(|(word, found)| blend(word, found, part));
    }
    Ok(())
}

/// As [`scatter`], to the shared memory of any CTAs of the cluster.
#[cold]
#[inline(never)]
pub(super) fn scatter_beyond<const N: usize>(
    m: &mut Spaces<'_, '_>,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Result<(), Refused> {
    let (of, within) = owners(m, addresses, mask)?;
    for (rank, &part) in of.iter().enumerate().filter(|(_, part)| **part != 0) {
        let shared = of_rank_mut(m, rank as u32).ok_or(Refused::BadAddress)?;
        scatter(shared, &within, part, size, words)?;
    }
    Ok(())
}

/// Whether the access must wait for the exchange: a lane accesses another CTA's shared memory.
pub(crate) fn is_for_exchange(m: &Spaces<'_, '_>, addresses: &[u64; WARP_LANES], mask: LaneMask) -> bool {
    goes_beyond(m, addresses, mask) && matches!(owners(m, addresses, mask), Err(Refused::Elsewhere))
}

fn of_rank<'a>(m: &'a Spaces<'_, '_>, rank: u32) -> Option<&'a SharedMemory> {
    let place = m.cluster?;
    if rank == place.rank { Some(m.shared) } else { m.peers.as_ref()?.shared(place, rank) }
}

fn of_rank_mut<'a>(m: &'a mut Spaces<'_, '_>, rank: u32) -> Option<&'a mut SharedMemory> {
    let place = m.cluster?;
    if rank == place.rank { Some(m.shared) } else { m.peers.as_mut()?.shared_mut(place, rank) }
}

/// The shared memory that has `address`, and the address in it.
pub(crate) fn owner<'a>(m: &'a Spaces<'_, '_>, address: u64) -> Option<(&'a SharedMemory, u64)> {
    let Some(place) = m.cluster else { return Some((m.shared, address)) };
    let (rank, address) = place.resolve(address)?;
    Some((of_rank(m, rank)?, address))
}

/// The same, to change it.
pub(crate) fn owner_mut<'a>(m: &'a mut Spaces<'_, '_>, address: u64) -> Option<(&'a mut SharedMemory, u64)> {
    let Some(place) = m.cluster else { return Some((m.shared, address)) };
    let (rank, address) = place.resolve(address)?;
    Some((of_rank_mut(m, rank)?, address))
}
