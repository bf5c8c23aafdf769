//! Copies and reductions of boxes of tensors: PTX and machine code of two compilers, without time and on a machine on
//! which transfers take time, against copies element by element. `data/sm_90/README.md` describes the files.

mod interleaved;

use crate::timed;
use exec::tensor_map::{Element, Interleave, Shape, Swizzle, TensorMap, WORDS};
use exec::{Arg, DeviceState, Launch, run};
use isa::{Dim3, Fault, TensorUse, TransferKind};
use lower::{Loaded, LowerOptions, RegisterLimits, Registers, load, load_cubin};
use proptest::prelude::*;
use std::sync::LazyLock;

/// Bytes of the tensor's memory, and of the box's.
const TENSOR: usize = 1 << 16;
const BOX: usize = 1 << 15;

static MODULES: LazyLock<Vec<(&str, Loaded)>> = LazyLock::new(|| {
    let ptx = load("tensor.ptx", include_str!("data/sm_90/tensor.ptx"), LowerOptions::default()).unwrap();
    assert!(ptx.problems().is_none(), "{:?}", ptx.problems());
    let cubin = |name, file: &[u8]| (name, load_cubin(name, file, LowerOptions::default()).unwrap());
    vec![
        ("PTX", ptx),
        cubin("ptxas 12.4", include_bytes!("data/sm_90/tensor.cuda124.sm_90.cubin")),
        cubin("ptxas 13.0", include_bytes!("data/sm_90/tensor.cuda130.sm_90.cubin")),
    ]
});

/// A copy: the map, whose address is within the tensor's memory, and where the box is.
#[derive(Clone, Debug)]
struct Case {
    map: TensorMap,
    coordinates: [i32; 5],
    offsets: [u32; 3],
}

/// Memory after a kernel, and the transfers that it started.
struct Left {
    tensor: Vec<u8>,
    out: Vec<u8>,
    transfers: timed::Transfers,
}

fn bytes_of(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Contents of the tensor's memory, and of the box: numbers of every kind.
fn contents(seed: u32, bytes: usize) -> Vec<u8> {
    let mut state = u64::from(seed) << 32 | 0x1234_5679;
    let word = |i: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let word = (state >> 32) as u32;
        match i % 7 {
            0 => word & 0x807f_ffff,
            1 => 0x3f80_3c00 ^ word & 0x80ff_80ff,
            _ => word,
        }
    };
    bytes_of((0..bytes / 4).map(word))
}

/// Runs `kernel` with the words of a map.
fn launch(
    (name, loaded): &(&str, Loaded),
    kernel: &str,
    words: &[u32; WORDS],
    case: &Case,
    in_time: bool,
) -> Result<Left, Box<Fault>> {
    let kernel = loaded.kernel(kernel).unwrap_or_else(|e| panic!("{name}: {e}")).clone();
    let mut state = DeviceState::default();
    let tensor = state.memory.allocate_aligned("tensor", TENSOR as u64, 1 << 12).unwrap();
    let out = state.memory.allocate("out", BOX as u64).unwrap();
    let args = state.memory.allocate("args", 64 + BOX as u64).unwrap();
    let place = state.memory.allocate_aligned("map", 128, 64).unwrap();
    state.memory.write(tensor, &contents(1, TENSOR)).unwrap();
    state.memory.write(out, &[0xee; BOX]).unwrap();
    let mut words = *words;
    // The address is relative to the tensor's memory.
    let address = (u64::from(words[0]) | u64::from(words[1]) << 32).wrapping_add(tensor);
    (words[0], words[1]) = (address as u32, (address >> 32) as u32);
    state.memory.write(place, &bytes_of(words)).unwrap();
    // A swizzle moves units of 16 bytes within lines of 128 bytes, of which the last may have room behind the box.
    let box_bytes = (case.map.rows() * u64::from(case.map.pitch())).next_multiple_of(128);
    let mut head: Vec<u32> = case.coordinates.map(|c| c as u32).into();
    head.extend(case.offsets);
    head.extend([case.map.copied_bytes() as u32, (box_bytes as u32).min(BOX as u32) / 4]);
    if kernel.name() == "replace" {
        head.splice(8..10, [32 * 6, 32 * 6 / 4]);
        head.push(tensor as u32 + 64);
        head.push((tensor >> 32) as u32);
    }
    state.memory.write(args, &bytes_of(head)).unwrap();
    state.memory.write(args + 64, &contents(2, BOX)).unwrap();
    let last = if kernel.name() == "load_parameter" { Arg::Bytes(bytes_of(words)) } else { Arg::Pointer(place) };
    let args = [Arg::Pointer(out), Arg::Pointer(args), last];
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(32, 1, 1), 0, &args).unwrap();
    let transfers = if in_time {
        timed::run(&mut state, &launch)?
    } else {
        run(&mut state, &launch)?;
        Vec::new()
    };
    let (mut left, mut found) = (vec![0; TENSOR], vec![0; BOX]);
    state.memory.read(tensor, &mut left).unwrap();
    state.memory.read(out, &mut found).unwrap();
    Ok(Left { tensor: left, out: found, transfers })
}

/// The elements of a copy in the order of the box: offset in shared memory, and in the tensor's memory if it is inside.
fn elements(case: &Case) -> Vec<(usize, Option<usize>)> {
    let Case { map, coordinates, offsets } = case;
    let size = map.element.bytes() as i64;
    let (rank, span) = (map.rank, map.swizzle.span());
    // Rows of a slice; without slices all channels are one.
    let (channels, rows) = match map.shape {
        Shape::Tiled { size } => {
            let count = |k: usize| i64::from(size[k].div_ceil(map.element_strides[k]));
            (i64::from(size[0]), (1..rank - 1).map(count).product::<i64>())
        }
        Shape::Im2col { channels, pixels, .. } => (channels.into(), pixels.into()),
    };
    let slice = map.interleave.slice().map_or(channels, |bytes| i64::from(bytes) / size);
    let slices = (channels + slice - 1) / slice;
    let mut list = Vec::new();
    let mut add = |row: i64, i: i64, at: [i64; 5]| {
        let width = map.interleave.slice().or(span).map_or(channels * size, i64::from);
        let row = (row / rows * slices + i / slice) * rows + row % rows;
        let mut shared = row * width + i % slice * size;
        if let Some(span) = span {
            // Unit u of row r of 128 bytes goes to u xor r, of which the width keeps some bits.
            let (unit, line) = (shared / 16 % 8, shared / 128);
            let moved = unit ^ ((line % 8) & (i64::from(span) / 16 - 1));
            shared = line * 128 + moved * 16 + shared % 16;
        }
        let inside = (0..rank).all(|k| at[k] >= 0 && at[k] < map.sizes[k] as i64);
        let mut address = (1..rank).map(|k| at[k] * map.strides[k - 1] as i64).sum::<i64>() + at[0] * size;
        if map.interleave != Interleave::None {
            let stride = (map.strides[rank - 3] * map.sizes[rank - 2]) as i64;
            address += at[0] / slice * (stride - slice * size);
        }
        list.push((shared as usize, inside.then(|| (map.address as i64 + address) as usize)));
    };
    match map.shape {
        Shape::Tiled { size } => {
            let count =
                |k: usize| if k == 0 { slices * slice } else { size[k].div_ceil(map.element_strides[k]).into() };
            let step = |k: usize| if k == 0 { 1 } else { i64::from(map.element_strides[k]) };
            for n in 0..(0..rank).map(count).product::<i64>() {
                let (mut rest, mut at) = (n, [0; 5]);
                for k in 0..rank {
                    at[k] = i64::from(coordinates[k]) + rest % count(k) * step(k);
                    rest /= count(k);
                }
                add(n / count(0), n % count(0), at);
            }
        }
        Shape::Im2col { pixels, lower, upper, .. } => {
            // The base pixel walks through the bounding box of each image.
            let mut base = coordinates.map(i64::from);
            for row in 0..i64::from(pixels) {
                for i in 0..slices * slice {
                    let mut at = base;
                    at[0] += i;
                    (1..rank - 1).for_each(|k| at[k] += i64::from(offsets[k - 1]));
                    add(row, i, at);
                }
                let mut k = 1;
                loop {
                    if k == rank - 1 {
                        base[k] += 1;
                        break;
                    }
                    base[k] += i64::from(map.element_strides[k]);
                    if base[k] <= map.sizes[k] as i64 - 1 + i64::from(upper[k - 1]) {
                        break;
                    }
                    base[k] = lower[k - 1].into();
                    k += 1;
                }
            }
        }
    }
    list
}

/// An element as a load stores it.
fn loaded(element: Element, bytes: &[u8]) -> Vec<u8> {
    let (ftz, tf32) = match element {
        Element::F32Ftz => (true, false),
        Element::Tf32 => (false, true),
        Element::Tf32Ftz => (true, true),
        _ => return bytes.to_vec(),
    };
    let mut x = f32::from_le_bytes(bytes.try_into().unwrap());
    if ftz && x.is_subnormal() {
        x *= 0.0;
    }
    if tf32 && x.is_finite() {
        // The nearest multiple of the last bit that tf32 has; of two, the greater one.
        let unit = 2f64.powi((x.abs().max(f32::MIN_POSITIVE).log2().floor() as i32).max(-126) - 10);
        let exact = f64::from(x.abs()) / unit;
        let nearest = (exact + 0.5).floor() * unit;
        x = (nearest as f32).copysign(x);
    } else if tf32 {
        x = f32::from_bits(x.to_bits() & !0x1fff);
    }
    x.to_le_bytes().to_vec()
}

fn check_load(module: &(&str, Loaded), kernel: &str, case: &Case, in_time: bool) {
    let (memory, size) = (contents(1, TENSOR), case.map.element.bytes() as usize);
    let left = launch(module, kernel, &case.map.encode(), case, in_time);
    let left = left.unwrap_or_else(|fault| panic!("{} {kernel} of {case:?}: {fault}", module.0));
    let mut inside = 0;
    for (shared, place) in elements(case) {
        let expected = match place {
            Some(at) => loaded(case.map.element, &memory[at..at + size]),
            None if case.map.fills_nan => [0xf7, 0x7f].repeat(size / 2),
            None => vec![0; size],
        };
        inside += place.map_or(0, |_| size);
        let found = &left.out[shared..shared + size];
        assert_eq!(found, expected, "{} {kernel}, byte {shared:#x} from {place:?} of {case:?}", module.0);
    }
    if in_time {
        let [transfer] = &left.transfers[..] else { panic!("{} transfers", left.transfers.len()) };
        let bytes = transfer.runs.iter().map(|run| run.1 as usize).sum::<usize>();
        let is_merged = transfer.runs.windows(2).all(|two| two[0].0 + u64::from(two[0].1) != two[1].0);
        assert_eq!((transfer.kind, bytes), (TransferKind::GlobalToShared, inside), "{case:?}");
        assert_eq!((u64::from(transfer.shared_bytes), is_merged), (case.map.copied_bytes(), true), "{case:?}");
    }
}

fn check_store(module: &(&str, Loaded), kernel: &str, case: &Case, in_time: bool, f: impl Fn(u64, u64) -> u64) {
    let (mut memory, source) = (contents(1, TENSOR), contents(2, BOX));
    let size = case.map.element.bytes() as usize;
    let left = launch(module, kernel, &case.map.encode(), case, in_time);
    let left = left.unwrap_or_else(|fault| panic!("{} {kernel} of {case:?}: {fault}", module.0));
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    for (shared, place) in elements(case) {
        if let Some(at) = place {
            let new = f(value(&memory[at..at + size]), value(&source[shared..shared + size]));
            memory[at..at + size].copy_from_slice(&new.to_le_bytes()[..size]);
        }
    }
    let wrong = (0..TENSOR).find(|&at| left.tensor[at] != memory[at]);
    assert_eq!(wrong, None, "{} {kernel} of {case:?}", module.0);
    let is_group =
        left.transfers.iter().all(|t| t.kind.is_by_group() && u64::from(t.shared_bytes) == case.map.copied_bytes());
    assert!(is_group && (!in_time || left.transfers.len() == 1));
}

/// A map of a tensor of `rank` dimensions in the tensor's memory.
fn map(rank: usize, element: Element, swizzle: Swizzle) -> TensorMap {
    TensorMap {
        address: 64,
        element,
        rank,
        sizes: std::array::from_fn(|i| if i < rank { [19, 9, 5, 3, 2][i] } else { 1 }),
        strides: std::array::from_fn(|i| if i + 1 < rank { [160, 1600, 8000, 24000][i] } else { 0 }),
        element_strides: [1; 5],
        shape: Shape::Tiled { size: [16 / element.bytes().min(16), 1, 1, 1, 1] },
        interleave: Interleave::None,
        swizzle,
        promotion: 0,
        fills_nan: false,
    }
}

const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];

/// Numbers below the one that is given, the same ones each time.
fn draws(mut state: u64) -> impl FnMut(u32) -> u32 {
    move |n| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as u32 % n
    }
}

/// Cases of all types, swizzles and ranks, at and outside the edges.
fn cases() -> impl Iterator<Item = Case> {
    let mut draw = draws(7);
    let kinds = (1..=5).flat_map(|rank| Element::ALL.into_iter().map(move |element| (rank, element)));
    let kinds = kinds.flat_map(|(rank, element)| SWIZZLES.into_iter().map(move |swizzle| (rank, element, swizzle)));
    kinds.map(move |(rank, element, swizzle)| {
        let mut map = map(rank, element, swizzle);
        let span = swizzle.span().unwrap_or(128);
        let row = if draw(2) == 0 { span } else { 16 * (1 + draw(span / 16)) };
        let most = [256, 9, 4, 3, 3];
        let size = std::array::from_fn(|i| match i {
            0 => row / element.bytes(),
            i if i < rank => 1 + draw(most[i]),
            _ => 1,
        });
        map.shape = Shape::Tiled { size };
        map.element_strides = std::array::from_fn(|i| if i < rank && draw(3) == 0 { 1 + draw(3) } else { 1 });
        map.fills_nan = element.is_float() && draw(2) == 0;
        let coordinates = std::array::from_fn(|i| draw(map.sizes[i] as u32 + 2) as i32 - 2);
        Case { map, coordinates, offsets: [0; 3] }
    })
}

#[test]
fn boxes_are_loaded_with_every_type_swizzle_and_edge() {
    let mut inside = 0;
    for (number, case) in cases().enumerate() {
        inside += usize::from(elements(&case).iter().any(|element| element.1.is_some()));
        // Every module and both ways have a share of the cases, PTX all.
        let kernel = format!("load{}", case.map.rank);
        check_load(&MODULES[0], &kernel, &case, number % 2 == 0);
        check_load(&MODULES[1 + number % 2], &kernel, &case, number % 4 < 2);
    }
    assert!(inside > 150, "{inside} boxes are not all outside");
}

#[test]
fn boxes_are_stored_with_every_type_swizzle_and_edge() {
    for (number, case) in cases().enumerate() {
        let kernel = format!("store{}", case.map.rank);
        check_store(&MODULES[0], &kernel, &case, number % 2 == 0, |_, new| new);
        check_store(&MODULES[1 + number % 2], &kernel, &case, number % 4 < 2, |_, new| new);
    }
}

#[test]
fn policies_multicast_to_the_own_cta_and_maps_in_parameters_make_no_difference() {
    let mut case = cases().nth(13 * 4 + 6 * 4 + 3).unwrap();
    assert_eq!((case.map.rank, case.map.element, case.map.swizzle), (2, Element::F16, Swizzle::Bytes128));
    case.coordinates = [-3, 2, 0, 0, 0];
    for module in &*MODULES {
        for in_time in [false, true] {
            for kernel in ["load_hint", "load_multicast", "load_parameter"] {
                check_load(module, kernel, &case, in_time);
            }
            check_store(module, "store_hint", &case, in_time, |_, new| new);
        }
    }
}

fn im2col(rank: usize, stride: u32) -> Case {
    let lower = [[-1, 0, 0], [-1, -2, 0], [-1, 0, -1]][rank - 3];
    let upper = [[-1, 0, 0], [0, -1, 0], [-1, -1, 0]][rank - 3];
    let mut map = map(rank, Element::F16, Swizzle::Bytes64);
    map.shape = Shape::Im2col { channels: 32, pixels: 61, lower, upper };
    map.element_strides = [1, stride, stride, stride, 1];
    map.sizes = [40, 9, 5, 3, 2];
    (rank..5).for_each(|i| map.sizes[i] = 1);
    map.sizes[rank - 1] = [0, 0, 4, 3, 2][rank - 1];
    let mut coordinates = [4, -1, 1, 0, 0];
    coordinates[rank - 1] = 1;
    Case { map, coordinates, offsets: [2, 1, 1] }
}

#[test]
fn pixels_are_loaded_and_stored_by_im2col() {
    for module in &*MODULES {
        for (stride, in_time) in [(1, false), (2, true)] {
            for rank in 3..=5 {
                check_load(module, &format!("im2col{rank}"), &im2col(rank, stride), in_time);
            }
            check_load(module, "im2col_multicast", &im2col(4, stride), in_time);
            let case = Case { offsets: [0; 3], ..im2col(4, stride) };
            check_store(module, "store_im2col", &case, in_time, |_, new| new);
        }
    }
}

#[test]
fn boxes_are_reduced() {
    type Reduce = (&'static str, Element, fn(u64, u64) -> u64);
    let reductions: [Reduce; 9] = [
        ("add", Element::U32, |a, b| (a + b) & 0xffff_ffff),
        ("add", Element::S64, u64::wrapping_add),
        ("min", Element::S32, |a, b| (a as i32).min(b as i32) as u32 as u64),
        ("max", Element::U64, u64::max),
        ("inc", Element::U32, |a, b| if a >= b { 0 } else { a + 1 }),
        ("dec", Element::U32, |a, b| if a == 0 || a > b { b } else { a - 1 }),
        ("and", Element::S32, |a, b| a & b),
        ("or", Element::U64, |a, b| a | b),
        ("xor", Element::U32, |a, b| a ^ b),
    ];
    for (op, element, f) in reductions {
        let mut map = map(2, element, Swizzle::Bytes128);
        map.shape = Shape::Tiled { size: [64 / element.bytes(), 7, 1, 1, 1] };
        let case = Case { map, coordinates: [-2, 5, 0, 0, 0], offsets: [0; 3] };
        for module in &*MODULES {
            for in_time in [false, true] {
                check_store(module, &format!("reduce_{op}"), &case, in_time, f);
            }
        }
    }
    let mut case = Case { offsets: [0; 3], ..im2col(4, 1) };
    (case.map.element, case.map.sizes[0]) = (Element::U32, 20);
    case.map.shape = Shape::Im2col { channels: 16, pixels: 30, lower: [-1, -2, 0], upper: [0, -1, 0] };
    for module in &*MODULES {
        check_store(module, "reduce_im2col", &case, true, |a, b| (a + b) & 0xffff_ffff);
    }
}

#[test]
fn prefetches_access_what_a_load_would() {
    let mut map = map(2, Element::U32, Swizzle::None);
    map.shape = Shape::Tiled { size: [8, 3, 1, 1, 1] };
    let case = Case { map, coordinates: [15, 7, 0, 0, 0], offsets: [0; 3] };
    for module in &*MODULES {
        let left = launch(module, "prefetches", &case.map.encode(), &case, true).unwrap();
        let runs =
            left.transfers.iter().map(|t| (t.kind, t.runs.iter().map(|run| run.1).collect::<Vec<_>>(), t.shared_bytes));
        let (of_map, one) = ((TransferKind::Prefetch, vec![], 0), (TransferKind::Prefetch, vec![16, 16], 0));
        assert_eq!(runs.collect::<Vec<_>>(), [of_map, one.clone(), one], "{}", module.0);
        let tensors: Vec<_> = left.transfers.iter().filter_map(|t| t.tensor).collect();
        let map = tensors[0].map;
        assert_eq!(tensors, [0, 3, 3].map(|rows| TensorUse { map, rows }), "{}", module.0);
        let case = im2col(4, 1);
        let left = launch(module, "prefetch_im2col", &case.map.encode(), &case, true).unwrap();
        assert_eq!(left.transfers.len(), 1);
    }
}

#[test]
fn fields_of_a_map_are_replaced() {
    let mut map = map(5, Element::Tf32, Swizzle::Bytes128);
    (map.fills_nan, map.element_strides) = (true, [3; 5]);
    let coordinates = [3, -1, 1, 9, 0];
    let case = Case { map, coordinates, offsets: [0; 3] };
    let mut patched = map;
    (patched.address, patched.rank, patched.element, patched.swizzle) = (64, 3, Element::U32, Swizzle::Bytes32);
    (patched.fills_nan, patched.element_strides) = (false, [1; 5]);
    (patched.sizes, patched.strides) = ([12, 9, 3, 1, 1], [64, 320, 0, 0]);
    patched.shape = Shape::Tiled { size: [8, 3, 2, 1, 1] };
    let expected = Case { map: patched, coordinates: [3, -1, 1, 0, 0], offsets: [0; 3] };
    let memory = contents(1, TENSOR);
    // ptxas 13 takes the strides in bytes, whatever the version of the PTX.
    for module in &MODULES[..2] {
        for in_time in [false, true] {
            let left = launch(module, "replace", &case.map.encode(), &case, in_time);
            let left = left.unwrap_or_else(|fault| panic!("{}: {fault}", module.0));
            for (shared, place) in elements(&expected) {
                let expected = place.map_or(&[0; 4][..], |at| &memory[at..at + 4]);
                assert_eq!(&left.out[shared..shared + 4], expected, "{} {shared:#x} {place:?}", module.0);
            }
        }
    }
}

/// The operands of a copy are consecutive registers, up to seven.
#[test]
fn operands_are_consecutive_where_registers_are_allocated() {
    let text = include_str!("data/sm_90/tensor.ptx");
    for registers in [Registers::Allocated(RegisterLimits::default()), Registers::HazardFree(RegisterLimits::default())]
    {
        let module =
            ("allocated", load("tensor.ptx", text, LowerOptions { registers, ..LowerOptions::default() }).unwrap());
        for case in cases().step_by(7) {
            check_load(&module, &format!("load{}", case.map.rank), &case, true);
            check_store(&module, &format!("store{}", case.map.rank), &case, true, |_, new| new);
        }
        check_load(&module, "im2col5", &im2col(5, 1), true);
    }
}

#[test]
fn a_map_that_makes_no_sense_is_a_fault_that_names_the_field() {
    let good = map(2, Element::F32, Swizzle::None);
    let case = Case { map: good, coordinates: [0; 5], offsets: [0; 3] };
    type Change = fn(&mut TensorMap);
    let changes: [(&str, Change); 6] = [
        ("rank 1, and the instruction is for 2", |map| map.rank = 1),
        ("it is im2col, and the instruction is tiled", |map| {
            (map.rank, map.sizes) = (3, [4; 5]);
            map.shape = Shape::Im2col { channels: 4, pixels: 4, lower: [0; 3], upper: [0; 3] };
        }),
        ("rank 2: an interleaved tensor has 3 to 5", |map| map.interleave = Interleave::Bytes16),
        ("global address", |map| map.address = 8),
        ("box size of dimension 0: 12 bytes", |map| map.shape = Shape::Tiled { size: [3, 1, 1, 1, 1] }),
        ("swizzle of 32 bytes: the box has 64 bytes", |map| {
            (map.swizzle, map.shape) = (Swizzle::Bytes32, Shape::Tiled { size: [16, 1, 1, 1, 1] });
        }),
    ];
    for module in &*MODULES {
        for (what, change) in changes {
            let mut bad = good;
            change(&mut bad);
            let kernel = if bad.rank == 3 { "load3" } else { "load2" };
            let Err(fault) = launch(module, kernel, &bad.encode(), &case, false) else { panic!("{what}") };
            assert!(fault.what.starts_with("tensor map at ") && fault.what.contains(what), "{}", fault.what);
        }
        let mut large = good;
        large.sizes[1] = 1 << 20;
        let case = Case { map: large, coordinates: [0, 70_000, 0, 0, 0], offsets: [0; 3] };
        let Err(fault) = launch(module, "load2", &large.encode(), &case, true) else { panic!("outside") };
        assert!(fault.what.starts_with("out-of-bounds load from global address"), "{}", fault.what);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn any_map_copies_or_faults(
        words in prop::array::uniform32(any::<u32>()),
        kept in prop::array::uniform32(0..3_u8),
        coordinates in prop::array::uniform5(any::<i32>()),
        near in any::<bool>(),
        kernel in prop::sample::select(vec!["load3", "store3", "reduce_add", "im2col4", "store_im2col", "load5", "prefetches"]),
    ) {
        // Most words come from a good map, so that some copies are possible.
        let rank = kernel.chars().find_map(|c| c.to_digit(10)).unwrap_or(if kernel.contains("im2col") { 4 } else { 2 });
        let good = if kernel.contains("im2col") { im2col(4, 1).map } else { map(rank as usize, Element::U32, Swizzle::Bytes32) };
        let mut mixed = good.encode();
        mixed.iter_mut().zip(words).zip(kept).filter(|(_, kept)| *kept == 0).for_each(|((word, any), _)| *word = any);
        let coordinates = if near { coordinates.map(|c| c % 16) } else { coordinates };
        let case = Case { map: good, coordinates, offsets: [1, 2, 3] };
        for module in &MODULES[..2] {
            drop(launch(module, kernel, &mixed, &case, true));
        }
    }
}
