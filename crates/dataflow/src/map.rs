//! From the graphs of a kernel to their places on a fabric: partition, balance, place, route.
//!
//! A placement that cannot be routed is made again with another seed, then with fewer delays. If no attempt
//! succeeds, the region is cut into smaller parts.

use crate::balance::{Budget, Imbalance, balance, critical_path};
use crate::configuration;
use crate::fabric::{Fabric, UnitKind};
use crate::graph::{Dataflow, Node, Region, RegionId};
use crate::mapping::{LinkId, Mapped, Mapping};
use crate::partition::{Cut, TooLarge, partition};
use crate::place::{Distances, place, wire_length};
use crate::resources::{Counts, Misfit, narrow_ports, needs};
use crate::route::{Unroutable, route};
use std::collections::BTreeSet;
use std::fmt;

/// Units that a region may take after each failure to route it, in percent of those that it needs.
const SHARES: &[usize] = &[100, 85, 70, 55, 40];

/// How a kernel is mapped.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Of the placement.
    pub seed: u64,
    /// Cycles of imbalance that the token buffers take: their entries without one.
    pub absorbed: u32,
    /// Cycles from the firing of a node to that of one that waits only for it: its latency and that of its route.
    pub latency: &'a dyn Fn(&Node) -> u32,
    /// Maximum number of copies of a graph side by side; 0: as many as the fabric has units and links for.
    pub copies: u32,
}

impl Default for Options<'_> {
    /// Paths are balanced by their number of nodes, as in the paper, and a graph is mapped once.
    fn default() -> Self {
        Self { seed: 1, absorbed: 0, latency: &|_| 1, copies: 1 }
    }
}

/// A mapped kernel, with what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The kernel on the fabric. The regions of its `dataflow` are without delays.
    pub mapped: Mapped,
    /// The regions that were cut.
    pub cuts: Vec<Cut>,
    /// By region.
    pub regions: Vec<RegionReport>,
}

/// Report on the mapping of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionReport {
    /// The region of the kernel that it is a part of, or that it is.
    pub origin: RegionId,
    /// Copies of its graph side by side.
    pub copies: u32,
    /// Units by kind, delays among them, of all copies.
    pub used: Counts,
    /// Delays of all copies.
    pub delays: usize,
    /// Ports that stay unbalanced in each copy, by the nodes of the region without delays.
    pub left: Vec<Imbalance>,
    /// Cycles of the longest path.
    pub critical_path: u32,
    /// Sum of the shortest routes between the units of nodes that exchange tokens.
    pub wire_length: u32,
    /// Links that are taken.
    pub links: usize,
    /// Placements that could not be routed.
    pub failures: usize,
}

/// Why a kernel cannot be mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nodes take more tokens than units have ports.
    Ports(RegionId, Vec<Misfit>),
    /// No cut fits.
    TooLarge(TooLarge),
    /// No part can be routed, however small.
    Unroutable(RegionId, Unroutable),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ports(region, misfits) => {
                let reasons: Vec<String> = misfits.iter().map(ToString::to_string).collect();
                write!(f, "region {}: {}", region.0, reasons.join("; "))
            }
            Self::TooLarge(problem) => problem.fmt(f),
            Self::Unroutable(region, problem) => write!(f, "region {} cannot be routed: {problem}", region.0),
        }
    }
}

/// Maps a kernel to a fabric.
///
/// # Errors
/// The fabric cannot execute it, whatever the cuts.
pub fn map(dataflow: &Dataflow, fabric: &Fabric, options: &Options<'_>) -> Result<Compiled, Failure> {
    for (i, region) in dataflow.regions.iter().enumerate() {
        let narrow: Vec<Misfit> = narrow_ports(region).collect();
        if !narrow.is_empty() {
            return Err(Failure::Ports(RegionId(i as u32), narrow));
        }
    }
    let distances = Distances::of(fabric);
    let mapper = Mapper { fabric, distances, options };
    // By region of the kernel: failures to route it or a part of it, and links that were missing.
    let mut failures = vec![0; dataflow.regions.len()];
    let mut missing = vec![None; dataflow.regions.len()];
    // Regions that have been mapped: most are the same after another one is cut.
    let mut done: Vec<(Region, Mapping, RegionReport)> = Vec::new();
    'again: loop {
        let available = |id: RegionId| mapper.available(&dataflow.regions[id.0 as usize], failures[id.0 as usize]);
        let parts = partition(dataflow, available).map_err(Failure::TooLarge)?;
        let mut compiled = Compiled { mapped: Mapped::default(), cuts: parts.cuts, regions: Vec::new() };
        for (region, origin) in parts.dataflow.regions.iter().zip(&parts.origin) {
            let at = origin.0 as usize;
            let known = done.iter().position(|(of, ..)| of == region);
            let known = match known {
                Some(known) => known,
                None => match mapper.region(region, *origin) {
                    Ok((mapping, report)) => {
                        done.push((region.clone(), mapping, report));
                        done.len() - 1
                    }
                    Err(problem) => {
                        let Unroutable::Congested { missing: links, .. } = problem else {
                            return Err(Failure::Unroutable(*origin, problem));
                        };
                        failures[at] += 1;
                        missing[at].get_or_insert(Misfit::Links { missing: links });
                        if failures[at] == SHARES.len() {
                            return Err(Failure::Unroutable(*origin, problem));
                        }
                        continue 'again;
                    }
                },
            };
            let (_, mapping, report) = &done[known];
            compiled.mapped.mappings.push(mapping.clone());
            compiled.regions.push(RegionReport { origin: *origin, ..report.clone() });
        }
        for cut in &mut compiled.cuts {
            cut.reason = missing[cut.region.0 as usize].map_or_else(|| std::mem::take(&mut cut.reason), |m| vec![m]);
        }
        compiled.mapped.dataflow = parts.dataflow;
        return Ok(compiled);
    }
}

struct Mapper<'a> {
    fabric: &'a Fabric,
    distances: Distances,
    options: &'a Options<'a>,
}

impl Mapper<'_> {
    /// Units that a part of a region may take after a number of failures to route it.
    fn available(&self, region: &Region, failures: usize) -> Counts {
        let mut counts = self.fabric.counts();
        if failures > 0 {
            for (count, needed) in counts.iter_mut().zip(needs(&region.nodes)) {
                *count = ((*count).min(needed) * SHARES[failures]).div_ceil(100);
            }
        }
        counts
    }

    /// Maps a region, as many copies of it as may be.
    fn region(&self, region: &Region, origin: RegionId) -> Result<(Mapping, RegionReport), Unroutable> {
        let most = self.most_copies(region);
        for copies in (2..=most).rev() {
            let free = self.free_control(region, copies) / copies as usize;
            if let Ok(mapped) = self.attempt(region, origin, copies, free, 0) {
                return Ok(mapped);
            }
        }
        let free = self.free_control(region, 1);
        let mut problem = None;
        for (attempt, delays) in [free, free, free / 2, 0].into_iter().enumerate() {
            match self.attempt(region, origin, 1, delays, attempt) {
                Ok(mapped) => return Ok(mapped),
                Err(failure) => problem = Some(failure),
            }
        }
        Err(problem.expect("there is an attempt"))
    }

    /// Copies of a region for which the fabric has units.
    fn most_copies(&self, region: &Region) -> u32 {
        let needed = needs(&region.nodes);
        let fit = self.fabric.counts().into_iter().zip(needed).filter(|&(_, needed)| needed > 0);
        let fit = fit.map(|(there, needed)| (there / needed) as u32).min().unwrap_or(1);
        if self.options.copies == 0 { fit } else { fit.min(self.options.copies) }
    }

    /// Control units that copies of a region leave.
    fn free_control(&self, region: &Region, copies: u32) -> usize {
        let control = UnitKind::Control as usize;
        self.fabric.counts()[control] - needs(&region.nodes)[control] * copies as usize
    }

    /// Maps copies of a region, each with at most some `delays`.
    fn attempt(
        &self,
        region: &Region,
        origin: RegionId,
        copies: u32,
        delays: usize,
        attempt: usize,
    ) -> Result<(Mapping, RegionReport), Unroutable> {
        let fifo = self.fabric.spec().fifo as u8;
        let budget = Budget { units: delays, fifo, absorbed: self.options.absorbed };
        let balanced = balance(region, &budget, self.options.latency);
        let critical_path = critical_path(&balanced.region, self.options.latency);
        let region = balanced.region.side_by_side(copies);
        let seed = self.options.seed.wrapping_add(attempt as u64);
        let units = place(&region, self.fabric, &self.distances, seed)
            .expect("a partitioned region with no more delays than free units fits");
        let routes = route(&region, &units, self.fabric)?;
        let links: BTreeSet<LinkId> = routes.iter().flat_map(|r| r.links.iter().copied()).collect();
        let report = RegionReport {
            origin,
            copies,
            used: needs(&region.nodes),
            delays: balanced.delays * copies as usize,
            left: balanced.left,
            critical_path,
            wire_length: wire_length(&region, &units, &self.distances),
            links: links.len(),
            failures: attempt,
        };
        let configuration_bits = configuration::bits(&region.nodes, &routes, self.fabric);
        let wires = links.iter().map(|&link| (link, self.fabric.wire(link))).collect();
        Ok((Mapping { region, copies, units, routes, wires, configuration_bits }, report))
    }
}
