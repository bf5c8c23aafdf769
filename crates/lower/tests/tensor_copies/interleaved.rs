//! Boxes of tensors that have their channels in slices of 16 or 32 bytes (NC/8HWC8, NC/16HWC16).

use super::{Case, MODULES, check_load, check_store, draws, elements, im2col, launch, map};
use exec::tensor_map::{Element, Interleave, Shape, Swizzle, TensorMap};

/// The slices, and the swizzles that they can have.
const KINDS: [(Interleave, Swizzle); 5] = [
    (Interleave::Bytes16, Swizzle::None),
    (Interleave::Bytes16, Swizzle::Bytes32),
    (Interleave::Bytes16, Swizzle::Bytes64),
    (Interleave::Bytes16, Swizzle::Bytes128),
    (Interleave::Bytes32, Swizzle::Bytes32),
];

/// The strides of the tensor of `map` with its slices between the last two dimensions. Rows have a gap.
fn sliced(map: &mut TensorMap, interleave: Interleave) {
    map.interleave = interleave;
    let slice = u64::from(interleave.slice().unwrap());
    let (rank, mut stride) = (map.rank, slice);
    for i in 1..rank {
        map.strides[i - 1] = stride;
        stride *= map.sizes[i];
        stride += if i == 1 && rank > 3 { 32 } else { 0 };
        if i == rank - 2 {
            stride *= (map.sizes[0] * u64::from(map.element.bytes())).div_ceil(slice);
        }
    }
}

/// Cases of all types, ranks and kinds, at and outside the edges.
fn cases() -> impl Iterator<Item = Case> {
    let mut draw = draws(11);
    let kinds = (3..=5).flat_map(|rank| Element::ALL.into_iter().map(move |element| (rank, element)));
    kinds.flat_map(|(rank, element)| KINDS.into_iter().map(move |kind| (rank, element, kind))).map(
        move |(rank, element, (interleave, swizzle))| {
            let mut map = map(rank, element, swizzle);
            sliced(&mut map, interleave);
            let most = [128 / element.bytes(), 6, 4, 3, 2];
            let size = std::array::from_fn(|i| if i < rank { 1 + draw(most[i]) } else { 1 });
            map.shape = Shape::Tiled { size };
            map.element_strides = std::array::from_fn(|i| if i < rank && draw(3) == 0 { 1 + draw(3) } else { 1 });
            map.fills_nan = element.is_float() && draw(2) == 0;
            let mut coordinates = std::array::from_fn(|i| draw(map.sizes[i] as u32 + 2) as i32 - 2);
            let slice = map.row_elements() as i32;
            coordinates[0] = slice * (draw(map.sizes[0] as u32 / slice as u32 + 3) as i32 - 1);
            Case { map, coordinates, offsets: [0; 3] }
        },
    )
}

#[test]
fn slices_are_loaded_and_stored_with_every_type_swizzle_and_edge() {
    let (mut inside, mut outside) = (0, 0);
    for (number, case) in cases().enumerate() {
        let list = elements(&case);
        inside += usize::from(list.iter().any(|element| element.1.is_some()));
        outside += usize::from(list.iter().any(|element| element.1.is_none()));
        let other = &MODULES[1 + number % 2];
        let [load, store] = ["load", "store"].map(|name| format!("{name}{}", case.map.rank));
        for (module, in_time) in [(&MODULES[0], number % 2 == 0), (other, number % 4 < 2)] {
            check_load(module, &load, &case, in_time);
            check_store(module, &store, &case, in_time, |_, new| new);
        }
    }
    assert!(inside > 100 && outside > 100, "{inside} boxes have a part inside, {outside} one outside");
}

#[test]
fn slices_of_pixels_are_loaded_and_stored_by_im2col() {
    for (interleave, swizzle) in KINDS {
        for rank in 3..=5 {
            let mut case = im2col(rank, 1 + u32::from(rank == 4));
            (case.map.swizzle, case.coordinates[0]) = (swizzle, 16);
            sliced(&mut case.map, interleave);
            let kernel = format!("im2col{rank}");
            MODULES.iter().for_each(|module| check_load(module, &kernel, &case, rank == 4));
        }
        let mut case = Case { offsets: [0; 3], ..im2col(4, 1) };
        (case.map.swizzle, case.coordinates[0]) = (swizzle, 0);
        sliced(&mut case.map, interleave);
        MODULES.iter().for_each(|module| check_store(module, "store_im2col", &case, true, |_, new| new));
    }
}

/// NC/8HWC8 written out: channel 13 of the pixel in column 2 and row 1 of the second image.
#[test]
fn a_slice_of_eight_halves_is_where_cuda_documents_it() {
    let mut map = map(4, Element::F16, Swizzle::None);
    map.sizes = [24, 5, 3, 2, 1];
    sliced(&mut map, Interleave::Bytes16);
    // Columns of 16 bytes, rows of 5 of them and the gap, three slices of three rows in an image.
    assert_eq!(map.strides, [16, 112, 3 * 3 * 112, 0]);
    map.shape = Shape::Tiled { size: [8, 1, 1, 1, 1] };
    let case = Case { map, coordinates: [8, 2, 1, 1, 0], offsets: [0; 3] };
    let (shared, place) = elements(&case)[13 - 8];
    assert_eq!((shared, place), (2 * 5, Some(64 + 3 * 3 * 112 + 3 * 112 + 112 + 2 * 16 + 2 * 5)));
    MODULES.iter().for_each(|module| check_load(module, "load4", &case, true));
}

#[test]
fn a_box_within_a_slice_is_a_fault() {
    let case = cases().find(|case| case.map.rank == 3 && case.map.element == Element::F16).unwrap();
    for channel in [-1, 3] {
        let mut case = case.clone();
        case.coordinates[0] = channel;
        let Err(fault) = launch(&MODULES[0], "load3", &case.map.encode(), &case, false) else { panic!("{channel}") };
        let what = format!("channel {channel} of an interleaved tensor is not the first of 8 in a slice");
        assert!(fault.what.ends_with(&what), "{}", fault.what);
    }
}
