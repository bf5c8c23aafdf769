//! Registers that may not share a place, and their greedy colouring.

use super::liveness::{Effects, walk};
use crate::cfg::Graph;

/// Per register, the registers that hold values at the same time. Sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Interference(Vec<Vec<u32>>);

impl Interference {
    /// Nothing interferes.
    pub fn none(registers: usize) -> Self {
        Self(vec![Vec::new(); registers])
    }

    /// A written register interferes with all registers that are live after the write, except the one that it
    /// copies: for a move, `copies` gives written and read registers.
    pub fn new(graph: &Graph, effects: &[Effects], registers: usize, copies: impl Fn(u32) -> Vec<(u32, u32)>) -> Self {
        let mut found = Self::none(registers);
        walk(graph, effects, registers, |i, after, _| {
            let defs = &effects[i as usize].defs;
            if defs.is_empty() {
                return;
            }
            let copied = copies(i);
            for &d in defs {
                let of = copied.iter().find(|c| c.0 == d).map(|c| c.1);
                let others = after.iter().map(|r| r as u32).chain(defs.iter().copied());
                others.filter(|&r| r != d && Some(r) != of).for_each(|r| found.add(d, r));
            }
        });
        found.settle();
        found
    }

    /// Records that two registers interfere; [`Self::settle`] must follow.
    pub fn add(&mut self, a: u32, b: u32) {
        if a != b {
            self.0[a as usize].push(b);
            self.0[b as usize].push(a);
        }
    }

    /// Sorts the added pairs.
    pub fn settle(&mut self) {
        for list in &mut self.0 {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// The registers that interfere with `r`.
    pub fn of(&self, r: u32) -> &[u32] {
        &self.0[r as usize]
    }
}

/// Registers that take consecutive places, the first at a multiple of their number.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub columns: Vec<u32>,
    /// First instruction that uses it.
    pub first: u32,
}

impl Unit {
    fn align(&self) -> usize {
        self.columns.len().next_power_of_two()
    }
}

/// Constraints of a colouring.
pub(super) struct Rules<'a> {
    pub hard: &'a Interference,
    /// Respected as long as the limit allows it.
    pub soft: &'a Interference,
    /// Registers that should share a place if possible.
    pub copies: &'a [(u32, u32)],
    /// Number of places that may be used.
    pub limit: u32,
}

/// The place of each register, and the units that have none.
#[derive(Clone, Debug)]
pub(super) struct Colouring {
    pub places: Vec<Option<u32>>,
    pub failed: Vec<usize>,
    /// Number of places up to the last one used.
    pub used: u32,
}

/// Colours in three orders and keeps the result with the fewest places: first use (a linear scan), lowest
/// degree last (Matula and Beck), widest first.
pub(super) fn colour(units: &[Unit], rules: &Rules<'_>) -> Colouring {
    let mut by_place: Vec<usize> = (0..units.len()).collect();
    by_place.sort_by_key(|&u| units[u].first);
    let mut by_width = by_place.clone();
    by_width.sort_by_key(|&u| std::cmp::Reverse(units[u].columns.len()));
    let orders = [by_place, smallest_last(units, rules.hard), by_width];
    let all = orders.iter().map(|order| colour_in(order, units, rules));
    all.min_by_key(|c| (c.failed.len(), c.used)).expect("there are three")
}

fn colour_in(order: &[usize], units: &[Unit], rules: &Rules<'_>) -> Colouring {
    let mut places: Vec<Option<u32>> = vec![None; rules.hard.0.len()];
    let (mut failed, mut used) = (Vec::new(), 0);
    let mut partners: Vec<Vec<u32>> = vec![Vec::new(); places.len()];
    for &(a, b) in rules.copies {
        partners[a as usize].push(b);
        partners[b as usize].push(a);
    }
    let limit = rules.limit as usize;
    for &u in order {
        let unit = &units[u];
        let taken = |rule: &Interference, into: &mut Vec<bool>| {
            for (k, &c) in unit.columns.iter().enumerate() {
                for other in rule.of(c) {
                    // The unit cannot start at a place where this register would overlap the other.
                    if let Some(start) = places[*other as usize].and_then(|p| (p as usize).checked_sub(k)) {
                        into[start] = true;
                    }
                }
            }
        };
        let mut hard = vec![false; limit + 1];
        taken(rules.hard, &mut hard);
        let mut both = hard.clone();
        taken(rules.soft, &mut both);
        let starts = || (0..(limit + 1).saturating_sub(unit.columns.len())).step_by(unit.align());
        let wanted = unit.columns.iter().enumerate().flat_map(|(k, &c)| {
            let places = &places;
            partners[c as usize].iter().filter_map(move |&p| (places[p as usize]? as usize).checked_sub(k))
        });
        let fits = |s: usize| s.is_multiple_of(unit.align()) && s + unit.columns.len() <= limit;
        let start = wanted
            .filter(|&s| fits(s) && !both[s])
            .chain(starts().filter(|&s| !both[s]))
            .chain(starts().filter(|&s| !hard[s]))
            .next();
        let Some(start) = start else {
            failed.push(u);
            continue;
        };
        for (k, &c) in unit.columns.iter().enumerate() {
            places[c as usize] = Some((start + k) as u32);
        }
        used = used.max((start + unit.columns.len()) as u32);
    }
    Colouring { places, failed, used }
}

/// The order that results from removing the unit of lowest degree again and again: each unit has few
/// neighbours among those before it.
fn smallest_last(units: &[Unit], rule: &Interference) -> Vec<usize> {
    let mut unit_of = vec![usize::MAX; rule.0.len()];
    for (u, unit) in units.iter().enumerate() {
        unit.columns.iter().for_each(|&c| unit_of[c as usize] = u);
    }
    let neighbours = |u: usize| {
        let all = units[u].columns.iter().flat_map(|&c| rule.of(c));
        all.map(|&o| unit_of[o as usize]).filter(|&o| o != usize::MAX)
    };
    let mut degree: Vec<usize> = (0..units.len()).map(|u| neighbours(u).count()).collect();
    // Units by degree; outdated entries are skipped.
    let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); degree.iter().max().map_or(1, |d| d + 1)];
    (0..units.len()).for_each(|u| buckets[degree[u]].push(u));
    let (mut order, mut gone, mut low) = (Vec::with_capacity(units.len()), vec![false; units.len()], 0);
    while low < buckets.len() {
        let Some(u) = buckets[low].pop() else {
            low += 1;
            continue;
        };
        if gone[u] || degree[u] != low {
            continue;
        }
        gone[u] = true;
        order.push(u);
        for o in neighbours(u).filter(|&o| !gone[o]) {
            degree[o] -= 1;
            buckets[degree[o]].push(o);
            low = low.min(degree[o]);
        }
    }
    order.reverse();
    order
}
