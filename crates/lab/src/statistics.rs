//! The schema of statistics, of which every report is made.

use crate::for_core::{design_statistics, other_statistics};
use config::builtin;
use gpu::{Snapshot, StatInfo};
use sm::{DesignStatistics, SmTotals};
use std::sync::Arc;

/// Every statistic of a report, in order; at the end those that only some core designs have.
pub fn schema() -> Vec<StatInfo> {
    let gpu = builtin().first().map(|b| config::load(b.name));
    let Some(Ok(gpu)) = gpu else { return Vec::new() };
    let design = DesignStatistics(design_statistics(&gpu));
    let snapshot = Snapshot { core: SmTotals { design, ..SmTotals::default() }, ..Snapshot::default() };
    let mut all = snapshot.erased().statistics(0, &gpu, None);
    for (info, value) in other_statistics(&gpu) {
        if all.get(&info.name).is_none() {
            all.0.push((info, value));
        }
    }
    all.0.into_iter().map(|(info, _)| Arc::unwrap_or_clone(info)).collect()
}
