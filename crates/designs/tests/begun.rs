//! The design that `warpwright new-design` begins with is a whole one.

use crate::new_design::NewDesign;
use crate::support::{Bench, add, load};
use isa::Space;
use sm::Timeline;

#[test]
fn a_new_design_issues_in_order_and_no_hazard_is_left() {
    // The second instruction overwrites what the first one reads.
    let bench = Bench::new(&[add(1, &[2, 3]), load(Space::Global, 2, 0, 4), add(3, &[2, 1])]).warps(8);
    let run = bench.run_design::<NewDesign, _>(&(), Timeline::default());
    assert!(!run.deadlocked);
    let issued: Vec<u64> = (0..3).map(|order| run.sm.observer.at(0, order, 'I').unwrap()).collect();
    assert!(issued.is_sorted(), "{issued:?}");
    assert_eq!(bench.audit::<NewDesign>(&()).total(), 0);
}
