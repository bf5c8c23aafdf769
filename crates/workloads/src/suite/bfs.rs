//! Breadth-first search.

use crate::bundled;
use crate::device::Buffer;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use std::collections::VecDeque;

pub(super) const WORKLOAD: Workload = Workload {
    name: "bfs",
    summary: "breadth-first search over a random graph, two launches per level",
    character: "divergent loops over edges, scattered reads and byte writes, a host loop on a flag",
    suite: Suite::Rodinia,
    papers: &[("ghost", "RBF"), ("socgpu", "bfs"), ("scalar", "BFS"), ("sgmf", "BFS")],
    module: bundled!("bfs"),
    parameters: &[
        Parameter::new("nodes", "nodes of the graph", [2048, 65536, 1 << 18], 1, 1 << 24),
        Parameter::new("degree", "average number of edges that leave a node", [6; 3], 1, 64),
        Parameter::new("block", "threads per CTA", [512; 3], 1, 1024),
        Parameter::new("kernels", "kernels launched: 2 both; 1 bfs_commit, the host expands then", [2; 3], 1, 2)
            .variant(),
    ],
    body,
};

/// A directed graph: node `i` has the edges `edges[first[i]..first[i + 1]]`.
pub(super) struct Graph {
    first: Vec<i32>,
    pub(super) edges: Vec<i32>,
}

impl Graph {
    pub(super) fn random(run: &mut Run<'_>, nodes: usize, degree: usize) -> Self {
        let mut first = vec![0];
        let mut edges = Vec::with_capacity(nodes * degree);
        for _ in 0..nodes {
            for _ in 0..run.integer(1, 2 * degree as i64 - 1) {
                edges.push(run.integer(0, nodes as i64 - 1) as i32);
            }
            first.push(edges.len() as i32);
        }
        Self { first, edges }
    }

    fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    fn neighbours(&self, node: usize) -> &[i32] {
        &self.edges[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// (first edge, edge count) of each node: the kernel's struct.
    pub(super) fn records(&self) -> Vec<i32> {
        self.first.windows(2).flat_map(|pair| [pair[0], pair[1] - pair[0]]).collect()
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (nodes, degree, block) = (run.param("nodes"), run.param("degree"), run.param("block"));
    let graph = Graph::random(run, nodes, degree);
    let source = run.integer(0, nodes as i64 - 1) as usize;
    let only_source: Vec<u8> = (0..nodes).map(|i| u8::from(i == source)).collect();
    let start_cost: Vec<i32> = (0..nodes).map(|i| if i == source { 0 } else { -1 }).collect();

    let (d_nodes, d_edges) = (run.upload("nodes", &graph.records())?, run.upload("edges", &graph.edges)?);
    let (frontier, visited) = (run.upload("frontier", &only_source)?, run.upload("visited", &only_source)?);
    let reached = run.zeroed::<u8>("reached", nodes)?;
    let cost = run.upload("cost", &start_cost)?;
    let again = run.alloc::<u8>("again", 1)?;
    let (grid, count) = (nodes.div_ceil(block), nodes as i32);
    // Each round but the last reaches at least one more node.
    for _ in 0..nodes {
        run.write(again, &[0u8])?;
        if run.param("kernels") == 1 {
            expand(run, &graph, [frontier, reached, visited, cost])?;
        } else {
            let buffers = [d_nodes, d_edges, frontier, reached, visited, cost].map(Into::into);
            run.launch("bfs_expand", grid, block, &[&buffers[..], &[count.into()]].concat())?;
        }
        let buffers = [frontier, reached, visited, again].map(Into::into);
        run.launch("bfs_commit", grid, block, &[&buffers[..], &[count.into()]].concat())?;
        if run.download::<u8>(again)? == [0] {
            break;
        }
    }
    let got = run.download::<i32>(cost)?;
    run.check_equal("cost", &got, &levels(&graph, source));
    Ok(())
}

/// The work of `bfs_expand`, done by the host.
fn expand(
    run: &mut Run<'_>,
    graph: &Graph,
    [d_frontier, d_reached, d_visited, d_cost]: [Buffer; 4],
) -> Result<(), WorkloadError> {
    let mut frontier = run.download::<u8>(d_frontier)?;
    let (mut reached, visited) = (run.download::<u8>(d_reached)?, run.download::<u8>(d_visited)?);
    let mut cost = run.download::<i32>(d_cost)?;
    for node in (0..graph.nodes()).filter(|&node| std::mem::take(&mut frontier[node]) != 0) {
        for &next in graph.neighbours(node) {
            if visited[next as usize] == 0 {
                cost[next as usize] = cost[node] + 1;
                reached[next as usize] = 1;
            }
        }
    }
    run.write(d_frontier, &frontier)?;
    run.write(d_reached, &reached)?;
    run.write(d_cost, &cost)
}

/// Edges on the shortest way from the source to each node; -1 where there is none.
pub(super) fn levels(graph: &Graph, source: usize) -> Vec<i32> {
    let mut cost = vec![-1; graph.nodes()];
    cost[source] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(node) = queue.pop_front() {
        for &next in graph.neighbours(node) {
            let next = next as usize;
            if cost[next] < 0 {
                cost[next] = cost[node] + 1;
                queue.push_back(next);
            }
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_with_a_chord_and_an_island() {
        // 0 -> 1 -> 2 -> 3 -> 0, 0 -> 3, and 4 without edges.
        let graph = Graph { first: vec![0, 2, 3, 4, 5, 5], edges: vec![1, 3, 2, 3, 0] };
        assert_eq!(levels(&graph, 0), [0, 1, 2, 1, -1]);
        assert_eq!(levels(&graph, 2), [2, 3, 0, 1, -1]);
        assert_eq!(graph.records(), [0, 2, 2, 1, 3, 1, 4, 1, 5, 0]);
    }
}
