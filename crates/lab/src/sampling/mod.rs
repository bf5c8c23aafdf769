//! Sampled runs: what of a run is simulated in time, and what is inferred of the rest.
//!
//! | module | role |
//! | --- | --- |
//! | `choice` | `--time` |
//! | `work` | what a launch does, counted while it is executed without time |
//! | `group` | launches that are alike; which of them are timed |
//! | `estimate` | cycles of launches that were not timed, with their error |
//! | `part` | cycles of launches of which some CTAs were timed |
//! | `report` | the section of the report |
//! | `began`, `device` | launches of a device |
//! | `fill`, `filling` | launches that do nothing but fill memory |
//! | `bounds` | when the execution of a launch without time is ended |

pub(crate) mod began;
mod bounds;
mod choice;
mod device;
mod estimate;
pub(crate) mod fill;
mod filling;
mod group;
mod part;
mod report;
pub(crate) mod work;

pub use began::Began;
pub use choice::{Likeness, Time, Which};
pub use fill::Filled;
pub use report::{GroupSample, How, LaunchSample, Sampling};

use self::estimate::{Inferred, Rate, Stratum, Timed};
use self::group::{Groups, Key, Sum, is_chosen};
use self::part::Part;
use self::work::Work;
use config::GpuConfig;
use exec::Launch;
use isa::LaunchShape;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// CTAs of `shape` that `gpu` holds at once.
pub(crate) fn slots(gpu: &GpuConfig, shape: &LaunchShape) -> u64 {
    u64::from(sm::occupancy(&gpu.sm, shape).ctas_per_sm) * u64::from(gpu.sm_count)
}

/// Launches of other choices than `representative` are alike if they differ by this share at most.
const TOLERANCE: f64 = 0.05;

/// A launch.
#[derive(Clone, Debug)]
struct Member {
    key: Key,
    how: How,
    group: Option<usize>,
    /// Launches of the group before it.
    order: u64,
    /// Work to which its cycles are taken to be proportional; known once it has joined a group.
    amount: u64,
    warp_instructions: Option<u64>,
    /// CTAs that are timed, if not all.
    part: Option<Range<u64>>,
    /// Warp instructions of the CTAs that are not timed, if those were executed.
    rest: Option<u64>,
    /// CTAs that the GPU holds at once.
    slots: u64,
    timed_cycles: Option<u64>,
    timed_instructions: u64,
    /// When the CTAs of a part have ended.
    ends: Vec<u64>,
    /// The whole launch, of which a part was timed.
    whole: Option<Inferred>,
}

/// Timed and untimed launches of a run.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    choice: Time,
    groups: Groups,
    launches: BTreeMap<u32, Member>,
    /// Launches that were timed, by the name of the kernel.
    by_name: BTreeMap<String, Sum>,
    /// Kernels that do not end without time.
    endless: BTreeSet<String>,
    /// Kernels in which races were looked for: name, threads of a CTA, whether there were several CTAs.
    probed: BTreeSet<(String, [u32; 3], bool)>,
    /// Remarks for the report.
    remarks: Vec<String>,
    core_hz: f64,
    /// Warp instructions that were executed without time.
    executed: u64,
}

impl Sampler {
    /// A run of which nothing has been launched; `None` if all of it is timed.
    pub fn new(choice: &Time, core_hz: f64) -> Option<Box<Self>> {
        let sampler = || Self {
            choice: choice.clone(),
            groups: Groups::default(),
            launches: BTreeMap::new(),
            by_name: BTreeMap::new(),
            endless: BTreeSet::new(),
            probed: BTreeSet::new(),
            remarks: Vec::new(),
            core_hz,
            executed: 0,
        };
        (!choice.is_all()).then(|| Box::new(sampler()))
    }

    pub fn choice(&self) -> &Time {
        &self.choice
    }

    fn tolerance(&self) -> f64 {
        if let Time::Representative(like) = self.choice { f64::from(like.tolerance) / 100.0 } else { TOLERANCE }
    }

    /// Notes something for the reader of the report, once.
    pub fn remark(&mut self, text: String) {
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    /// Whether races have yet to be looked for in launches of `name` like this one; they have been from now on.
    pub fn is_to_be_probed(&mut self, name: &str, launch: &Launch) -> bool {
        let block = launch.block;
        self.probed.insert((name.to_owned(), [block.x, block.y, block.z], launch.grid.volume() > 1))
    }

    /// Whether the launches of a kernel are known not to end without time.
    pub fn is_endless(&self, name: &str) -> bool {
        self.endless.contains(name)
    }

    /// The launches of a kernel do not end without time.
    pub fn note_endless(&mut self, name: &str) {
        if self.endless.insert(name.to_owned()) {
            self.remark(format!("`{name}` has no end without time: its launches are timed"));
        }
    }

    /// Adds a launch that will be timed.
    pub fn add_timed(&mut self, number: u32, name: &str, shape: &LaunchShape) {
        self.add(number, name, shape, How::Timed);
    }

    /// Adds a launch of which the CTAs `part` will be timed, on a GPU that holds `slots` of them.
    pub fn add_part(&mut self, number: u32, name: &str, shape: &LaunchShape, part: Range<u64>, slots: u64) {
        let member = self.add(number, name, shape, How::Partly);
        member.part = Some(part);
        member.slots = slots;
    }

    /// Adds a launch that is not timed.
    pub fn add_untimed(&mut self, number: u32, name: &str, shape: &LaunchShape, how: How) {
        self.add(number, name, shape, how);
    }

    /// The launch `number`, which was added as one that is not timed, will be.
    pub fn set_timed(&mut self, number: u32) {
        if let Some(member) = self.launches.get_mut(&number) {
            member.how = How::Timed;
        }
    }

    fn add(&mut self, number: u32, name: &str, shape: &LaunchShape, how: How) -> &mut Member {
        let member = Member {
            key: Key::new(name, shape),
            how,
            group: None,
            order: 0,
            amount: 0,
            warp_instructions: None,
            part: None,
            rest: None,
            slots: 0,
            timed_cycles: None,
            timed_instructions: 0,
            ends: Vec::new(),
            whole: None,
        };
        self.launches.insert(number, member);
        self.launches.get_mut(&number).expect("it was added")
    }

    /// The launch `number` does `work`: it joins a group. Returns whether the choice has it among those to be timed.
    pub fn join(&mut self, number: u32, work: &Work) -> bool {
        let tolerance = self.tolerance();
        let Some(member) = self.launches.get_mut(&number) else { return true };
        let (group, order) = self.groups.join(&member.key, work, tolerance);
        (member.group, member.order, member.amount) = (Some(group), order, work.amount);
        is_chosen(group, order)
    }

    /// The launch `number` executes this number of warp instructions altogether.
    pub fn set_instructions(&mut self, number: u32, warp_instructions: u64) {
        if let Some(member) = self.launches.get_mut(&number) {
            member.warp_instructions = Some(warp_instructions);
        }
    }

    /// Some of the CTAs of the launch `number` that are not timed execute this number of warp instructions.
    pub fn add_rest(&mut self, number: u32, warp_instructions: u64) {
        if let Some(member) = self.launches.get_mut(&number) {
            member.rest = Some(member.rest.unwrap_or(0) + warp_instructions);
        }
    }

    /// Adds a launch of a trace, which does `work`; its CTAs that are timed are to be asked for next. Returns whether
    /// there are any: otherwise the launch is left out.
    pub fn begin_traced(&mut self, number: u32, name: &str, shape: &LaunchShape, work: &Work, slots: u64) -> bool {
        let part = if let Time::Ctas(ctas) = &self.choice { ctas.clone() } else { 0..u64::MAX };
        let part = part.start.min(shape.ctas())..part.end.min(shape.ctas());
        if !part.is_empty() && part != (0..shape.ctas()) {
            self.add_part(number, name, shape, part, slots);
            return true;
        }
        self.add_untimed(number, name, shape, How::Skipped);
        let is_representative = self.join(number, work);
        let is_timed = match self.choice {
            Time::Representative(_) => is_representative,
            Time::Ctas(_) => !part.is_empty(),
            _ => self.choice.includes(number, name),
        };
        if is_timed {
            self.set_timed(number);
        }
        is_timed
    }

    /// CTAs of the launch `number` that are timed, if not all.
    pub fn part(&self, number: u32) -> Option<Range<u64>> {
        self.launches.get(&number)?.part.clone()
    }

    /// The launch `number` was simulated: its cycles, its instructions, and the ends of its CTAs if a part was.
    pub fn ended(&mut self, number: u32, cycles: u64, warp_instructions: u64, ends: &[u64]) {
        let Some(member) = self.launches.get_mut(&number) else { return };
        (member.timed_cycles, member.timed_instructions) = (Some(cycles), warp_instructions);
        if member.part.is_some() {
            member.ends = ends.to_vec();
            return member.infer_whole();
        }
        member.warp_instructions = Some(warp_instructions);
        if member.group.is_none() {
            self.join(number, &Work { amount: warp_instructions, ..Work::default() });
        }
        let Some(member) = self.launches.get(&number) else { return };
        let (amount, is_first) = (member.amount, member.order == 0);
        if let Some(group) = member.group.map(|group| &mut self.groups.all[group]) {
            group.timed.add(amount, cycles, is_first);
        }
        let name = member.key.name.clone();
        self.by_name.entry(name).or_default().add(amount, cycles, false);
    }

    /// The launch `number`, of which a part was timed, has ended with all its CTAs.
    pub fn end_part(&mut self, number: u32) {
        if let Some(member) = self.launches.get_mut(&number) {
            member.infer_whole();
        }
    }

    /// The groups as strata.
    fn strata(&self) -> Vec<Stratum> {
        let mut strata = vec![Stratum::default(); self.groups.all.len()];
        for member in self.launches.values() {
            let Some(group) = member.group else { continue };
            let stratum = &mut strata[group];
            match (member.how, member.timed_cycles) {
                (How::Timed, Some(cycles)) => {
                    let (amount, cycles) = (member.amount as f64, cycles as f64);
                    stratum.timed.push(Timed { order: member.order, amount, cycles });
                }
                // The run has ended before it did.
                (How::Timed, None) | (How::Partly, _) => {}
                (How::Functional | How::Skipped, _) => {
                    stratum.untimed.push((member.order, member.amount as f64));
                }
            }
        }
        strata
    }

    /// The rate of each group, and whether it comes from other launches of its kernel.
    fn rates(&self, strata: &[Stratum]) -> Vec<(Option<Rate>, bool)> {
        let own = estimate::rates(strata);
        let mut by_name: BTreeMap<&str, Stratum> = BTreeMap::new();
        for (group, stratum) in self.groups.all.iter().zip(strata) {
            // Of launches of other groups none is the first.
            let others = stratum.timed.iter().map(|one| Timed { order: one.order + 1, ..*one });
            by_name.entry(&group.key.name).or_default().timed.extend(others);
        }
        let names: Vec<&str> = by_name.keys().copied().collect();
        // Beside all groups, so that a single launch can borrow their spread.
        let together: Vec<Stratum> = by_name.into_values().chain(strata.iter().cloned()).collect();
        let others = estimate::rates(&together);
        let of_name = |name: &str| names.binary_search(&name).ok().and_then(|at| others[at]);
        let with = |(group, own): (&group::Group, Option<Rate>)| match own {
            Some(rate) => (Some(rate), false),
            None => {
                let other = of_name(&group.key.name);
                (other, other.is_some())
            }
        };
        self.groups.all.iter().zip(own).map(with).collect()
    }

    /// Cycles that the launch `number`, which was not timed, has taken by what is known so far; `None` if nothing is.
    pub fn inferred_now(&self, number: u32) -> Option<u64> {
        let member = self.launches.get(&number)?;
        let of_group = self.groups.all[member.group?].timed.inferred(member.amount);
        of_group.or_else(|| self.by_name.get(&member.key.name)?.inferred(member.amount))
    }

    /// Cycles by which the launch `number`, of which a part was timed, takes longer as a whole.
    pub fn extra_now(&self, number: u32) -> u64 {
        let of = |member: &Member| Some(member.whole?.cycles - member.timed_cycles? as f64);
        self.launches.get(&number).and_then(of).map_or(0, |cycles| cycles.max(0.0).round() as u64)
    }

    /// The section of the report.
    pub fn report(&self) -> Sampling {
        let strata = self.strata();
        let (rates, borrowed): (Vec<Option<Rate>>, Vec<bool>) = self.rates(&strata).into_iter().unzip();
        let rest = estimate::total(&strata, &rates);
        let kernels: Vec<LaunchSample> =
            self.launches.iter().map(|(&number, member)| member.report(number, &rates)).collect();
        let parts = parts(self.launches.values());
        let count = |how: &[How]| kernels.iter().filter(|one| how.contains(&one.how)).count() as u64;
        let timed_cycles: u64 = kernels.iter().filter_map(|one| one.timed_cycles).sum();
        let inferred_cycles = rest.cycles + parts.cycles;
        let total_cycles = timed_cycles as f64 + inferred_cycles;
        let error_cycles = rest.half_width.zip(parts.half_width).map(|(a, b)| a + b);
        let without = |one: &&LaunchSample| matches!(one.how, How::Functional | How::Skipped);
        let timed_warp_instructions = self.launches.values().map(|member| member.timed_instructions).sum();
        let all: Option<u64> = kernels.iter().map(|one| one.warp_instructions).sum();
        Sampling {
            choice: self.choice.to_string(),
            launches: kernels.len() as u64,
            timed: count(&[How::Timed]),
            partly: count(&[How::Partly]),
            untimed: count(&[How::Functional, How::Skipped]),
            unknown: kernels.iter().filter(without).filter(|one| one.inferred_cycles.is_none()).count() as u64,
            timed_warp_instructions,
            untimed_warp_instructions: all.map(|all| all.saturating_sub(timed_warp_instructions)),
            timed_cycles,
            inferred_cycles,
            total_cycles,
            error_cycles,
            error_percent: error_cycles.filter(|_| total_cycles > 0.0).map(|error| error / total_cycles * 100.0),
            seconds: total_cycles / self.core_hz,
            groups: self.group_reports(&strata, &rates, &borrowed),
            kernels,
            unmatched: self.unmatched(),
        }
    }

    /// Parts of the choice that name no launch.
    fn unmatched(&self) -> Vec<String> {
        let launches = || self.launches.iter().map(|(&number, member)| (number, &member.key));
        match &self.choice {
            Time::Kernels(all) => {
                let names_none = |which: &&Which| !launches().any(|(number, key)| which.has(number, &key.name));
                all.iter().filter(names_none).map(Which::to_string).collect()
            }
            Time::Ctas(ctas) if launches().all(|(_, key)| key.ctas() <= ctas.start) => vec![self.choice.to_string()],
            _ => Vec::new(),
        }
    }

    fn group_reports(&self, strata: &[Stratum], rates: &[Option<Rate>], borrowed: &[bool]) -> Vec<GroupSample> {
        let mut sums = vec![(0_u64, 0_u64); strata.len()];
        for member in self.launches.values().filter(|member| member.how == How::Timed) {
            if let Some(group) = member.group.filter(|_| member.timed_cycles.is_some()) {
                sums[group].0 += member.amount;
                sums[group].1 += member.timed_instructions;
            }
        }
        let of = |at: usize| {
            let (group, rate) = (&self.groups.all[at], rates[at]);
            // Amounts need not be instructions.
            let (amount, instructions) = sums[at];
            // Where nothing is inferred, a spread that is not of the group says nothing.
            let shown = rate.filter(|rate| !rate.is_borrowed || !strata[at].untimed.is_empty());
            let scale = if instructions > 0 { amount as f64 / instructions as f64 } else { 1.0 };
            GroupSample {
                name: group.key.name.clone(),
                grid: group.key.grid(),
                block: group.key.block(),
                launches: group.launches,
                timed: strata[at].timed.len() as u64,
                cycles_per_warp_instruction: rate.map(|rate| rate.per_amount * scale),
                spread_percent: shown.and_then(|rate| rate.spread).map(|spread| spread * 100.0),
                spread_is_borrowed: shown.is_some_and(|rate| rate.is_borrowed),
                from_other_groups: borrowed[at],
            }
        };
        (0..strata.len()).map(of).collect()
    }

    /// Remarks for the report.
    pub fn remarks(&self) -> Vec<String> {
        let count = |how: How| self.launches.values().filter(|member| member.how == how).count();
        let (whole, parts) = (count(How::Timed), count(How::Partly));
        let timed = whole + parts;
        let of_parts = if parts > 0 { format!(" ({parts} in part)") } else { String::new() };
        let launches = kit::text::counted(self.launches.len() as u64, "launch");
        let mut remarks = vec![format!(
            "sampled ({}): {timed} of {launches} simulated in time{of_parts}, with caches and DRAM rows as the last timed launch has left them",
            self.choice
        )];
        remarks.extend(self.remarks.iter().cloned());
        remarks.extend(self.unmatched().iter().map(|part| format!("time: `{part}` names no launch of this run")));
        remarks
    }
}

/// Time of partly timed launches beyond the timed part. Their errors have the same causes: they add up.
fn parts<'a>(members: impl Iterator<Item = &'a Member>) -> Inferred {
    let (mut cycles, mut half) = (0.0, 0.0);
    for (whole, timed) in members.filter_map(|member| Some((member.whole?, member.timed_cycles?))) {
        cycles += whole.cycles - timed as f64;
        half += whole.half_width.unwrap_or(0.0);
    }
    Inferred { cycles, half_width: Some(half) }
}

impl Member {
    /// Infers the whole launch of the part that was timed.
    fn infer_whole(&mut self) {
        let Some(cycles) = self.timed_cycles else { return };
        let (timed, ctas) = (self.ends.len() as f64, self.key.ctas());
        let rest = self.rest.or_else(|| self.warp_instructions?.checked_sub(self.timed_instructions));
        let of_rest = rest.map(|rest| rest as f64 / (ctas as f64 - timed).max(1.0));
        let of_part = self.timed_instructions as f64 / timed.max(1.0);
        let work_ratio = of_rest.filter(|_| of_part > 0.0).map_or(1.0, |of_rest| of_rest / of_part);
        self.whole = Some(part::whole(&Part { cycles, ends: &self.ends, ctas, slots: self.slots, work_ratio }));
        self.warp_instructions = rest.map(|rest| rest + self.timed_instructions);
    }

    fn report(&self, launch: u32, rates: &[Option<Rate>]) -> LaunchSample {
        let rate = self.group.and_then(|group| rates[group]);
        let amount = self.amount as f64;
        let (inferred_cycles, error_cycles) = match self.how {
            How::Timed => (None, None),
            How::Partly => (self.whole.map(|whole| whole.cycles), self.whole.and_then(|whole| whole.half_width)),
            How::Functional | How::Skipped => {
                (rate.map(|rate| rate.cycles(amount)), rate.and_then(|rate| rate.half_width(amount)))
            }
        };
        LaunchSample {
            launch,
            name: self.key.name.clone(),
            how: self.how,
            group: self.group,
            ctas: self.part.as_ref().map(|part| [part.start, part.end - 1]),
            warp_instructions: self.warp_instructions,
            timed_cycles: self.timed_cycles,
            inferred_cycles,
            error_cycles,
        }
    }
}
