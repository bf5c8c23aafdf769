//! Sectors that loads and stores move for a part of their bytes.

use super::super::facts::{Facts, named};
use super::super::found::Found;
use super::super::roofs::{Resource, level_peak};
use crate::profile::InstructionProfile;
use mem::Level;
use mem::coalesce::SECTOR_BYTES;
use sass::meaning::opcode_of;

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
    let needed = moved - facts.number("sm.excess_load_sectors") - facts.number("sm.excess_store_sectors");
    // The share of a level's traffic that is beyond all that accesses need: a nearer level may absorb the rest.
    let beyond = |level| {
        let bytes = level_peak(level, &facts.stats, facts.gpu).map_or(0.0, |peak| peak.bytes);
        let [needed, excess] = [needed.max(0.0), excess].map(|sectors| sectors * f64::from(SECTOR_BYTES));
        if bytes > needed { (bytes - needed).min(excess) / bytes } else { 0.0 }
    };
    let share = (excess / moved).min(1.0);
    let shares = [(Level::L1, share), (Level::L2, beyond(Level::L2)), (Level::Dram, beyond(Level::Dram))];
    // At worst each keeps an access in the memory unit for a cycle, if that waited. Those that go beyond L1 take a cycle
    // of the SM's port and their share of the levels that they reach.
    let held = excess.min(share * facts.number("sm.memory_stall_cycles"));
    let sent = shares[1].1 * facts.number("partition.parts");
    let of_levels = shares[1..].iter().map(|&(level, share)| facts.share(Resource::Level(level)) * share);
    let of_sectors = (held + sent) / facts.active_sms() + facts.cycles * of_levels.sum::<f64>();
    Some(Found {
        sentence,
        without: "them",
        remedy: "Let neighbouring lanes access neighbouring addresses: change the layout, or go by way of shared memory.",
        at,
        cycles: of_sectors.min(facts.cycles * share),
        relieved: shares.map(|(level, share)| (Resource::Level(level), 1.0 - share)).to_vec(),
    })
}
