//! Lists as text.

use super::*;
use crate::render::sample;

fn lists() -> Lists {
    let named = |name: &str, description: &str| Named { name: name.into(), description: description.into() };
    let parameter = Parameter {
        name: "n",
        description: "elements",
        small: 64,
        medium: 4096,
        large: 65536,
        min: 1,
        max: 1 << 20,
        multiple_of: 1,
    };
    let bare = |name, stands_for| Core {
        named: named(name, "in order"),
        stands_for,
        parameters: Vec::new(),
        structures: None,
        cost: None,
        area: None,
    };
    let gpu = |name, description| Gpu { named: named(name, description), kind: DescriptionKind::Hardware.name() };
    let stats = sample::report().total.0.into_iter().map(|(info, _)| (*info).clone()).collect();
    Lists {
        gpus: Some(vec![gpu("v100", "V100, 80 SMs"), gpu("rtx2060s", "RTX 2060 Super, 34 SMs")]),
        core_choices: Some(vec![named("+scalar", "done once")]),
        scalar_parameters: Some(Vec::new()),
        cores: Some(vec![bare("inorder", None), bare("inorder-2", Some("inorder:entries=2"))]),
        schedulers: Some(vec![Scheduler { named: named("gto", "greedy then oldest"), parameters: Vec::new() }]),
        workloads: Some(vec![Workload {
            name: "sum",
            description: "adds up",
            character: "streaming",
            suite: "Rodinia",
            papers: vec![InPaper { paper: "war", name: "SUM" }],
            parameters: vec![parameter],
            sgmf: vec![OnFabric { workload: "sum", kernel: "add", outcome: "whole", reasons: "" }],
        }]),
        figures: Some(vec![named("ghost-fig13", "GhOST, figure 13: speedup")]),
        glossary: None,
        stats: Some(stats),
        settings: Some(vec![Setting {
            key: "sm_count".into(),
            unit: "SMs",
            values: "an integer of at least 1".into(),
            description: "SMs on the chip.",
        }]),
    }
}

#[test]
fn golden() {
    let brief = Lists { stats: None, settings: None, ..lists() };
    insta::assert_snapshot!(sample::plain(&render(&brief, false)));
}

#[test]
fn golden_of_structures() {
    let process = Process { node_nm: 12.0, volts: 1.0 };
    let structure = |name, instances, entries, bits| {
        CostedStructure::new(lab::Structure::new(name, instances, entries, bits).ports(1, 2), Some(process))
    };
    let structures = Some(vec![structure("instruction buffer", 32, 2, 64), structure("board", 32, 1, 8)]);
    let sum = |area_um2| Sum {
        area_um2,
        die_percent: area_um2 / 1e5,
        leakage_uw: 100.0,
        instruction_pj: 0.25,
        clock_pj: 4.0,
    };
    let published = vec![Published { what: "all of it", unit: "%", published: 0.5, ours: 0.25, source: "a paper" }];
    let (all, beyond_in_order) = (sum(12345.6), sum(0.0));
    let cost = Cost { node_nm: 12.0, volts: 1.0, die_mm2: 445.0, sms: 34, all, beyond_in_order, published };
    let parameters = vec![CoreParameter {
        name: "entries",
        description: "Entries of a warp.",
        accepts: "1 to 64".into(),
        default: "8".into(),
    }];
    let named = lists().gpus.unwrap().remove(0).named;
    let core = Core { named, stands_for: None, parameters, structures, cost: Some(cost), area: None };
    insta::assert_snapshot!(sample::plain(&render(&Lists { cores: Some(vec![core]), ..Lists::default() }, true)));
}

#[test]
fn golden_with_details() {
    insta::assert_snapshot!(sample::plain(&render(&lists(), true)));
}
