//! How operations use registers and predicates.

use crate::lanes::{Pred, Reg};

/// A destination that is a register or a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Destination {
    Reg(Reg),
    Pred(Pred),
}

/// A use of a register or predicate by an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Use {
    /// Reads this many columns.
    Read(Reg, u8),
    /// Writes this many columns.
    Write(Reg, u8),
    ReadPred(Pred),
    WritePred(Pred),
}

/// An operand of an operation and its use: by value ([`Use`]), or as a place whose register or predicate may
/// be replaced.
#[derive(Debug, PartialEq, Eq)]
pub enum OperandUse<R, P> {
    /// A register of this many columns that is read.
    Read(R, u8),
    /// A register of this many columns that is written.
    Write(R, u8),
    /// A predicate that is read.
    ReadPred(P),
    /// A predicate that is written.
    WritePred(P),
    /// A predicate that is read and written.
    UpdatePred(P),
}

impl<R, P> OperandUse<R, P> {
    /// The register, if it is one.
    pub fn register(self) -> Option<R> {
        match self {
            OperandUse::Read(r, _) | OperandUse::Write(r, _) => Some(r),
            _ => None,
        }
    }

    /// The predicate, if it is one.
    pub fn predicate(self) -> Option<P> {
        match self {
            OperandUse::ReadPred(p) | OperandUse::WritePred(p) | OperandUse::UpdatePred(p) => Some(p),
            _ => None,
        }
    }
}

impl OperandUse<&Reg, &Pred> {
    /// Reports the operand to `f` by value.
    pub(crate) fn report(self, f: &mut impl FnMut(Use)) {
        match self {
            OperandUse::Read(r, n) => f(Use::Read(*r, n)),
            OperandUse::Write(r, n) => f(Use::Write(*r, n)),
            OperandUse::ReadPred(p) => f(Use::ReadPred(*p)),
            OperandUse::WritePred(p) => f(Use::WritePred(*p)),
            OperandUse::UpdatePred(p) => {
                f(Use::WritePred(*p));
                f(Use::ReadPred(*p));
            }
        }
    }
}

/// Defines a walk over the operands of a type once for both uses: `uses` reports them by value,
/// `operands_mut` as places. The body matches on `self`, a shared or mutable reference.
macro_rules! walks {
    (|$self:ident, $f:ident| $body:expr) => {
        /// Reports to `f` each register and predicate that is used, destinations first.
        #[allow(clippy::into_iter_on_ref, reason = "the body is of both kinds of reference")]
        pub fn uses(&$self, $f: &mut impl FnMut($crate::operand::Use)) {
            let $f = &mut |operand: $crate::operand::OperandUse<&$crate::lanes::Reg, &$crate::lanes::Pred>| {
                operand.report($f);
            };
            $body
        }

        /// Reports to `f` the place of each register and predicate that is used, once each.
        #[allow(clippy::into_iter_on_ref, reason = "the body is of both kinds of reference")]
        pub fn operands_mut(
            &mut $self,
            $f: &mut impl FnMut($crate::operand::OperandUse<&mut $crate::lanes::Reg, &mut $crate::lanes::Pred>),
        ) {
            $body
        }
    };
}
pub(crate) use walks;

/// Number of columns of a value of 32 bits or, if `wide`, 64.
pub(crate) fn columns(wide: bool) -> u8 {
    1 + u8::from(wide)
}

/// Reports registers that are read.
pub(crate) fn reads<R, P>(f: &mut impl FnMut(OperandUse<R, P>), list: impl IntoIterator<Item = R>, columns: u8) {
    list.into_iter().for_each(|r| f(OperandUse::Read(r, columns)));
}

/// Reports registers that are written.
pub(crate) fn writes<R, P>(f: &mut impl FnMut(OperandUse<R, P>), list: impl IntoIterator<Item = R>, columns: u8) {
    list.into_iter().for_each(|r| f(OperandUse::Write(r, columns)));
}

/// Reports predicates that are read.
pub(crate) fn reads_pred<R, P>(f: &mut impl FnMut(OperandUse<R, P>), list: impl IntoIterator<Item = P>) {
    list.into_iter().for_each(|p| f(OperandUse::ReadPred(p)));
}

/// Reports predicates that are written.
pub(crate) fn writes_pred<R, P>(f: &mut impl FnMut(OperandUse<R, P>), list: impl IntoIterator<Item = P>) {
    list.into_iter().for_each(|p| f(OperandUse::WritePred(p)));
}

/// Reports the operands of a row of a table: destination and sources with their columns.
pub(crate) fn row<R, P, const N: usize>(
    f: &mut impl FnMut(OperandUse<R, P>),
    columns: (u8, [u8; N]),
    d: R,
    s: impl IntoIterator<Item = R>,
) {
    writes(f, [d], columns.0);
    s.into_iter().zip(columns.1).for_each(|(s, n)| f(OperandUse::Read(s, n)));
}

/// The source of differences between the results of a warp's lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Only the operands.
    Operands,
    /// A property of the lane itself: its position, its frame, its part of a matrix. See
    /// [`isa::Traits::per_lane`].
    Own,
    /// The lane as well: it reads values of other lanes, or memory that may be its own.
    Lane,
    /// No source: all executing lanes, or all that name the same member mask, get the same result.
    Warp(Option<Reg>),
}
