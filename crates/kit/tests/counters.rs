//! Groups of counters, and groups of such groups: each part takes part in sums and differences.

use kit::{ByKind, CounterGroup, Counters};

kit::counters! {
    /// A leaf.
    pub struct Cache {
        /// Requests that found their data.
        pub hits: "requests",
        /// Requests that did not,
        /// for whatever reason.
        pub misses: "requests",
    }
}

kit::counters! {
    /// A group of groups.
    pub struct Core {
        /// Core cycles.
        pub cycles: u64,
        /// The L1 data cache.
        pub l1d: Cache,
        /// Instructions of three classes.
        pub classes: ByKind<3>,
    }
}

kit::counters! {
    /// A group with a part to be chosen.
    pub struct Machine<K> {
        /// All cores.
        pub core: K,
        /// The L2 cache.
        pub l2: Cache,
    }
}

fn machine(n: u64) -> Machine<Core> {
    let cache = |n| Cache { hits: n, misses: 10 * n };
    let core = Core { cycles: 2 * n, l1d: cache(3 * n), classes: ByKind([n, 5 * n, 7 * n]) };
    Machine { core, l2: cache(11 * n) }
}

#[test]
fn every_part_takes_part_in_sums_and_differences() {
    let mut sum = Machine::default();
    sum.add(&machine(3));
    assert_eq!(sum, machine(3), "the default is zero");
    sum.add(&machine(4));
    assert_eq!(sum, machine(7));
    assert_eq!(sum.since(&machine(5)), machine(2));
}

#[test]
fn a_leaf_has_a_schema_and_its_values_in_that_order() {
    let names: Vec<_> = Cache::SCHEMA.iter().map(|info| (info.name, info.unit)).collect();
    assert_eq!(names, [("hits", "requests"), ("misses", "requests")]);
    assert_eq!(Cache::SCHEMA[1].description, "Requests that did not, for whatever reason.");
    assert_eq!(machine(1).l2.values(), [11, 110]);
}
