//! Executable graphs: what is launched. Graphs within graphs are resolved; nodes keep the handles of the graph.

use crate::error::{Error, Result};
use crate::graph::objects::Step;
use crate::graph::{Executable, Graphs, Task, kind};
use crate::memory::Memory;
use crate::platform::Platform;
use crate::stream::{CAPTURED, Key, Streams};
use crate::timeline::OpId;
use crate::work::{Stamp, Work};
use std::collections::{BTreeSet, HashMap};

/// Why an executable graph cannot take over another graph (`CU_GRAPH_EXEC_UPDATE_*`), with the node that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the reason.
    pub reason: u32,
    /// The node; 0 if it is none in particular.
    pub node: u64,
}

/// Reasons.
const TOPOLOGY: u32 = 2;
const KIND: u32 = 3;
const NOT_SUPPORTED: u32 = 6;

/// Flags of instantiation that have no meaning here: memory of graphs is kept in any case, nothing is uploaded, and all
/// nodes have the priority of the stream.
const FLAGS: u64 = AUTO_FREE | 2 | 8;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE: u64 = 1;

impl Graphs {
    /// Makes an executable graph.
    ///
    /// # Errors
    /// It is not a graph, its nodes follow each other in a circle, or it is to be launched by the device.
    pub fn instantiate(&mut self, memory: &mut Memory, graph: u64, flags: u64) -> Result<u64> {
        if flags & !FLAGS != 0 {
            return Err(if flags & !(FLAGS | 4) == 0 { Error::NOT_SUPPORTED } else { Error::INVALID_VALUE });
        }
        let steps = self.steps_of(graph)?;
        let (context, device) = self.get(graph).map(|graph| (graph.context, graph.device))?;
        for step in &steps {
            if let Task::Allocate(address, _) = step.task {
                memory.hold(address);
            }
        }
        let mut objects = Vec::new();
        self.objects_of(graph, &mut objects)?;
        for &object in &objects {
            self.user_object_retain(object, 1)?;
        }
        Ok(self.executables.add(Executable { context, device, flags, steps, last: None, objects }))
    }

    /// Collects the objects to which a graph, or one within it, refers.
    fn objects_of(&self, graph: u64, objects: &mut Vec<u64>) -> Result<()> {
        let held = self.get(graph)?.objects.iter().filter(|(_, count)| **count != 0);
        objects.extend(held.map(|(object, _)| object));
        for node in self.nodes_of(graph)? {
            if let Task::Child(child) = self.node(node)?.task {
                self.objects_of(child, objects)?;
            }
        }
        Ok(())
    }

    /// An executable graph.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn executable(&self, executable: u64) -> Result<&Executable> {
        self.executables.get(executable).map_err(|_| Error::INVALID_VALUE)
    }

    fn steps_of(&self, graph: u64) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        self.add_steps(graph, &[], &mut steps)?;
        Ok(steps)
    }

    /// Adds the nodes of a graph after the steps `before`; returns those that no other one follows.
    fn add_steps(&self, graph: u64, before: &[usize], steps: &mut Vec<Step>) -> Result<Vec<usize>> {
        let mut places = HashMap::new();
        let mut last = BTreeSet::new();
        for handle in self.order(graph)? {
            let node = self.node(handle)?;
            let mut after: Vec<usize> = node.after.iter().map(|earlier| places[earlier]).collect();
            after.iter().for_each(|step| {
                last.remove(step);
            });
            if after.is_empty() {
                after = before.to_vec();
            }
            let first = steps.len();
            if let Task::Child(child) = node.task {
                let ends = self.add_steps(child, &after, steps)?;
                after = if ends.is_empty() { after } else { ends };
            }
            places.insert(handle, steps.len());
            last.insert(steps.len());
            steps.push(Step { node: handle, task: node.task.clone(), after, is_enabled: true, first });
        }
        Ok(last.into_iter().collect())
    }

    /// Destroys an executable graph. A launch of it is still carried out.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn executable_destroy(&mut self, platform: &mut Platform, memory: &mut Memory, executable: u64) -> Result<()> {
        let gone = self.executables.remove(executable).map_err(|_| Error::INVALID_VALUE)?;
        for object in gone.objects {
            self.user_object_release(platform, object, 1, gone.last.as_slice())?;
        }
        for step in gone.steps {
            if let Task::Allocate(address, _) = step.task {
                memory.drop_hold(platform, address, gone.last.as_slice());
            }
        }
        Ok(())
    }

    /// Launches a graph in a stream that does not capture. It begins after its previous launch.
    ///
    /// # Errors
    /// The handle is invalid, or memory of its last launch has not been freed.
    pub(crate) fn launch(
        &mut self,
        platform: &mut Platform,
        memory: &mut Memory,
        streams: &mut Streams,
        executable: u64,
        (device, key): (usize, Key),
    ) -> Result<()> {
        let Executable { steps, last, flags, .. } = self.executable(executable)?.clone();
        allocate_steps(memory, &steps, flags & AUTO_FREE != 0)?;
        let (mut before, priority) = streams.before(device, key);
        before.extend(last);
        let mut ops: Vec<OpId> = Vec::with_capacity(steps.len());
        let mut ends: BTreeSet<OpId> = BTreeSet::new();
        for step in steps {
            let mut after: Vec<OpId> = step.after.iter().map(|&step| ops[step]).collect();
            for op in &after {
                ends.remove(op);
            }
            if after.is_empty() {
                after.clone_from(&before);
            }
            let op = request_step(platform, streams, device, step, after, priority)?;
            ends.insert(op);
            ops.push(op);
        }
        let ends: Vec<OpId> = if ends.is_empty() { before } else { ends.into_iter().collect() };
        let end = platform.timeline(device)?.request(Work::Nothing, &ends, priority);
        streams.advance(platform, device, key, end);
        self.executables.get_mut(executable)?.last = Some(end);
        Ok(())
    }

    /// A graph of what an executable one does, for a capture of its launch.
    pub(crate) fn graph_of(&mut self, platform: &Platform, memory: &mut Memory, executable: u64) -> Result<u64> {
        let steps = self.executable(executable)?.steps.clone();
        let graph = self.create(platform)?;
        let mut nodes: Vec<u64> = Vec::new();
        for step in steps {
            let after: Vec<u64> = step.after.iter().map(|&step| nodes[step]).collect();
            let task = match step.task {
                Task::Allocate(..) | Task::Free(_) => return Err(Error::NOT_SUPPORTED),
                task if step.is_enabled && !matches!(task, Task::Child(_)) => task,
                _ => Task::Work(Work::Nothing),
            };
            nodes.push(self.add(memory, graph, &after, task)?);
        }
        self.make_child(graph);
        Ok(graph)
    }

    /// Replaces the parameters of an executable graph by the parameters of a graph of the same shape.
    ///
    /// # Errors
    /// The graphs differ in more than the parameters of their nodes.
    pub fn executable_update(&mut self, executable: u64, graph: u64) -> Result<Option<Difference>> {
        let new = self.steps_of(graph)?;
        let present = &self.executable(executable)?.steps;
        let difference = compare(present, &new, 0);
        if difference.is_none() {
            replace(&mut self.executables.get_mut(executable)?.steps, new);
        }
        Ok(difference)
    }

    fn step(&mut self, executable: u64, node: u64) -> Result<&mut Step> {
        let executable = self.executables.get_mut(executable).map_err(|_| Error::INVALID_VALUE)?;
        executable.steps.iter_mut().find(|step| step.node == node).ok_or(Error::INVALID_VALUE)
    }

    /// Changes what a node of an executable graph does.
    ///
    /// # Errors
    /// It has no such node, or one of another kind.
    pub fn executable_set(&mut self, executable: u64, node: u64, task: Task) -> Result<()> {
        let step = self.step(executable, node)?;
        if step.task.kind() != task.kind() {
            return Err(Error::INVALID_VALUE);
        }
        step.task = task;
        Ok(())
    }

    /// Changes what a graph within an executable graph does.
    ///
    /// # Errors
    /// It has no such node, or the graphs differ in more than the parameters of their nodes.
    pub fn executable_set_child(&mut self, executable: u64, node: u64, graph: u64) -> Result<()> {
        let new = self.steps_of(graph)?;
        let steps = &mut self.executables.get_mut(executable).map_err(|_| Error::INVALID_VALUE)?.steps;
        let at = steps.iter().position(|step| step.node == node).ok_or(Error::INVALID_VALUE)?;
        let first = steps[at].first;
        if compare(&steps[first..at], &new, first).is_some() {
            return Err(Error::INVALID_VALUE);
        }
        replace(&mut steps[first..at], new);
        Ok(())
    }

    /// Whether a node of an executable graph is executed.
    ///
    /// # Errors
    /// It has no such node, or one that cannot be switched off.
    pub fn step_enabled(&mut self, executable: u64, node: u64) -> Result<&mut bool> {
        let step = self.step(executable, node)?;
        if matches!(step.task.kind(), kind::KERNEL | kind::COPY | kind::FILL) {
            Ok(&mut step.is_enabled)
        } else {
            Err(Error::INVALID_VALUE)
        }
    }
}

/// Notes what memory a launch allocates and frees. With `frees`, a launch frees what the last one has left.
fn allocate_steps(memory: &mut Memory, steps: &[Step], frees: bool) -> Result<()> {
    let is_left = |step: &Step| match step.task {
        Task::Allocate(address, _) => memory.is_left(address),
        _ => false,
    };
    if !frees && steps.iter().any(is_left) {
        return Err(Error::INVALID_VALUE);
    }
    for step in steps {
        let (Task::Allocate(address, _) | Task::Free(address)) = step.task else { continue };
        memory.set_allocated(address, matches!(step.task, Task::Allocate(..)));
    }
    Ok(())
}

/// Requests what a step does; returns the last operation.
fn request_step(
    platform: &mut Platform,
    streams: &mut Streams,
    device: usize,
    step: Step,
    mut after: Vec<OpId>,
    priority: i32,
) -> Result<OpId> {
    let mut works = match step.task {
        _ if !step.is_enabled => vec![Work::Nothing],
        Task::Work(work) => vec![work],
        Task::Several(works) => works,
        Task::Record(event) => {
            let stamp = Stamp::default();
            let op = platform.timeline(device)?.request(Work::Record(stamp.clone()), &after, priority);
            let _ = streams.set_recorded(event, op, stamp);
            return Ok(op);
        }
        Task::Wait(event) => {
            after.extend(streams.recorded(event));
            vec![Work::Nothing]
        }
        Task::Child(_) | Task::Allocate(..) | Task::Free(_) => vec![Work::Nothing],
    };
    if works.is_empty() {
        works.push(Work::Nothing);
    }
    let timeline = platform.timeline(device)?;
    let mut op = CAPTURED;
    for work in works {
        op = timeline.request(work, &after, priority);
        after = vec![op];
    }
    Ok(op)
}

/// Compares the shape of graphs; `offset` is the place of the first present step, whose dependences on earlier ones
/// do not count.
fn compare(present: &[Step], new: &[Step], offset: usize) -> Option<Difference> {
    for (at, (old, step)) in present.iter().zip(new).enumerate() {
        let node = step.node;
        if old.task.kind() != step.task.kind() {
            return Some(Difference { reason: KIND, node });
        }
        let after: Vec<usize> = old.after.iter().filter_map(|step| step.checked_sub(offset)).collect();
        if after != step.after || old.first - offset != step.first {
            return Some(Difference { reason: TOPOLOGY, node });
        }
        if matches!(old.task, Task::Allocate(..) | Task::Free(_)) {
            return Some(Difference { reason: NOT_SUPPORTED, node: present[at].node });
        }
    }
    (present.len() != new.len()).then_some(Difference { reason: TOPOLOGY, node: 0 })
}

fn replace(present: &mut [Step], new: Vec<Step>) {
    for (old, step) in present.iter_mut().zip(new) {
        old.task = step.task;
    }
}
