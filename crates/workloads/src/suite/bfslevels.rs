//! Breadth-first search by levels.

use super::bfs::{Graph, levels};
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "bfslevels",
    summary: "breadth-first search over a random graph by the levels of nodes, one launch per level",
    character: "divergent loops over edges, scattered reads and writes of levels, a host loop on a flag",
    suite: Suite::Ispass,
    papers: &[("ghost", "IBFS")],
    module: bundled!("bfslevels"),
    parameters: &[
        Parameter::new("nodes", "nodes of the graph", [4096, 65536, 1 << 18], 1, 1 << 24),
        Parameter::new("degree", "average number of edges that leave a node", [6; 3], 1, 64),
        Parameter::new("block", "threads per CTA", [512; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (nodes, degree, block) = (run.param("nodes"), run.param("degree"), run.param("block"));
    let graph = Graph::random(run, nodes, degree);
    let source = run.integer(0, nodes as i64 - 1) as usize;
    let start: Vec<i32> = (0..nodes).map(|i| if i == source { 0 } else { -1 }).collect();

    let (d_nodes, d_edges) = (run.upload("nodes", &graph.records())?, run.upload("edges", &graph.edges)?);
    let (level, again) = (run.upload("level", &start)?, run.alloc::<u8>("again", 1)?);
    // Each level but the last has at least one more node.
    for current in 0..nodes {
        run.write(again, &[0u8])?;
        let buffers = [d_nodes, d_edges, level, again].map(Into::into);
        let sizes = [current, nodes].map(|n| (n as i32).into());
        run.launch("bfs_level", nodes.div_ceil(block), block, &[&buffers[..], &sizes].concat())?;
        if run.download::<u8>(again)? == [0] {
            break;
        }
    }
    let got = run.download::<i32>(level)?;
    run.check_equal("level", &got, &levels(&graph, source));
    Ok(())
}
