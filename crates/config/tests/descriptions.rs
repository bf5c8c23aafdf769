//! The built-in descriptions: consistent, complete, and with a source for each number.

use config::{Raw, schema};
use std::collections::BTreeSet;

/// Names of the built-in descriptions.
fn all() -> impl Iterator<Item = &'static str> {
    config::builtin().iter().map(|gpu| gpu.name)
}

#[test]
fn every_description_loads() {
    for gpu in all() {
        let loaded = config::load(gpu).unwrap_or_else(|e| panic!("{gpu}:\n{e}"));
        assert_eq!(loaded.name, gpu);
        // As its file is parsed and checked, and as it was flattened.
        assert_eq!(Raw::open(gpu).unwrap().config().as_ref(), Ok(&loaded));
        loaded.check().unwrap();
        config::OpTable::of_ptx(&loaded.sm).unwrap();
        config::OpTable::of_machine_code(&loaded.sm).unwrap();
    }
}

#[test]
fn every_number_has_a_source_and_every_source_a_number() {
    for gpu in all() {
        let raw = Raw::open(gpu).unwrap();
        let bare: Vec<_> = raw.keys().filter(|k| raw.source_of(k).is_none()).collect();
        assert!(bare.is_empty(), "{gpu}: no source for {bare:#?}");
        let keys: Vec<_> = raw.keys().collect();
        for source in raw.sources().keys() {
            let covers = |k: &&str| *k == source || k.starts_with(&format!("{source}."));
            assert!(keys.iter().any(covers), "{gpu}: source for `{source}`, which is not there");
        }
    }
}

/// CTAs of a matrix product that run in step read the same sectors at the same time: a limit of merged requests would make
/// SMs wait for each other.
#[test]
fn each_sm_may_wait_for_the_same_sector() {
    for gpu in ["a100", "h100", "h100-pcie", "h200"] {
        let config = config::load(gpu).unwrap();
        let (merges, sms) = (config.l2.cache.mshr_merges, config.sm_count);
        assert!(merges >= sms, "{gpu}: {merges} for {sms} SMs");
    }
}

/// The schema and the model name the same keys: each can be found through the other.
#[test]
fn the_schema_lists_exactly_the_keys_of_the_model() {
    let mut config = config::load("titanv").unwrap();
    let any = *config.sm.units.values().next().unwrap();
    for unit in config::Unit::ALL {
        config.sm.units.insert(unit, any);
    }
    let rate = config::MatrixTiming { multiply_adds_per_cycle: 128, latency_cycles: 4 };
    config.sm.tensor = isa::MatrixType::ALL.iter().map(|ty| (ty.name().to_string(), rate)).collect();
    for (name, timing) in [("ptx_timing", &mut config.sm.ptx_timing), ("sass_timing", &mut config.sm.sass_timing)] {
        let any = timing["int_add"];
        let has_row = |class: &&isa::OpClass| schema::lookup(&format!("sm.{name}.{}.unit", class.name())).is_some();
        timing.extend(isa::OpClass::ALL.iter().filter(has_row).map(|class| (class.name().to_string(), any)));
    }
    let raw = Raw::from(&config);
    let of_model: BTreeSet<String> = raw.keys().map(String::from).collect();
    let of_schema = |which: fn(&schema::Key) -> bool| -> BTreeSet<String> {
        schema::paths().filter(|(_, key)| which(key)).map(|(p, _)| p).collect()
    };
    let (all, required) = (of_schema(|_| true), of_schema(|key| !key.optional));
    assert_eq!(of_model.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the schema");
    assert_eq!(required.difference(&of_model).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the model");
    for path in &of_model {
        assert_eq!(schema::lookup(path).map(|k| k.doc), schema::paths().find(|(p, _)| p == path).map(|(_, k)| k.doc));
    }
}

#[test]
fn a_cache_is_made_as_large_as_one_says() {
    let with = |gpu: &str, settings: &[&str]| config::load_with(gpu, settings).map_err(|e| e.to_string());
    for (gpu, size, bytes) in
        [("v100", "32KiB", 32 << 10), ("gtx480", "128KiB", 128 << 10), ("rtx2060s", "65536", 65536)]
    {
        let l1 = with(gpu, &[&format!("sm.l1d.bytes={size}")]).unwrap().sm.l1d;
        assert_eq!(l1.cache.capacity_bytes(), bytes, "{gpu}");
        assert!(l1.unified_bytes == 0 && l1.shared_carveouts_bytes.is_empty(), "{gpu}: by itself");
    }
    let v100 = with("v100", &["l2.bytes=3MiB", "sm.frontend.icache.bytes=64KiB"]).unwrap();
    assert_eq!((v100.l2.bytes(), v100.sm.frontend.icache.capacity_bytes()), (3 << 20, 64 << 10));
    for (setting, says) in [
        ("sm.l1d.bytes=1000", "must be a multiple of 512 bytes"),
        ("sm.l1d.bytes=huge", "cannot be `huge`"),
        ("sm.l1d.bytes=0", "must be a multiple"),
        ("sm.l1d.bytes=1GiB", "must be a multiple"),
    ] {
        let refused = with("v100", &[setting]).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    }
}
