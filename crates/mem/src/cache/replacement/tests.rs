//! Rules for every policy, and a driver for the tests of each.

use super::super::tags::{Probe, Tags, Written};
use crate::testing::cache_config;
use config::Replacement;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn tags(replacement: Replacement, ways: usize, dirty_percent: u32) -> Tags {
    let config = config::Cache { sets: 1, ways: ways as u32, replacement, ..cache_config() };
    Tags::new(&config, dirty_percent)
}

fn is_there(tags: &Tags, block: u64) -> bool {
    matches!(tags.probe(block, block << 7, 1, true), Probe::Hit(_))
}

/// The blocks that accesses to `blocks`, each filled at once, replace in one set.
pub(super) fn victims(replacement: Replacement, ways: usize, blocks: &[u64]) -> Vec<u64> {
    let (mut tags, mut here, mut out) = (tags(replacement, ways, 0), Vec::new(), Vec::new());
    for &block in blocks {
        match tags.probe(block, block << 7, 1, false) {
            Probe::Hit(line) => tags.touch(line),
            _ => {
                let (line, _) = tags.allocate(block, block << 7, 1);
                tags.fill(line, 1);
                here.push(block);
                let gone = here.iter().position(|&b| !is_there(&tags, b));
                out.extend(gone.map(|at| here.remove(at)));
            }
        }
    }
    out
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Uses the block: a hit, or a line taken for it, which stays under way.
    Use(u64),
    Fill(u64),
    Write(u64),
    Drop(u64),
}

fn step() -> impl Strategy<Value = Step> {
    (0u64..16, 0u8..8).prop_map(|(block, kind)| match kind {
        0..=3 => Step::Use(block),
        4..=5 => Step::Fill(block),
        6 => Step::Write(block),
        _ => Step::Drop(block),
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    UnderWay,
    Clean,
    Dirty,
}

proptest! {
    /// A line is replaced only when the set is full, and then if and only if one may be: not one whose data
    /// are on their way, and no dirty one below their limit unless all are dirty.
    #[test]
    fn every_policy_replaces_only_what_may_go(
        ways in 1usize..8,
        dirty_percent in prop::sample::select(vec![0u32, 60]),
        steps in prop::collection::vec(step(), 0..200),
    ) {
        for policy in Replacement::ALL {
            let mut tags = tags(policy, ways, dirty_percent);
            let mut model: BTreeMap<u64, State> = BTreeMap::new();
            let limit = (ways as u32 * dirty_percent).div_ceil(100) as usize;
            for &step in &steps {
                let (Step::Use(block) | Step::Fill(block) | Step::Write(block) | Step::Drop(block)) = step;
                let line = match tags.probe(block, block << 7, 1, true) {
                    Probe::Hit(line) | Probe::Reserved(line) => Some(line),
                    _ => None,
                };
                prop_assert_eq!(line.is_some(), model.contains_key(&block), "{:?}: {:?}", policy, step);
                let count = |state| model.values().filter(|&&s| s == state).count();
                let dirty_may_go = count(State::Dirty) >= limit || count(State::Dirty) == ways;
                let may_go = |state| state == State::Clean || state == State::Dirty && dirty_may_go;
                match (step, line) {
                    (Step::Use(_), Some(line)) => tags.touch(line),
                    (Step::Use(_), None) => {
                        let has_room = model.len() < ways || model.values().any(|&s| may_go(s));
                        let finds_room = tags.probe(block, block << 7, 1, true) != Probe::Full;
                        prop_assert_eq!(finds_room, has_room, "{:?}", policy);
                        if has_room {
                            tags.allocate(block, block << 7, 1);
                            let gone: Vec<u64> = model.iter()
                                .filter(|&(&b, &s)| s != State::UnderWay && !is_there(&tags, b))
                                .map(|(&b, _)| b).collect();
                            prop_assert_eq!(gone.len(), usize::from(model.len() == ways), "{:?}", policy);
                            prop_assert!(gone.iter().all(|b| may_go(model[b])), "{:?}: {:?}", policy, gone);
                            gone.iter().for_each(|b| _ = model.remove(b));
                            model.insert(block, State::UnderWay);
                        }
                    }
                    (Step::Fill(_), Some(line)) if model[&block] == State::UnderWay => {
                        tags.fill(line, 1);
                        model.insert(block, State::Clean);
                    }
                    (Step::Write(_), Some(line)) if model[&block] != State::UnderWay => {
                        tags.write(line, 1, Written { sectors: 1, bytes: u32::MAX });
                        model.insert(block, State::Dirty);
                    }
                    (Step::Drop(_), Some(line)) if model[&block] != State::UnderWay => {
                        tags.drop_atoms(line, 1);
                        model.remove(&block);
                    }
                    _ => {}
                }
            }
        }
    }
}
