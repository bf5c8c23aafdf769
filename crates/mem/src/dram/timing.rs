//! Timing rules of a channel, resolved to integers.

/// Delays between commands, in command cycles. JEDEC names; see [`config::DramTiming`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct Timing {
    /// Column to column.
    pub nCCD: u64,
    /// Column to column in the same bank group.
    pub nCCDL: u64,
    /// Activate to activate, different banks.
    pub nRRD: u64,
    /// The window in which at most four banks are activated; 0 where there is no such limit.
    pub nFAW: u64,
    /// From one refresh to the next; 0 where there is none.
    pub nREFI: u64,
    /// Time of a refresh.
    pub nRFC: u64,
    /// Activate to read.
    pub nRCD: u64,
    /// Activate to write: `tRCD - (tWL + 1)`, for the data come later.
    pub nRCDWR: u64,
    /// Activate to precharge.
    pub nRAS: u64,
    /// Precharge to activate.
    pub nRP: u64,
    /// Activate to activate, same bank.
    pub nRC: u64,
    /// Read to data.
    pub nCL: u64,
    /// Write to data.
    pub nWL: u64,
    /// Data transfer of one column command: burst length / data rate.
    pub nBL: u64,
    /// Read to write: `tCL + nBL + 2 - tWL`.
    pub nRTW: u64,
    /// Write to read: `tWL + nBL + tCDLR`.
    pub nWTR: u64,
    /// Write to precharge, same bank: `tWL + nBL + tWR`.
    pub nWTP: u64,
    /// Read to precharge, same bank: `nBL`.
    pub nRTP: u64,
    /// Read to precharge, same bank group.
    pub nRTPL: u64,
}

impl Timing {
    /// Resolves the configuration's parameters, with the turnarounds as GPGPU-Sim derives them.
    #[allow(non_snake_case)]
    pub fn new(dram: &config::Dram) -> Self {
        let t = &dram.timing;
        let n = u64::from;
        let nBL = (n(dram.burst_length) / n(dram.data_rate.max(1))).max(1);
        Self {
            // One command moves one burst: the bus cannot take them faster.
            nCCD: n(t.tCCD).max(1),
            nCCDL: n(t.tCCDL),
            nRRD: n(t.tRRD),
            nFAW: n(t.tFAW.unwrap_or(0)),
            nREFI: n(t.tREFI.unwrap_or(0)),
            nRFC: n(t.tRFC.unwrap_or(0)),
            nRCD: n(t.tRCD),
            nRCDWR: n(t.tRCD).saturating_sub(n(t.tWL) + 1),
            nRAS: n(t.tRAS),
            nRP: n(t.tRP),
            nRC: n(t.tRC),
            nCL: n(t.tCL).max(1),
            nWL: n(t.tWL).max(1),
            nBL,
            nRTW: (n(t.tCL) + nBL + 2).saturating_sub(n(t.tWL)),
            nWTR: n(t.tWL) + nBL + n(t.tCDLR),
            nWTP: n(t.tWL) + nBL + n(t.tWR),
            nRTP: nBL,
            nRTPL: n(t.tRTPL),
        }
    }
}

/// A command on the channel's bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// Opens a row.
    Activate,
    /// Closes a row.
    Precharge,
    /// Reads a burst.
    Read,
    /// Writes a burst.
    Write,
}

impl Command {
    /// Every command, in declaration order.
    pub const ALL: [Self; 4] = [Self::Activate, Self::Precharge, Self::Read, Self::Write];
}

/// Banks of a channel at most: masks of banks have 64 bits.
pub(super) const MOST_BANKS: usize = 64;

/// The first cycle in which each command is legal, indexed by [`Command`].
type FirstLegal = [u64; Command::ALL.len()];

/// When each command is legal next, given what went before. Commands are recorded with
/// [`Rules::issue`]; nothing is counted down.
#[derive(Clone, Debug)]
pub struct Rules {
    t: Timing,
    /// As far as all banks, each bank and each group is concerned.
    any: FirstLegal,
    banks: Box<[FirstLegal; MOST_BANKS]>,
    groups: Box<[FirstLegal; MOST_BANKS]>,
    group_of: Box<[u8; MOST_BANKS]>,
    /// When each of the last four activates leaves its window, from `oldest` on and around.
    window: [u64; 4],
    oldest: u8,
}

impl Rules {
    /// A channel on which nothing has happened.
    pub fn new(dram: &config::Dram) -> Self {
        let (banks, groups) = (dram.timing.nbk.clamp(1, 64), dram.timing.nbkgrp.clamp(1, 64));
        let per_group = (banks / groups).max(1);
        let group_of =
            |bank: u32| if dram.bank_group_low_bits { bank % groups } else { (bank / per_group).min(groups - 1) };
        Self {
            t: Timing::new(dram),
            any: FirstLegal::default(),
            banks: Box::new([FirstLegal::default(); MOST_BANKS]),
            groups: Box::new([FirstLegal::default(); MOST_BANKS]),
            group_of: Box::new(std::array::from_fn(|bank| group_of(bank as u32) as u8)),
            window: [0; 4],
            oldest: 0,
        }
    }

    /// The delays between commands.
    pub const fn timing(&self) -> &Timing {
        &self.t
    }

    /// First cycle at which `command` may go to `bank`. Whether the bank's row is open is the
    /// caller's concern.
    #[inline]
    pub fn legal_from(&self, command: Command, bank: usize) -> u64 {
        self.common(command).max(self.local(command, bank))
    }

    /// The part of [`Rules::legal_from`] that holds for all banks alike.
    #[inline]
    pub fn common(&self, command: Command) -> u64 {
        self.any[command as usize]
    }

    /// The part of [`Rules::legal_from`] that depends on the bank and its group.
    #[inline]
    pub fn local(&self, command: Command, bank: usize) -> u64 {
        let group = usize::from(self.group_of[bank]) % MOST_BANKS;
        self.banks[bank][command as usize].max(self.groups[group][command as usize])
    }

    /// Records that a refresh of all banks began in cycle `start`: their rows are closed.
    pub fn refresh(&mut self, start: u64) {
        let end = start + self.t.nRFC;
        self.banks.iter_mut().for_each(|bank| later(&mut bank[ACTIVATE], end));
    }

    /// Records that `command` went to `bank` in cycle `now`.
    #[inline(always)]
    pub fn issue(&mut self, command: Command, bank: usize, now: u64) {
        let Self { t, any, banks, groups, group_of, window, oldest } = self;
        let group = &mut groups[usize::from(group_of[bank]) % MOST_BANKS];
        let bank = &mut banks[bank];
        match command {
            Command::Activate => {
                window[usize::from(*oldest)] = now + t.nFAW;
                *oldest = (*oldest + 1) % 4;
                any[ACTIVATE] = (now + t.nRRD).max(window[usize::from(*oldest)]);
                bank[READ] = now + t.nRCD;
                bank[WRITE] = now + t.nRCDWR;
                later(&mut bank[PRECHARGE], now + t.nRAS);
                later(&mut bank[ACTIVATE], now + t.nRC);
            }
            Command::Precharge => later(&mut bank[ACTIVATE], now + t.nRP),
            Command::Read => {
                later(&mut any[READ], now + t.nCCD);
                any[WRITE] = (now + t.nCCD).max(now + t.nRTW);
                (group[READ], group[WRITE]) = (now + t.nCCDL, now + t.nCCDL);
                later(&mut bank[PRECHARGE], now + t.nRTP);
                group[PRECHARGE] = now + t.nRTPL;
            }
            Command::Write => {
                later(&mut any[WRITE], now + t.nCCD);
                any[READ] = (now + t.nCCD).max(now + t.nWTR);
                (group[READ], group[WRITE]) = (now + t.nCCDL, now + t.nCCDL);
                later(&mut bank[PRECHARGE], now + t.nWTP);
            }
        }
    }
}

const ACTIVATE: usize = Command::Activate as usize;
const PRECHARGE: usize = Command::Precharge as usize;
const READ: usize = Command::Read as usize;
const WRITE: usize = Command::Write as usize;

/// `first` becomes `cycle` if that is later.
#[inline]
fn later(first: &mut u64, cycle: u64) {
    *first = (*first).max(cycle);
}

kit::persist! {
    struct Rules { any, banks, groups, window, oldest; skip t, group_of }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Command::{Activate, Precharge, Read, Write};

    /// Distinct values, so that a mix-up of two rules cannot pass.
    fn dram() -> config::Dram {
        let mut dram = config::load("accel-sim/rtx2060s").expect("built in").dram;
        dram.timing = config::DramTiming {
            nbk: 16,
            nbkgrp: 4,
            tCCD: 3,
            tCCDL: 7,
            tRRD: 11,
            tFAW: None,
            tREFI: None,
            tRFC: None,
            tRCD: 21,
            tRAS: 50,
            tRP: 23,
            tRC: 79,
            tCL: 29,
            tWL: 9,
            tCDLR: 10,
            tWR: 31,
            tRTPL: 13,
        };
        dram
    }

    /// A rule, the commands before as (cycle, command, bank), then the command in question, its
    /// bank, and the first cycle at which it is legal.
    type Row = (&'static str, &'static [(u64, Command, usize)], Command, usize, u64);

    /// Banks 0 and 4 share a group, 0 and 1 do not.
    #[test]
    fn each_rule_is_tight() {
        // nBL = 16 / 4 = 4.
        let rows: &[Row] = &[
            ("tRCD", &[(0, Activate, 0)], Read, 0, 21),
            ("tRCDWR = tRCD - (tWL + 1)", &[(0, Activate, 0)], Write, 0, 11),
            ("tRAS", &[(0, Activate, 0)], Precharge, 0, 50),
            ("tRC", &[(0, Activate, 0)], Activate, 0, 79),
            ("tRC over tRAS + tRP", &[(0, Activate, 0), (50, Precharge, 0)], Activate, 0, 79),
            ("tRP", &[(0, Activate, 0), (60, Precharge, 0)], Activate, 0, 83),
            ("tRRD", &[(0, Activate, 0)], Activate, 1, 11),
            ("tRRD, same group", &[(0, Activate, 0)], Activate, 4, 11),
            ("tCCD, read after read", &[(100, Read, 0)], Read, 1, 103),
            ("tCCD, write after write", &[(100, Write, 0)], Write, 1, 103),
            ("tCCDL, read after read", &[(100, Read, 0)], Read, 4, 107),
            ("tCCDL, same bank", &[(100, Read, 0)], Read, 0, 107),
            ("tCCDL, write after write", &[(100, Write, 0)], Write, 4, 107),
            ("tRTW = tCL + nBL + 2 - tWL", &[(100, Read, 0)], Write, 1, 126),
            ("tWTR = tWL + nBL + tCDLR", &[(100, Write, 0)], Read, 1, 123),
            ("tWTP = tWL + nBL + tWR", &[(100, Write, 0)], Precharge, 0, 144),
            ("tRTPL", &[(100, Read, 0)], Precharge, 0, 113),
            ("tRTPL, same group", &[(100, Read, 0)], Precharge, 4, 113),
            ("no rule", &[(100, Read, 0)], Precharge, 1, 0),
        ];
        for &(rule, before, command, bank, expected) in rows {
            let mut rules = Rules::new(&dram());
            before.iter().for_each(|&(cycle, command, bank)| rules.issue(command, bank, cycle));
            let legal = |cycle| rules.legal_from(command, bank) <= cycle;
            assert!(legal(expected), "{rule}: legal at {expected}");
            assert!(expected == 0 || !legal(expected - 1), "{rule}: illegal at {}", expected - 1);
        }
    }

    #[test]
    fn a_fifth_activate_waits_for_the_window_of_the_first() {
        let mut dram = dram();
        let legal_from = |dram: &config::Dram, before: &[u64]| {
            let mut rules = Rules::new(dram);
            before.iter().zip(0..).for_each(|(&cycle, bank)| rules.issue(Activate, bank, cycle));
            rules.legal_from(Activate, 10)
        };
        assert_eq!(legal_from(&dram, &[0, 11, 22, 33]), 44, "no window: tRRD");
        dram.timing.tFAW = Some(60);
        assert_eq!(legal_from(&dram, &[0, 11, 22]), 33, "the fourth: tRRD");
        assert_eq!(legal_from(&dram, &[0, 11, 22, 33]), 60, "tFAW after the first");
        assert_eq!(legal_from(&dram, &[0, 20, 31, 42, 60]), 80, "tFAW after the second");
        assert_eq!(legal_from(&dram, &[0, 20, 40, 60]), 71, "the window is over before tRRD");
    }

    #[test]
    fn bank_groups_by_low_or_high_bits() {
        let mut rules = Rules::new(&config::Dram { bank_group_low_bits: false, ..dram() });
        rules.issue(Read, 0, 100);
        assert_eq!(rules.legal_from(Read, 3), 107);
        assert_eq!(rules.legal_from(Read, 4), 103);
    }

    #[test]
    fn read_to_precharge_waits_for_the_burst_without_bank_groups() {
        let mut dram = dram();
        dram.timing.tRTPL = 0;
        let mut rules = Rules::new(&dram);
        rules.issue(Read, 0, 100);
        assert_eq!(rules.legal_from(Precharge, 0), 104);
    }
}
