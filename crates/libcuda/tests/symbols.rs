//! Every public function of the driver API is exported.

use crate::library;

const SYMBOLS: &str = include_str!("../symbols/driver.txt");

/// Functions that the library leaves out, with the reason.
const MISSING: &[(&str, &str)] = &[];

/// Symbols with the name for `cuGetProcAddress`, the first version and the versions of the headers.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    SYMBOLS.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect())
}

#[test]
fn every_public_function_is_exported() {
    let missing = |symbol: &str| MISSING.iter().any(|row| row.0 == symbol);
    let absent: Vec<&str> =
        rows().map(|row| row[0]).filter(|symbol| library::address(symbol).is_none() != missing(symbol)).collect();
    assert!(absent.is_empty(), "not exported, or exported and listed as missing: {absent:#?}");
}

#[test]
fn the_list_has_each_version_of_the_headers() {
    for (version, least) in [("11.8", 540), ("12.9", 650), ("13.5", 715)] {
        let count = rows().filter(|row| row[3..].contains(&version)).count();
        assert!(count >= least, "{version}: {count}");
    }
}
