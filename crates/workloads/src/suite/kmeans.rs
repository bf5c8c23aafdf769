//! k-means clustering.

use crate::bounded::F32;
use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// Floats that the kernel's array in constant memory holds.
const MAX_CENTRE_VALUES: usize = 2048;

pub(super) const WORKLOAD: Workload = Workload {
    name: "kmeans",
    summary: "k-means: nearest centre of each point, centres in constant memory, host updates them",
    character: "loops of loads, subtractions and multiply-adds; constant-cache broadcasts",
    suite: Suite::Rodinia,
    papers: &[("socgpu", "kmeans"), ("war", "KMN")],
    module: bundled!("kmeans"),
    parameters: &[
        Parameter::new("points", "points", [1024, 16384, 1 << 17], 1, 1 << 24),
        Parameter::new("features", "coordinates of a point", [8, 16, 32], 1, 64),
        Parameter::new("clusters", "clusters", [5; 3], 1, 32),
        Parameter::new("rounds", "assignments, at most", [3; 3], 1, 1000),
        Parameter::new("block", "threads per CTA", [256; 3], 1, 1024),
    ],
    body,
};

struct Points {
    /// One row of features per point.
    rows: Vec<f32>,
    features: usize,
}

impl Points {
    /// Clouds around as many middles as there are clusters.
    fn random(run: &mut Run<'_>, count: usize, features: usize, clusters: usize) -> Self {
        let middles = run.floats(clusters * features, 0.0, 10.0);
        let mut rows = Vec::with_capacity(count * features);
        for _ in 0..count {
            let middle = run.integer(0, clusters as i64 - 1) as usize * features;
            rows.extend((0..features).map(|f| middles[middle + f] + run.float(-3.0, 3.0)));
        }
        Self { rows, features }
    }

    fn count(&self) -> usize {
        self.rows.len() / self.features
    }

    fn point(&self, index: usize) -> &[f32] {
        &self.rows[index * self.features..][..self.features]
    }

    fn columns(&self) -> Vec<f32> {
        (0..self.features).flat_map(|f| self.rows.iter().skip(f).step_by(self.features).copied()).collect()
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, features, clusters) = (run.param("points"), run.param("features"), run.param("clusters"));
    let (rounds, block) = (run.param("rounds"), run.param("block"));
    let points = Points::random(run, count, features, clusters);
    let grid = count.div_ceil(block);
    let sizes = [count as i32, features as i32, clusters as i32];

    let rows = run.upload("rows", &points.rows)?;
    let columns = run.alloc::<f32>("columns", count * features)?;
    run.launch("to_columns", grid, block, &[rows.into(), columns.into(), sizes[0].into(), sizes[1].into()])?;
    let got = run.download::<f32>(columns)?;
    run.check_equal("columns", &got, &points.columns());

    let membership = run.upload("membership", &vec![-1i32; count])?;
    let mut centres: Vec<f32> = (0..clusters).flat_map(|c| points.point(c % count).to_vec()).collect();
    let mut before = vec![-1; count];
    for round in 1..=rounds {
        run.write_symbol("centres", &centres)?;
        let args = [columns.into(), membership.into(), sizes[0].into(), sizes[1].into(), sizes[2].into()];
        run.launch("assign", grid, block, &args)?;
        let now = run.download::<i32>(membership)?;
        run.check(check_nearest(round, &points, &centres, &now));
        if now == before || run.check_failed() {
            break;
        }
        centres = means(&points, &centres, &now);
        before = now;
    }
    Ok(())
}

/// A centre is right if no other is nearer by more than the rounding errors of both distances.
fn check_nearest(round: usize, points: &Points, centres: &[f32], membership: &[i32]) -> Check {
    let clusters = centres.len() / points.features;
    let what = format!("membership, round {round}");
    Check::by_rule(&what, "nearest within the rounding errors of the distances", points.count(), |i| {
        let distances: Vec<F32> = (0..clusters).map(|c| squared_distance(points, centres, i, c)).collect();
        let allowed = distances.iter().map(|d| d.value() + d.error()).fold(f64::INFINITY, f64::min);
        let chosen = usize::try_from(membership[i]).ok().and_then(|m| distances.get(m));
        let right = chosen.is_some_and(|d| d.value() - d.error() <= allowed);
        (!right).then(|| (format!("a squared distance of {allowed:e}"), format!("cluster {}", membership[i])))
    })
}

fn squared_distance(points: &Points, centres: &[f32], point: usize, cluster: usize) -> F32 {
    let centre = &centres[cluster * points.features..][..points.features];
    points.point(point).iter().zip(centre).fold(F32::exact(0.0), |sum, (&p, &c)| {
        let difference = F32::from(p) - F32::from(c);
        sum + difference * difference
    })
}

/// The mean of each cluster's points; an empty cluster keeps its centre.
fn means(points: &Points, centres: &[f32], membership: &[i32]) -> Vec<f32> {
    let mut sums = vec![0.0f64; centres.len()];
    let mut sizes = vec![0u32; centres.len() / points.features];
    for (i, &cluster) in membership.iter().enumerate() {
        sizes[cluster as usize] += 1;
        let sum = &mut sums[cluster as usize * points.features..][..points.features];
        sum.iter_mut().zip(points.point(i)).for_each(|(s, &x)| *s += f64::from(x));
    }
    let mean = |(index, &old): (usize, &f32)| match sizes[index / points.features] {
        0 => old,
        size => (sums[index] / f64::from(size)) as f32,
    };
    centres.iter().enumerate().map(mean).collect()
}

const _: () = {
    // The ranges of the parameters keep within the kernel's array.
    assert!(WORKLOAD.parameters[1].max * WORKLOAD.parameters[2].max <= MAX_CENTRE_VALUES as u64);
};

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Points {
        Points { rows: vec![0.0, 1.0, 10.0, 11.0], features: 1 }
    }

    #[test]
    fn nearest_and_means() {
        assert!(check_nearest(1, &line(), &[0.0, 10.0], &[0, 0, 1, 1]).passed());
        let wrong = check_nearest(1, &line(), &[0.0, 10.0], &[0, 1, 1, -1]);
        assert_eq!((wrong.mismatches, wrong.first.unwrap().index), (2, 1));
        assert_eq!(means(&line(), &[0.0, 10.0, 99.0], &[0, 0, 1, 1]), [0.5, 10.5, 99.0]);
    }

    #[test]
    fn ties_may_go_either_way() {
        for choice in [0, 1] {
            let points = Points { rows: vec![5.0], features: 1 };
            assert!(check_nearest(1, &points, &[0.0, 10.0], &[choice]).passed());
        }
    }

    #[test]
    fn columns() {
        let points = Points { rows: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], features: 3 };
        assert_eq!(points.columns(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
