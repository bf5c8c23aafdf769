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
