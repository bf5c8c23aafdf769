//! How operations use registers and predicates.

use crate::lanes::{Pred, Reg};

/// A destination that is a register or a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Register.
    Reg(Reg),
    /// Predicate.
    Pred(Pred),
}

/// One use of a register by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Reads as many columns.
    Read(Reg, u8),
    /// Writes as many columns.
    Write(Reg, u8),
    /// Reads a predicate.
    ReadPred(Pred),
    /// Writes a predicate.
    WritePred(Pred),
}
