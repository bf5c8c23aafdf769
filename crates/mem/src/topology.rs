//! The places of parts, and the clocks: the same for all parts of the memory system.

use crate::Request;
use crate::clock::Clocks;
use crate::dram::AddressMap;
use crate::timetable::Timetable;
use config::GpuConfig;

/// Clocks, numbers of parts, and latencies of the paths between them.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub clocks: Clocks,
    /// Their edges in the cycles that are being simulated.
    pub times: Timetable,
    pub map: AddressMap,
    /// Shift from an address to its block: addresses of one block are in one slice.
    pub block_shift: u32,
    /// SMs of each crossbar port.
    pub sms_per_cluster: usize,
    /// The crossbar port of each SM.
    pub cluster_of: Box<[u16]>,
    /// L2 slices of each partition.
    pub slices_per_partition: usize,
    /// The partition of each slice, and its number there.
    pub place_of: Box<[(u16, u8)]>,
    /// Packets that each input of the reply crossbar holds.
    pub input_packets: usize,
    /// L2 cycles of the slices' latency paths.
    pub rop_latency: u64,
    /// L2 cycles that packets from the other half of the chip take longer.
    pub far_latency: u64,
    /// Bytes that the L2 fetches at once.
    pub fetch_bytes: u32,
    /// Visit everything in every cycle: the yardstick for the tests.
    pub exhaustive: bool,
}

impl Topology {
    pub fn new(config: &GpuConfig) -> Self {
        let map = AddressMap::new(config);
        let (sms, slices) = (config.sm_count.max(1) as usize, map.slices() as usize);
        let sms_per_cluster = config.sms_per_cluster.max(1) as usize;
        let slices_per_partition = config.l2.slices_per_partition.max(1) as usize;
        let place = |slice| ((slice / slices_per_partition) as u16, (slice % slices_per_partition) as u8);
        let clocks = Clocks::new(&config.clocks);
        Self {
            times: Timetable::new(clocks),
            clocks,
            sms_per_cluster,
            cluster_of: (0..sms).map(|sm| (sm / sms_per_cluster) as u16).collect(),
            slices_per_partition,
            place_of: (0..slices).map(place).collect(),
            input_packets: config.interconnect.input_buffer_packets.max(1) as usize,
            rop_latency: u64::from(config.l2.latency_cycles),
            far_latency: config.l2.far_latency_cycles.unwrap_or(0).into(),
            fetch_bytes: config.l2.cache.fetch_bytes(),
            exhaustive: false,
            block_shift: (0..u32::BITS).take_while(|&shift| map.keeps_together(1 << shift)).last().unwrap_or(0),
            map,
        }
    }

    pub fn clusters(&self) -> usize {
        self.cluster_of.len().div_ceil(self.sms_per_cluster)
    }

    /// The number of SMs of each cluster.
    pub fn sms_of_clusters(&self) -> impl Iterator<Item = usize> {
        self.cluster_of.chunks(self.sms_per_cluster).map(<[u16]>::len)
    }

    pub fn slices(&self) -> usize {
        self.place_of.len()
    }

    pub fn partitions(&self) -> usize {
        self.slices() / self.slices_per_partition
    }

    /// Parts that the L2 serves a request by: sectors, or lines where it fetches whole ones.
    #[inline]
    pub fn parts(&self, request: &Request) -> u8 {
        let within = request.address as u32 & (self.fetch_bytes - 1);
        let bytes = within + request.bytes;
        if bytes <= self.fetch_bytes { 1 } else { bytes.div_ceil(self.fetch_bytes).min(4) as u8 }
    }

    /// L2 cycles by which packets of an SM come later to the path of a slice, if that is in the other half of the chip.
    #[inline]
    pub fn far_latency(&self, sm: usize, slice: usize) -> u64 {
        if self.far_latency == 0 {
            return 0;
        }
        let is_upper_half = |at: usize, count: usize| 2 * at >= count;
        let is_far = is_upper_half(sm, self.cluster_of.len()) != is_upper_half(slice, self.slices());
        if is_far { self.far_latency } else { 0 }
    }
}
