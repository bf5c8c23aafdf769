//! The rule by which a kernel is chosen.

use standins::gemm::{Element, MOST_MATRICES, Problem, choose, kernels};

const PROBLEM: Problem = Problem {
    element: Element::F16,
    transpose_a: false,
    transpose_b: true,
    m: 2048,
    n: 2048,
    k: 512,
    batch: 1,
    aligned: true,
};

fn chosen(problem: Problem) -> &'static str {
    choose(&problem, 80, 108).unwrap().kernel.name
}

#[test]
fn large_products_take_the_tile_that_fills_the_gpu_and_others_the_small_one() {
    assert_eq!(chosen(PROBLEM), "standin_cublas_gemm_h_256x160_nt");
    assert_eq!(chosen(Problem { m: 1024, n: 1536, ..PROBLEM }), "standin_cublas_gemm_h_128x128_nt");
    assert_eq!(chosen(Problem { aligned: false, ..PROBLEM }), "standin_cublas_gemm_h_64x64_nt");
    assert_eq!(chosen(Problem { m: 256, n: 256, ..PROBLEM }), "standin_cublas_gemm_h_64x64_nt");
    for (sm, sms, tile) in [(70, 80, "128x128"), (75, 34, "128x128"), (80, 108, "256x160"), (86, 46, "128x128")] {
        let kernel = choose(&PROBLEM, sm, sms).unwrap().kernel;
        assert_eq!(kernel.name, format!("standin_cublas_gemm_h_{tile}_nt"));
    }
    let launch = choose(&Problem { m: 1000, batch: 3, ..PROBLEM }, 80, 108).unwrap();
    assert_eq!((launch.grid, launch.block), ([8 * 16, 1, 3], [128, 1, 1]));
}

#[test]
fn a_lone_cta_of_an_sm_counts_with_its_own_rate() {
    const GPUS: [(u32, u32); 3] = [(70, 80), (75, 34), (80, 108)];
    let half = [["64x64", "64x64", "64x64"], ["128x128", "128x128", "128x96"], ["128x128", "128x128", "256x160"]];
    let single = [["64x64", "64x64", "64x64"], ["128x128", "128x128", "64x64"], ["128x128", "128x128", "128x128"]];
    for (element, letter, tiles) in [(Element::F16, 'h', half), (Element::F32, 's', single)] {
        for (size, tiles) in [512, 1024, 2048].into_iter().zip(tiles) {
            for ((sm, sms), tile) in GPUS.into_iter().zip(tiles) {
                let problem = Problem { element, transpose_b: false, m: size, n: size, k: size, ..PROBLEM };
                let kernel = choose(&problem, sm, sms).unwrap().kernel;
                assert_eq!(kernel.name, format!("standin_cublas_gemm_{letter}_{tile}_nn"), "{size} on sm_{sm}");
            }
        }
    }
}

#[test]
fn what_no_kernel_computes_is_refused() {
    for problem in [
        Problem { m: 0, ..PROBLEM },
        Problem { n: 0, ..PROBLEM },
        Problem { batch: 0, ..PROBLEM },
        Problem { batch: MOST_MATRICES + 1, ..PROBLEM },
        Problem { m: u32::MAX, n: u32::MAX, batch: MOST_MATRICES, ..PROBLEM },
        Problem { element: Element::I8, ..PROBLEM },
    ] {
        assert_eq!(choose(&problem, 80, 108), None, "{problem:?}");
    }
    let brain = Problem { element: Element::Bf16, ..PROBLEM };
    assert!(choose(&brain, 75, 34).is_none() && choose(&brain, 80, 108).is_some());
    assert!(choose(&Problem { k: 0, batch: MOST_MATRICES, ..PROBLEM }, 70, 0).is_some());
}

#[test]
fn each_layout_has_a_kernel_without_demands() {
    for kernel in kernels() {
        let same = |other: &&_| {
            let other: &standins::gemm::Kernel = other;
            (other.element, other.transpose_a, other.transpose_b)
                == (kernel.element, kernel.transpose_a, kernel.transpose_b)
        };
        assert!(kernels().filter(same).any(|other| !other.aligned), "{}", kernel.name);
        for sm in [70, 72, 75, 80, 86, 89, 90] {
            let forms =
                kernels().filter(|other| other.name == kernel.name && other.architectures.contains(&sm)).count();
            assert!(forms <= 1, "{} has {forms} forms on sm_{sm}", kernel.name);
        }
    }
}
