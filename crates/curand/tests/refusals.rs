//! Wrong arguments, and functions that are not supported.

use crate::answers::Generator;
use crate::library::{devices, find, into};

#[test]
fn wrong_arguments() {
    let _devices = devices();
    let mut handle = 0_usize;
    for (kind, code) in [(0, 103), (99, 103), (141, 204), (202, 204), (204, 204)] {
        assert_eq!(c!("curandCreateGenerator", into(&mut handle), kind), code, "{kind}");
    }
    assert_eq!(c!("curandCreateGenerator", 0_usize, 101_i32), 104);
    for name in ["curandDestroyGenerator", "curandGenerateSeeds", "curandSetStream", "curandGenerate"] {
        assert_eq!(c!(name, 5_usize, 0_usize, 0_usize), 101, "{name}");
    }
    for on_host in [true, false] {
        let [pseudo, quasi, twister] = [101, 201, 142].map(|kind| Generator::new(kind, on_host));
        assert_eq!(c!("curandSetPseudoRandomGeneratorSeed", quasi.handle, 1_u64), 103);
        assert_eq!(c!("curandSetGeneratorOffset", twister.handle, 1_u64), 103);
        assert_eq!(c!("curandSetGeneratorOrdering", pseudo.handle, 201_i32), 104);
        assert_eq!(c!("curandSetGeneratorOrdering", quasi.handle, 101_i32), 104);
        assert_eq!(c!("curandSetGeneratorOrdering", pseudo.handle, 7_i32), 104);
        assert_eq!(c!("curandSetQuasiRandomGeneratorDimensions", pseudo.handle, 2_u32), 103);
        for (dimensions, code) in [(0, 104), (20_001, 104), (338, 204), (337, 0), (3, 0)] {
            assert_eq!(c!("curandSetQuasiRandomGeneratorDimensions", quasi.handle, dimensions), code, "{dimensions}");
        }
        let place = 4096_usize;
        assert_eq!(c!("curandGenerate", quasi.handle, place, 4_usize), 105);
        assert_eq!(c!("curandGenerateNormal", pseudo.handle, place, 3_usize, 0_f32, 1_f32), 105);
        assert_eq!(c!("curandGenerateLongLong", pseudo.handle, place, 2_usize), 103);
        assert_eq!(c!("curandGeneratePoisson", pseudo.handle, place, 2_usize, -1_f64), 104);
        assert_eq!(c!("curandGenerate", pseudo.handle, 0_usize, 2_usize), 104);
        assert_eq!(c!("curandGenerate", pseudo.handle, 0_usize, 0_usize), 0);
        assert_eq!(c!("curandSetStream", pseudo.handle, 0_usize), 0);
        assert_eq!(c!("curandGenerateSeeds", pseudo.handle), 0);
        if on_host {
            assert_eq!(c!("curandGenerate", pseudo.handle, 64_usize, 2_usize), 104, "no memory is there");
        }
    }
    let mut version = 0_i32;
    assert_eq!(c!("curandGetVersion", into(&mut version)), 0);
    let [mut major, mut minor, mut patch] = [0_i32; 3];
    for (which, place) in [(0, &mut major), (1, &mut minor), (2, &mut patch)] {
        assert_eq!(c!("curandGetProperty", which, into(place)), 0);
    }
    assert_eq!(major * 1000 + minor * 100 + patch, version);
    assert_eq!(c!("curandGetProperty", 3, into(&mut major)), 104);
}

/// Each function of the header is called in these tests, or says that it is not supported.
#[test]
fn every_function_is_tested() {
    let tests = concat!(include_str!("answers.rs"), include_str!("random.rs"), include_str!("refusals.rs"));
    for name in include_str!("../symbols.txt").lines().filter(|line| !line.starts_with('#')) {
        let name = name.split(' ').next().expect("a name");
        let called = tests.contains(&format!("\"{name}\""));
        find(name);
        assert!(called || c!(name) == 204, "{name}");
    }
}
