//! Clusters of CTAs: shared memory that all CTAs of a cluster may access, the barrier.
//!
//! **Addresses.** Bits 24 to 31 of an address in the shared window say whose shared memory it is, the bits below are the
//! offset in it. Machine code computes these addresses by itself, from the rank of a CTA (`SR_CgaCtaId`), its own ones
//! included: 0 is the CTA of rank 0. In PTX, where a variable's address is a constant, 0 is the own CTA and n the CTA of
//! rank n-1: `mapa` makes such addresses.
//!
//! **Where shared memory is.** A stream has the shared memory of its CTAs while it steps. For operations of other CTAs it
//! hands the shared memory of CTAs in clusters over to `Clusters`, which is shared state ([`isa::WarpStream::lend`]). The
//! memory of a CTA that has ended stays there until its whole cluster has ended.
//!
//! **The barrier** is complete when each thread of the cluster has arrived or exited. Streams say so when they hand memory
//! over, so that it completes between windows.

use crate::arrival::Mail;
use crate::memory::SharedMemory;
use isa::{ClusterMember, KernelId, MessageId};
use std::collections::BTreeMap;

/// The first bit of an address that says whose shared memory it is.
pub const RANK_BIT: u32 = 24;
/// The largest number in these bits.
pub const MOST_RANKS: u32 = 255;
/// CTAs of a cluster at most, if the kernel allows sizes that not every GPU has.
pub const MOST_CTAS: u32 = 16;
/// CTAs of a cluster at most on every GPU with clusters.
pub const PORTABLE_CTAS: u32 = 8;
/// Number by which lanes of a warp wait for its others before they wait at the barrier of the cluster.
pub(crate) const BARRIER: u32 = u32::MAX;

/// The place of a CTA in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub(crate) struct ClusterPlace {
    pub kernel: KernelId,
    /// Number of the cluster in the grid.
    pub cluster: u64,
    pub rank: u32,
    /// CTAs of the cluster.
    pub ctas: u32,
    /// Addresses have the rank of a CTA, as in machine code; otherwise the rank and 1, and 0 for the own CTA.
    pub by_rank: bool,
}

impl ClusterPlace {
    /// First address of the CTA's own shared memory in the shared window.
    pub fn own_start(self) -> u64 {
        if self.by_rank { u64::from(self.rank) << RANK_BIT } else { 0 }
    }

    /// Rank of the CTA whose shared memory has `address`, and the address as that CTA has it; `None` outside the cluster.
    pub fn resolve(self, address: u64) -> Option<(u32, u64)> {
        let number = u32::try_from(address >> RANK_BIT).ok()?;
        let offset = offset(address);
        let (rank, address) = match (self.by_rank, number) {
            (true, rank) => (rank, address),
            (false, 0) => (self.rank, offset),
            (false, number) => (number - 1, offset),
        };
        (rank < self.ctas).then_some((rank, address))
    }

    /// Address, as this CTA has it, of `offset` in the shared memory of the CTA of a rank.
    pub fn address(self, rank: u32, offset: u64) -> u64 {
        let number = match self.by_rank {
            true => rank,
            false if rank == self.rank => 0,
            false => rank + 1,
        };
        u64::from(number) << RANK_BIT | offset
    }

    /// The place without the form of addresses.
    pub fn member(self) -> ClusterMember {
        ClusterMember { kernel: self.kernel, cluster: self.cluster, rank: self.rank as u8 }
    }

    /// Whether `address` is in the shared memory of the CTA itself.
    pub fn is_own(self, address: u64) -> bool {
        self.resolve(address).is_some_and(|(rank, _)| rank == self.rank)
    }
}

/// The offset of an address in the shared memory of its CTA.
pub(crate) const fn offset(address: u64) -> u64 {
    address & ((1 << RANK_BIT) - 1)
}

/// A resident CTA's part in its cluster.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub place: ClusterPlace,
    /// The phase of the cluster's barrier that its threads arrive at.
    pub phase: u64,
    /// Threads of the cluster that have arrived at it, and threads that have not, as of the last exchange.
    pub arrived: (u32, u32),
    /// Its shared memory is in [`Clusters`].
    pub is_lent: bool,
    /// All its threads have exited, and its slot is free.
    pub has_ended: bool,
    /// Arrivals of other CTAs on their way to its barriers, in the order of the exchange.
    pub mail: Vec<Mail>,
}

impl Membership {
    /// The membership of a CTA that starts.
    pub fn new(place: ClusterPlace) -> Self {
        Self { place, phase: 0, arrived: (0, 0), is_lent: false, has_ended: false, mail: Vec::new() }
    }
}

/// A CTA of a cluster, as the others see it.
#[derive(Clone, Debug, Default)]
struct Member {
    /// Its shared memory, unless its stream has it.
    shared: Option<SharedMemory>,
    has_started: bool,
    has_ended: bool,
    /// Threads that have not exited.
    live: u32,
    /// Threads among them that have not arrived at the barrier.
    missing: u32,
    /// Arrivals at its barriers since it last took back its memory.
    mail: Vec<Mail>,
}

#[derive(Clone, Debug, Default)]
struct Cluster {
    members: Vec<Member>,
    phase: u64,
}

/// The clusters of which a CTA is resident.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    /// The access that is being performed, if its arrivals at barriers of other CTAs take time: the rank of its CTA and
    /// its message.
    pub sending: Option<(u8, MessageId)>,
    resident: BTreeMap<(KernelId, u64), Cluster>,
}

impl Clusters {
    /// A CTA is about to start.
    pub fn enter(&mut self, at: ClusterPlace) {
        let cluster = self.resident.entry((at.kernel, at.cluster)).or_default();
        cluster.members.resize_with(at.ctas as usize, Member::default);
    }

    fn cluster(&mut self, at: ClusterPlace) -> Option<&mut Cluster> {
        self.resident.get_mut(&(at.kernel, at.cluster))
    }

    fn member(&mut self, at: ClusterPlace, rank: u32) -> Option<&mut Member> {
        self.cluster(at)?.members.get_mut(rank as usize)
    }

    /// Takes over the shared memory of a CTA, of whose threads `live` have not exited and `missing` have not arrived at
    /// the barrier.
    pub fn lend(&mut self, at: ClusterPlace, shared: SharedMemory, (live, missing): (u32, u32)) {
        if let Some(member) = self.member(at, at.rank) {
            (member.shared, member.has_started, member.live, member.missing) = (Some(shared), true, live, missing);
        }
    }

    /// Gives back the shared memory of a CTA.
    pub fn take_back(&mut self, at: ClusterPlace) -> Option<SharedMemory> {
        self.member(at, at.rank)?.shared.take()
    }

    /// Sends an arrival to the CTA of a rank.
    pub fn post(&mut self, at: ClusterPlace, rank: u32, mail: Mail) {
        if let Some(member) = self.member(at, rank) {
            member.mail.push(mail);
        }
    }

    /// Takes the arrivals that are on their way to a CTA.
    pub fn take_mail(&mut self, at: ClusterPlace) -> Vec<Mail> {
        self.member(at, at.rank).map_or_else(Vec::new, |member| std::mem::take(&mut member.mail))
    }

    /// Shared memory of a CTA of the cluster; `None` if the CTA has not started.
    pub fn shared(&self, at: ClusterPlace, rank: u32) -> Option<&SharedMemory> {
        self.resident.get(&(at.kernel, at.cluster))?.members.get(rank as usize)?.shared.as_ref()
    }

    /// The same, to change it.
    pub fn shared_mut(&mut self, at: ClusterPlace, rank: u32) -> Option<&mut SharedMemory> {
        self.member(at, rank)?.shared.as_mut()
    }

    /// A CTA has ended: its memory stays until all of its cluster have.
    pub fn end(&mut self, at: ClusterPlace) {
        if let Some(member) = self.member(at, at.rank) {
            member.has_ended = true;
        }
        if self.cluster(at).is_some_and(|cluster| cluster.members.iter().all(|member| member.has_ended)) {
            self.resident.remove(&(at.kernel, at.cluster));
        }
    }

    /// Phase of the cluster's barrier. The next one begins when all threads have arrived at the present one.
    pub fn phase(&mut self, at: ClusterPlace) -> u64 {
        let Some(cluster) = self.cluster(at) else { return 0 };
        let members = &mut cluster.members;
        let is_complete = members.iter().all(|member| member.has_started && member.missing == 0);
        if is_complete && members.iter().any(|member| member.live > 0) {
            cluster.phase += 1;
            members.iter_mut().for_each(|member| member.missing = member.live);
        }
        cluster.phase
    }

    /// Threads of the cluster that have arrived at its barrier, and threads that have neither arrived nor exited.
    pub fn arrived(&self, at: ClusterPlace) -> (u32, u32) {
        let Some(cluster) = self.resident.get(&(at.kernel, at.cluster)) else { return (0, 0) };
        let missing: u32 = cluster.members.iter().map(|member| member.missing).sum();
        let live: u32 = cluster.members.iter().map(|member| member.live).sum();
        (live.saturating_sub(missing), missing)
    }

    /// Forgets the clusters of a launch.
    pub fn end_launch(&mut self, kernel: KernelId) {
        self.resident.retain(|&(of, _), _| of != kernel);
    }
}
