//! Memory instructions as the timing model sees them.

use exec::mbarrier::MbarrierOp;
use exec::op::Op;
use isa::{Access, CacheOp, MemAccess, Space};

/// The memory access of an instruction, as the timing model sees it.
pub(crate) fn mem_access(op: &Op, cache: CacheOp) -> Option<MemAccess> {
    Some(match op {
        Op::Load(t) => MemAccess { space: t.space, access: Access::Load, bytes: t.format.total_bytes(), cache },
        Op::Store(t) => MemAccess { space: t.space, access: Access::Store, bytes: t.format.total_bytes(), cache },
        Op::Atomic(a) => {
            let access = if a.d.is_some() { Access::Atomic } else { Access::Reduction };
            MemAccess { space: a.space, access, bytes: a.bytes(), cache }
        }
        Op::Mbarrier(barrier) => {
            let access = match barrier.op {
                MbarrierOp::Init | MbarrierOp::Exchange => Access::Store,
                _ if barrier.d.is_some() => Access::Atomic,
                _ => Access::Reduction,
            };
            MemAccess { space: Space::Shared, access, bytes: 8, cache }
        }
        Op::MbarrierWait(_) => MemAccess { space: Space::Shared, access: Access::Atomic, bytes: 8, cache },
        // The timing model needs only the texel's address, not its size.
        Op::Fetch(_) => MemAccess { space: Space::Texture, access: Access::Load, bytes: 4, cache },
        Op::Surface(access) => access.mem_access(),
        Op::AsyncCopy { bytes, .. } => {
            MemAccess { space: Space::Global, access: Access::AsyncCopy, bytes: *bytes, cache }
        }
        _ => return None,
    })
}
