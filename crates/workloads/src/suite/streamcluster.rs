//! Clustering around medians.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 512;

pub(super) const WORKLOAD: Workload = Workload {
    name: "streamcluster",
    summary: "clustering of points around medians: a launch computes the gain of each candidate for a centre",
    character: "a stream of coordinates, four independent loads at a time into a chain of multiply-adds",
    suite: Suite::Rodinia,
    papers: &[],
    module: bundled!("streamcluster"),
    parameters: &[
        Parameter::new("points", "points", [1024, 4096, 16384], 1, 1 << 20),
        Parameter::new("dimensions", "coordinates of a point", [32, 256, 256], 1, 4096),
        Parameter::new("candidates", "points that are tried as centres", [6, 6, 12], 1, 4096),
        Parameter::new("centres", "centres to start with", [10; 3], 1, 64),
    ],
    body,
};

/// Points and the centres that they belong to.
struct Clusters {
    /// By dimension.
    coordinates: Vec<f32>,
    weights: Vec<f32>,
    centre_of: Vec<i32>,
    /// Of each point: weighted distance from its centre.
    costs: Vec<f32>,
}

/// Effect of a candidate.
struct Gain {
    /// A row for each point: a place for each centre, then the candidate's.
    saved: Vec<f32>,
    moves: Vec<u8>,
}

impl Clusters {
    fn count(&self) -> usize {
        self.weights.len()
    }

    fn cost(&self, point: usize, centre: usize) -> f32 {
        let lines = self.coordinates.chunks_exact(self.count());
        let distance = lines.fold(0.0, |sum, line| {
            let apart: f32 = line[point] - line[centre];
            apart.mul_add(apart, sum)
        });
        distance * self.weights[point]
    }

    /// The centres in use, by point.
    fn centres(&self) -> Vec<usize> {
        (0..self.count()).filter(|&point| self.centre_of[point] == point as i32).collect()
    }

    /// The place of each point among the centres; of others 0.
    fn places(&self, centres: &[usize]) -> Vec<i32> {
        let mut places = vec![0; self.count()];
        for (place, &centre) in centres.iter().enumerate() {
            places[centre] = place as i32;
        }
        places
    }

    fn move_to(&mut self, point: usize, centre: usize) {
        self.centre_of[point] = centre as i32;
        self.costs[point] = self.cost(point, centre);
    }

    /// The result of the kernel.
    fn gain(&self, candidate: usize, places: &[i32], centres: usize) -> Gain {
        let mut gain = Gain { saved: vec![0.0; self.count() * (centres + 1)], moves: vec![0; self.count()] };
        for point in 0..self.count() {
            let saving = self.costs[point] - self.cost(point, candidate);
            let closer = saving > 0.0;
            gain.moves[point] = closer.into();
            let place = if closer { centres } else { places[self.centre_of[point] as usize] as usize };
            gain.saved[point * (centres + 1) + place] += saving;
        }
        gain
    }

    /// Opens the candidate if that saves more than a centre costs; closes the centres whose points lose less than that.
    fn decide(&mut self, candidate: usize, gain: &Gain, centres: &[usize], price: f64) {
        let places = self.places(centres);
        let mut sums = vec![0.0_f64; centres.len() + 1];
        for row in gain.saved.chunks_exact(centres.len() + 1) {
            sums.iter_mut().zip(row).for_each(|(sum, saved)| *sum += f64::from(*saved));
        }
        // A closed centre's points also leave it where they would not by themselves.
        let closes: Vec<bool> = sums[..centres.len()].iter().map(|lost| lost + price > 0.0).collect();
        let from_closing: f64 =
            sums.iter().zip(&closes).filter(|(_, closes)| **closes).map(|(lost, _)| lost + price).sum();
        if self.centre_of[candidate] == candidate as i32 || sums[centres.len()] + from_closing <= price {
            return;
        }
        for point in 0..self.count() {
            let closed = closes[places[self.centre_of[point] as usize] as usize];
            if gain.moves[point] != 0 || closed {
                self.move_to(point, candidate);
            }
        }
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, dimensions) = (run.param("points"), run.param("dimensions"));
    let coordinates = run.floats(count * dimensions, 0.0, 1.0);
    let weights = run.floats(count, 0.5, 1.5);
    let first: Vec<usize> = run.integers(run.param("centres"), 0, count as i64 - 1);
    let candidates: Vec<usize> = run.integers(run.param("candidates"), 0, count as i64 - 1);
    let mut clusters = Clusters { coordinates, weights, centre_of: vec![0; count], costs: vec![0.0; count] };
    for point in 0..count {
        let own = first.contains(&point).then_some(point);
        let nearest = |&a: &usize, &b: &usize| clusters.cost(point, a).total_cmp(&clusters.cost(point, b));
        let centre = own.or(first.iter().copied().min_by(|a, b| nearest(a, b))).unwrap_or(point);
        clusters.move_to(point, centre);
    }
    let price = clusters.costs.iter().map(|&cost| f64::from(cost)).sum::<f64>() / (50 * first.len()) as f64;

    let d_coordinates = run.upload("coordinates", &clusters.coordinates)?;
    let d_weights = run.upload("weights", &clusters.weights)?;
    let (d_costs, d_centre_of) = (run.alloc::<f32>("costs", count)?, run.alloc::<i32>("centre of", count)?);
    let d_places = run.alloc::<i32>("place of", count)?;
    let d_moves = run.alloc::<u8>("moves", count)?;
    // Each candidate may add one.
    let d_saved = run.alloc::<f32>("saved", count * (first.len() + candidates.len() + 1))?;
    for candidate in candidates {
        let centres = clusters.centres();
        let places = clusters.places(&centres);
        run.write(d_costs, &clusters.costs)?;
        run.write(d_centre_of, &clusters.centre_of)?;
        run.write(d_places, &places)?;
        let sizes = [count, dimensions, candidate, centres.len()].map(|n| (n as i32).into());
        let expected = clusters.gain(candidate, &places, centres.len());
        run.write(d_saved, &vec![0.0_f32; expected.saved.len()])?;
        run.write(d_moves, &vec![0_u8; count])?;
        let buffers = [d_weights, d_costs, d_centre_of, d_places, d_coordinates, d_saved, d_moves].map(Into::into);
        let shared = (dimensions * size_of::<f32>()) as u32;
        run.launch_with_shared("pgain", count.div_ceil(THREADS), THREADS, shared, &[&sizes[..], &buffers].concat())?;
        let saved = run.download::<f32>(d_saved)?;
        run.check(Check::same_bits("saved", &saved[..expected.saved.len()], &expected.saved));
        let moves = run.download::<u8>(d_moves)?;
        run.check_equal("moves", &moves, &expected.moves);
        clusters.decide(candidate, &expected, &centres, price);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two heaps of points on a line, around 0 and around 10, that have one centre.
    fn heaps() -> Clusters {
        let coordinates = vec![0.0, 1.0, 2.0, 9.0, 10.0, 11.0];
        let mut clusters = Clusters { coordinates, weights: vec![1.0; 6], centre_of: vec![0; 6], costs: vec![0.0; 6] };
        (0..6).for_each(|point| clusters.move_to(point, 1));
        clusters
    }

    #[test]
    fn a_centre_for_the_other_heap_pays() {
        let mut clusters = heaps();
        let gain = clusters.gain(4, &[0; 6], 1);
        assert_eq!(gain.moves, [0, 0, 0, 1, 1, 1]);
        // The others would lose these.
        assert_eq!(gain.saved, [-99.0, 0.0, -81.0, 0.0, -63.0, 0.0, 0.0, 63.0, 0.0, 81.0, 0.0, 99.0]);
        clusters.decide(4, &gain, &[1], 300.0);
        assert_eq!(clusters.centre_of, [1; 6]);
        clusters.decide(4, &gain, &[1], 100.0);
        assert_eq!(clusters.centre_of, [1, 1, 1, 4, 4, 4]);
    }

    #[test]
    fn a_better_centre_replaces_one() {
        let mut clusters = heaps();
        let places = clusters.places(&[1]);
        let gain = clusters.gain(3, &places, 1);
        // All that stay with the old centre lose 48 + 64 + 80 - 3 if it is closed.
        clusters.decide(3, &gain, &[1], 1000.0);
        assert_eq!(clusters.centre_of, [3; 6]);
        assert_eq!(clusters.centres(), [3]);
    }
}
