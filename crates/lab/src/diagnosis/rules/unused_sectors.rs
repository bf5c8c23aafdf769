//! Sectors that loads and stores move for a part of their bytes.

use super::super::facts::{Facts, named};
use super::super::found::Found;
use super::super::roofs::Resource;
use crate::profile::InstructionProfile;
use mem::Level;
use sass::meaning::opcode_of;

const LEVELS: &[Resource] = &[Resource::Level(Level::L1), Resource::Level(Level::L2), Resource::Level(Level::Dram)];

pub fn of_loads<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    find(facts, "sm.excess_load_sectors", "LD", "load", "loads")
}

pub fn of_stores<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    find(facts, "sm.excess_store_sectors", "ST", "store", "stores")
}

/// `opcode` is how machine code begins, `kind` the word of PTX.
fn find<'a>(facts: &Facts<'a>, name: &str, opcode: &str, kind: &str, kinds: &str) -> Option<Found<'a>> {
    let (excess, moved) = (facts.number(name), facts.number("sm.transactions"));
    if excess <= 0.0 || moved <= 0.0 {
        return None;
    }
    let ptx = &kind[..2];
    let is_kind = |row: &InstructionProfile| {
        let word = opcode_of(&row.text);
        word.starts_with(opcode) || word.starts_with(ptx)
    };
    let at = facts.most(|row| row.memory.filter(|_| is_kind(row)).map_or(0, |memory| memory.excess_sectors));
    let sentence = match at.and_then(|row| Some((row, row.memory?))) {
        Some((row, memory)) => {
            let (sectors, unused) = (memory.sectors as f64, memory.excess_sectors as f64);
            format!(
                "{} moves {:.1} sectors a warp, of which {:.0} % are unused",
                named(row),
                sectors / memory.accesses as f64,
                100.0 * unused / sectors
            )
        }
        None => format!("{:.0} % of all sectors are moved by {kinds} that do not need them", 100.0 * excess / moved),
    };
    // At worst each is a cycle of L1 and one of the SM's port, and its share of the levels beyond; and the time is all
    // of sectors.
    let share = (excess / moved).min(1.0);
    let of_level = |level: Level| facts.share(Resource::Level(level)) * facts.cycles * share;
    let of_sectors = 2.0 * excess / facts.active_sms() + of_level(Level::L2) + of_level(Level::Dram);
    Some(Found {
        sentence,
        without: "them",
        remedy: "Let neighbouring lanes access neighbouring addresses: change the layout, or go by way of shared memory.",
        at,
        cycles: of_sectors.min(facts.cycles * share),
        relieved: LEVELS,
        kept: 1.0 - share,
    })
}
