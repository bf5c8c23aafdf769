//! Device memory as the warps of an SM see it: what it was when the window began, and their own writes since.

use super::device::{DeviceMemory, Window};
use super::overlay::Overlay;
use super::reader::Reader;
use super::reduction::Reduction;

/// Effects of the warps of an SM in a window that the others have yet to see.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub overlay: Overlay,
    /// Reductions in the order of their execution.
    pub reductions: Vec<Reduction>,
    /// They have changed what warps share, while that is recorded.
    pub changed: bool,
}

/// Device memory, as an executing warp accesses it.
#[derive(Debug)]
pub(crate) struct View<'a> {
    memory: Memory<'a>,
    reader: &'a Reader,
}

#[derive(Debug)]
enum Memory<'a> {
    /// As of the window's start, and what the SM's warps have written since.
    Frozen(&'a DeviceMemory, &'a mut Own),
    /// For this warp alone.
    Alone(&'a mut DeviceMemory),
}

impl<'a> View<'a> {
    /// Of memory that others see too.
    #[inline(always)]
    pub fn frozen(memory: &'a DeviceMemory, own: &'a mut Own, reader: &'a Reader) -> Self {
        Self { memory: Memory::Frozen(memory, own), reader }
    }

    /// Of memory for this warp alone, which sees all that was merged.
    #[inline(always)]
    pub fn alone(memory: &'a mut DeviceMemory, reader: &'a Reader) -> Self {
        Self { memory: Memory::Alone(memory), reader }
    }

    /// The same for a shorter time.
    #[inline(always)]
    pub fn reborrow(&mut self) -> View<'_> {
        let memory = match &mut self.memory {
            Memory::Frozen(memory, own) => Memory::Frozen(memory, own),
            Memory::Alone(memory) => Memory::Alone(memory),
        };
        View { memory, reader: self.reader }
    }

    /// Memory without the SM's own writes.
    #[inline(always)]
    pub fn base(&self) -> &DeviceMemory {
        match &self.memory {
            Memory::Frozen(memory, _) => memory,
            Memory::Alone(memory) => memory,
        }
    }

    /// The SM's own writes, if there may be any that [`View::base`] has not.
    #[inline(always)]
    pub fn overlay(&self) -> Option<&Overlay> {
        match &self.memory {
            Memory::Frozen(_, own) if !own.overlay.is_empty() => Some(&own.overlay),
            _ => None,
        }
    }

    /// Memory for this warp alone; `None` if others see it too.
    #[inline(always)]
    pub fn exclusive(&mut self) -> Option<(&mut DeviceMemory, &Reader)> {
        match &mut self.memory {
            Memory::Frozen(..) => None,
            Memory::Alone(memory) => Some((memory, self.reader)),
        }
    }

    /// Effects that others have yet to see, and memory without them; `None` if this warp has memory for itself.
    #[inline(always)]
    pub fn own(&mut self) -> Option<(&mut Own, &DeviceMemory, &Reader)> {
        match &mut self.memory {
            Memory::Frozen(memory, own) => Some((own, memory, self.reader)),
            Memory::Alone(_) => None,
        }
    }

    /// Whether others have yet to see something that the SM's warps have done.
    pub fn is_ahead(&self) -> bool {
        self.overlay().is_some()
    }

    /// The window for loads of `size` bytes around `address`, as [`DeviceMemory::window`].
    #[inline(always)]
    pub fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        self.base().window(address, size, self.reader)
    }

    /// Whether kernels may store `size` bytes at `address`.
    pub fn has_room(&self, address: u64, size: u64) -> bool {
        self.base().room(address, size, self.reader).is_some()
    }

    /// Whether changes of shared state are recorded and there have been none.
    #[inline]
    pub fn is_unchanged(&self) -> bool {
        match &self.memory {
            Memory::Frozen(memory, own) => memory.is_unchanged() && !own.changed,
            Memory::Alone(memory) => memory.is_unchanged(),
        }
    }

    /// Records a change of shared state, or a possible one.
    #[inline]
    pub fn note_change(&mut self) {
        match &mut self.memory {
            Memory::Frozen(_, own) => own.changed = true,
            Memory::Alone(memory) => memory.note_change(),
        }
    }
}
