//! Counts of what lanes do.

use isa::Work;

/// Operations of lanes by kind: active lanes of issued instructions, less those that a layer over the operand
/// stage saves.
pub type WorkCounts = kit::ByKind<{ Work::COUNT }>;
