//! The heap of kernels: `malloc` and `free` in device code.
//!
//! Blocks are multiples of 16 bytes, taken from the smallest gap that holds them. They have no headers: a heap of 8
//! MiB holds 8 MiB. The heap is one allocation of device memory, placed at the first `malloc`; accesses beyond a
//! block but within the heap are not found.

use crate::memory::{DeviceMemory, Holes};
use std::collections::BTreeMap;

/// Address of the heap: between module variables and the host's allocations.
const BASE: u64 = 0x60_0000_0000;
const ALIGNMENT: u64 = 16;
/// CUDA's default of `cudaLimitMallocHeapSize`.
pub const DEFAULT_HEAP_BYTES: u64 = 8 << 20;

/// The heap of the kernels of a device.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    bytes: u64,
    placed: bool,
    /// Size of each block in use, by address.
    used: BTreeMap<u64, u64>,
    gaps: Holes,
}

impl Default for Heap {
    fn default() -> Self {
        Self { bytes: DEFAULT_HEAP_BYTES, placed: false, used: BTreeMap::new(), gaps: Holes::default() }
    }
}

impl Heap {
    /// Sets the size. Returns false, and changes nothing, once the heap is in use.
    pub fn resize(&mut self, bytes: u64) -> bool {
        if self.placed {
            return false;
        }
        self.bytes = bytes.next_multiple_of(ALIGNMENT);
        true
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Allocates `bytes`; returns 0 if there is no room, or for 0 bytes.
    pub fn allocate(&mut self, bytes: u64, memory: &mut DeviceMemory) -> u64 {
        if bytes == 0 || bytes > self.bytes {
            return 0;
        }
        if !self.placed {
            if memory.place("heap of kernels", BASE, self.bytes, false).is_err() {
                return 0;
            }
            self.placed = true;
            self.gaps.add(BASE, self.bytes);
        }
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        let Some(at) = self.gaps.take(bytes, ALIGNMENT) else { return 0 };
        self.used.insert(at, bytes);
        at
    }

    /// Frees the block at `address`; 0 is not a block. Returns whether it was one in use.
    pub fn free(&mut self, address: u64) -> bool {
        if address == 0 {
            return true;
        }
        let Some(bytes) = self.used.remove(&address) else { return false };
        self.gaps.add(address, bytes);
        true
    }
}

kit::persist! {
    struct Heap { bytes, placed, used, gaps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_join_and_are_used_again() {
        let (mut heap, mut memory) = (Heap::default(), DeviceMemory::default());
        assert!(heap.resize(96));
        let blocks: Vec<u64> = (0..4).map(|_| heap.allocate(24, &mut memory)).collect();
        assert_eq!(blocks, [BASE, BASE + 32, BASE + 64, 0]);
        assert!(heap.free(blocks[0]) && heap.free(blocks[2]));
        assert_eq!(heap.allocate(40, &mut memory), 0, "no gap of 48 bytes");
        assert!(heap.free(blocks[1]));
        assert_eq!(heap.allocate(96, &mut memory), BASE, "one gap again");
    }

    #[test]
    fn only_blocks_in_use_are_freed() {
        let (mut heap, mut memory) = (Heap::default(), DeviceMemory::default());
        let block = heap.allocate(1, &mut memory);
        assert!(heap.free(0) && heap.free(block));
        assert!(!heap.free(block) && !heap.free(block + 16));
        assert!(!heap.resize(16), "it is in use");
    }
}
