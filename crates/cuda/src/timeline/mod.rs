//! Operations of a device in simulated time.
//!
//! An operation begins when those that it depends on have ended: streams and graphs are only such dependences.
//! Kernels run on the simulated cores; transfers take the time of a [`Link`], one after the other in each direction;
//! other operations take none. The time of the host program is not simulated: all that it requests between two waits
//! is requested at the same time.
//!
//! The clock of the cores runs only while kernels do. Time in which only transfers run is added to it.
//!
//! A kernel is handed to the cores when they can hold one more. Of the waiting kernels, the one with the highest
//! priority goes first. Priorities do not change the order of the CTAs of kernels that run.

mod advice;
mod transfer;

pub(crate) use transfer::data;

use crate::host::Host;
use crate::link::{Direction, Link};
use crate::origin::Origin;
use crate::shared::Regions;
use crate::work::{At, Call, Copy, KernelLaunch, ValueWait, Work};
use advice::Advice;
use exec::Launch;
use kit::NEVER;
use lab::{Began, Filled, SimulatedDevice};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use workloads::DeviceError;

/// An operation of a device, by the order of requests.
pub type OpId = u64;

/// An operation that has not ended.
struct Op {
    work: Work,
    /// Number of the launch, if it is one.
    launch: u32,
    /// Operations before it that have not ended.
    waits_for: usize,
    /// An operation before it failed.
    failed: bool,
    /// Operations that wait for it.
    holds: Vec<OpId>,
    /// Lower numbers go first.
    priority: i32,
}

/// A launch on the cores.
#[derive(Clone, Copy, Debug)]
struct OnCores {
    op: OpId,
    /// Number of the launch, as reports have it.
    launch: u32,
    /// Workspace of a cooperative launch.
    workspace: Option<u64>,
}

/// Sum of the transfers of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Moved {
    pub transfers: u64,
    pub bytes: u64,
    /// Core cycles, each transfer by itself.
    pub cycles: u64,
}

/// Kernels of one name that were executed without time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Untimed {
    pub launches: u64,
    /// Those of them that only filled memory.
    pub fills: u64,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
}

/// Why [`Timeline::run`] has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The awaited operations have ended.
    Done,
    /// A function of the host program is to be called, then [`Timeline::called`], then [`Timeline::run`] again.
    Call(OpId, Call),
    /// Nothing can continue before another thread returns from a function of the host program, or the host program
    /// stores a value.
    Elsewhere,
    /// Nothing can continue.
    Stuck,
}

/// State of an operation after its begin.
enum Begun {
    /// It has ended.
    Ended,
    /// It has ended without having done what it should.
    Failed,
    /// It ends later.
    Continues,
    /// It ends when the host has made this call.
    Call(Call),
}

/// Event to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The end of all operations.
    AllDone,
    /// The end of all operations but a number of them.
    AtMost(usize),
    /// The end of an operation.
    Done(OpId),
    /// The end of an operation, or a time in core cycles.
    DoneOr(OpId, u64),
}

/// A device with its operations.
pub struct Timeline {
    /// The simulated GPU.
    pub device: SimulatedDevice<'static>,
    /// Memory that device and host share.
    pub regions: Regions,
    /// The device's copy of shared memory is up to date.
    fresh: bool,
    /// Operations may have changed the device's copy of shared memory.
    changed: bool,
    link: Link,
    next: OpId,
    ops: BTreeMap<OpId, Op>,
    /// Operations that wait for nothing, by priority.
    ready: BTreeSet<(i32, OpId)>,
    /// Kernels that wait for room on the cores, by priority.
    ready_kernels: BTreeMap<(i32, OpId), (Arc<KernelLaunch>, u32)>,
    /// Operations of launches on the cores, by their numbers among those.
    launched: BTreeMap<u32, OnCores>,
    /// Launches that were executed without time, until the time that they are taken to end.
    executed: BTreeSet<(u64, OpId)>,
    /// Workspaces of cooperative launches that no launch uses.
    workspaces: Vec<u64>,
    /// Maximum number of them.
    most_launched: usize,
    /// Transfers on their way, by their end.
    transfers: BTreeMap<(u64, OpId), Work>,
    /// Operations that wait for a value in memory.
    value_waits: BTreeMap<OpId, ValueWait>,
    /// Calls of the host program that have been requested and not made.
    calls: BTreeSet<OpId>,
    /// Calls that the host is making.
    calling: BTreeSet<OpId>,
    /// When the engine of each direction is free.
    free_at: [u64; Direction::COUNT],
    /// Cycles in which no kernel ran.
    idle: u64,
    moved: [Moved; Direction::COUNT],
    untimed: BTreeMap<String, Untimed>,
    /// Launches that only fill memory are simulated in time.
    pub(crate) times_fills: bool,
    /// Advice for a program that takes long.
    advice: Advice,
    /// Launches that were fills and not simulated, with their kernels.
    filled: Vec<(u32, String)>,
    /// Ranges open in the program for launches that are requested now.
    pub(crate) origin: Origin,
    /// Origins of launch `i` when it was requested and when it was made, up to the last launch that has one.
    origins: Vec<(Origin, Origin)>,
    /// Operations that ended after a copy that could not reach memory of the program, and whether a wait for the device
    /// has learnt it. Those that nobody asks about are dropped, the oldest first.
    failed: BTreeMap<OpId, bool>,
}

/// Maximum number of failed operations that are kept.
const MOST_FAILED: usize = 4096;

impl Timeline {
    /// A device on which nothing was requested, whose cores hold `most_launched` kernels at once, and whose operations
    /// are numbered from `first`, which is not 0.
    pub fn new(device: SimulatedDevice<'static>, link: Link, most_launched: usize, first: OpId) -> Self {
        Self {
            device,
            regions: Regions::default(),
            fresh: false,
            changed: false,
            link,
            next: first,
            ops: BTreeMap::new(),
            ready: BTreeSet::new(),
            ready_kernels: BTreeMap::new(),
            launched: BTreeMap::new(),
            executed: BTreeSet::new(),
            workspaces: Vec::new(),
            most_launched,
            transfers: BTreeMap::new(),
            value_waits: BTreeMap::new(),
            calls: BTreeSet::new(),
            calling: BTreeSet::new(),
            free_at: [0; Direction::COUNT],
            idle: 0,
            moved: [Moved::default(); Direction::COUNT],
            untimed: BTreeMap::new(),
            times_fills: false,
            advice: Advice::default(),
            filled: Vec::new(),
            origin: Origin::NONE,
            origins: Vec::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Core cycles since the start, transfers included.
    pub fn now(&self) -> u64 {
        self.device.now() + self.idle
    }

    /// Core cycles per second.
    pub fn core_hz(&self) -> f64 {
        self.link.core_hz()
    }

    /// Transfers so far, by direction.
    pub fn moved(&self) -> &[Moved; Direction::COUNT] {
        &self.moved
    }

    /// Kernels that were executed without time, by name.
    pub fn untimed(&self) -> &BTreeMap<String, Untimed> {
        &self.untimed
    }

    /// Launches that were fills and not simulated: number and kernel.
    pub fn filled(&self) -> &[(u32, String)] {
        &self.filled
    }

    /// Requests `work` after the operations `after`, some of which may have ended.
    pub fn request(&mut self, work: Work, after: &[OpId], priority: i32) -> OpId {
        let id = self.next;
        self.next += 1;
        let mut waits_for = 0;
        for before in after.iter().collect::<BTreeSet<_>>() {
            if let Some(op) = self.ops.get_mut(before) {
                op.holds.push(id);
                waits_for += 1;
            }
        }
        if waits_for == 0 {
            self.ready.insert((priority, id));
        }
        if matches!(work, Work::Call(_)) {
            self.calls.insert(id);
        }
        let launch = if let Work::Launch(kernel) = &work { self.number(kernel.origin) } else { 0 };
        self.ops.insert(id, Op { work, launch, waits_for, failed: false, holds: Vec::new(), priority });
        id
    }

    /// The number of a launch that was made where `prepared` was open.
    fn number(&mut self, prepared: Origin) -> u32 {
        let number = self.device.number_launch();
        if (self.origin, prepared) != (Origin::NONE, Origin::NONE) {
            self.origins.resize(number as usize, (Origin::NONE, Origin::NONE));
            self.origins.push((self.origin, prepared));
        }
        number
    }

    /// Origins of each launch when it was requested and when it was made, up to the last launch that has one.
    pub fn origins(&self) -> &[(Origin, Origin)] {
        &self.origins
    }

    /// The number of the next operation.
    pub fn next_op(&self) -> OpId {
        self.next
    }

    /// Whether an operation has ended.
    pub fn is_done(&self, op: OpId) -> bool {
        !self.ops.contains_key(&op)
    }

    /// Whether an operation that has ended failed, or one before it; says so once.
    pub fn take_failed(&mut self, op: OpId) -> bool {
        self.failed.remove(&op).is_some()
    }

    /// Whether any operation failed since this was last asked.
    pub fn any_failed(&mut self) -> bool {
        self.failed.values_mut().fold(false, |any, learnt| any | !std::mem::replace(learnt, true))
    }

    /// Operations that have not ended.
    pub fn pending(&self) -> usize {
        self.ops.len()
    }

    /// Whether functions of the host program wait to be called.
    pub fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Drops all operations, after a fault.
    pub fn abandon(&mut self) {
        self.ops.clear();
        self.ready.clear();
        self.ready_kernels.clear();
        self.launched.clear();
        self.executed.clear();
        self.transfers.clear();
        self.value_waits.clear();
        self.calls.clear();
        self.calling.clear();
    }

    /// Simulates until `until`.
    ///
    /// # Errors
    /// A kernel failed, or the user interrupted it.
    pub fn run(&mut self, until: Until, host: &dyn Host) -> Result<Ran, DeviceError> {
        if self.met(until) {
            return Ok(Ran::Done);
        }
        // The program may have stored to it.
        self.fresh = false;
        let ran = self.run_with_shared_memory(until, host);
        if std::mem::take(&mut self.changed) {
            self.regions.bring_out(self.device.memory(), host);
        }
        self.print(host);
        ran
    }

    fn print(&mut self, host: &dyn Host) {
        let text = self.device.take_output();
        if !text.is_empty() {
            host.print(&text);
        }
    }

    fn run_with_shared_memory(&mut self, until: Until, host: &dyn Host) -> Result<Ran, DeviceError> {
        loop {
            if let Some((op, call)) = self.start_ready(host)? {
                return Ok(Ran::Call(op, call));
            }
            if !self.value_waits.is_empty() {
                self.bring_in(host);
            }
            if self.end_value_waits() {
                continue;
            }
            if self.met(until) {
                return Ok(Ran::Done);
            }
            let limit = if let Until::DoneOr(_, limit) = until { limit } else { NEVER };
            if !self.progress(limit, host)? {
                return Ok(match until {
                    _ if self.calling.is_empty() && self.value_waits.is_empty() => Ran::Stuck,
                    Until::DoneOr(..) => Ran::Done,
                    _ => Ran::Elsewhere,
                });
            }
        }
    }

    fn met(&self, until: Until) -> bool {
        match until {
            Until::AllDone => self.ops.is_empty(),
            Until::AtMost(pending) => self.ops.len() <= pending,
            Until::Done(op) => self.is_done(op),
            Until::DoneOr(op, limit) => self.is_done(op) || self.now() >= limit,
        }
    }

    /// Begins what can begin. Returns a call that the host has to make.
    fn start_ready(&mut self, host: &dyn Host) -> Result<Option<(OpId, Call)>, DeviceError> {
        while let Some((priority, op)) = self.ready.pop_first() {
            let Some(started) = self.ops.get_mut(&op) else { continue };
            let (work, launch) = (std::mem::replace(&mut started.work, Work::Nothing), started.launch);
            let begun = match work {
                Work::Launch(kernel) => self.begin_launch(priority, op, kernel, launch, host)?,
                work => self.begin(op, work, host)?,
            };
            match begun {
                Begun::Ended => self.end(op, false),
                Begun::Failed => self.end(op, true),
                Begun::Continues => {}
                Begun::Call(call) => return Ok(Some((op, call))),
            }
        }
        self.launch_ready(host)?;
        Ok(None)
    }

    /// Begins a launch: what is not timed of it is executed at once, the rest waits for the cores.
    fn begin_launch(
        &mut self,
        priority: i32,
        op: OpId,
        launch: Arc<KernelLaunch>,
        number: u32,
        host: &dyn Host,
    ) -> Result<Begun, DeviceError> {
        if self.execute_fill(op, &launch, number, host)? {
            return Ok(Begun::Continues);
        }
        // The CTAs of a cooperative launch wait for each other; it has its workspace when it is on the cores.
        let began = if self.device.is_sampled() && !launch.cooperative {
            self.bring_in(host);
            self.bind(&launch.bindings)?;
            self.changed = true;
            self.device.begin(number, &launch.live)?
        } else {
            Began::ToQueue
        };
        let Began::Executed(counted, cycles) = began else {
            self.ready_kernels.insert((priority, op), (launch, number));
            return Ok(Begun::Continues);
        };
        let sum = self.untimed.entry(launch.live.kernel.name().to_owned()).or_default();
        sum.launches += 1;
        sum.warp_instructions += counted.warp_instructions;
        sum.thread_instructions += counted.thread_instructions;
        let Some(cycles) = cycles else { return Ok(Begun::Ended) };
        self.executed.insert((self.now() + cycles, op));
        Ok(Begun::Continues)
    }

    /// Executes a launch that only fills memory: it takes the time of the same fill by the driver. Returns whether it was
    /// one. Sampled runs choose by themselves what is timed.
    fn execute_fill(
        &mut self,
        op: OpId,
        launch: &KernelLaunch,
        number: u32,
        host: &dyn Host,
    ) -> Result<bool, DeviceError> {
        if self.times_fills || self.device.is_sampled() || launch.cooperative || !launch.bindings.is_empty() {
            return Ok(false);
        }
        self.bring_in(host);
        let Some(Filled { bytes, executed, .. }) = self.device.fill(&launch.live)? else { return Ok(false) };
        self.changed = true;
        let name = launch.live.kernel.name();
        let sum = self.untimed.entry(name.to_owned()).or_default();
        sum.launches += 1;
        sum.fills += 1;
        sum.warp_instructions += executed.warp_instructions;
        sum.thread_instructions += executed.thread_instructions;
        self.filled.push((number, exec::plain_name(name).unwrap_or(name).to_owned()));
        let end = self.now() + self.link.cycles(Direction::Within, bytes);
        self.executed.insert((end, op));
        Ok(true)
    }

    /// Begins an operation that is not a launch. Only transfers, waits for values and calls do not end at once.
    fn begin(&mut self, op: OpId, work: Work, host: &dyn Host) -> Result<Begun, DeviceError> {
        match work {
            Work::Copy(ref copy) => match direction(copy) {
                Some(way) => {
                    self.transfer(op, way, copy.bytes(), work);
                    return Ok(Begun::Continues);
                }
                None if !self.carry_out(&work, host)? => return Ok(Begun::Failed),
                None => {}
            },
            Work::Fill(fill) => {
                self.transfer(op, Direction::Within, fill.width * fill.height, work);
                return Ok(Begun::Continues);
            }
            Work::Store(address, value) => {
                self.bring_in(host);
                self.changed = true;
                self.write(&At::Device(address), 0, value.bytes(), host)?;
            }
            Work::WaitValue(wait) => {
                self.value_waits.insert(op, wait);
                return Ok(Begun::Continues);
            }
            Work::Release(address) => {
                self.device.memory().free(address).map_err(|error| other(&error))?;
            }
            Work::Record(stamp) => stamp.set(self.now()),
            Work::Call(call) => {
                self.calls.remove(&op);
                self.calling.insert(op);
                return Ok(Begun::Call(call));
            }
            Work::Nothing | Work::Launch(_) => {}
        }
        Ok(Begun::Ended)
    }

    /// Hands kernels to the cores while they can hold one more.
    fn launch_ready(&mut self, host: &dyn Host) -> Result<(), DeviceError> {
        while self.launched.len() < self.most_launched
            && let Some(((_, op), (launch, number))) = self.ready_kernels.pop_first()
        {
            self.bring_in(host);
            self.bind(&launch.bindings)?;
            if !self.device.is_sampled()
                && let Some(text) = self.advice.note(&launch.live, self.device.host_time())
            {
                host.message(&text);
            }
            let mut live = launch.live.clone();
            let workspace = if launch.cooperative { Some(self.take_workspace()?) } else { None };
            if let Some(address) = workspace {
                live.set_workspace(address);
                self.device.begin(number, &live)?;
            }
            let id = self.device.enqueue(number, live, launch.registers, op as u32)?;
            self.launched.insert(id, OnCores { op, launch: number, workspace });
        }
        Ok(())
    }

    /// Allocates the first workspace of cooperative launches, so that a request finds out whether there is room.
    pub(crate) fn prepare_workspace(&mut self) -> Result<(), DeviceError> {
        if self.workspaces.is_empty() && self.launched.values().all(|one| one.workspace.is_none()) {
            let workspace = self.take_workspace()?;
            self.workspaces.push(workspace);
        }
        Ok(())
    }

    /// The words with which the CTAs of a cooperative launch count arrivals, zeroed.
    fn take_workspace(&mut self) -> Result<u64, DeviceError> {
        let free = self.workspaces.pop();
        let memory = self.device.memory();
        let address = match free {
            Some(address) => address,
            None => memory
                .allocate("workspace of cooperative launches", Launch::WORKSPACE_BYTES)
                .map_err(|error| other(&error))?,
        };
        memory.write(address, &[0; Launch::WORKSPACE_BYTES as usize]).map_err(|error| other(&error))?;
        Ok(address)
    }

    /// Binds texture and surface references for the next launch, which reads the handles when it is made.
    fn bind(&mut self, bindings: &[(u64, u64)]) -> Result<(), DeviceError> {
        bindings.iter().try_for_each(|(address, handle)| {
            self.device.memory().write(*address, &handle.to_le_bytes()).map_err(|error| other(&error))
        })
    }

    /// Ends the operations whose value is in memory; whether there are any.
    fn end_value_waits(&mut self) -> bool {
        let memory = self.device.memory();
        let is_met = |wait: &ValueWait| {
            let mut bytes = [0; 8];
            let read = memory.read(wait.address, &mut bytes[..wait.value.bytes().len()]);
            read.is_ok() && wait.is_met(u64::from_le_bytes(bytes))
        };
        let met: Vec<OpId> = self.value_waits.iter().filter(|(_, wait)| is_met(wait)).map(|(&op, _)| op).collect();
        for op in &met {
            self.value_waits.remove(op);
            self.end(*op, false);
        }
        !met.is_empty()
    }

    fn transfer(&mut self, op: OpId, way: Direction, bytes: u64, work: Work) {
        let (engine, cycles) = (way as usize, self.link.cycles(way, bytes));
        let end = self.now().max(self.free_at[engine]) + cycles;
        self.free_at[engine] = end;
        let moved = &mut self.moved[engine];
        *moved = Moved { transfers: moved.transfers + 1, bytes: moved.bytes + bytes, cycles: moved.cycles + cycles };
        self.transfers.insert((end, op), work);
    }

    /// Simulates to the next end of a kernel or transfer, at most to `limit`. False if nothing is on its way.
    fn progress(&mut self, limit: u64, host: &dyn Host) -> Result<bool, DeviceError> {
        let transfer = self.transfers.first_key_value().map(|(&(end, _), _)| end);
        let next = transfer.into_iter().chain(self.executed.first().map(|&(end, _)| end)).min();
        let stop = next.unwrap_or(NEVER).min(limit);
        if self.launched.is_empty() {
            if next.is_none() {
                return Ok(false);
            }
            self.idle += stop.saturating_sub(self.now());
        } else {
            let stop = if stop == NEVER { NEVER } else { stop - self.idle };
            for number in self.device.run_to_next_end(stop)? {
                if let Some(OnCores { op, launch, workspace }) = self.launched.remove(&number) {
                    self.workspaces.extend(workspace);
                    self.changed = true;
                    match self.device.extra_cycles(launch) {
                        0 => self.end(op, false),
                        more => _ = self.executed.insert((self.now() + more, op)),
                    }
                }
            }
        }
        let now = self.now();
        while let Some(&(_, op)) = self.executed.first().filter(|(end, _)| *end <= now) {
            self.executed.pop_first();
            self.end(op, false);
        }
        while let Some(first) = self.transfers.first_entry().filter(|first| first.key().0 <= now) {
            let ((_, op), work) = first.remove_entry();
            let done = self.carry_out(&work, host)?;
            self.end(op, !done);
        }
        Ok(true)
    }

    /// The host has made a call.
    pub fn called(&mut self, op: OpId) {
        self.calling.remove(&op);
        self.end(op, false);
    }

    /// Ends an operation. That it `failed` is passed on to those that wait for it.
    fn end(&mut self, id: OpId, failed: bool) {
        let Some(op) = self.ops.remove(&id) else { return };
        let failed = failed || op.failed;
        if failed {
            self.failed.insert(id, false);
            if self.failed.len() > MOST_FAILED {
                self.failed.pop_first();
            }
        }
        for next in op.holds {
            if let Some(waiting) = self.ops.get_mut(&next) {
                waiting.waits_for -= 1;
                waiting.failed |= failed;
                if waiting.waits_for == 0 {
                    self.ready.insert((waiting.priority, next));
                }
            }
        }
    }
}

fn other(error: &exec::MemoryError) -> DeviceError {
    DeviceError::Other(error.to_string())
}

/// The engine of a copy; none within the host.
fn direction(copy: &Copy) -> Option<Direction> {
    match (&copy.from.at, &copy.to.at) {
        (At::Device(_), At::Device(_)) => Some(Direction::Within),
        (_, At::Device(_)) => Some(Direction::ToDevice),
        (At::Device(_), _) => Some(Direction::ToHost),
        _ => None,
    }
}
