//! Tensor maps by the driver API: known bytes, and every documented limit.
#![allow(unsafe_code, reason = "functions of a library that is loaded")]

use crate::library;

const INVALID_VALUE: u32 = 1;

#[repr(C, align(64))]
struct Map([u32; 32]);

/// Arguments of `cuTensorMapEncodeTiled`.
#[derive(Clone)]
struct Tiled {
    element: u32,
    rank: u32,
    address: u64,
    sizes: [u64; 5],
    strides: [u64; 5],
    boxes: [u32; 5],
    element_strides: [u32; 5],
    modes: [u32; 4],
}

/// f16, 16 x 16, box 16 x 8.
const GOOD: Tiled = Tiled {
    element: 6,
    rank: 2,
    address: 0x7f12_3456_7000,
    sizes: [16; 5],
    strides: [32, 512, 8192, 1 << 17, 0],
    boxes: [16, 8, 1, 1, 1],
    element_strides: [1; 5],
    modes: [0; 4],
};

fn function(name: &str) -> usize {
    library::address(name).unwrap_or_else(|| panic!("{name} is not exported"))
}

fn tiled(t: &Tiled, map: *mut Map) -> u32 {
    type Encode = extern "C" fn(
        *mut Map,
        u32,
        u32,
        u64,
        *const u64,
        *const u64,
        *const u32,
        *const u32,
        u32,
        u32,
        u32,
        u32,
    ) -> u32;
    // SAFETY: the function has these arguments.
    let encode: Encode = unsafe { std::mem::transmute(function("cuTensorMapEncodeTiled")) };
    let Tiled { element, rank, address, sizes, strides, boxes, element_strides, modes } = t;
    let [interleave, swizzle, promotion, fill] = *modes;
    let (sizes, strides) = (sizes.as_ptr(), strides.as_ptr());
    let (boxes, steps) = (boxes.as_ptr(), element_strides.as_ptr());
    encode(map, *element, *rank, *address, sizes, strides, boxes, steps, interleave, swizzle, promotion, fill)
}

#[test]
fn a_tiled_map_has_the_known_words() {
    let mut map = Map([7; 32]);
    assert_eq!(tiled(&GOOD, &raw mut map), 0);
    let mut expected = [0; 32];
    (expected[0], expected[1], expected[2], expected[3]) = (0x3456_7000, 0x7f12, 0x310, 2);
    (expected[8], expected[9], expected[13], expected[14]) = (15, 15, 0x0f00_0000, 7);
    (expected[16], expected[18]) = (0x100, 0x10);
    assert_eq!(map.0, expected);
    // SAFETY: the function has these arguments.
    let replace: extern "C" fn(*mut Map, u64) -> u32 =
        unsafe { std::mem::transmute(function("cuTensorMapReplaceAddress")) };
    assert_eq!(replace(&raw mut map, 0x1_2345_6780), 0);
    assert_eq!((map.0[0], map.0[1], &map.0[2..]), (0x2345_6780, 1, &expected[2..]));
    assert_eq!(replace(&raw mut map, 8), INVALID_VALUE);
    map.0[2] |= 7 << 4;
    assert_eq!(replace(&raw mut map, 16), INVALID_VALUE, "it is not a map");
}

#[test]
fn every_limit_of_a_tiled_map_is_checked() {
    type Change = fn(&mut Tiled);
    let bad: [Change; 23] = [
        |t| t.element = 13,
        |t| t.rank = 0,
        |t| t.rank = 6,
        |t| t.address = 8,
        |t| t.sizes[1] = 0,
        |t| t.sizes[1] = (1 << 32) + 1,
        |t| t.strides[0] = 40,
        |t| t.strides[0] = 1 << 40,
        |t| t.boxes[1] = 0,
        |t| t.boxes[1] = 257,
        |t| t.boxes[0] = 12,
        |t| t.element_strides[1] = 0,
        |t| t.element_strides[1] = 9,
        |t| t.modes[0] = 1,
        |t| t.modes[1] = 4,
        |t| (t.modes[1], t.boxes[0]) = (1, 32),
        |t| t.modes[2] = 4,
        |t| t.modes[3] = 2,
        |t| (t.element, t.modes[3]) = (1, 1),
        |t| (t.rank, t.modes) = (3, [3, 0, 0, 0]),
        |t| (t.rank, t.modes) = (3, [2, 0, 0, 0]),
        |t| (t.rank, t.modes, t.strides[0]) = (3, [2, 1, 0, 0], 48),
        |t| (t.rank, t.modes, t.address) = (3, [2, 1, 0, 0], 16),
    ];
    let mut map = Map([7; 32]);
    for (number, change) in bad.into_iter().enumerate() {
        let mut t = GOOD;
        change(&mut t);
        assert_eq!(tiled(&t, &raw mut map), INVALID_VALUE, "case {number}");
    }
    assert_eq!(map.0, [7; 32], "nothing was written");
    let good: [Change; 12] = [
        |t| t.sizes[1] = 1 << 32,
        |t| (t.rank, t.modes[0]) = (3, 1),
        |t| (t.rank, t.modes, t.boxes[0]) = (3, [1, 3, 0, 0], 100),
        |t| (t.rank, t.modes) = (5, [2, 1, 0, 0]),
        |t| t.rank = 5,
        |t| t.modes[1] = 1,
        |t| t.modes[3] = 1,
        |t| t.element_strides = [8; 5],
        // Tensors that overlap: one row, rows that share bytes, strides in any order.
        |t| t.strides[0] = 0,
        |t| t.strides[0] = 16,
        |t| (t.rank, t.strides[1]) = (3, 48),
        |t| (t.rank, t.sizes, t.strides[0], t.strides[1]) = (3, [1 << 20; 5], 512, 32),
    ];
    for (number, change) in good.into_iter().enumerate() {
        let mut t = GOOD;
        change(&mut t);
        assert_eq!(tiled(&t, &raw mut map), 0, "case {number}");
    }
    let odd = (&raw mut map).cast::<u8>().wrapping_add(32).cast();
    assert_eq!(tiled(&GOOD, odd), INVALID_VALUE, "a map is at a multiple of 64");
    assert_eq!(tiled(&GOOD, std::ptr::null_mut()), INVALID_VALUE);
}

#[test]
fn im2col_has_limits_by_rank() {
    type Encode = extern "C" fn(
        *mut Map,
        u32,
        u32,
        u64,
        *const u64,
        *const u64,
        *const i32,
        *const i32,
        u32,
        u32,
        *const u32,
        u32,
        u32,
        u32,
        u32,
    ) -> u32;
    // SAFETY: the function has these arguments.
    let encode: Encode = unsafe { std::mem::transmute(function("cuTensorMapEncodeIm2col")) };
    let mut map = Map([0; 32]);
    let mut call = |rank: u32, lower: i32, upper: i32, channels: u32, pixels: u32| {
        let Tiled { element, address, sizes, strides, element_strides, .. } = GOOD;
        let (lower, upper) = ([lower; 3], [upper; 3]);
        encode(
            &raw mut map,
            element,
            rank,
            address,
            sizes.as_ptr(),
            strides.as_ptr(),
            lower.as_ptr(),
            upper.as_ptr(),
            channels,
            pixels,
            element_strides.as_ptr(),
            0,
            0,
            0,
            0,
        )
    };
    for (rank, lower, upper) in [(3, -32768, 32767), (4, -128, 127), (5, -16, 15)] {
        assert_eq!((call(rank, lower, upper, 256, 1024), call(rank, -1, -1, 8, 1)), (0, 0), "rank {rank}");
        assert_eq!(call(rank, lower - 1, 0, 8, 1), INVALID_VALUE);
        assert_eq!(call(rank, 0, upper + 1, 8, 1), INVALID_VALUE);
    }
    for (rank, lower, upper, channels, pixels) in [
        (2, 0, 0, 8, 1),
        (4, 0, 0, 0, 1),
        (4, 0, 0, 264, 1),
        (4, 0, 0, 8, 0),
        (4, 0, 0, 8, 1025),
        (4, 8, -8, 8, 1),
        (4, 0, 0, 4, 1),
    ] {
        assert_eq!(
            call(rank, lower, upper, channels, pixels),
            INVALID_VALUE,
            "{rank} {lower} {upper} {channels} {pixels}"
        );
    }
}

#[test]
fn programs_find_the_functions_by_name() {
    type Find = extern "C" fn(*const i8, *mut usize, i32, u64, *mut u32) -> u32;
    // SAFETY: the function has these arguments.
    let find: Find = unsafe { std::mem::transmute(function("cuGetProcAddress_v2")) };
    for name in [c"cuTensorMapEncodeTiled", c"cuTensorMapEncodeIm2col", c"cuTensorMapReplaceAddress"] {
        let (mut found, mut status) = (0, 9);
        assert_eq!(find(name.as_ptr().cast(), &raw mut found, 12000, 0, &raw mut status), 0, "{name:?}");
        assert_eq!((found, status), (function(name.to_str().unwrap()), 0), "{name:?}");
    }
}
