//! Any text as a launch file: it is read, or refused with messages whose places lie in it.
#![no_main]

use std::path::Path;
use launchfile::{LaunchFile, Overrides};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = LaunchFile::parse(Path::new("fuzz.toml"), text, &Overrides::default()) {
        assert!(!error.problems.is_empty());
        assert!(error.problems.iter().filter_map(|p| p.span.as_ref()).all(|span| span.end <= text.len()));
        error.to_string();
    }
});
