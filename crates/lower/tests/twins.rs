//! Local functions and variables of two translation units that have the same names.

use crate::common::run_kernel;
use lower::{LowerOptions, load_cubin};

const CUBINS: [&[u8]; 2] = [include_bytes!("data/twins.sm_75.cubin"), include_bytes!("data/twins.sm_86.cubin")];

#[test]
fn relocations_name_functions_and_variables_by_symbol() {
    // `twin`, `hidden` and `pointer`, which points to `twin`, are in both modules.
    let one = |x: u32| x.wrapping_mul(3).wrapping_add(1000);
    let two = |x: u32| x.wrapping_mul(x).wrapping_add(50);
    let through_two = |x: u32| two(two(x)) + 2;
    let expected = |x: u32| one(through_two(x)).wrapping_mul(7).wrapping_add(one(x));
    for cubin in CUBINS {
        let loaded = load_cubin("twins.cubin", cubin, LowerOptions::default()).unwrap();
        assert_eq!(loaded.problems(), None);
        let words = run_kernel(&loaded, &loaded.module.kernels[0], (1, 32), &[0; 32]).unwrap().words;
        assert_eq!(words, (0..32).map(expected).collect::<Vec<u32>>());
    }
}
