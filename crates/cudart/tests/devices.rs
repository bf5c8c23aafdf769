//! Devices, contexts and properties.

use cudart::versioned::{Layout, write_properties};

use crate::calls::*;
use crate::{driver, serial};

fn device() -> i32 {
    let mut device = -1;
    assert_eq!(cudaGetDevice(at(&mut device)), 0);
    device
}

#[test]
fn each_thread_has_its_device() {
    let _serial = serial();
    let mut count = 0;
    assert_eq!(cudaGetDeviceCount(at(&mut count)), 0);
    assert_eq!(count, driver::DEVICES);
    assert_eq!(cudaSetDevice(1), 0);
    assert_eq!(device(), 1);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(device(), 0, "the default device"));
    });
    for wrong in [-1, 2] {
        assert_eq!(cudaSetDevice(wrong), 101, "cudaErrorInvalidDevice");
    }
    assert_eq!(device(), 1);
    assert_eq!(cudaSetDevice(0), 0);
    cudaGetLastError();
}

#[test]
fn flags_of_a_device_are_those_of_the_headers() {
    let _serial = serial();
    let log = logged(|| {
        // Scheduling by yielding, mapped memory, local memory that stays, and synchronous memory operations.
        assert_eq!(cudaSetDeviceFlags(0x9a), 0);
        for unknown in [0x20, 0x40, 0x100] {
            assert_eq!(cudaSetDeviceFlags(unknown), 1, "{unknown:#x}");
        }
    });
    assert_eq!(log, ["flags of 0 0x9a"]);
    cudaGetLastError();
}

#[test]
fn modules_and_contexts_are_loaded_again_after_a_reset() {
    let _serial = serial();
    let kernel = Binary::register().kernel("again");
    let one = Dim3(1, 1, 1);
    let launch = || assert_eq!(cudaLaunchKernel(kernel, one, one, 0, 0, 0), 0);
    launch();
    let log = logged(|| {
        launch();
        assert_eq!(cudaDeviceReset(), 0);
        launch();
    });
    let again = "launch again 1.1.1 1.1.1 0 in 0";
    let expected = [again, "reset 0", "retain 0", "load in 0x1000", "function again", again];
    assert_eq!(log, expected);
}

#[test]
fn a_reset_in_one_thread_is_seen_by_another() {
    let _serial = serial();
    let mut place = 0_usize;
    assert_eq!(cudaMalloc(at(&mut place), 16), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(cudaDeviceReset(), 0));
    });
    let log = logged(|| assert_eq!(cudaMalloc(at(&mut place), 16), 0));
    assert_eq!(log, ["retain 0"]);
}

#[test]
fn a_reset_while_another_thread_gets_its_context_is_seen_there() {
    let _serial = serial();
    assert_eq!(cudaSetDevice(1), 0);
    driver::state().meanwhile = Some(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(cudaDeviceReset(), 0));
        });
    });
    assert_eq!(cudaSetDevice(0), 0);
    let log = logged(|| assert_eq!(cudaFree(0), 0));
    assert_eq!(log, ["retain 0"]);
}

#[test]
fn a_module_is_loaded_once_in_each_context() {
    let _serial = serial();
    let kernel = Binary::register().kernel("both");
    let one = Dim3(1, 1, 1);
    let log = logged(|| {
        for device in [0, 1, 0, 1] {
            assert_eq!(cudaSetDevice(device), 0);
            assert_eq!(cudaLaunchKernel(kernel, one, one, 0, 0, 0), 0);
        }
    });
    assert_eq!(log.iter().filter(|line| *line == "load in 0x1000").count(), 1);
    assert_eq!(log.iter().filter(|line| *line == "load in 0x1001").count(), 1);
    assert_eq!(cudaSetDevice(0), 0);
}

#[test]
fn properties_have_the_layout_of_the_version() {
    let _serial = serial();
    // Offsets by gcc of warpSize, multiProcessorCount, l2CacheSize, sharedMemPerBlockOptin and
    // reservedSharedMemPerBlock for the headers of 11.8, 12.9 and 13.5.
    let layouts: [(Layout, usize, [usize; 5]); 3] = [
        (Layout::Eleven, 728, [308, 388, 616, 696, 720]),
        (Layout::Twelve, 1032, [308, 388, 616, 696, 720]),
        (Layout::Thirteen, 1008, [308, 384, 596, 672, 696]),
    ];
    for (layout, size, offsets) in layouts {
        let mut bytes = [0xee_u8; 1100];
        assert_eq!(write_properties(at(&mut bytes), 1, layout), Ok(()));
        assert_eq!(bytes[size..], [0xee; 1100][size..], "nothing after the structure");
        assert_eq!(&bytes[..8], b"Fake 1\0\0");
        assert_eq!(bytes[256..272], [2; 16]);
        let number = |offset| i32::from_ne_bytes(bytes[offset..][..4].try_into().expect("4"));
        assert_eq!(offsets.map(number), [10, 16, 38, 97, 111].map(driver::attribute));
        assert_eq!(usize::from_ne_bytes(bytes[288..296].try_into().expect("8")), 8 << 30);
        assert_eq!([360, 364].map(number), [7, 5]);
    }
    let mut bytes = [0_u8; 1100];
    assert_eq!(cudaGetDeviceProperties(at(&mut bytes), 2), 101);
    assert_eq!(cudaGetDeviceProperties(0, 0), 1);
    cudaGetLastError();
}

#[test]
fn the_first_valid_device_is_the_default() {
    let _serial = serial();
    let mut devices = [1, 0];
    assert_eq!(cudaSetValidDevices(at(&mut devices), 2), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(device(), 1));
    });
    assert_eq!(device(), 0, "a thread with a context keeps its device");
    let mut wrong = [0, 5];
    assert_eq!(cudaSetValidDevices(at(&mut wrong), 2), 101);
    assert_eq!(cudaSetValidDevices(0, 0), 0, "all devices again");
    cudaGetLastError();
}

#[test]
fn a_device_is_chosen_by_capability_and_memory() {
    let _serial = serial();
    let mut wanted = [0_u8; 1032];
    wanted[360..364].copy_from_slice(&7_i32.to_ne_bytes());
    let mut device = -1;
    assert_eq!(cudaChooseDevice(at(&mut device), at(&mut wanted)), 0);
    assert_eq!(device, 0);
    assert_eq!(cudaChooseDevice(at(&mut device), 0), 1);
    cudaGetLastError();
}

#[test]
fn functions_of_the_driver_are_found_for_programs() {
    let _serial = serial();
    let (mut place, mut status) = (1_usize, -1);
    let mut name = *b"cuInit\0";
    let mut absent = *b"cuNothing\0";
    let (name, absent) = (at(&mut name), at(&mut absent));
    let (at_place, at_status) = (at(&mut place), at(&mut status));
    let log = logged(|| {
        assert_eq!(cudaGetDriverEntryPoint(name, at_place, 0, at_status), 0);
        assert_eq!(cudaGetDriverEntryPoint_ptsz(name, at_place, 0, at_status), 0);
    });
    assert_eq!(log, ["find cuInit of 12090 0", "find cuInit of 12090 2"]);
    assert_eq!((place, status), (driver::find(c"cuInit"), 0));
    assert_eq!(cudaGetDriverEntryPoint(absent, at_place, 0, at_status), 0);
    assert_eq!((place, status), (0, 1));
    // Version 11 has no place for the status.
    assert_eq!(cudaGetDriverEntryPoint(absent, at_place, 0, 0), 500);
    cudaGetLastError();
}
