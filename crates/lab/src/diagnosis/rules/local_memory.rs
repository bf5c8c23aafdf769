//! Registers that are spilled, and arrays in local memory.

use super::super::facts::{Facts, named};
use super::super::found::{Found, keeping};
use super::super::roofs::Resource;
use mem::Level;

/// Share of the accesses from which no other access limits the kernel.
const MOST: f64 = 0.5;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let local = facts.number("sm.local_accesses");
    if local <= 0.0 {
        return None;
    }
    let all = local + facts.number("sm.global_accesses") + facts.number("sm.texture_accesses");
    let is_local = |text: &str| ["LDL", "STL", "ld.local", "st.local"].iter().any(|word| text.contains(word));
    let at = facts.most(|row| if is_local(&row.text) { row.slots() + row.caused() } else { 0 });
    // Where they are most of the accesses they also drive the data of the others out of the caches.
    let cycles = if local > MOST * all { facts.cycles } else { facts.cycles * local / all };
    Some(Found {
        sentence: format!(
            "{:.0} % of the accesses to memory are to local memory: with {} registers a thread, {} does not stay in registers",
            100.0 * local / all,
            facts.launch.registers_per_thread,
            at.map_or_else(|| "a value".to_owned(), |row| format!("the value of {}", named(row)))
        ),
        without: "local memory",
        remedy: "Allow more registers (-maxrregcount, __launch_bounds__), or index arrays with constants so that they stay in registers.",
        at,
        cycles,
        relieved: keeping(
            0.0,
            &[
                Resource::Issue,
                Resource::MemoryPipe,
                Resource::Level(Level::L1),
                Resource::Level(Level::L2),
                Resource::Level(Level::Dram),
            ],
        ),
    })
}
