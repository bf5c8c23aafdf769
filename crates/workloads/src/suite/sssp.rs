//! Shortest paths from one node.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// The distance of nodes that no path reaches.
const UNREACHED: i32 = 99_999_999;

pub(super) const WORKLOAD: Workload = Workload {
    name: "sssp",
    summary: "shortest paths from a node of a random graph: rounds of all edges, three launches each",
    character: "divergent loops over edges, four edges' chains of dependent loads at a time, a host loop on a flag",
    suite: Suite::Pannotia,
    papers: &[("ghost", "SSSP")],
    module: bundled!("sssp"),
    parameters: &[
        Parameter::new("nodes", "nodes of the graph", [512, 8192, 65536], 1, 1 << 22),
        Parameter::new("degree", "average number of edges that lead to a node", [6; 3], 1, 64),
        Parameter::new("rounds", "most rounds: longer paths are not found", [1 << 22; 3], 1, 1 << 22),
        Parameter::new("block", "threads per CTA", [256; 3], 1, 1024),
    ],
    body,
};

/// A directed graph: edges `first[i]..first[i + 1]` lead to node `i`.
struct Graph {
    first: Vec<i32>,
    from: Vec<i32>,
    weights: Vec<i32>,
}

impl Graph {
    fn random(run: &mut Run<'_>, nodes: usize, degree: usize) -> Self {
        let mut graph = Self { first: vec![0], from: Vec::new(), weights: Vec::new() };
        for _ in 0..nodes {
            for _ in 0..run.integer(1, 2 * degree as i64 - 1) {
                graph.from.push(run.integer(0, nodes as i64 - 1) as i32);
                graph.weights.push(run.integer(1, 100) as i32);
            }
            graph.first.push(graph.from.len() as i32);
        }
        graph
    }

    /// A round: distances that have one edge more.
    fn relaxed(&self, distances: &[i32]) -> Vec<i32> {
        let shortest = |(node, ends): (usize, &[i32])| {
            let edges = ends[0] as usize..ends[1] as usize;
            edges.fold(distances[node], |best, edge| best.min(self.weights[edge] + distances[self.from[edge] as usize]))
        };
        self.first.windows(2).enumerate().map(shortest).collect()
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (nodes, rounds, block) = (run.param("nodes"), run.param("rounds"), run.param("block"));
    let degree = run.param("degree");
    let graph = Graph::random(run, nodes, degree);
    let source = run.integer(0, nodes as i64 - 1) as i32;
    let (first, from) = (run.upload("first", &graph.first)?, run.upload("from", &graph.from)?);
    let weights = run.upload("weights", &graph.weights)?;
    let (distance, relaxed) = (run.alloc::<i32>("distance", nodes)?, run.alloc::<i32>("relaxed", nodes)?);
    let again = run.alloc::<i32>("again", 1)?;
    let (grid, count) = (nodes.div_ceil(block), nodes as i32);
    run.launch("sssp_init", grid, block, &[distance.into(), relaxed.into(), source.into(), count.into()])?;
    // A shortest path has fewer edges than there are nodes.
    for _ in 0..rounds.min(nodes) {
        run.write(again, &[0_i32])?;
        run.launch("sssp_assign", grid, block, &[distance.into(), relaxed.into(), count.into()])?;
        let buffers = [first, from, weights, distance, relaxed].map(Into::into);
        run.launch("sssp_relax", grid, block, &[&buffers[..], &[count.into()]].concat())?;
        run.launch("sssp_differs", grid, block, &[distance.into(), relaxed.into(), again.into(), count.into()])?;
        if run.download::<i32>(again)? == [0] {
            break;
        }
    }
    let got = run.download::<i32>(relaxed)?;
    let mut expected: Vec<i32> = (0..count).map(|node| if node == source { 0 } else { UNREACHED }).collect();
    for _ in 0..rounds.min(nodes) {
        let next = graph.relaxed(&expected);
        if next == expected {
            break;
        }
        expected = next;
    }
    run.check_equal("distances", &got, &expected);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_is_shorter_and_an_island_is_not_reached() {
        // 0 -> 1 of 9; 0 -> 2 of 3, 2 -> 1 of 4; 3 leads to 0 only.
        let graph = Graph { first: vec![0, 1, 3, 4, 4], from: vec![3, 0, 2, 0], weights: vec![1, 9, 4, 3] };
        let start = [0, UNREACHED, UNREACHED, UNREACHED];
        let once = graph.relaxed(&start);
        assert_eq!(once, [0, 9, 3, UNREACHED]);
        assert_eq!(graph.relaxed(&once), [0, 7, 3, UNREACHED]);
    }
}
