//! Which machine code a GPU runs.

/// Whether a GPU of architecture `gpu` runs machine code for `sm` (86 for sm_86): of its own major version,
/// and not newer.
pub fn runs_on(sm: u32, gpu: u32) -> bool {
    sm / 10 == gpu / 10 && sm <= gpu
}
