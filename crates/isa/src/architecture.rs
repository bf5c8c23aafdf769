//! Compatibility of machine code and GPUs.

/// Whether a GPU of architecture `gpu` runs machine code for `sm` (86 for sm_86): code of the same major
/// version, and not newer.
pub fn runs_on(sm: u32, gpu: u32) -> bool {
    sm / 10 == gpu / 10 && sm <= gpu
}
