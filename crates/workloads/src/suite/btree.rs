//! Queries of a B+ tree.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// Key of slots that are not used: above every query.
const UNUSED: i32 = i32::MAX;
/// Result where there is no record.
const MISSING: i32 = -1;
/// Largest distance between neighbouring keys.
const MOST_APART: i64 = 3;

pub(super) const WORKLOAD: Workload = Workload {
    name: "btree",
    summary: "finds keys in a B+ tree and counts ranges of them, one CTA per query",
    character: "a node's keys compared at once, one thread finds the child: barriers, uniform dependent loads",
    suite: Suite::Rodinia,
    papers: &[("ghost", "B+T"), ("socgpu", "b+tree"), ("scalar", "b+tree")],
    module: bundled!("btree"),
    parameters: &[
        Parameter::new("keys", "keys in the tree", [1 << 13, 1 << 17, 1 << 20], 1, 1 << 26),
        Parameter::new("queries", "queries of either kind", [48, 640, 6000], 1, 1 << 20),
        Parameter::new("order", "children of a full node, threads per CTA", [256; 3], 4, 1024),
    ],
    body,
};

/// A tree as the kernels take it: slot `s` of node `n` is at `n * order + s`, level after level from
/// the root. Children of the leaves are the numbers of records.
struct Tree {
    keys: Vec<i32>,
    children: Vec<i32>,
    /// Levels above the leaves.
    inner_levels: usize,
}

impl Tree {
    /// Built from the leaves up. Nodes get `fill()` slots (2 to `order`), except the last of a level,
    /// which gets what is left.
    fn new(sorted: &[i32], order: usize, mut fill: impl FnMut() -> usize) -> Self {
        let mut entries: Vec<(i32, i32)> = sorted.iter().copied().zip(0..).collect();
        // From the leaves up: the entries of each node.
        let mut levels: Vec<Vec<Vec<(i32, i32)>>> = Vec::new();
        loop {
            let mut nodes = Vec::new();
            let mut rest = &entries[..];
            while !rest.is_empty() {
                let (node, after) = rest.split_at(fill().min(rest.len()));
                nodes.push(node.to_vec());
                rest = after;
            }
            // The first child takes whatever is below the second.
            entries = nodes.iter().zip(0..).map(|(node, i)| (node[0].0, i)).collect();
            entries[0].0 = i32::MIN;
            levels.push(nodes);
            if entries.len() == 1 {
                break;
            }
        }
        let mut tree = Self { keys: Vec::new(), children: Vec::new(), inner_levels: levels.len() - 1 };
        for (above_leaves, nodes) in levels.iter().enumerate().rev() {
            // Children are numbered within their level so far.
            let first_child = if above_leaves > 0 { tree.keys.len() / order + nodes.len() } else { 0 };
            for node in nodes {
                let unused = order - node.len();
                tree.keys.extend(node.iter().map(|&(key, _)| key).chain(std::iter::repeat_n(UNUSED, unused)));
                let children = node.iter().map(|&(_, child)| first_child as i32 + child);
                tree.children.extend(children.chain(std::iter::repeat_n(0, unused)));
            }
        }
        tree
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, queries, order) = (run.param("keys"), run.param("queries"), run.param("order"));
    let mut key = 0;
    let keys: Vec<i32> = std::iter::repeat_with(|| {
        key += run.integer(1, MOST_APART) as i32;
        key
    })
    .take(count)
    .collect();
    // As full as nodes of a tree that has grown.
    let tree = Tree::new(&keys, order, || run.integer(order.div_ceil(2) as i64, order as i64) as usize);
    let values = run.integers::<i32>(count, 0, i32::MAX.into());
    // About half of what is asked for is there.
    let top = i64::from(key) + 1;
    let wanted = run.integers::<i32>(queries, 0, top);
    let low = run.integers::<i32>(queries, 0, top);
    let high: Vec<i32> = low.iter().map(|&low| run.integer(low.into(), top) as i32).collect();

    let (d_keys, d_children) = (run.upload("keys", &tree.keys)?, run.upload("children", &tree.children)?);
    let (d_values, d_wanted) = (run.upload("values", &values)?, run.upload("wanted", &wanted)?);
    let answers = run.upload("answers", &vec![MISSING; queries])?;
    let levels = tree.inner_levels as i32;
    let args = [d_keys, d_children, d_values, d_wanted, answers].map(Into::into);
    run.launch("btree_find", queries, order, &[&args[..], &[levels.into()]].concat())?;

    let (d_low, d_high) = (run.upload("low", &low)?, run.upload("high", &high)?);
    let (d_first, d_count) = (run.alloc::<i32>("first", queries)?, run.alloc::<i32>("count", queries)?);
    let args = [d_keys, d_children, d_low, d_high, d_first, d_count].map(Into::into);
    run.launch("btree_range", queries, order, &[&args[..], &[levels.into()]].concat())?;

    let found = wanted.iter().map(|key| keys.binary_search(key).map_or(MISSING, |record| values[record]));
    let got = run.download::<i32>(answers)?;
    run.check_equal("answers", &got, &found.collect::<Vec<_>>());
    let up_to = |end: &i32| keys.partition_point(|key| key <= end) as i32;
    let first: Vec<i32> = low.iter().map(up_to).collect();
    let count: Vec<i32> = high.iter().zip(&first).map(|(high, first)| up_to(high) - first).collect();
    let (got_first, got_count) = (run.download::<i32>(d_first)?, run.download::<i32>(d_count)?);
    run.check_equal("first", &got_first, &first);
    run.check_equal("count", &got_count, &count);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_from_the_root() {
        let sorted: Vec<i32> = (1..=7).map(|i| 10 * i).collect();
        let tree = Tree::new(&sorted, 4, || 3);
        assert_eq!(tree.inner_levels, 1);
        let (low, none) = (i32::MIN, UNUSED);
        assert_eq!(tree.keys, [low, 40, 70, none, 10, 20, 30, none, 40, 50, 60, none, 70, none, none, none]);
        assert_eq!(tree.children, [1, 2, 3, 0, 0, 1, 2, 0, 3, 4, 5, 0, 6, 0, 0, 0]);
    }

    #[test]
    fn every_key_is_where_the_way_down_leads() {
        let sorted: Vec<i32> = (0..500).map(|i| 3 * i + 1).collect();
        let (order, mut turn) = (5, 0);
        let tree = Tree::new(&sorted, order, || {
            turn += 1;
            3 + turn % 3
        });
        assert!(tree.inner_levels >= 3);
        for (record, key) in sorted.iter().enumerate() {
            let mut node = 0;
            for level in 0..=tree.inner_levels {
                let slots = &tree.keys[node * order..][..order];
                let slot = slots.iter().rposition(|k| k <= key).unwrap();
                assert!(level < tree.inner_levels || slots[slot] == *key);
                node = tree.children[node * order + slot] as usize;
            }
            assert_eq!(node, record);
        }
    }

    #[test]
    fn one_leaf_is_the_root() {
        let tree = Tree::new(&[5], 4, || 2);
        assert_eq!((tree.inner_levels, tree.keys, tree.children), (0, vec![5, UNUSED, UNUSED, UNUSED], vec![0; 4]));
    }
}
