//! Memory, copies and fills.

use crate::calls::*;
use crate::serial;

const TO_DEVICE: i32 = 1;
const TO_HOST: i32 = 2;

fn allocate(bytes: usize) -> usize {
    let mut address = 0_usize;
    assert_eq!(cudaMalloc(at(&mut address), bytes), 0);
    address
}

#[test]
fn bytes_go_to_the_device_and_back() {
    let _serial = serial();
    let memory = allocate(16);
    let mut bytes = *b"0123456789abcdef";
    assert_eq!(cudaMemcpy(memory, at(&mut bytes), 16, TO_DEVICE), 0);
    assert_eq!(cudaMemset(memory + 4, i32::from(b'x') | 0x100, 4), 0);
    let mut back = [0_u8; 16];
    assert_eq!(cudaMemcpy(at(&mut back), memory, 16, TO_HOST), 0);
    assert_eq!(&back, b"0123xxxx89abcdef");
    assert_eq!(cudaMemcpy(at(&mut bytes), at(&mut back), 16, 0), 0, "within the host");
    assert_eq!(bytes, back);
    assert_eq!(cudaFree(memory), 0);
    assert_eq!(cudaFree(memory), 1, "freed twice");
    cudaGetLastError();
}

/// Work that the program requested before may write what is copied.
#[test]
fn a_copy_within_the_host_is_in_stream_order() {
    let _serial = serial();
    let (mut from, mut to) = (7_u64, 0_u64);
    let log = logged(|| assert_eq!(cudaMemcpy(at(&mut to), at(&mut from), 8, 0), 0));
    assert_eq!(log, ["copy 8 by address"]);
    assert_eq!(to, 7);
}

#[test]
fn nothing_is_allocated_freed_and_copied() {
    let _serial = serial();
    let mut address = 5_usize;
    assert_eq!(cudaMalloc(at(&mut address), 0), 0);
    assert_eq!(address, 0);
    assert_eq!(cudaFree(0), 0);
    assert_eq!(cudaMemcpy(0, 0, 0, TO_DEVICE), 0);
    assert_eq!(cudaMemset(0, 0, 0), 0);
}

#[test]
fn directions_that_do_not_exist_are_refused() {
    let _serial = serial();
    for kind in [-1, 5, 100] {
        assert_eq!(cudaMemcpy(1 << 20, 1 << 20, 4, kind), 21);
    }
    assert_eq!(cudaGetLastError(), 21);
}

#[test]
fn a_synchronous_copy_of_a_thread_stream_waits() {
    let _serial = serial();
    let memory = allocate(8);
    let mut value = 7_u64;
    let log = logged(|| assert_eq!(cudaMemcpy_ptds(memory, at(&mut value), 8, TO_DEVICE), 0));
    assert_eq!(log, ["copy 8 in 2", "wait for 2"]);
}

#[test]
fn rows_have_pitches() {
    let _serial = serial();
    let copy = |width| cudaMemcpy2D(1 << 20, 512, 1 << 21, 100, width, 10, TO_DEVICE);
    let log = logged(|| assert_eq!(copy(100), 0));
    assert_eq!(log, ["copy 0+0 kind 1 pitch 100 to 0+0 kind 2 pitch 512: 100 x 10"]);
    assert_eq!(copy(101), 12, "cudaErrorInvalidPitchValue");
    assert_eq!(copy(0), 0);
    cudaGetLastError();
}

#[test]
fn arrays_know_their_elements() {
    let _serial = serial();
    let mut channel = [16, 16, 0, 0, 1];
    let mut array = 0_usize;
    assert_eq!(cudaMallocArray(at(&mut array), at(&mut channel), 8, 4, 0), 0);
    let mut found = [0; 5];
    assert_eq!(cudaGetChannelDesc(at(&mut found), array), 0);
    assert_eq!(found, channel);
    // Rows of 32 bytes: a line of 60 from byte 20 on is 12, 32 and 16 bytes.
    let log = logged(|| {
        assert_eq!(cudaMemcpyToArray(array, 20, 1, 1 << 20, 60, TO_DEVICE), 0);
    });
    assert_eq!(
        log,
        [
            "copy 0+0 kind 1 pitch 12 to 20+1 kind 3 pitch 0: 12 x 1",
            "copy 0+0 kind 1 pitch 32 to 0+2 kind 3 pitch 0: 32 x 1",
            "copy 0+0 kind 1 pitch 16 to 0+3 kind 3 pitch 0: 16 x 1",
        ]
    );
    let mut wrong = [24, 0, 0, 0, 1];
    assert_eq!(cudaMallocArray(at(&mut array), at(&mut wrong), 8, 4, 0), 20);
    cudaGetLastError();
}

/// `cudaMemcpy3DParms` in words: array, position, memory of each side, extent, kind.
fn plane(array: usize) -> [usize; 20] {
    let mut copy = [0; 20];
    copy[4..8].copy_from_slice(&[1 << 20, 64, 64, 4]);
    copy[8] = array;
    copy[9] = 2;
    copy[16..19].copy_from_slice(&[3, 2, 1]);
    copy[19] = TO_DEVICE as usize;
    copy
}

#[test]
fn a_copy_in_three_dimensions_counts_elements_of_arrays() {
    let _serial = serial();
    let mut channel = [32, 32, 0, 0, 2];
    let mut array = 0_usize;
    assert_eq!(cudaMallocArray(at(&mut array), at(&mut channel), 8, 4, 0), 0);
    let mut copy = plane(array);
    let log = logged(|| assert_eq!(cudaMemcpy3D(at(&mut copy)), 0));
    // Elements of 8 bytes: position 2 is byte 16, width 3 is 24 bytes.
    assert_eq!(log, ["copy 0+0 kind 1 pitch 64 to 16+0 kind 3 pitch 0: 24 x 2"]);
    copy[12] = 1 << 21;
    assert_eq!(cudaMemcpy3D(at(&mut copy)), 1, "array and memory");
    copy[8] = 0;
    copy[12] = 0;
    assert_eq!(cudaMemcpy3D(at(&mut copy)), 1, "neither");
    cudaGetLastError();
}

#[test]
fn a_fill_in_three_dimensions_is_one_of_rows() {
    let _serial = serial();
    let memory = Pitched(1 << 20, 64, 64, 8);
    let log = logged(|| assert_eq!(cudaMemset3D(memory, 3, Extent(10, 8, 5)), 0));
    assert_eq!(log, ["fill 3 10 x 40 by 64"]);
    let log = logged(|| assert_eq!(cudaMemset3D(memory, 3, Extent(10, 4, 2)), 0));
    assert_eq!(log, ["fill 3 10 x 4 by 64"; 2]);
}

#[test]
fn pointers_are_distinguished() {
    let _serial = serial();
    let memory = allocate(64);
    let mut found = [0_u64; 3];
    assert_eq!(cudaPointerGetAttributes(at(&mut found), memory + 8), 0);
    assert_eq!(found, [2, memory as u64 + 8, 0]);
    let own = at(&mut 0_u64);
    assert_eq!(cudaPointerGetAttributes(at(&mut found), own), 0);
    assert_eq!(found, [0xffff_fffe_u64 << 32, 0, own as u64], "memory of the host's own");
    assert_eq!(cudaPointerGetAttributes(at(&mut found), 0), 1);
    cudaGetLastError();
}
