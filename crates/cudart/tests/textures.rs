//! Texture objects and references: the runtime's structures as the driver gets them, and back.

use crate::calls::*;
use crate::serial;

/// `textureReference` in words: normalized, filter, three address modes, channel (four numbers of
/// bits, kind), sRGB and the rest.
fn reference(bits: u32, kind: u32) -> [u32; 31] {
    let mut words = [0; 31];
    words[..11].copy_from_slice(&[1, 1, 0, 1, 2, bits, bits, 0, 0, kind, 0]);
    words
}

#[test]
fn fields_of_the_structure_are_read_when_it_is_bound() {
    let _serial = serial();
    let mut words = reference(8, 1);
    let host = Binary::register().texture("colours", &mut words, false);
    let mut offset = 9_usize;
    let log = logged(|| {
        assert_eq!(cudaBindTexture(at(&mut offset), host, 1 << 20, 0, u32::MAX as usize), 0);
    });
    assert_eq!(
        log,
        [
            "load in 0x1000",
            "colours format 0x1 x 2",
            // Integers as integers, normalized coordinates.
            "flags 0x3",
            "filter 1",
            "address 0 0",
            "address 1 1",
            "address 2 2",
            // 2^27 texels of two bytes.
            "bind 268435456",
        ]
    );
    assert_eq!(offset, 0);
    words[0] = 0;
    words[1] = 0;
    let log = logged(|| assert_eq!(cudaBindTexture(0, at(&mut words), 1 << 20, 0, 64), 0));
    assert_eq!(log[1..3], ["flags 0x1", "filter 0"]);
    assert_eq!(log[6], "bind 64");
}

#[test]
fn normalized_reads_and_floats_are_not_read_as_integers() {
    let _serial = serial();
    let binary = Binary::register();
    let flags = |words: &mut [u32; 31], normalized| {
        let host = binary.texture("reads", words, normalized);
        let log = logged(|| assert_eq!(cudaBindTexture(0, host, 1 << 20, 0, 64), 0));
        log.into_iter().find(|line| line.starts_with("flags")).expect("flags are set")
    };
    assert_eq!(flags(&mut reference(8, 1), true), "flags 0x2");
    assert_eq!(flags(&mut reference(16, 0), false), "flags 0x3");
    assert_eq!(flags(&mut reference(32, 2), false), "flags 0x2");
}

#[test]
fn an_offset_needs_a_place() {
    let _serial = serial();
    let mut words = reference(32, 2);
    let host = Binary::register().texture("offset", &mut words, false);
    let memory = (1 << 20) + 16;
    let mut offset = 0_usize;
    assert_eq!(cudaGetTextureAlignmentOffset(at(&mut offset), host), 19);
    assert_eq!(cudaBindTexture(0, host, memory, 0, 64), 1);
    assert_eq!(cudaBindTexture(at(&mut offset), host, memory, 0, 64), 0);
    assert_eq!(offset, 16);
    offset = 0;
    assert_eq!(cudaGetTextureAlignmentOffset(at(&mut offset), host), 0);
    assert_eq!(offset, 16);
    assert_eq!(cudaUnbindTexture(host), 0);
    assert_eq!(cudaGetTextureAlignmentOffset(at(&mut offset), host), 19);
    cudaGetLastError();
}

#[test]
fn planes_and_arrays_are_bound() {
    let _serial = serial();
    let mut words = reference(32, 2);
    let host = Binary::register().texture("plane", &mut words, false);
    let mut channel = [32, 0, 0, 0, 2];
    let log = logged(|| {
        assert_eq!(cudaBindTexture2D(0, host, 1 << 20, at(&mut channel), 100, 50, 512), 0);
        assert_eq!(cudaBindTextureToArray(host, 3, at(&mut channel)), 0);
    });
    assert!(log.contains(&"plane format 0x20 x 1".to_owned()), "the channel of the call");
    assert!(log.contains(&"bind 100 x 50 by 512".to_owned()));
    assert_eq!(log.last().map(String::as_str), Some("bind array 3 1"));
}

#[test]
fn a_reference_is_found_by_its_name() {
    let _serial = serial();
    let mut words = reference(32, 2);
    let host = Binary::register().texture("named", &mut words, false);
    let mut found = 0_usize;
    let mut name = *b"named\0";
    assert_eq!(cudaGetTextureReference(at(&mut found), at(&mut name)), 0);
    assert_eq!(found, host);
    assert_eq!(cudaGetTextureReference(at(&mut found), host), 0);
    assert_eq!(cudaGetTextureReference(at(&mut found), 8), 18);
    assert_eq!(cudaBindTexture(0, 8, 1 << 20, 0, 64), 18);
    cudaGetLastError();
}

#[test]
fn the_driver_describes_an_object_until_its_device_is_reset() {
    let _serial = serial();
    // `cudaResourceDesc`: kind (memory with a pitch), address, channel, width, height, pitch.
    let mut resource = [3_u64, 1 << 20, 8 | 8 << 32, 0, 1, 100, 50, 512];
    // `cudaTextureDesc`: address modes, filter, read mode (normalized), sRGB, border, normalized, …, seamless.
    let mut texture = [0_u32; 18];
    texture[..6].copy_from_slice(&[1, 1, 1, 0, 1, 0]);
    (texture[10], texture[17]) = (1, 1);
    let mut object = 0_u64;
    assert_eq!(cudaCreateTextureObject(at(&mut object), at(&mut resource), at(&mut texture), 0), 0);
    let (mut of, mut how) = ([0_u64; 8], [0_u32; 18]);
    assert_eq!(cudaGetTextureObjectResourceDesc(at(&mut of), object), 0);
    assert_eq!(cudaGetTextureObjectTextureDesc(at(&mut how), object), 0);
    // The kinds of the resource and of its channel are 32 bits.
    for word in [0, 4] {
        of[word] &= 0xffff_ffff;
    }
    assert_eq!((of, how), (resource, texture));
    assert_eq!(cudaDeviceReset(), 0);
    assert_eq!(cudaGetTextureObjectResourceDesc(at(&mut of), object), 1);
    assert_eq!(cudaGetTextureObjectTextureDesc(at(&mut how), object), 1);
    cudaGetLastError();
}
