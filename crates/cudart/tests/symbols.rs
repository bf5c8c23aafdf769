//! Variables: lookups, copies, managed ones.

use crate::calls::*;
use crate::serial;

#[test]
fn a_variable_is_found_by_its_host_address() {
    let _serial = serial();
    let symbol = Binary::register().variable("table", 64);
    let (mut address, mut size) = (0_usize, 0_usize);
    assert_eq!(cudaGetSymbolAddress(at(&mut address), symbol), 0);
    assert_eq!(cudaGetSymbolSize(at(&mut size), symbol), 0);
    assert_ne!(address, 0);
    assert_eq!(size, 64);
    let mut values = [1_u32, 2, 3, 4];
    assert_eq!(cudaMemcpyToSymbol(symbol, at(&mut values), 16, 48, 1), 0);
    let mut back = [0_u32; 2];
    assert_eq!(cudaMemcpyFromSymbol(at(&mut back), symbol, 8, 56, 2), 0);
    assert_eq!(back, [3, 4]);
}

#[test]
fn parts_outside_and_wrong_directions_are_refused() {
    let _serial = serial();
    let symbol = Binary::register().variable("bounds", 64);
    let mut bytes = [0_u8; 64];
    let to = |count, offset, kind| cudaMemcpyToSymbol(symbol, at(&mut [0_u8; 64]), count, offset, kind);
    assert_eq!(to(64, 0, 1), 0);
    assert_eq!(to(64, 1, 1), 1);
    assert_eq!(to(1, usize::MAX, 1), 1);
    assert_eq!(to(4, 0, 2), 21);
    assert_eq!(cudaMemcpyFromSymbol(at(&mut bytes), symbol, 4, 0, 1), 21);
    assert_eq!(cudaGetLastError(), 21);
}

#[test]
fn unknown_variables_are_invalid_symbols() {
    let _serial = serial();
    let binary = Binary::register();
    let absent = binary.variable("absent", 4);
    let kernel = binary.kernel("kernel");
    let mut address = 0_usize;
    for symbol in [0, 8, at(&mut 0_u64), absent, kernel] {
        assert_eq!(cudaGetSymbolAddress(at(&mut address), symbol), 13);
    }
    assert_eq!(cudaGetLastError(), 13);
}

#[test]
fn old_programs_name_a_variable_by_text() {
    let _serial = serial();
    let symbol = Binary::register().variable("by_name", 4);
    let (mut by_name, mut by_address) = (0_usize, 0_usize);
    let mut name = *b"by_name\0";
    assert_eq!(cudaGetSymbolAddress(at(&mut by_name), at(&mut name)), 0);
    assert_eq!(cudaGetSymbolAddress(at(&mut by_address), symbol), 0);
    assert_eq!(by_name, by_address);
}

#[test]
fn managed_variables_are_in_place_after_any_call() {
    let _serial = serial();
    let binary = Binary::register();
    let host = binary.managed("managed", 64);
    assert_eq!(*host, 0);
    assert_eq!(cudaFree(0), 0);
    let placed = *host;
    assert_ne!(placed, 0);
    let second = Binary::register();
    let other = second.managed("other", 64);
    assert_eq!(__cudaInitModule(second.handle), 1);
    assert_ne!(*other, 0);
    assert_eq!(*host, placed);
    __cudaUnregisterFatBinary(binary.handle);
    __cudaUnregisterFatBinary(second.handle);
}
