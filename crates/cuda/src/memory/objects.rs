//! The data of memory: allocations, ranges of addresses, mappings, pools, advice, memory of graphs. A side of a copy as a
//! program requests it.

use crate::host::PAGE_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Device memory.
    Device,
    /// Page-locked host memory.
    Host,
    /// Managed memory.
    Managed,
    /// Host memory that the program has registered; its own address, which is not that on the device.
    Registered(u64),
}

/// A piece of memory that the program has allocated.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Allocation {
    pub bytes: u64,
    pub place: Place,
    pub context: u64,
    pub device: usize,
    /// Unique number.
    pub id: u64,
    pub flags: u32,
}

impl Allocation {
    /// Bytes of the board's memory that it takes.
    pub(super) fn on_board(&self) -> u64 {
        if matches!(self.place, Place::Device | Place::Managed) { self.bytes } else { 0 }
    }
}

/// Alignment of rows of pitched memory.
pub const PITCH_ALIGNMENT: u64 = 512;

/// First address of memory that device and host share, and the bytes of it for all devices together.
const SHARED_BASE: u64 = 0x64_0000_0000;

const SHARED_BYTES: u64 = 0x0c_0000_0000;

/// Addresses of the heap that each device has for itself, so that an address says which device it is of.
pub(crate) const HEAP_BYTES: u64 = 64 << 30;

/// Devices that have addresses.
pub const MOST_DEVICES: usize = 8;

/// The memory of a device.
#[derive(Clone, Debug)]
pub(super) struct OfDevice {
    pub(super) shared: Shared,
    /// Bytes of the board's memory that allocations and arrays take.
    pub(super) allocated: u64,
    /// The pool that the device has by itself, from its first use, and the one that the program has chosen.
    pub(super) default_pool: Option<u64>,
    pub(super) pool: Option<u64>,
}

/// The addresses of a device's shared memory.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// First address and bytes.
    pub(super) range: (u64, u64),
    /// Bytes given out.
    pub(super) used: u64,
    /// Ranges that were given back: address and bytes.
    pub(super) free: Vec<(u64, u64)>,
}

impl Shared {
    /// The addresses of one of `count` devices.
    pub(super) fn of(device: usize, count: usize) -> Self {
        let each = (SHARED_BYTES / count.max(1) as u64) / PAGE_BYTES * PAGE_BYTES;
        Self { range: (SHARED_BASE + each * device as u64, each), used: 0, free: Vec::new() }
    }

    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        if let Some(at) = self.free.iter().position(|&(_, free)| free == bytes) {
            return Some(self.free.remove(at).0);
        }
        let (base, most) = self.range;
        let address = base + self.used;
        // A page stays free after each range, so that no two are adjacent.
        self.used = self.used.checked_add(bytes + PAGE_BYTES).filter(|&used| used <= most)?;
        Some(address)
    }

    pub(super) fn give_back(&mut self, address: u64, bytes: u64) {
        self.free.push((address, bytes));
    }
}

/// Memory without an address, or with its mapping's address.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Physical {
    pub device: usize,
    pub bytes: u64,
    /// Where it is mapped.
    pub(super) mapped: Option<u64>,
    /// Contents while it is mapped nowhere; `None`: zeros.
    pub(super) contents: Option<Vec<u8>>,
    /// The program has given its handle back: it is gone with its mapping.
    pub(super) is_released: bool,
}

/// Ranges of addresses that the program has reserved.
#[derive(Clone, Debug, Default)]
pub(super) struct Reserved {
    /// Address and bytes.
    pub(super) ranges: BTreeMap<u64, u64>,
}

/// Addresses and sizes are multiples of that.
pub const GRANULARITY_BYTES: u64 = 2 << 20;

/// The addresses of reserved ranges, between shared memory and the heap.
pub(super) const ADDRESSES: std::ops::Range<u64> = 0x70_0000_0000..0x7e_0000_0000;

impl Reserved {
    /// Takes the first free range.
    pub(super) fn take(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        let mut from = ADDRESSES.start.next_multiple_of(alignment);
        for (&start, &size) in &self.ranges {
            if from.checked_add(bytes)? <= start {
                break;
            }
            from = from.max(start + size).next_multiple_of(alignment);
        }
        let end = from.checked_add(bytes)?;
        (end <= ADDRESSES.end).then(|| {
            self.ranges.insert(from, bytes);
            from
        })
    }

    /// Whether a range is within a reserved one.
    pub(super) fn has(&self, address: u64, bytes: u64) -> bool {
        let range = self.ranges.range(..=address).next_back();
        range.is_some_and(|(start, size)| address.checked_add(bytes).is_some_and(|end| end <= start + size))
    }
}

/// A pool of device memory.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Pool {
    pub device: usize,
    /// Whether it is the device's own pool, which the program cannot destroy.
    pub is_default: bool,
    /// Attributes that the program has set, by number.
    pub(super) attributes: BTreeMap<u32, u64>,
    /// Maximum number of bytes that were in use.
    pub(super) highest: u64,
}

/// Advice of a program on a piece of managed memory.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Advice {
    pub read_mostly: bool,
    pub preferred: Option<Location>,
    pub accessed_by: BTreeSet<i32>,
    pub prefetched: Option<Location>,
}

/// A place of memory (`CUmemLocation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Location {
    pub kind: u32,
    pub id: i32,
}

/// `CU_DEVICE_CPU` and `CU_DEVICE_INVALID`.
const CPU: i32 = -1;

pub(super) const NO_DEVICE: i32 = -2;

/// `CU_MEM_LOCATION_TYPE_*`: a device, and the last kind of host memory.
pub(super) const DEVICE: u32 = 1;

pub(super) const LAST_HOST: u32 = 4;

impl Location {
    /// The location that a device number means; -1 is the host.
    pub fn of_device(device: i32) -> Self {
        if device == CPU { Self { kind: 2, id: 0 } } else { Self { kind: DEVICE, id: device } }
    }

    /// The number of the device; -1 of the host.
    pub(super) fn device(this: Option<Self>) -> i32 {
        match this {
            Some(Self { kind: DEVICE, id }) => id,
            Some(_) => CPU,
            None => NO_DEVICE,
        }
    }
}

/// A program's claim about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is host memory.
    Host,
    /// It is device memory.
    Device,
    /// It says nothing: the address does.
    Nothing,
}

/// A side of a requested copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Place3d {
    pub said: Said,
    /// First byte.
    pub address: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
    /// Bytes from a slice to the next.
    pub slice: u64,
}

impl Place3d {
    /// Bytes that follow each other.
    pub fn line(said: Said, address: u64, bytes: u64) -> Self {
        Self { said, address, pitch: bytes, slice: bytes }
    }

    /// Bytes from the first to the last of a box; `None` if that is too large.
    pub(super) fn extent(&self, [width, height, depth]: [u64; 3]) -> Option<u64> {
        let rows = self.pitch.checked_mul(height.checked_sub(1)?)?;
        self.slice.checked_mul(depth.checked_sub(1)?)?.checked_add(rows)?.checked_add(width)
    }
}

/// Memory of a node that allocates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GraphMemory {
    /// Graphs and executable graphs with this node.
    pub(super) holders: u32,
    /// A launch has allocated it, and it has not been freed since.
    pub(super) is_allocated: bool,
}
