//! Where texture reads and surface stores go, and what they are counted as.

use lab::{Job, Report, Setup, Unattended, run};
use std::collections::BTreeMap;
use workloads::Form;

fn report(gpu: &str, code: Form) -> Report {
    let setup = Setup { code, ..Setup::new(config::load(gpu).unwrap()) };
    let job =
        Job::Workload { name: "imagefilter".into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 1 };
    run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{gpu}: {e}"))
}

/// Warps of the small size of imagefilter: rows of 32 pixels, of each kernel.
const WARPS: f64 = (160 / 32 * 120) as f64;

/// One texture read of `rotate` and five of `sharpen`, one surface store of each.
#[test]
fn reads_go_through_the_texture_cache_of_old_gpus_and_through_l1_of_others() {
    for (gpu, code, through_l1) in [
        ("gtx480", Form::Ptx, false),
        ("rtx2060s", Form::Ptx, true),
        ("rtx2060s", Form::Sass, true),
        ("v100", Form::Sass, true),
    ] {
        let report = report(gpu, code);
        let number = |name: &str| report.total.number(name);
        assert_eq!(number("sm.texture_accesses"), 6.0 * WARPS, "{gpu}");
        assert_eq!(number("sm.global_accesses"), 2.0 * WARPS, "{gpu}");
        assert_eq!(number("mix.texture"), 8.0 * WARPS, "{gpu}");
        assert_eq!(number("lanes.texture"), 8.0 * 32.0 * WARPS, "{gpu}");
        let (texture, l1) = (number("texture.accesses"), number("l1d.accesses"));
        assert_eq!(texture == 0.0, through_l1, "{gpu}: {texture} reads of the texture cache");
        // A warp's row of 32 pixels is four sectors, its store too.
        assert!(!through_l1 || l1 >= (5.0 * 4.0 + 2.0 * 4.0) * WARPS, "{gpu}: {l1} accesses of L1");
        assert!(number("energy.texture_units") > 0.0, "{gpu}");
    }
}
