//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions").
