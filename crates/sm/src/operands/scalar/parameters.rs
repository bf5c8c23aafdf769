//! Parameters of the scalar path.

kit::words! {
    /// Effect on a scalar register when some lanes of its warp write it.
    pub enum Divergence {
        /// The scalar value is copied to all lanes of the vector register file first (section 6.3.1, second
        /// way).
        Copy = "copy",
        /// The compiler has marked the writers of such registers, which are never scalar
        /// ([`isa::Inst::partial`]; section 6.3.1, first way).
        Compiler = "compiler",
        /// Nothing: later readers may get wrong values. As the paper's simulator was; for demonstration.
        Unguarded = "unguarded",
    }
}

kit::parameters! {
    /// Sizes and choices. The defaults are what section 3.2 of the paper describes, scalar registers guarded by
    /// copies.
    pub struct ScalarConfig {
        /// Scalar ALUs of an SM; 0: scalar instructions execute in one lane of a vector unit.
        pub alus: u32 = 2 in (0, 64),
        /// Clock of a scalar ALU over the SM's.
        pub clock: u32 = 3 in (1, 64),
        /// Scalar operand collectors of an SM.
        pub collectors: u32 = 2 in (1, 64),
        /// Ports for dispatch and for write-back beside the vector path's, each.
        pub ports: u32 = 2 in (1, 64),
        /// Loads and stores at one address are scalar.
        pub memory: bool = false,
        /// Halves of a warp are scalar each for itself.
        pub halves: bool = false,
        /// An instruction whose lanes are compared goes to a scalar collector nevertheless (D-SV1).
        pub early: bool = false,
        /// Guard of scalar registers under divergence.
        pub divergence: Divergence = (Divergence::Copy),
    }
}
