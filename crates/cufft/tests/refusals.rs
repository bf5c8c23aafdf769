//! Wrong arguments, sizes of work areas, and functions that are not supported.

use crate::library::{Memory, at, devices, find, into};

const NO_PLAN: i32 = 12_345;

#[test]
fn wrong_arguments() {
    let _devices = devices();
    let mut plan = 5_i32;
    for (n, kind, batch, code) in [(0, 0x29, 1, 8), (-4, 0x29, 1, 8), (8, 0x30, 1, 3), (8, 0x29, 0, 4)] {
        assert_eq!(c!("cufftPlan1d", into(&mut plan), n, kind, batch), code, "{n} {kind} {batch}");
        assert_eq!(plan, 0);
        assert_eq!(c!("cufftEstimate1d", n, kind, batch, 0_usize), code);
    }
    assert_eq!(c!("cufftPlan1d", 0_usize, 8_i32, 0x29_i32, 1_i32), 4);
    let sizes = [8_i32; 4];
    for rank in [0, 4] {
        let code = c!("cufftPlanMany", into(&mut plan), rank, at(&sizes), 0_usize, 1, 8, 0_usize, 1, 8, 0x29, 1);
        assert_eq!(code, 8, "rank {rank}");
    }
    // Half precision.
    assert_eq!(c!("cufftCreate", into(&mut plan)), 0);
    let wide = [8_i64];
    let typed = |kind: i32| {
        c!(
            "cufftXtMakePlanMany",
            plan,
            1,
            at(&wide),
            0_usize,
            1_i64,
            8_i64,
            kind,
            0_usize,
            1_i64,
            8_i64,
            kind,
            1_i64,
            0_usize,
            kind
        )
    };
    assert_eq!(typed(6), 16);
    let memory = Memory::with(&[0_f32; 16]);
    let execute = |plan: i32, direction: i32| c!("cufftExecC2C", plan, memory.address, memory.address, direction);
    assert_eq!(execute(plan, -1), 1, "not made yet");
    assert_eq!(typed(4), 0);
    assert_eq!([execute(plan, -1), execute(plan, 1), execute(plan, 0)], [0, 0, 4]);
    assert_eq!(c!("cufftExecR2C", plan, memory.address, memory.address), 3);
    assert_eq!(c!("cufftExecC2C", plan, 0_usize, memory.address, 1), 4);
    assert_eq!(c!("cufftDestroy", plan), 0);
    for name in ["cufftDestroy", "cufftSetStream", "cufftSetWorkArea", "cufftXtSetWorkArea", "cufftSetAutoAllocation"] {
        for wrong in [plan, NO_PLAN, -1, 0] {
            assert_eq!(c!(name, wrong, 0_usize), 1, "{name} {wrong}");
        }
    }
    assert_eq!(c!("cufftGetSize", NO_PLAN, 0_usize), 1);
    assert_eq!(c!("cufftXtSetWorkAreaPolicy", NO_PLAN, 0_i32, 0_usize), 1);
}

#[test]
fn sizes_of_work_areas() {
    let _devices = devices();
    let mut plan = 0_i32;
    assert_eq!(c!("cufftCreate", into(&mut plan)), 0);
    let (narrow, wide) = ([8_i32, 4], [8_i64, 4]);
    let (n, m) = (at(&narrow), at(&wide));
    let asked = |ask: &dyn Fn(usize) -> i32| {
        let mut work = 1_usize;
        assert_eq!((ask(into(&mut work)), work), (0, 0));
    };
    asked(&|work| c!("cufftEstimate1d", 8, 0x29, 2, work));
    asked(&|work| c!("cufftEstimate2d", 8, 8, 0x2a, work));
    asked(&|work| c!("cufftEstimate3d", 8, 8, 8, 0x6c, work));
    asked(&|work| c!("cufftEstimateMany", 2, n, 0_usize, 1, 8, 0_usize, 1, 8, 0x29, 1, work));
    asked(&|work| c!("cufftGetSize1d", plan, 8, 0x29, 2, work));
    asked(&|work| c!("cufftGetSize2d", plan, 8, 8, 0x2a, work));
    asked(&|work| c!("cufftGetSize3d", plan, 8, 8, 8, 0x6c, work));
    asked(&|work| c!("cufftGetSizeMany", plan, 2, n, 0_usize, 1, 8, 0_usize, 1, 8, 0x29, 1, work));
    asked(&|work| {
        c!("cufftGetSizeMany64", plan, 2, m, 0_usize, 1_i64, 8_i64, 0_usize, 1_i64, 8_i64, 0x29, 1_i64, work)
    });
    asked(&|work| {
        c!("cufftXtGetSizeMany", plan, 2, m, 0_usize, 1_i64, 8_i64, 4, 0_usize, 1_i64, 8_i64, 4, 1_i64, work, 4)
    });
    asked(&|work| c!("cufftMakePlan1d", plan, 8, 0x29, 2, work));
    asked(&|work| c!("cufftMakePlan2d", plan, 8, 8, 0x29, work));
    asked(&|work| c!("cufftMakePlan3d", plan, 8, 8, 8, 0x29, work));
    asked(&|work| c!("cufftMakePlanMany", plan, 2, n, 0_usize, 1, 8, 0_usize, 1, 8, 0x29, 1, work));
    asked(&|work| c!("cufftGetSize", plan, work));
    asked(&|work| c!("cufftXtSetWorkAreaPolicy", plan, 0, work));
    assert_eq!(c!("cufftSetStream", plan, 0_usize), 0);
    assert_eq!(c!("cufftSetWorkArea", plan, 0_usize), 0);
    assert_eq!(c!("cufftSetAutoAllocation", plan, 0), 0);
    let mut version = 0_i32;
    assert_eq!(c!("cufftGetVersion", into(&mut version)), 0);
    let [mut major, mut minor, mut patch] = [0_i32; 3];
    for (which, place) in [(0, &mut major), (1, &mut minor), (2, &mut patch)] {
        assert_eq!(c!("cufftGetProperty", which, into(place)), 0);
    }
    assert_eq!(major * 1000 + minor * 100 + patch, version);
    assert_eq!(c!("cufftGetProperty", 3, into(&mut major)), 4);
}

/// Each function of the headers is called in these tests, or says that it is not supported.
#[test]
fn every_function_is_tested() {
    let tests = concat!(include_str!("case.rs"), include_str!("refusals.rs"));
    for name in include_str!("../symbols.txt").lines().filter(|line| !line.starts_with('#')) {
        let name = name.split(' ').next().expect("a name");
        let called = tests.contains(&format!("\"{name}\""));
        find(name);
        assert!(called || c!(name) == 16, "{name}");
    }
}
