//! Which kernels are resident, and which core (an SM, in GPGPU-Sim's words) gets the next CTA.
//!
//! Follows GPGPU-Sim 4 (`issue_block2core` of `gpu-sim.cc` and `shader.cc`): each cluster may take
//! one CTA per cycle, the cluster after the one that was served last goes first; in a cluster, the SM
//! after the one that was served last there. Deviations:
//! D1. Several resident kernels may share an SM; the oldest one with CTAs left goes first
//!     (GPGPU-Sim does so only with `-gpgpu_concurrent_kernel_sm`).
//! D2. Launches in clusters, which GPGPU-Sim does not have: all CTAs of a cluster start in the same cycle on the SMs of
//!     one GPC, on as many of them as possible. A GPC takes one cluster per cycle. Clusters are dispatched at the begin of
//!     a window only, before CTAs of other kernels.

use isa::{Dim3, KernelId, LaunchShape};
use kit::{BitSet, Cycle, NEVER};
use std::collections::VecDeque;
use std::ops::Range;

/// An ordered queue of launches; launches of different streams may overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StreamId(pub u32);

/// A kernel between its launch and its last CTA's end.
#[derive(Clone, Debug)]
struct Launched {
    kernel: KernelId,
    stream: StreamId,
    grid: Dim3,
    cluster: Option<Dim3>,
    /// Numbers of its CTAs that have yet to be dispatched.
    left: Range<u64>,
    /// CTAs that it has altogether.
    ctas: u64,
    /// CTAs finished so far.
    finished: u64,
    /// Cycles in which CTAs have ended, if they are kept.
    ends: Option<Vec<Cycle>>,
    /// First cycle in which a CTA may be dispatched; set when the kernel becomes resident.
    ready_at: Cycle,
}

impl Launched {
    fn has_ctas_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// CTAs that start together.
    fn together(&self) -> u64 {
        self.cluster.map_or(1, Dim3::volume)
    }

    /// Whether it can give a CTA at `now`, or a whole cluster, as `clusters` says.
    fn can_give(&self, now: Cycle, clusters: bool) -> bool {
        self.has_ctas_left() && self.ready_at <= now && (self.together() > 1) == clusters
    }

    /// Position of CTA number `number` in the order of dispatch.
    fn position(&self, number: u64) -> Dim3 {
        self.cluster.map_or_else(|| self.grid.position(number), |cluster| self.grid.position_by_parts(cluster, number))
    }
}

/// Latencies and limits of launching.
#[derive(Clone, Copy, Debug)]
pub struct LaunchTiming {
    /// From residency to the first CTA, in cycles.
    pub kernel_cycles: u64,
    /// Added per CTA of the grid, in cycles.
    pub cta_cycles: u64,
    /// Kernels resident at once.
    pub max_resident: usize,
}

/// Hands CTAs of the launches that are due to cores that have room.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    timing: LaunchTiming,
    waiting: VecDeque<Launched>,
    resident: Vec<Launched>,
    cores_per_cluster: usize,
    /// Cores whose CTAs can be of one cluster of CTAs, for each GPC.
    gpcs: Box<[Range<usize>]>,
    /// GPC that was served last with a cluster of CTAs, and in each of them the place of the core that was.
    last_gpc: usize,
    last_gpc_places: Box<[usize]>,
    /// Cluster that was served last.
    last_cluster: usize,
    /// In each cluster, the place of the core that was served last.
    last_places: Box<[usize]>,
    /// Ends of the CTAs of kernels that have finished, where they are kept.
    cta_ends: Vec<(KernelId, Vec<Cycle>)>,
}

/// A CTA that has found its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Placement {
    /// Index of the core.
    pub core: usize,
    pub kernel: KernelId,
    /// Position in the grid.
    pub cta: Dim3,
}

impl Dispatcher {
    /// Nothing launched, for a GPU of `clusters` clusters of cores.
    pub fn new(timing: LaunchTiming, clusters: usize, cores_per_cluster: usize) -> Self {
        Self {
            timing,
            waiting: VecDeque::new(),
            resident: Vec::new(),
            cores_per_cluster,
            gpcs: std::iter::once(0..clusters * cores_per_cluster).collect(),
            last_gpc: 0,
            last_gpc_places: Box::new([clusters * cores_per_cluster - 1]),
            last_cluster: clusters - 1,
            last_places: vec![cores_per_cluster - 1; clusters].into(),
            cta_ends: Vec::new(),
        }
    }

    /// The same, with the cluster that is offered the first CTA, counted on from the last one to the first.
    pub fn beginning_at(mut self, cluster: usize) -> Self {
        let clusters = self.last_places.len();
        self.last_cluster = (cluster + clusters - 1) % clusters;
        self
    }

    /// The same for a GPU whose GPCs have the cores `gpcs`, as far as they are there.
    pub fn with_gpcs(mut self, gpcs: impl IntoIterator<Item = Range<usize>>) -> Self {
        let all = self.last_places.len() * self.cores_per_cluster;
        let there = gpcs.into_iter().map(|cores| cores.start..cores.end.min(all));
        self.gpcs = there.filter(|cores| !cores.is_empty()).collect();
        self.last_gpc = self.gpcs.len() - 1;
        self.last_gpc_places = self.gpcs.iter().map(|cores| cores.len() - 1).collect();
        self
    }

    /// Queues a kernel after the earlier ones of its stream.
    pub fn launch(&mut self, kernel: KernelId, stream: StreamId, shape: &LaunchShape) {
        self.queue(kernel, stream, shape, 0..shape.grid.volume(), None);
    }

    /// As [`Dispatcher::launch`], of the CTAs with these numbers only, of which there is at least one. The ends of
    /// its CTAs are kept.
    pub fn launch_ctas(&mut self, kernel: KernelId, stream: StreamId, shape: &LaunchShape, ctas: Range<u64>) {
        self.queue(kernel, stream, shape, ctas, Some(Vec::new()));
    }

    fn queue(
        &mut self,
        kernel: KernelId,
        stream: StreamId,
        shape: &LaunchShape,
        left: Range<u64>,
        ends: Option<Vec<Cycle>>,
    ) {
        let (grid, cluster, ctas) = (shape.grid, shape.cluster, left.end - left.start);
        let launched = Launched { kernel, stream, grid, cluster, left, ctas, finished: 0, ends, ready_at: NEVER };
        self.waiting.push_back(launched);
    }

    /// Cycles in which the CTAs of a kernel that has finished ended, as far as windows distinguish them; ascending.
    /// Empty unless [`Dispatcher::launch_ctas`] launched it.
    pub fn take_cta_ends(&mut self, kernel: KernelId) -> Vec<Cycle> {
        let at = self.cta_ends.iter().position(|(of, _)| *of == kernel);
        at.map(|at| self.cta_ends.swap_remove(at).1).unwrap_or_default()
    }

    /// Makes waiting kernels resident whose stream is free; returns those that begin, with the cycle in which
    /// the launch latency of each is over.
    pub fn admit(&mut self, now: Cycle) -> Vec<(KernelId, Cycle)> {
        let mut begun = Vec::new();
        let mut i = 0;
        while i < self.waiting.len() && self.resident.len() < self.timing.max_resident {
            let stream = self.waiting[i].stream;
            let mut earlier = self.resident.iter().chain(self.waiting.iter().take(i));
            if earlier.any(|k| k.stream == stream) {
                i += 1;
                continue;
            }
            let mut kernel = self.waiting.remove(i).expect("index below length");
            kernel.ready_at = now + self.timing.kernel_cycles + self.timing.cta_cycles * kernel.grid.volume();
            begun.push((kernel.kernel, kernel.ready_at));
            self.resident.push(kernel);
        }
        begun
    }

    /// Whether a resident kernel without clusters has CTAs to give at `now`.
    pub fn has_work(&self, now: Cycle) -> bool {
        self.ready(now).next().is_some()
    }

    /// Whether a resident kernel has clusters to give at `now`.
    pub fn has_clusters(&self, now: Cycle) -> bool {
        self.resident.iter().any(|k| k.can_give(now, true))
    }

    /// The resident kernels without clusters that have CTAs to give at `now`.
    pub fn ready(&self, now: Cycle) -> impl Iterator<Item = KernelId> {
        self.resident.iter().filter(move |k| k.can_give(now, false)).map(|k| k.kernel)
    }

    /// The first cycle from `from` on in which a resident kernel becomes ready.
    pub fn next_ready(&self, from: Cycle) -> Cycle {
        let future = self.resident.iter().filter(|k| k.has_ctas_left() && k.ready_at >= from);
        future.map(|k| k.ready_at).min().unwrap_or(NEVER)
    }

    /// One cycle's dispatch: offers the cores in `room`, those that may have room, at most one CTA
    /// per cluster.
    /// `place` starts the CTA on the core if it has. Cores that took none are taken out of `room`.
    pub fn dispatch(&mut self, now: Cycle, room: &mut BitSet, mut place: impl FnMut(Placement) -> bool) {
        let (clusters, cores) = (self.last_places.len(), self.cores_per_cluster);
        let first = (self.last_cluster + 1) % clusters;
        for served in [first..clusters, 0..first] {
            let mut from = served.start * cores;
            while let Some(member) = room.next(from).filter(|&core| core < served.end * cores) {
                let cluster = member / cores;
                from = (cluster + 1) * cores;
                let next = self.last_places[cluster] + 1;
                for at in (0..cores).map(|i| (next + i) % cores) {
                    let core = cluster * cores + at;
                    if !room.contains(core) {
                        continue;
                    }
                    let mut ready = self.resident.iter_mut().filter(|k| k.can_give(now, false));
                    let offer = |k: &Launched| Placement { core, kernel: k.kernel, cta: k.position(k.left.start) };
                    if let Some(kernel) = ready.find(|k| place(offer(k))) {
                        kernel.left.start += 1;
                        self.last_cluster = cluster;
                        self.last_places[cluster] = at;
                        break;
                    }
                    room.remove(core);
                }
            }
        }
    }

    /// Dispatches all clusters that fit at `now`. `fits` says whether a core has room for this many CTAs of a kernel;
    /// `place` starts a CTA at the cycle that it is given.
    pub fn dispatch_clusters(
        &mut self,
        now: Cycle,
        mut fits: impl FnMut(usize, KernelId, usize) -> bool,
        mut place: impl FnMut(Placement, Cycle),
    ) {
        let gpcs = self.gpcs.len();
        for at in now + 1.. {
            let (first, mut is_served) = (self.last_gpc + 1, false);
            for gpc in (0..gpcs).map(|i| (first + i) % gpcs) {
                let found = (0..self.resident.len()).filter(|&k| self.resident[k].can_give(now, true)).find_map(|k| {
                    let Launched { kernel, .. } = self.resident[k];
                    let cores = self.cores_for(gpc, self.resident[k].together(), |core, n| fits(core, kernel, n))?;
                    Some((k, cores))
                });
                let Some((k, cores)) = found else { continue };
                let launched = &mut self.resident[k];
                for &core in &cores {
                    let (kernel, cta) = (launched.kernel, launched.position(launched.left.start));
                    launched.left.start += 1;
                    place(Placement { core, kernel, cta }, at);
                }
                self.last_gpc = gpc;
                self.last_gpc_places[gpc] = cores.last().map_or(0, |core| core - self.gpcs[gpc].start);
                is_served = true;
            }
            if !is_served {
                break;
            }
        }
    }

    /// A core for each of `ctas` CTAs on one GPC, as many different ones as there are.
    fn cores_for(&self, gpc: usize, ctas: u64, mut fits: impl FnMut(usize, usize) -> bool) -> Option<Vec<usize>> {
        let (cores, next) = (self.gpcs[gpc].clone(), self.last_gpc_places[gpc] + 1);
        let mut open: Vec<usize> = (0..cores.len()).map(|i| cores.start + (next + i) % cores.len()).collect();
        let (mut found, mut each) = (Vec::new(), 0);
        while !open.is_empty() {
            each += 1;
            open.retain(|&core| fits(core, each));
            found.extend(open.iter().copied().take(ctas as usize - found.len()));
            if found.len() as u64 == ctas {
                return Some(found);
            }
        }
        None
    }

    /// Notes the end of a CTA before cycle `now`; true if it was its kernel's last one.
    pub fn cta_finished(&mut self, kernel: KernelId, now: Cycle) -> bool {
        let at = self.resident.iter().position(|k| k.kernel == kernel).expect("a running CTA's kernel is resident");
        let launched = &mut self.resident[at];
        launched.finished += 1;
        if let Some(ends) = &mut launched.ends {
            ends.push(now);
        }
        let done = launched.finished == launched.ctas;
        if done {
            let launched = self.resident.remove(at);
            self.cta_ends.extend(launched.ends.map(|ends| (kernel, ends)));
        }
        done
    }

    /// Whether every launched kernel has finished.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.resident.is_empty()
    }

    /// Whether no kernel has begun and not ended: at most their launch latencies run.
    pub fn is_between_kernels(&self) -> bool {
        self.resident.iter().all(|k| k.left.end - k.left.start == k.ctas)
    }

    /// CTAs finished and CTAs in all, over kernels that have not finished.
    pub fn progress(&self) -> (u64, u64) {
        let all = self.resident.iter().chain(&self.waiting);
        all.fold((0, 0), |(done, total), k| (done + k.finished, total + k.ctas))
    }
}

kit::persist! {
    new id StreamId;
    new struct Launched { kernel, stream, grid, cluster, left, ctas, finished, ends, ready_at }
    struct Dispatcher {
        waiting, resident, last_cluster, last_places, last_gpc, last_gpc_places, cta_ends;
        skip timing, cores_per_cluster, gpcs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: LaunchTiming = LaunchTiming { kernel_cycles: 100, cta_cycles: 0, max_resident: 4 };

    fn all(sms: usize) -> BitSet {
        let mut set = BitSet::new(sms);
        (0..sms).for_each(|sm| {
            set.insert(sm);
        });
        set
    }

    fn shape(ctas: u32) -> LaunchShape {
        let (grid, block) = (Dim3::new(ctas, 1, 1), Dim3::new(32, 1, 1));
        LaunchShape { grid, block, registers_per_thread: 16, shared_bytes: 0, cluster: None }
    }

    #[test]
    fn ctas_go_round_the_sms_and_stop_where_there_is_no_room() {
        let mut d = Dispatcher::new(TIMING, 3, 1);
        d.launch(KernelId(0), StreamId(0), &shape(8));
        assert_eq!(d.admit(5), [(KernelId(0), 105)]);
        assert_eq!((d.next_ready(5), d.has_work(104), d.has_work(105)), (105, false, true));
        let mut room = [2, 1, 2];
        let mut order = Vec::new();
        let mut sms = all(3);
        while !sms.is_empty() {
            d.dispatch(105, &mut sms, |p| {
                let fits = room[p.core] > 0;
                if fits {
                    room[p.core] -= 1;
                    order.push((p.core, p.cta.x));
                }
                fits
            });
        }
        assert_eq!(order, [(0, 0), (1, 1), (2, 2), (0, 3), (2, 4)]);
        for i in 0..5 {
            assert!(!d.cta_finished(KernelId(0), 150), "CTA {i} is not the last");
        }
        assert_eq!(d.progress(), (5, 8));
    }

    #[test]
    fn any_cluster_can_be_the_first() {
        for (first, order) in [(0, [0, 1, 2]), (2, [2, 0, 1]), (4, [1, 2, 0])] {
            let mut d = Dispatcher::new(TIMING, 3, 1).beginning_at(first);
            d.launch(KernelId(0), StreamId(0), &shape(3));
            d.admit(0);
            let (mut taken, mut room) = (Vec::new(), all(3));
            d.dispatch(100, &mut room, |p| {
                taken.push((p.core, p.cta.x as usize));
                true
            });
            taken.sort_by_key(|&(_, cta)| cta);
            assert_eq!(taken.iter().map(|&(core, _)| core).collect::<Vec<_>>(), order, "from {first}");
        }
    }

    #[test]
    fn a_cluster_takes_one_cta_a_cycle_its_sms_in_turn() {
        let mut d = Dispatcher::new(TIMING, 2, 2);
        d.launch(KernelId(0), StreamId(0), &shape(6));
        d.admit(0);
        let mut sms = all(4);
        let mut cycle = || {
            let mut taken = Vec::new();
            d.dispatch(100, &mut sms, |p| {
                let fits = p.core != 1;
                taken.extend(fits.then_some(p.core));
                fits
            });
            taken
        };
        assert_eq!([cycle(), cycle(), cycle()], [[0, 2], [0, 3], [0, 2]]);
    }

    /// Four cores in two GPCs, of which core 1 has no room: clusters of two CTAs.
    #[test]
    fn a_cluster_starts_at_once_on_one_gpc() {
        let mut d = Dispatcher::new(TIMING, 4, 1).with_gpcs([0..2, 2..4]);
        let cluster = Some(Dim3::new(2, 1, 1));
        d.launch(KernelId(0), StreamId(0), &LaunchShape { cluster, ..shape(8) });
        d.admit(0);
        assert!(!d.has_clusters(99) && d.has_clusters(100) && !d.has_work(100));
        let mut room = [1_usize, 0, 2, 2];
        let mut dispatch = |room: &mut [usize; 4]| {
            let (mut taken, mut given) = (Vec::new(), [0; 4]);
            let room_before = *room;
            let given_so_far = std::cell::RefCell::new(&mut given);
            d.dispatch_clusters(
                100,
                |core, _, ctas| given_so_far.borrow()[core] + ctas <= room_before[core],
                |p, at| {
                    given_so_far.borrow_mut()[p.core] += 1;
                    taken.push((p.core, p.cta.x, at));
                },
            );
            taken
        };
        assert_eq!(dispatch(&mut room), [(2, 0, 101), (3, 1, 101), (2, 2, 102), (3, 3, 102)]);
        room = [3, 0, 0, 1];
        assert_eq!(dispatch(&mut room), [(0, 4, 101), (0, 5, 101)], "both on one core, and the third has no partner");
        assert!(d.has_clusters(100));
    }

    #[test]
    fn kernels_of_one_stream_follow_each_other_and_others_overlap() {
        let mut d = Dispatcher::new(TIMING, 1, 1);
        for (kernel, stream) in [(0, 0), (1, 0), (2, 1)] {
            d.launch(KernelId(kernel), StreamId(stream), &shape(1));
        }
        assert_eq!(d.admit(0), [(KernelId(0), 100), (KernelId(2), 100)]);
        for kernel in [KernelId(0), KernelId(2)] {
            let mut offered = Vec::new();
            d.dispatch(100, &mut all(1), |p| {
                offered.push(p.kernel);
                p.kernel == kernel
            });
            assert_eq!(offered.last(), Some(&kernel));
        }
        assert!(d.admit(101).is_empty());
        assert!(d.cta_finished(KernelId(0), 150));
        assert_eq!(d.admit(150), [(KernelId(1), 250)]);
        assert_eq!(d.next_ready(150), 250);
        assert!(!d.is_idle());
    }

    #[test]
    fn a_part_of_a_grid_is_dispatched_and_its_ends_are_kept() {
        let mut d = Dispatcher::new(TIMING, 1, 1);
        d.launch_ctas(KernelId(0), StreamId(0), &shape(8), 3..5);
        d.admit(0);
        let mut given = Vec::new();
        for _ in 0..3 {
            d.dispatch(100, &mut all(1), |p| {
                given.push(p.cta.x);
                true
            });
        }
        assert_eq!((given, d.progress()), (vec![3, 4], (0, 2)));
        assert!(!d.cta_finished(KernelId(0), 120) && d.cta_finished(KernelId(0), 130));
        assert!(d.is_idle());
        assert_eq!((d.take_cta_ends(KernelId(0)), d.take_cta_ends(KernelId(0))), (vec![120, 130], vec![]));
    }
}
