//! Large pages for the heap.
//!
//! A page fault takes 2 microseconds on a virtual machine, and a run touches 2,000 to 8,000 pages of its heap: a fifth of
//! the time of short runs, in which other threads wait for the allocator. With large pages traces take 1 to 25 % less
//! time, and 1 to 6 MiB more (docs/speed.md). They come where the system offers them to those who ask:
//! `/sys/kernel/mm/transparent_hugepage/enabled` is `madvise` on most.
#![allow(unsafe_code, reason = "the C library's allocator and the system are asked")]

use rustix::process::{Resource, getrlimit};
use std::hint::black_box;

/// Bytes of a large page.
const LARGE: usize = 2 << 20;

/// Bytes of the heap for which they are asked.
const ROOM: usize = 32 << 20;

/// Asks for large pages for what the heap grows by first, unless the process may have only so much memory.
pub fn ask() {
    if [Resource::Data, Resource::As].into_iter().any(|resource| getrlimit(resource).current.is_some()) {
        return;
    }
    // SAFETY: it reads where the heap ends.
    let end = || unsafe { libc::sbrk(0) };
    let before = end();
    // SAFETY: it sets by how much more than it must the allocator lets the heap grow. Unused pages take no memory.
    unsafe { libc::mallopt(libc::M_TOP_PAD, ROOM as i32) };
    // The heap grows for these two: there is less room for them, and they are too small to be mapped by themselves.
    let blocks = [(); 2].map(|()| black_box(Vec::<u8>::with_capacity(120 << 10)));
    let start = before.map_addr(|at| at.next_multiple_of(LARGE));
    let bytes = (end().addr() / LARGE * LARGE).saturating_sub(start.addr());
    if bytes > 0 {
        // SAFETY: these are pages of the heap, whose contents stay what they are. Without large pages nothing changes.
        unsafe { libc::madvise(start, bytes, libc::MADV_HUGEPAGE) };
    }
    drop(blocks);
}
