//! Any bytes as a cubin, a fat binary, and as instructions of each architecture.
#![no_main]

use sass::{decode, elf, fatbin};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = elf::Cubin::parse(bytes) {
        error.to_string();
    }
    for entry in fatbin::entries(bytes).unwrap_or_default() {
        if let Ok(data) = entry.extract() {
            let _ = elf::Cubin::parse(&data);
        }
    }
    for sm in [70, 75, 80, 86, 89, 90] {
        for inst in decode::decode_function(bytes, sm) {
            match inst {
                Ok(inst) => assert!(!inst.to_string().is_empty()),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
});
