//! Parameters of SOCGPU.

kit::words! {
    /// When an instruction stops holding back those that only have to follow it.
    pub enum Until {
        /// When it issues.
        Issue = "issue",
        /// When it writes back.
        WriteBack = "write-back",
    }
}

kit::parameters! {
    /// Sizes and choices of SOCGPU; the defaults are the paper's.
    pub struct SocgpuConfig {
        /// Entries of a warp's instruction buffer; at least as many as a fetch brings.
        pub buffer: u32 = 8 in (1, 64),
        /// When Stop dependences, on a branch or of one, end.
        pub stops_end: Until = (Until::WriteBack),
        /// When the dependence of an access to memory on an older access or barrier ends.
        pub accesses_end: Until = (Until::WriteBack),
        /// When a WAR dependence ends; with `issue` the operand collectors keep writes after older reads.
        pub reads_end: Until = (Until::WriteBack),
    }
}
