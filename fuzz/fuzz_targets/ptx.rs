//! Any bytes through the PTX front end: parser, checks, inventory, and back through the printer.
#![no_main]

use ptx::{Inventory, Severity};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let parsed = ptx::parse("fuzz.ptx", bytes);
    parsed.render(Severity::Note);
    ptx::check(&parsed.module).render(&parsed.source, Severity::Note);
    Inventory::of(&parsed.module);
    let printed = ptx::print(&parsed.module);
    if !parsed.has_errors() {
        let again = ptx::parse("fuzz.ptx", &printed);
        assert!(!again.has_errors(), "{}", again.render(Severity::Error));
        assert_eq!(ptx::print(&again.module), printed);
    }
});
