//! Shortest paths between all nodes.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SIDE: usize = 16;
/// The distance of nodes that no path connects; twice it fits.
const UNREACHED: i32 = 99_999_999;

pub(super) const WORKLOAD: Workload = Workload {
    name: "floydwarshall",
    summary: "shortest paths between all nodes of a dense graph (Floyd and Warshall), a launch per node in between",
    character: "three loads and a comparison a thread, the stores under a condition; many short launches",
    suite: Suite::Pannotia,
    papers: &[("ghost", "FW")],
    module: bundled!("floydwarshall"),
    parameters: &[
        Parameter::new("nodes", "nodes of the graph", [48, 512, 512], 1, 8192),
        Parameter::new("between", "nodes that paths may pass, the first ones", [24, 8, 48], 1, 8192),
        Parameter::new("degree", "average number of edges that leave a node", [12, 128, 128], 1, 8192),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (nodes, between) = (run.param("nodes"), run.param("between").min(run.param("nodes")));
    let edges = nodes * run.param("degree");
    let mut distances = vec![UNREACHED; nodes * nodes];
    for node in 0..nodes {
        distances[node * nodes + node] = 0;
    }
    for _ in 0..edges {
        let [from, to] = [(); 2].map(|()| run.integer(0, nodes as i64 - 1) as usize);
        let length = run.integer(1, 100) as i32;
        let distance = &mut distances[from * nodes + to];
        *distance = length.min(*distance);
    }
    let start: Vec<i32> = vec![-1; distances.len()];
    let (distance, next) = (run.upload("distance", &distances)?, run.upload("next", &start)?);
    let ctas = nodes.div_ceil(SIDE);
    for through in 0..between {
        let args = [distance.into(), next.into(), (nodes as i32).into(), (through as i32).into()];
        run.launch("floyd_warshall", [ctas, ctas], [SIDE, SIDE], &args)?;
    }
    let (got, got_next) = (run.download::<i32>(distance)?, run.download::<i32>(next)?);
    let last = shortest(&mut distances, nodes, between);
    run.check_equal("distances", &got, &distances);
    run.check_equal("last node between", &got_next, &last);
    Ok(())
}

/// Shortens distances by paths through the first `between` nodes; the last node that shortened each.
fn shortest(distances: &mut [i32], nodes: usize, between: usize) -> Vec<i32> {
    let mut last = vec![-1; distances.len()];
    for through in 0..between {
        let row = distances[through * nodes..][..nodes].to_vec();
        for (distances, last) in distances.chunks_exact_mut(nodes).zip(last.chunks_exact_mut(nodes)) {
            let first = distances[through];
            for ((distance, last), second) in distances.iter_mut().zip(last).zip(&row) {
                if first + second < *distance {
                    (*distance, *last) = (first + second, through as i32);
                }
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_pass_only_the_nodes_that_they_may() {
        // 2 -> 0 of 1, 0 -> 1 of 1, 1 -> 2 of 1; 2 -> 1 of 5.
        const FAR: i32 = UNREACHED;
        let start = [0, 1, FAR, FAR, 0, 1, 1, 5, 0];
        let mut distances = start;
        assert_eq!(shortest(&mut distances, 3, 1), [-1, -1, -1, -1, -1, -1, -1, 0, -1]);
        assert_eq!(distances, [0, 1, FAR, FAR, 0, 1, 1, 2, 0]);
        distances = start;
        assert_eq!(shortest(&mut distances, 3, 3), [-1, -1, 1, 2, -1, -1, -1, 0, -1]);
        assert_eq!(distances, [0, 1, 2, 2, 0, 1, 1, 2, 0]);
    }
}
