//! With AccelWattch's published counts our model gives its published watts, where counts are published, and
//! totals as close to the measured ones as its own.

use energy::accelwattch::{AccelWattchRow, mean_error_percent, rows};

fn part(row: &AccelWattchRow, name: &str) -> (f64, f64) {
    let part = row.parts.iter().chain([&row.constant]).find(|p| p.name == name).expect("is a part");
    (part.ours, part.published)
}

fn all() -> Vec<AccelWattchRow> {
    let rows = rows().expect("comes with the program");
    assert_eq!(rows.len(), 25);
    rows
}

#[test]
fn parts_agree_where_counts_and_energies_are_the_same() {
    for row in all() {
        // Within a hundredth of a watt or 3 %: counts are published with rounded cycles.
        for name in ["L1", "shared memory", "L2, crossbar", "constant"] {
            let (ours, published) = part(&row, name);
            assert!(
                (ours - published).abs() <= 0.01 + 0.03 * published,
                "{} {name}: {ours} W, not {published}",
                row.kernel
            );
        }
        let (ours, published) = part(&row, "pipeline");
        assert!((ours - published).abs() <= 0.03 * published, "{} pipeline: {ours} W, not {published}", row.kernel);
    }
}

/// Published counts have no precharges, published watts of the DRAM do.
#[test]
fn parts_differ_in_the_direction_of_what_is_left_out() {
    for row in all() {
        let (ours, published) = part(&row, "DRAM");
        assert!(ours <= published * 1.01, "{} DRAM: {ours} W, {published} published", row.kernel);
    }
}

#[test]
fn totals_are_as_good_as_the_published_ones() {
    let rows = all();
    let from_published = mean_error_percent(rows.iter().map(|r| (r.ours(), r.published)));
    let ours = mean_error_percent(rows.iter().map(|r| (r.ours(), r.measured)));
    let theirs = mean_error_percent(rows.iter().map(|r| (r.published, r.measured)));
    println!("{from_published:.2} % from the published totals; {ours:.2} % from measured, published {theirs:.2} %");
    // The part computed from counts, without constant power and the published remainder.
    let counted = mean_error_percent(rows.iter().map(AccelWattchRow::counted));
    assert!(counted < 3.0, "{counted} %");
    assert!(from_published < 2.0 && (ours - theirs).abs() < 1.0, "{from_published} {ours} {theirs}");
}
