//! Scaling of area and energy between process nodes.
//!
//! A. Stillmaker, B. Baas, "Scaling equations for the accurate prediction of CMOS device performance from 180
//! nm to 7 nm", Integration 58, 2017: areas from a table, energies from polynomials of the supply voltage
//! fitted to simulated inverter chains, high-performance transistors below 65 nm. Between nodes of the tables
//! we interpolate geometrically. From 16 nm on, names of nodes are not lengths.

/// A node of the tables.
struct Node {
    /// Name of the node, in nanometres.
    nm: f64,
    /// Area of a circuit relative to its area at 180 nm.
    area: f64,
    /// Energy of an operation at `v` volts: `energy[0] v^2 + energy[1] v + energy[2]`.
    energy: [f64; 3],
}

/// From the largest to the smallest node.
const NODES: &[Node] = &[
    Node { nm: 180.0, area: 1.0, energy: [0.0, 24.64, -17.98] },
    Node { nm: 130.0, area: 0.34, energy: [7.171, -6.709, 2.904] },
    Node { nm: 90.0, area: 0.15, energy: [4.762, -4.781, 2.092] },
    Node { nm: 65.0, area: 0.08, energy: [3.755, -4.398, 1.975] },
    Node { nm: 45.0, area: 0.053, energy: [1.018, -0.3107, 0.1539] },
    Node { nm: 32.0, area: 0.025, energy: [0.8367, -0.4341, 0.1701] },
    Node { nm: 20.0, area: 0.011, energy: [0.373, -0.1582, 0.04104] },
    Node { nm: 16.0, area: 0.01, energy: [0.2958, -0.1241, 0.03024] },
    Node { nm: 14.0, area: 0.0093, energy: [0.2363, -0.09675, 0.02239] },
    Node { nm: 10.0, area: 0.0055, energy: [0.2068, -0.09311, 0.02375] },
    Node { nm: 7.0, area: 0.0032, energy: [0.1776, -0.09097, 0.02447] },
];

/// The value of `of` at `nm`; outside the tables, the nearest node's.
fn at(nm: f64, of: impl Fn(&Node) -> f64) -> f64 {
    let (first, last) = (&NODES[0], &NODES[NODES.len() - 1]);
    let nm = nm.clamp(last.nm, first.nm);
    let small = NODES.iter().position(|n| n.nm <= nm).unwrap_or(NODES.len() - 1).max(1);
    let (a, b) = (&NODES[small - 1], &NODES[small]);
    let way = (a.nm / nm).ln() / (a.nm / b.nm).ln();
    of(a) * (of(b) / of(a)).powf(way)
}

/// Factor of the area of a circuit from a process of `from_nm` to one of `to_nm`.
pub fn area_factor(from_nm: f64, to_nm: f64) -> f64 {
    at(to_nm, |n| n.area) / at(from_nm, |n| n.area)
}

/// Factor of the energy of an operation from a process of `from_nm` at `from_volts` to one of `to_nm` at
/// `to_volts`.
pub fn energy_factor(from_nm: f64, from_volts: f64, to_nm: f64, to_volts: f64) -> f64 {
    let energy = |volts: f64| move |n: &Node| n.energy[0] * volts * volts + n.energy[1] * volts + n.energy[2];
    at(to_nm, energy(to_volts)) / at(from_nm, energy(from_volts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor in the GhOST paper from 45 nm to 14 nm (section VI-E).
    #[test]
    fn area_from_45_to_14_nm_is_the_papers() {
        assert!((area_factor(45.0, 14.0) - 0.17).abs() < 0.006, "{}", area_factor(45.0, 14.0));
    }

    #[test]
    fn nodes_between_are_between() {
        let (n14, n12, n10) = (area_factor(45.0, 14.0), area_factor(45.0, 12.0), area_factor(45.0, 10.0));
        assert!(n14 > n12 && n12 > n10, "{n14} {n12} {n10}");
        assert!((area_factor(12.0, 45.0) * n12 - 1.0).abs() < 1e-12);
        let e = |nm| energy_factor(45.0, 1.0, nm, 0.8);
        assert!(e(14.0) > e(12.0) && e(12.0) > e(10.0) && e(10.0) > e(8.0));
    }

    /// The nodes of our GPUs and of the papers, from 45 nm and 1.1 V. Nodes of the tables by hand; 40 nm is
    /// between 45 and 32, 12 between 14 and 10, 8 between 10 and 7.
    #[test]
    fn every_node_that_is_used() {
        let (area, energy) = (|nm| area_factor(45.0, nm), |nm| energy_factor(45.0, 1.1, nm, 0.8));
        let near = |is: f64, expected: f64| assert!((is / expected - 1.0).abs() < 1e-3, "{is} {expected}");
        near(area(16.0), 0.01 / 0.053);
        near(area(14.0), 0.0093 / 0.053);
        near(energy(14.0), (0.2363 * 0.64 - 0.09675 * 0.8 + 0.02239) / (1.018 * 1.21 - 0.3107 * 1.1 + 0.1539));
        near(energy_factor(45.0, 1.1, 16.0, 0.8), (0.2958 * 0.64 - 0.1241 * 0.8 + 0.03024) / 1.04391);
        let between = [(32.0, 40.0, 45.0), (10.0, 12.0, 14.0), (7.0, 8.0, 10.0)];
        for (small, between, large) in between {
            assert!(area(small) < area(between) && area(between) < area(large), "{between}");
            assert!(energy(small) < energy(between) && energy(between) < energy(large), "{between}");
        }
    }

    #[test]
    fn nothing_changes_within_a_node() {
        for nm in [200.0, 40.0, 12.0, 8.0, 5.0] {
            assert!((area_factor(nm, nm) - 1.0).abs() < 1e-12);
            assert!((energy_factor(nm, 0.9, nm, 0.9) - 1.0).abs() < 1e-12);
        }
    }
}
