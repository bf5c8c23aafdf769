//! Memory of nodes of graphs.

use crate::memory::Memory;
use crate::platform::Platform;

impl Memory {
    /// Notes that a graph, or an executable one, has memory.
    pub(crate) fn hold(&mut self, address: u64) {
        self.of_graphs.entry(address).or_default().holders += 1;
    }

    /// Whether memory belongs to a graph: it stays for the next launch when the program frees it.
    pub(crate) fn is_kept_by_graph(&mut self, address: u64) -> bool {
        let memory = self.of_graphs.get_mut(&address);
        memory.map(|memory| memory.is_allocated = false).is_some()
    }

    /// Notes that a graph is gone. Memory that a launch has left is the program's from then on.
    pub(crate) fn drop_hold(&mut self, platform: &mut Platform, address: u64, after: &[u64]) {
        let Some(memory) = self.of_graphs.get_mut(&address) else { return };
        memory.holders -= 1;
        if memory.holders == 0 {
            let is_allocated = memory.is_allocated;
            self.of_graphs.remove(&address);
            if !is_allocated {
                let _ = self.free_after(platform, address, after);
            }
        }
    }

    /// Bytes of memory of the graphs of a device.
    pub fn graph_bytes(&self, device: usize) -> u64 {
        let allocations = self.of_graphs.keys().filter_map(|address| self.allocations.get(address));
        allocations.filter(|allocation| allocation.device == device).map(|allocation| allocation.bytes).sum()
    }

    /// Whether memory belongs to a graph.
    pub(crate) fn is_of_graph(&self, address: u64) -> bool {
        self.of_graphs.contains_key(&address)
    }

    /// Whether a launch has allocated memory of a graph that has not been freed since.
    pub(crate) fn is_left(&self, address: u64) -> bool {
        self.of_graphs.get(&address).is_some_and(|memory| memory.is_allocated)
    }

    /// Notes that a launch allocates memory of a graph, or frees it.
    pub(crate) fn set_allocated(&mut self, address: u64, is_allocated: bool) {
        if let Some(memory) = self.of_graphs.get_mut(&address) {
            memory.is_allocated = is_allocated;
        }
    }
}
