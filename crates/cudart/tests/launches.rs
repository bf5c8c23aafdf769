//! Registration of kernels, configurations and launches.

use cudart::versioned::{ATTRIBUTES_11, Kernel, write_attributes};

use crate::calls::*;
use crate::serial;

const ONE: Dim3 = Dim3(1, 1, 1);

#[test]
fn a_module_is_loaded_by_the_first_launch_and_once() {
    let _serial = serial();
    let binary = Binary::register();
    let (first, second) = (binary.kernel("first"), binary.kernel("second"));
    let log = logged(|| {
        for kernel in [first, second, first] {
            let code = cudaLaunchKernel(kernel, Dim3(2, 3, 4), Dim3(32, 2, 1), 0, 256, 7);
            assert_eq!(code, 0);
        }
    });
    assert_eq!(
        log,
        [
            "load in 0x1000",
            "function first",
            "launch first 2.3.4 32.2.1 256 in 7",
            "function second",
            "launch second 2.3.4 32.2.1 256 in 7",
            "launch first 2.3.4 32.2.1 256 in 7",
        ]
    );
    __cudaUnregisterFatBinary(binary.handle);
    assert_eq!(cudaLaunchKernel(first, ONE, ONE, 0, 0, 0), 98);
}

#[test]
fn configurations_are_a_stack() {
    let _serial = serial();
    let push = |x, stream| __cudaPushCallConfiguration(Dim3(x, 1, 1), ONE, 8, stream);
    assert_eq!(push(10, 0), 0);
    assert_eq!(push(20, 5), 0);
    let pop = || {
        let (mut grid, mut block) = (Dim3(0, 0, 0), Dim3(0, 0, 0));
        let (mut shared, mut stream) = (0_usize, 99_usize);
        let code = __cudaPopCallConfiguration(at(&mut grid), at(&mut block), at(&mut shared), at(&mut stream));
        (code, grid.0, shared, stream)
    };
    assert_eq!(pop(), (0, 20, 8, 5));
    assert_eq!(pop(), (0, 10, 8, 0));
    assert_eq!(pop().0, 52, "cudaErrorMissingConfiguration");
    assert_eq!(cudaGetLastError(), 52);
}

#[test]
fn a_stack_without_an_end_is_refused() {
    let _serial = serial();
    let done = (0..100).take_while(|_| __cudaPushCallConfiguration(ONE, ONE, 0, 0) == 0).count();
    assert_eq!(done, 64);
    let mut place = [0_usize; 4];
    let address = at(&mut place);
    while __cudaPopCallConfiguration(address, address, address, address) == 0 {}
    cudaGetLastError();
}

#[test]
fn sizes_that_the_device_lacks_are_an_invalid_configuration() {
    let _serial = serial();
    let kernel = Binary::register().kernel("sizes");
    let launch = |grid, block| cudaLaunchKernel(kernel, grid, block, 0, 0, 0);
    assert_eq!(launch(ONE, Dim3(1024, 1, 1)), 0);
    for (grid, block) in [
        (ONE, Dim3(1025, 1, 1)),
        (ONE, Dim3(32, 32, 2)),
        (ONE, Dim3(1, 1, 65)),
        (ONE, Dim3(0, 1, 1)),
        (Dim3(0, 1, 1), ONE),
        (Dim3(1, 65_536, 1), ONE),
    ] {
        assert_eq!(launch(grid, block), 9, "{grid:?} {block:?}");
    }
    assert_eq!(cudaLaunchKernel(kernel, ONE, ONE, 0, 1 << 40, 0), 1);
    assert_eq!(cudaGetLastError(), 1);
}

#[test]
fn a_kernel_by_its_handle_in_the_stream_of_the_thread() {
    let _serial = serial();
    let host = Binary::register().kernel("handle");
    let mut kernel = 0_usize;
    assert_eq!(__cudaGetKernel(at(&mut kernel), host), 0);
    let log = logged(|| assert_eq!(__cudaLaunchKernel_ptsz(kernel, ONE, ONE, 0, 0, 0), 0));
    assert_eq!(log.last().map(String::as_str), Some("launch handle 1.1.1 1.1.1 0 in 2"));
    let log = logged(|| assert_eq!(__cudaLaunchKernel_ptsz(kernel, ONE, ONE, 0, 0, 1), 0));
    assert_eq!(log, ["launch handle 1.1.1 1.1.1 0 in 1"]);
}

#[test]
fn unknown_kernels_are_invalid_device_functions() {
    let _serial = serial();
    let absent = Binary::register().kernel("absent");
    for kernel in [0, 1, 0x1234_5678, at(&mut 0_u8), absent] {
        assert_eq!(cudaLaunchKernel(kernel, ONE, ONE, 0, 0, 0), 98, "{kernel:#x}");
    }
    let mut function = 0_usize;
    assert_eq!(cudaGetFuncBySymbol(at(&mut function), absent), 98);
    assert_eq!(cudaGetLastError(), 98);
}

#[test]
fn attributes_of_a_kernel_have_the_layout_of_the_version() {
    let _serial = serial();
    let kernel = Binary::register().kernel("attributes");
    let mut bytes = [0xee_u8; 160];
    assert_eq!(cudaFuncGetAttributes(at(&mut bytes), kernel), 0);
    let number = |offset: usize| i32::from_ne_bytes(bytes[offset..][..4].try_into().expect("4"));
    // Shared, constant and local bytes are of 8 bytes, the rest of 4.
    assert_eq!([number(0), number(8), number(16)], [11, 12, 13]);
    assert_eq!([24, 28, 32, 36, 40, 44, 48].map(number), [10, 14, 15, 16, 17, 18, 19]);
    assert_eq!([52, 56, 60, 64, 68, 72].map(number), [20, 21, 22, 23, 25, 24]);
    assert_eq!(bytes[76..140], [0; 64]);
    assert_eq!(bytes[140..], [0xee; 20]);
    let mut bytes = [0xee_u8; 160];
    assert_eq!(write_attributes(at(&mut bytes), Kernel(kernel), ATTRIBUTES_11), Ok(()));
    assert_eq!(bytes[52..], [0xee; 108]);
}

#[test]
fn registrations_with_bad_addresses_are_reported_by_their_use() {
    let _serial = serial();
    let binary = __cudaRegisterFatBinary(8);
    for name in [0, 8, usize::MAX] {
        __cudaRegisterFunction(binary, 0x7000, 0, name, -1, 0, 0, 0, 0, 0);
    }
    assert_eq!(cudaLaunchKernel(0x7000, ONE, ONE, 0, 0, 0), 98);
    __cudaRegisterFunction(0xdead, 0x7000, 0, at(&mut *b"k\0".to_vec()), -1, 0, 0, 0, 0, 0);
    assert_eq!(cudaLaunchKernel(0x7000, ONE, ONE, 0, 0, 0), 98);
    __cudaUnregisterFatBinary(0xdead);
    cudaGetLastError();
}
