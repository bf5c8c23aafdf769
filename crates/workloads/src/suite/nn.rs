//! Nearest neighbours.

use crate::bounded::F32;
use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "nn",
    summary: "distance of many places to one point; the host picks the nearest few",
    character: "streaming with a square root: a handful of instructions per element",
    suite: Suite::Rodinia,
    papers: &[("ghost", "NN"), ("socgpu", "nn"), ("sgmf", "NN")],
    module: bundled!("nn"),
    parameters: &[
        Parameter::new("places", "places", [1 << 16, 1 << 20, 1 << 23], 1, 1 << 27),
        Parameter::new("nearest", "how many the host picks", [5; 3], 1, 1000),
        Parameter::new("block", "threads per CTA", [256; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, nearest, block) = (run.param("places"), run.param("nearest"), run.param("block"));
    let places: Vec<f32> = (0..count).flat_map(|_| [run.float(7.0, 63.0), run.float(0.0, 359.0)]).collect();
    let (latitude, longitude) = (run.float(20.0, 50.0), run.float(50.0, 300.0));
    let d_places = run.upload("places", &places)?;
    let distance = run.alloc::<f32>("distance", count)?;
    let args = [d_places.into(), distance.into(), (count as i32).into(), latitude.into(), longitude.into()];
    run.launch("distances", count.div_ceil(block), block, &args)?;

    let mut got = run.download::<f32>(distance)?;
    let mut expected = distances(&places, latitude, longitude);
    run.check_bounds("distance", &got, &expected);
    // Sorting changes a value by at most the largest single error.
    got.sort_by(f32::total_cmp);
    expected.sort_by(|a, b| a.value().total_cmp(&b.value()));
    let slack = expected.iter().map(|d| d.error()).fold(0.0, f64::max);
    let right: Vec<F32> = expected.iter().take(nearest).map(|d| F32::with_error(d.value(), slack)).collect();
    run.check(Check::within_bounds("nearest", &got[..right.len()], &right));
    Ok(())
}

/// Of (latitude, longitude) pairs to a point.
fn distances(places: &[f32], latitude: f32, longitude: f32) -> Vec<F32> {
    let distance = |place: &[f32]| {
        let dy = F32::from(latitude) - F32::from(place[0]);
        let dx = F32::from(longitude) - F32::from(place[1]);
        (dy * dy + dx * dx).sqrt()
    };
    places.chunks_exact(2).map(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn right_triangles() {
        assert_eq!(distances(&[3.0, 4.0, 0.0, 0.0, -5.0, 12.0], 0.0, 0.0).map_values(), [5.0, 0.0, 13.0]);
    }
}
