//! The whole model: components add up, no events cost only time-dependent energy, effects of voltage and
//! time.

use energy::{Activity, Coefficients, Component, Event, PerEvent, scaling};
use proptest::prelude::*;

fn of(gpu: &str) -> Coefficients {
    Coefficients::of(gpu).expect("comes with the program").expect("is well-formed")
}

fn activity(seed: [u16; Event::COUNT], seconds: f64, lanes: f64, active: f64) -> Activity {
    let events = PerEvent(seed.map(|n| f64::from(n) * 100.0));
    Activity {
        seconds,
        events,
        lanes,
        active_sms: active,
        sms: 80.0,
        design_pj: 1e6,
        design_leakage_watts: 0.25,
        added_leakage_watts: 0.5,
    }
}

#[test]
fn every_file_is_well_formed_and_sourced() {
    for gpu in Coefficients::builtin() {
        let c = of(gpu);
        assert_eq!(c.name, gpu);
        let keys = ["constant_watts", "idle_sm_watts", "node_nm", "volts", "core_mhz", "die_mm2", "events_pj"];
        for key in keys {
            assert!(c.source(key).is_some(), "{gpu}: `{key}` has no source");
        }
        assert!(c.source("static_power").or(c.source("static_watts")).is_some(), "{gpu}: static power has no source");
    }
}

/// Facts in the file of the RTX 3070.
#[test]
fn rtx3070_is_the_v100_scaled() {
    let (v100, rtx3070) = (of("v100"), of("rtx3070"));
    let factor = scaling::energy_factor(v100.node_nm, v100.volts, rtx3070.node_nm, rtx3070.volts);
    for &event in Event::ALL.iter().filter(|e| e.component() != Component::Dram) {
        let (expected, found) = (v100.events_pj[event] * factor, rtx3070.events_pj[event]);
        assert!((found - expected).abs() <= expected * 1e-4, "{}: {found}, not {expected}", event.name());
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let text = "name = 'x'\ndescription = ''\nnode_nm = 0\nvolts = 1\ncore_mhz = 1\nsms = 1\ndie_mm2 = 1\n\
                constant_watts = -1\nidle_sm_watts = 0\n[events_pj]\ndecode = -2\nflying = 1\n[sources]\n";
    let error = Coefficients::parse(text).expect_err("is wrong").to_string();
    for part in [
        "`node_nm`",
        "`constant_watts`",
        "events_pj.decode",
        "no event `flying`",
        "events_pj.exp` is missing",
        "static_watts",
    ] {
        assert!(error.contains(part), "{part} not in:\n{error}");
    }
}

/// Its static power is a guess by SM: one SM of it draws a fifteenth.
#[test]
fn static_power_of_the_gtx480_goes_by_its_sms() {
    let c = of("gtx480");
    let watts = |sms| c.static_watts(&Activity { sms, ..Activity::default() });
    assert!((watts(15.0) - 23.85).abs() < 1e-9 && (watts(1.0) - 1.59).abs() < 1e-9, "{} {}", watts(15.0), watts(1.0));
}

#[test]
fn without_events_only_time_costs() {
    let c = of("v100");
    let idle = Activity { seconds: 2e-3, sms: 80.0, ..Activity::default() };
    let energy = c.energy(&idle, c.volts);
    let expected = (c.constant_watts + 80.0 * c.idle_sm_watts) * 2e-3;
    assert!((energy.total_joules() - expected).abs() < 1e-12);
    assert_eq!(energy.joules(Component::Static), 0.0);
}

/// A mix that AccelWattch measured: integer and single precision on all lanes of all SMs.
#[test]
fn static_power_is_accelwattchs() {
    let c = of("v100");
    let mut a = Activity { seconds: 1.0, sms: 80.0, active_sms: 40.0, lanes: 31.2, ..Activity::default() };
    a.events[Event::IntAdd] = 1.0;
    a.events[Event::FpMul] = 1.0;
    let watts = c.energy(&a, c.volts).watts(Component::Static);
    assert!((watts - (18.618 + 31.0 * 0.645228) / 2.0).abs() < 1e-4, "{watts}");
    a.events[Event::Tensor] = 1.0;
    assert!((c.energy(&a, c.volts).watts(Component::Static) - 48.9488 / 2.0).abs() < 1e-4);
    a.events[Event::Sin] = 1.0;
    let other = (17.2175 + 31.0 * 0.650631) / 2.0;
    assert!((c.energy(&a, c.volts).watts(Component::Static) - other).abs() < 1e-4);
}

proptest! {
    #[test]
    fn parts_add_up_and_time_is_additive(
        seed in any::<[u16; Event::COUNT]>(),
        lanes in 0.0f64..32.0,
        active in 0.0f64..80.0,
        volts in 0.6f64..1.2,
    ) {
        let c = of("v100");
        let whole = c.energy(&activity(seed, 1e-3, lanes, active), volts);
        let sum: f64 = whole.parts().map(|(_, joules)| joules).sum();
        prop_assert!((sum - whole.total_joules()).abs() <= sum * 1e-12);
        prop_assert!(whole.parts().all(|(_, joules)| joules >= 0.0));
        let twice = whole.clone().and(&whole);
        prop_assert!((twice.total_joules() - 2.0 * sum).abs() <= sum * 1e-12);
        prop_assert!((twice.total_watts() - whole.total_watts()).abs() <= whole.total_watts() * 1e-12);
        // More volts never cost less; constant power does not depend on them.
        let more = c.energy(&activity(seed, 1e-3, lanes, active), volts * 1.1);
        prop_assert!(more.total_joules() >= whole.total_joules());
        prop_assert_eq!(more.joules(Component::Constant), whole.joules(Component::Constant));
    }
}
