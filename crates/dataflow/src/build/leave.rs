//! The end of a region: values that live on are stored, and threads continue elsewhere (section 4.6).

use super::builder::Builder;
use crate::flow::Exit;
use crate::graph::{AccessKind, Input, NodeOp, RegionId};
use crate::truth::Truth;

impl Builder<'_> {
    /// Stores what lives on and says where threads continue.
    pub(super) fn leave(&mut self, blocks: &[usize]) -> (Vec<RegionId>, Option<RegionId>) {
        // Edges out of the region: from, to, condition.
        let mut edges: Vec<(usize, Option<usize>, Truth)> = Vec::new();
        for &b in blocks {
            let exit = self.flow.blocks[b].exit.clone();
            let mut to: Vec<Option<usize>> = exit.targets().into_iter().map(Some).collect();
            if matches!(exit, Exit::End | Exit::If(_, [None, _] | [_, None])) {
                to.push(None);
            }
            for t in to {
                if t.is_none_or(|t| self.flow.leaves(b, t)) {
                    let (here, edge) = (self.absolute(b), self.edge(b, t));
                    let condition = self.draft.and(here, edge);
                    edges.push((b, t, condition));
                }
            }
        }
        self.store_live(&edges);
        let region_of = |t: Option<usize>| t.map(|t| RegionId(self.flow.region_of[t] as u32));
        let mut successors: Vec<RegionId> = edges.iter().filter_map(|e| region_of(e.1)).collect();
        successors.sort_unstable();
        successors.dedup();
        let ends = edges.iter().any(|e| e.1.is_none());
        if let [one] = successors[..]
            && !ends
        {
            return (successors, Some(one));
        }
        for &successor in &successors {
            let mut any = Truth::FALSE;
            for &(_, to, condition) in &edges {
                if region_of(to) == Some(successor) {
                    any = self.draft.or(any, condition);
                }
            }
            let predicate = self.draft.value(any);
            self.draft.add(NodeOp::Next(successor), vec![predicate], None);
        }
        (successors, None)
    }

    fn store_live(&mut self, edges: &[(usize, Option<usize>, Truth)]) {
        for group in 0..self.groups.len() {
            if self.groups.anew[group].is_some() {
                continue;
            }
            let loaded = self.loaded.get(&group).map(|&node| Input::Token(node));
            let mut enable = Truth::FALSE;
            let mut value: Option<Input> = None;
            for &(from, to, condition) in edges {
                if !to.is_some_and(|t| self.groups.live[t][group]) {
                    continue;
                }
                let values = self.ends[&from].values.clone();
                let Some(here) = self.group(&values, group).filter(|v| Some(*v) != loaded) else { continue };
                value = Some(match value {
                    None => here,
                    Some(other) => self.draft.select(condition, here, other),
                });
                enable = self.draft.or(enable, condition);
            }
            let Some(value) = value else { continue };
            let enable = self.draft.value(enable);
            let access = self.live_access(AccessKind::Store, group);
            let inputs = vec![Input::Immediate(0), value, enable];
            let node = self.draft.add(NodeOp::Access(access), inputs, None);
            // A load from the place precedes the store that overwrites it.
            self.draft.waits[node.index()].extend(self.loaded.get(&group));
        }
    }
}
