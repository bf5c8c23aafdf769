//! Conditions under which threads come to a block, and values where paths meet.
//!
//! A block's label is the condition under which a thread of the region reaches it: of the edges of the branches that
//! dominate it, those that lead there (section 4.5). Where paths meet, a value that differs is selected by the
//! condition of a path, the phi function of static single assignment.

use super::builder::{Builder, Ending};
use crate::flow::Exit;
use crate::groups::truth;
use crate::truth::Truth;
use std::collections::HashMap;

impl Builder<'_> {
    /// The block's immediate dominator within the region.
    fn dominator(&self, block: usize) -> usize {
        let head = self.flow.heads[self.region];
        let mut candidate = block;
        // Blocks are few: walk up by the rule that the dominator is the latest block that is on all paths.
        loop {
            candidate -= 1;
            if candidate == head || self.flow.region_of[candidate] == self.region && self.cuts(candidate, head, block) {
                return candidate;
            }
        }
    }

    /// Whether every path from `from` to `to` within the region passes `middle`.
    fn cuts(&self, middle: usize, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.flow.blocks.len()];
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if b == to {
                return false;
            }
            if b == middle || std::mem::replace(&mut seen[b], true) {
                continue;
            }
            work.extend(self.flow.blocks[b].exit.targets().into_iter().filter(|&t| !self.flow.leaves(b, t)));
        }
        true
    }

    /// Whether every thread that is at `from` comes to `to` before it leaves the region.
    fn surely(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.flow.blocks.len()];
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if b == to || std::mem::replace(&mut seen[b], true) {
                continue;
            }
            let exit = &self.flow.blocks[b].exit;
            let ends = matches!(exit, Exit::End | Exit::If(_, [None, _] | [_, None]));
            let targets = exit.targets();
            if ends || targets.iter().any(|&t| self.flow.leaves(b, t)) {
                return false;
            }
            work.extend(targets);
        }
        true
    }

    /// The condition under which a thread at the end of `from` continues at `to`; `None` is the end of the thread.
    pub(super) fn edge(&mut self, from: usize, to: Option<usize>) -> Truth {
        match &self.flow.blocks[from].exit {
            Exit::If(p, [yes, no]) if yes != no => {
                let value = self.predicate(&self.ends[&from].values.clone(), *p);
                let taken = truth(*p, value);
                if *yes == to { taken } else { taken.not() }
            }
            _ => Truth::TRUE,
        }
    }

    /// The condition under which a thread that is at `from`, which dominates `to`, comes to `to`.
    fn condition(&mut self, from: usize, to: usize) -> Truth {
        if from == to {
            return Truth::TRUE;
        }
        if let Some(&known) = self.conditions.get(&(from, to)) {
            return known;
        }
        let dominator = self.dominator(to);
        let condition = if dominator != from {
            let first = self.condition(from, dominator);
            let then = self.condition(dominator, to);
            self.draft.and(first, then)
        } else if self.surely(from, to) {
            Truth::TRUE
        } else {
            let mut any = Truth::FALSE;
            for p in self.flow.predecessors[to].clone() {
                let path = self.path(from, p, to);
                any = self.draft.or(any, path);
            }
            any
        };
        self.conditions.insert((from, to), condition);
        condition
    }

    /// The condition under which a thread that is at `from` comes to `to` over block `over`.
    fn path(&mut self, from: usize, over: usize, to: usize) -> Truth {
        let (there, edge) = (self.condition(from, over), self.edge(over, Some(to)));
        self.draft.and(there, edge)
    }

    /// The condition under which a thread comes to `block`: its label.
    pub(super) fn absolute(&mut self, block: usize) -> Truth {
        let condition = self.condition(self.flow.heads[self.region], block);
        self.draft.and(self.enabled, condition)
    }

    /// Values where paths meet.
    pub(super) fn merged(&mut self, block: usize) -> Ending {
        let from = self.flow.predecessors[block].clone();
        let mut now = self.ends[&from[from.len() - 1]].clone();
        let dominator = self.dominator(block);
        for &p in from[..from.len() - 1].iter().rev() {
            let path = self.path(dominator, p, block);
            let other = self.ends[&p].clone();
            for (&column, &theirs) in &sorted(&other.values.columns) {
                let both = match now.values.columns.get(&column) {
                    None => theirs,
                    Some(&mine) if mine == theirs => continue,
                    Some(&mine) => self.select_part(path, theirs, mine),
                };
                now.values.columns.insert(column, both);
            }
            for (&number, &theirs) in &sorted(&other.values.predicates) {
                let both = match now.values.predicates.get(&number) {
                    None => theirs,
                    Some(&mine) => self.draft.select(path, theirs, mine),
                };
                now.values.predicates.insert(number, both);
            }
            now.order.join(&other.order);
        }
        now
    }
}

/// A map in the order of its keys: nodes are made in the same order in each run.
fn sorted<K: Ord + Copy, V: Copy>(map: &HashMap<K, V>) -> std::collections::BTreeMap<K, V> {
    map.iter().map(|(k, v)| (*k, *v)).collect()
}
