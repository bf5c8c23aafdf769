//! Counts of what lanes do.

use isa::Work;

/// Operations of lanes, by what they do: active lanes of issued instructions, less those that the scalar
/// path saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkCounts(pub [u64; Work::COUNT]);

impl Default for WorkCounts {
    fn default() -> Self {
        Self([0; Work::COUNT])
    }
}
