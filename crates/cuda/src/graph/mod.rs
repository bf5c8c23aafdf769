//! Graphs: nodes with dependences, which programs build or capture. `executable` has what is launched.

mod executable;
pub mod kind;
mod objects;
mod user_object;

pub use executable::Difference;
pub use objects::{Executable, Graph, Node, Task, UserObject};

use crate::error::{Error, Result};
use crate::handles::{Handles, Kind};
use crate::memory::Memory;
use crate::module::make_cooperative;
use crate::platform::Platform;
use crate::work::{KernelLaunch, Work};
use isa::Dim3;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
const ATTRIBUTE_COOPERATIVE: u32 = 2;
/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const ATTRIBUTE_CLUSTER: u32 = 4;
/// Maximum number of levels of graphs within graphs.
const MOST_LEVELS: u32 = 64;

/// Owner of graphs, executable graphs, and objects of the program to which graphs refer.
pub struct Graphs {
    graphs: Handles<Graph>,
    nodes: Handles<Node>,
    executables: Handles<Executable>,
    user_objects: Handles<UserObject>,
}

impl Graphs {
    /// No graphs.
    pub(crate) fn new() -> Self {
        Self {
            graphs: Handles::new(Kind::Graph),
            nodes: Handles::new(Kind::GraphNode),
            executables: Handles::new(Kind::GraphExec),
            user_objects: Handles::new(Kind::UserObject),
        }
    }

    /// An empty graph.
    ///
    /// # Errors
    /// There is no context.
    pub fn create(&mut self, platform: &Platform) -> Result<u64> {
        let (context, device) = platform.place_here()?;
        Ok(self.graphs.add(Graph {
            context,
            device,
            nodes: Vec::new(),
            depth: 1,
            is_child: false,
            objects: BTreeMap::new(),
        }))
    }

    /// A graph.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn get(&self, graph: u64) -> Result<&Graph> {
        self.graphs.get(graph).map_err(|_| Error::INVALID_VALUE)
    }

    /// A node.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn node(&self, node: u64) -> Result<&Node> {
        self.nodes.get(node).map_err(|_| Error::INVALID_VALUE)
    }

    /// Whether these are nodes of a graph, each once.
    pub(crate) fn check_nodes(&self, graph: u64, nodes: &[u64]) -> Result<()> {
        self.get(graph)?;
        for node in nodes {
            if self.node(*node)?.graph != graph {
                return Err(Error::INVALID_VALUE);
            }
        }
        let distinct = nodes.iter().collect::<BTreeSet<_>>().len() == nodes.len();
        if distinct { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    /// Adds a node.
    ///
    /// # Errors
    /// It is not a graph, or the dependences are none of its nodes.
    pub fn add(&mut self, memory: &mut Memory, graph: u64, after: &[u64], task: Task) -> Result<u64> {
        self.check_nodes(graph, after)?;
        let node = Node {
            graph,
            task: Task::Work(Work::Nothing),
            after: after.to_vec(),
            original: 0,
            attributes: Default::default(),
            argument_list: Box::default(),
        };
        let handle = self.nodes.add(node);
        self.graphs.get_mut(graph)?.nodes.push(handle);
        self.set_task(memory, handle, task)?;
        Ok(handle)
    }

    fn set_task(&mut self, memory: &mut Memory, node: u64, task: Task) -> Result<()> {
        let graph = self.node(node)?.graph;
        match task {
            Task::Child(child) => {
                let depth = self.get(child)?.depth + 1;
                let parent = self.graphs.get_mut(graph)?;
                parent.depth = parent.depth.max(depth);
            }
            Task::Allocate(address, _) => memory.hold(address),
            _ => {}
        }
        let argument_list = match &task {
            Task::Work(Work::Launch(launch)) => launch.args.iter().map(|value| value.as_ptr() as u64).collect(),
            _ => Box::default(),
        };
        let node = self.nodes.get_mut(node)?;
        (node.task, node.argument_list) = (task, argument_list);
        Ok(())
    }

    /// Adds a node that executes a copy of another graph.
    ///
    /// # Errors
    /// It is not a graph, or it allocates memory.
    pub fn add_child(&mut self, memory: &mut Memory, graph: u64, after: &[u64], child: u64) -> Result<u64> {
        self.check_nodes(graph, after)?;
        if self.get(child)?.depth >= MOST_LEVELS {
            return Err(Error::NOT_SUPPORTED);
        }
        let child = self.clone_graph(memory, child)?;
        self.graphs.get_mut(child)?.is_child = true;
        self.add(memory, graph, after, Task::Child(child))
    }

    /// Changes what a node does; its kind stays.
    ///
    /// # Errors
    /// It is not a node, or it is one of another kind.
    pub fn node_set(&mut self, memory: &mut Memory, node: u64, task: Task) -> Result<()> {
        if self.node(node)?.task.kind() != task.kind() {
            return Err(Error::INVALID_VALUE);
        }
        self.set_task(memory, node, task)
    }

    /// Sets an attribute of a kernel's node.
    ///
    /// # Errors
    /// It is not a node of a kernel, or not all CTAs of a cooperative launch fit on the GPU.
    pub fn node_set_attribute(
        &mut self,
        platform: &mut Platform,
        memory: &mut Memory,
        node: u64,
        attribute: u32,
        value: Vec<u8>,
    ) -> Result<()> {
        let Node { graph, task: Task::Work(Work::Launch(launch)), .. } = self.node(node)? else {
            return Err(Error::INVALID_VALUE);
        };
        let is_cooperative = attribute == ATTRIBUTE_COOPERATIVE && value.first() == Some(&1);
        if is_cooperative && !launch.cooperative {
            let (device, mut launch) = (self.get(*graph)?.device, KernelLaunch::clone(launch));
            make_cooperative(platform, device, &mut launch)?;
            self.set_task(memory, node, Task::Work(Work::Launch(Arc::new(launch))))?;
        }
        if attribute == ATTRIBUTE_CLUSTER {
            let Node { graph, task: Task::Work(Work::Launch(launch)), .. } = self.node(node)? else {
                return Err(Error::INVALID_VALUE);
            };
            let (device, mut launch) = (self.get(*graph)?.device, KernelLaunch::clone(launch));
            let side =
                |at: usize| value.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap_or([0; 4])));
            let cluster = Dim3::new(side(0), side(4), side(8));
            let is_possible = launch.live.set_cluster(Some(cluster)).is_ok();
            if !is_possible || platform.timeline(device)?.device.check_launch(&launch.live).is_err() {
                return Err(Error::INVALID_CLUSTER_SIZE);
            }
            self.set_task(memory, node, Task::Work(Work::Launch(Arc::new(launch))))?;
        }
        self.nodes.get_mut(node)?.attributes.insert(attribute, value);
        Ok(())
    }

    /// Adds dependences: pairs of the earlier and the later node.
    ///
    /// # Errors
    /// They are not nodes of the graph, or the dependence exists already.
    pub fn add_dependences(&mut self, graph: u64, pairs: &[(u64, u64)]) -> Result<()> {
        for &(from, to) in pairs {
            self.check_nodes(graph, &[from, to])?;
            if self.node(to)?.after.contains(&from) {
                return Err(Error::INVALID_VALUE);
            }
        }
        for &(from, to) in pairs {
            self.nodes.get_mut(to)?.after.push(from);
        }
        Ok(())
    }

    /// Takes dependences away.
    ///
    /// # Errors
    /// They are not nodes of the graph, or there is no such dependence.
    pub fn remove_dependences(&mut self, graph: u64, pairs: &[(u64, u64)]) -> Result<()> {
        for &(from, to) in pairs {
            self.check_nodes(graph, &[from, to])?;
            if !self.node(to)?.after.contains(&from) {
                return Err(Error::INVALID_VALUE);
            }
        }
        for &(from, to) in pairs {
            self.nodes.get_mut(to)?.after.retain(|&node| node != from);
        }
        Ok(())
    }

    /// The nodes of a graph, in the order in which they were added.
    ///
    /// # Errors
    /// It is not a graph.
    pub fn nodes_of(&self, graph: u64) -> Result<Vec<u64>> {
        self.get(graph).map(|graph| graph.nodes.clone())
    }

    /// The nodes of a graph that follow no other one.
    ///
    /// # Errors
    /// It is not a graph.
    pub fn roots(&self, graph: u64) -> Result<Vec<u64>> {
        let is_root = |node: &u64| self.node(*node).is_ok_and(|node| node.after.is_empty());
        Ok(self.get(graph)?.nodes.iter().copied().filter(is_root).collect())
    }

    /// The dependences of a graph: pairs of the earlier and the later node.
    ///
    /// # Errors
    /// It is not a graph.
    pub fn edges(&self, graph: u64) -> Result<Vec<(u64, u64)>> {
        let nodes = self.get(graph)?.nodes.iter().filter_map(|&to| Some((to, self.node(to).ok()?)));
        Ok(nodes.flat_map(|(to, node)| node.after.iter().map(move |&from| (from, to))).collect())
    }

    /// The nodes that follow a node.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn node_followers(&self, node: u64) -> Result<Vec<u64>> {
        let edges = self.edges(self.node(node)?.graph)?;
        Ok(edges.into_iter().filter(|&(from, _)| from == node).map(|(_, to)| to).collect())
    }

    /// Nodes and all those that they follow, directly or through others.
    pub(crate) fn ancestors(&self, nodes: &[u64]) -> BTreeSet<u64> {
        let (mut found, mut open) = (BTreeSet::new(), nodes.to_vec());
        while let Some(node) = open.pop() {
            if found.insert(node)
                && let Ok(node) = self.node(node)
            {
                open.extend(&node.after);
            }
        }
        found
    }

    /// A copy of a graph.
    ///
    /// # Errors
    /// It is not a graph, or it allocates memory.
    pub fn clone_graph(&mut self, memory: &mut Memory, graph: u64) -> Result<u64> {
        let Graph { context, device, nodes, depth, objects, .. } = self.get(graph)?.clone();
        let owns =
            |node: &u64| self.node(*node).is_ok_and(|node| matches!(node.task.kind(), kind::ALLOCATE | kind::FREE));
        if nodes.iter().any(owns) {
            return Err(Error::NOT_SUPPORTED);
        }
        let clone = self.graphs.add(Graph {
            context,
            device,
            nodes: Vec::new(),
            depth,
            is_child: false,
            objects: BTreeMap::new(),
        });
        for (object, count) in objects.into_iter().filter(|&(_, count)| count != 0) {
            self.retain_object(clone, object, count, false)?;
        }
        let mut copies = HashMap::new();
        for from in nodes {
            let node = self.node(from)?.clone();
            let task = match node.task {
                Task::Child(child) => {
                    let child = self.clone_graph(memory, child)?;
                    self.graphs.get_mut(child)?.is_child = true;
                    Task::Child(child)
                }
                task => task,
            };
            let to = self.add(memory, clone, &[], task)?;
            copies.insert(from, to);
            let copy = self.nodes.get_mut(to)?;
            (copy.original, copy.attributes) = (from, node.attributes);
        }
        for (from, to) in &copies {
            let after = self.node(*from)?.after.iter().filter_map(|node| copies.get(node).copied()).collect();
            self.nodes.get_mut(*to)?.after = after;
        }
        Ok(clone)
    }

    /// The node of a clone that was made of a node.
    ///
    /// # Errors
    /// There is none.
    pub fn node_in_clone(&self, original: u64, clone: u64) -> Result<u64> {
        let made_of = |node: &u64| self.node(*node).is_ok_and(|node| node.original == original);
        self.get(clone)?.nodes.iter().copied().find(made_of).ok_or(Error::INVALID_VALUE)
    }

    /// Removes a node with its dependences.
    ///
    /// # Errors
    /// It is not a node, or memory of it is in use.
    pub fn node_destroy(&mut self, platform: &mut Platform, memory: &mut Memory, node: u64) -> Result<()> {
        let graph = self.node(node)?.graph;
        if matches!(self.node(node)?.task, Task::Allocate(..) | Task::Free(_)) {
            return Err(Error::NOT_SUPPORTED);
        }
        for follower in self.node_followers(node)? {
            self.nodes.get_mut(follower)?.after.retain(|&n| n != node);
        }
        self.graphs.get_mut(graph)?.nodes.retain(|&n| n != node);
        if let Task::Child(child) = self.nodes.remove(node)?.task {
            self.remove(platform, memory, child);
        }
        Ok(())
    }

    /// Destroys a graph.
    ///
    /// # Errors
    /// The handle is invalid, or a node owns the graph.
    pub fn destroy(&mut self, platform: &mut Platform, memory: &mut Memory, graph: u64) -> Result<()> {
        if self.get(graph)?.is_child {
            return Err(Error::INVALID_VALUE);
        }
        self.remove(platform, memory, graph);
        Ok(())
    }

    /// Makes a graph one that a node owns.
    pub(crate) fn make_child(&mut self, graph: u64) {
        if let Ok(graph) = self.graphs.get_mut(graph) {
            graph.is_child = true;
        }
    }

    fn remove(&mut self, platform: &mut Platform, memory: &mut Memory, graph: u64) {
        let Ok(graph) = self.graphs.remove(graph) else { return };
        for (object, count) in graph.objects.into_iter().filter(|&(_, count)| count != 0) {
            let _ = self.user_object_release(platform, object, count, &[]);
        }
        for node in graph.nodes {
            match self.nodes.remove(node).map(|node| node.task) {
                Ok(Task::Child(child)) => self.remove(platform, memory, child),
                Ok(Task::Allocate(address, _)) => memory.drop_hold(platform, address, &[]),
                _ => {}
            }
        }
    }

    /// Removes the graphs and executable graphs of a context.
    pub(crate) fn release_context(&mut self, platform: &mut Platform, memory: &mut Memory, context: u64) {
        self.executables.retain(|executable| executable.context != context);
        let graphs: Vec<u64> =
            self.graphs.iter().filter(|(_, g)| g.context == context && !g.is_child).map(|(graph, _)| graph).collect();
        graphs.into_iter().for_each(|graph| self.remove(platform, memory, graph));
    }

    /// The nodes of a graph, each after those that it follows.
    ///
    /// # Errors
    /// It is not a graph, or nodes follow each other in a circle.
    pub(crate) fn order(&self, graph: u64) -> Result<Vec<u64>> {
        let nodes = &self.get(graph)?.nodes;
        let index: HashMap<u64, usize> = nodes.iter().enumerate().map(|(i, &node)| (node, i)).collect();
        let (mut missing, mut followers) = (vec![0; nodes.len()], vec![Vec::new(); nodes.len()]);
        for (from, to) in self.edges(graph)? {
            missing[index[&to]] += 1;
            followers[index[&from]].push(index[&to]);
        }
        let mut ready: BTreeSet<usize> = (0..nodes.len()).filter(|&i| missing[i] == 0).collect();
        let mut order = Vec::new();
        while let Some(next) = ready.pop_first() {
            order.push(nodes[next]);
            for &follower in &followers[next] {
                missing[follower] -= 1;
                if missing[follower] == 0 {
                    ready.insert(follower);
                }
            }
        }
        if order.len() == nodes.len() { Ok(order) } else { Err(Error::INVALID_VALUE) }
    }

    // Memory of nodes.

    /// Adds a node that allocates memory; returns it and the address.
    ///
    /// # Errors
    /// It is not a graph, or there is not enough memory.
    pub fn add_allocation(
        &mut self,
        platform: &mut Platform,
        memory: &mut Memory,
        graph: u64,
        after: &[u64],
        bytes: u64,
    ) -> Result<(u64, u64)> {
        self.check_nodes(graph, after)?;
        let address = memory.allocate(platform, bytes)?;
        Ok((self.add(memory, graph, after, Task::Allocate(address, bytes))?, address))
    }

    /// Adds a node that frees memory of another one.
    ///
    /// # Errors
    /// It is not a graph, no node has allocated that memory, or a node of the graph frees it already.
    pub fn add_free(&mut self, memory: &mut Memory, graph: u64, after: &[u64], address: u64) -> Result<u64> {
        let frees =
            |node: &u64| self.node(*node).is_ok_and(|node| matches!(node.task, Task::Free(of) if of == address));
        if !memory.is_of_graph(address) || self.get(graph)?.nodes.iter().any(frees) {
            return Err(Error::INVALID_VALUE);
        }
        self.add(memory, graph, after, Task::Free(address))
    }
}
