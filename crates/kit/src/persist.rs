//! State as bytes: one function for both directions, in place.
//!
//! [`Persist::persist`] either appends the state of an object to an [`Archive`], or replaces it by what the archive
//! holds. Parts built from a description (sizes, latencies) stay as they are and are not in the archive: the state is
//! read into an object that was built from the same description. [`persist!`](crate::persist!) declares what of a type
//! is state, exhaustively: a field that is neither listed nor skipped does not compile.
//!
//! Numbers take as few bytes as they need. Lengths, tags and the ends of ranges are checked on reading; a foreign or
//! damaged archive gives an error.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Mutex;

/// Why bytes are not the state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(String);

impl Mismatch {
    /// With the reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

/// Bytes that are written or read.
#[derive(Debug)]
pub struct Archive {
    bytes: Vec<u8>,
    /// Where the next byte is read; `None` if bytes are written.
    at: Option<usize>,
}

impl Archive {
    /// An empty archive to write.
    pub fn writer() -> Self {
        Self { bytes: Vec::new(), at: None }
    }

    /// An archive to read.
    pub fn reader(bytes: Vec<u8>) -> Self {
        Self { bytes, at: Some(0) }
    }

    /// Whether objects get their state from the archive.
    pub fn is_reading(&self) -> bool {
        self.at.is_some()
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Asserts that all of it has been read.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn end(&self) -> Result<(), Mismatch> {
        match self.left() {
            0 => Ok(()),
            left => Err(Mismatch(format!("{} more than the state has", crate::text::counted(left as u64, "byte")))),
        }
    }

    /// Bytes that have not been read.
    fn left(&self) -> usize {
        self.at.map_or(0, |at| self.bytes.len() - at)
    }

    /// The next `count` bytes to read.
    fn take(&mut self, count: usize) -> Result<&[u8], Mismatch> {
        let at = self.at.unwrap_or(0);
        if count > self.left() {
            return Err(Mismatch(format!("the state ends at byte {}, within a value", self.bytes.len())));
        }
        self.at = Some(at + count);
        Ok(&self.bytes[at..at + count])
    }

    /// Bytes of a length that both sides know.
    ///
    /// # Errors
    /// There are not as many.
    pub fn raw(&mut self, bytes: &mut [u8]) -> Result<(), Mismatch> {
        if self.is_reading() {
            bytes.copy_from_slice(self.take(bytes.len())?);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Words of a length that both sides know, four bytes each.
    ///
    /// # Errors
    /// There are not as many.
    pub fn words(&mut self, words: &mut [u32]) -> Result<(), Mismatch> {
        if self.is_reading() {
            let bytes = self.take(4 * words.len())?;
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
        } else {
            words.iter().for_each(|word| self.bytes.extend_from_slice(&word.to_le_bytes()));
        }
        Ok(())
    }

    /// A number, seven bits to a byte.
    ///
    /// # Errors
    /// The archive has no number there.
    pub fn number(&mut self, number: &mut u128) -> Result<(), Mismatch> {
        if !self.is_reading() {
            let mut rest = *number;
            // Most are small.
            if rest < 0x80 {
                self.bytes.push(rest as u8);
                return Ok(());
            }
            while rest >= 0x80 {
                self.bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            self.bytes.push(rest as u8);
            return Ok(());
        }
        let (mut value, mut shift) = (0u128, 0u32);
        loop {
            let byte = self.take(1)?[0];
            let bits = u128::from(byte & 0x7f);
            if shift >= 128 || bits << shift >> shift != bits {
                return Err(self.wrong("a number of more than 128 bits"));
            }
            value |= bits << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                *number = value;
                return Ok(());
            }
        }
    }

    /// The number of entries of a collection; no entry takes less than a byte.
    ///
    /// # Errors
    /// The archive is too short for as many.
    pub fn length(&mut self, length: &mut usize) -> Result<(), Mismatch> {
        length.persist(self)?;
        if self.is_reading() && *length > self.left() {
            return Err(self.wrong(&format!("{length} entries, and {} bytes are left", self.left())));
        }
        Ok(())
    }

    /// A number that the description of an object determines.
    ///
    /// # Errors
    /// The archive has another one.
    pub fn same(&mut self, what: &str, of: usize) -> Result<(), Mismatch> {
        let mut stored = of;
        stored.persist(self)?;
        if stored == of { Ok(()) } else { Err(self.wrong(&format!("{what}: {stored} there, {of} here"))) }
    }

    /// An error at the present place.
    pub fn wrong(&self, what: &str) -> Mismatch {
        Mismatch(format!("at byte {} of the state: {what}", self.at.unwrap_or(self.bytes.len())))
    }
}

/// An object whose state can be written to an archive and read from one.
#[diagnostic::on_unimplemented(note = "declare what of the type is state: `kit::persist!`")]
pub trait Persist {
    /// Writes the state to the archive, or replaces it by the archive's.
    ///
    /// # Errors
    /// The archive has the state of another object, or none.
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch>;
}

/// A value that can be made of its state only.
pub trait Fresh: Persist + Sized {
    /// Any value, to read the state into.
    fn fresh() -> Self;

    /// The value that the archive has next.
    ///
    /// # Errors
    /// It has none.
    fn read(archive: &mut Archive) -> Result<Self, Mismatch> {
        let mut value = Self::fresh();
        value.persist(archive)?;
        Ok(value)
    }
}

/// All of `parts`, whose number is fixed, in place.
///
/// # Errors
/// As [`Persist::persist`].
pub fn each<'a, T: Persist + 'a>(
    parts: impl IntoIterator<Item = &'a mut T, IntoIter: ExactSizeIterator>,
    archive: &mut Archive,
) -> Result<(), Mismatch> {
    let mut parts = parts.into_iter();
    archive.same("number of parts", parts.len())?;
    parts.try_for_each(|part| part.persist(archive))
}

/// A part that an object has or not by its description, in place.
///
/// # Errors
/// As [`Persist::persist`].
pub fn part<T: Persist>(part: &mut Option<T>, archive: &mut Archive) -> Result<(), Mismatch> {
    each(part.as_mut_slice(), archive)
}

/// The state of a part at its creation is its state at all times, or it is read nowhere.
///
/// # Errors
/// Never.
pub fn nothing<T: ?Sized>(_: &mut T, _: &mut Archive) -> Result<(), Mismatch> {
    Ok(())
}

macro_rules! numbers {
    ($($int:ty)*) => {$(
        impl Persist for $int {
            #[inline]
            fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
                let mut number = *self as u128;
                archive.number(&mut number)?;
                if archive.is_reading() {
                    let out_of_range = |_| Mismatch(format!("the number {number} is too large"));
                    *self = <$int>::try_from(number).map_err(out_of_range)?;
                }
                Ok(())
            }
        }
        impl Fresh for $int {
            fn fresh() -> Self {
                0
            }
        }
    )*};
}
numbers! { u8 u16 u32 u64 u128 usize }

impl Persist for i64 {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut bits = (*self << 1 ^ *self >> 63) as u64;
        bits.persist(archive)?;
        *self = (bits >> 1) as Self ^ -((bits & 1) as Self);
        Ok(())
    }
}

impl Persist for f64 {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut bytes = self.to_le_bytes();
        archive.raw(&mut bytes)?;
        *self = Self::from_le_bytes(bytes);
        Ok(())
    }
}

impl Persist for bool {
    #[inline]
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut number = u8::from(*self);
        number.persist(archive)?;
        match number {
            0 | 1 => *self = number == 1,
            other => return Err(archive.wrong(&format!("{other} is not a truth value"))),
        }
        Ok(())
    }
}

impl Persist for String {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut bytes = std::mem::take(self).into_bytes();
        let mut length = bytes.len();
        archive.length(&mut length)?;
        bytes.resize(length, 0);
        archive.raw(&mut bytes)?;
        *self = Self::from_utf8(bytes).map_err(|_| archive.wrong("text that is not UTF-8"))?;
        Ok(())
    }
}

impl Persist for () {
    fn persist(&mut self, _: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}

impl<T: ?Sized> Persist for PhantomData<T> {
    fn persist(&mut self, _: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}

macro_rules! by_default {
    ($($type:ty),*) => {$(
        impl Fresh for $type {
            fn fresh() -> Self {
                Self::default()
            }
        }
    )*};
}
by_default! { i64, f64, bool, String, () }

impl<T: Persist> Persist for Range<T> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.start.persist(archive)?;
        self.end.persist(archive)
    }
}

impl<T: Fresh> Fresh for Range<T> {
    fn fresh() -> Self {
        T::fresh()..T::fresh()
    }
}

impl<T: Persist> Persist for Box<T> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        (**self).persist(archive)
    }
}

impl<T: Fresh> Fresh for Box<T> {
    fn fresh() -> Self {
        Self::new(T::fresh())
    }
}

impl<T: Persist> Persist for Mutex<T> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        crate::locks::get(self).persist(archive)
    }
}

impl<T: Fresh> Persist for Option<T> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut is_some = self.is_some();
        is_some.persist(archive)?;
        if !is_some {
            *self = None;
            return Ok(());
        }
        self.get_or_insert_with(T::fresh).persist(archive)
    }
}

impl<T: Fresh> Fresh for Option<T> {
    fn fresh() -> Self {
        None
    }
}

impl<T: Persist, const N: usize> Persist for [T; N] {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.iter_mut().try_for_each(|part| part.persist(archive))
    }
}

impl<T: Fresh, const N: usize> Fresh for [T; N] {
    fn fresh() -> Self {
        std::array::from_fn(|_| T::fresh())
    }
}

/// Its length is part of the description.
impl<T: Persist> Persist for Box<[T]> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        each(self.iter_mut(), archive)
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => {$(
        impl<$($name: Persist),+> Persist for ($($name,)+) {
            #[allow(non_snake_case)]
            fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
                let ($($name,)+) = self;
                $($name.persist(archive)?;)+
                Ok(())
            }
        }
        impl<$($name: Fresh),+> Fresh for ($($name,)+) {
            fn fresh() -> Self {
                ($($name::fresh(),)+)
            }
        }
    )*};
}
tuples! { A; A B; A B C; A B C D; }

macro_rules! collections {
    ($($type:ident $clear:ident $push:ident;)*) => {$(
        impl<T: Fresh> Persist for $type<T> {
            fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
                let mut length = self.len();
                archive.length(&mut length)?;
                if !archive.is_reading() {
                    return self.iter_mut().try_for_each(|entry| entry.persist(archive));
                }
                self.$clear();
                for _ in 0..length {
                    self.$push(T::read(archive)?);
                }
                Ok(())
            }
        }
        impl<T: Fresh> Fresh for $type<T> {
            fn fresh() -> Self {
                Self::new()
            }
        }
    )*};
}
collections! { Vec clear push; VecDeque clear push_back; }

impl<K: Fresh + Ord + Clone, V: Fresh> Persist for BTreeMap<K, V> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut entries: Vec<(K, V)> = std::mem::take(self).into_iter().collect();
        entries.persist(archive)?;
        self.extend(entries);
        Ok(())
    }
}

impl<K: Fresh + Ord + Clone, V: Fresh> Fresh for BTreeMap<K, V> {
    fn fresh() -> Self {
        Self::new()
    }
}

impl<K: Fresh + Ord> Persist for BTreeSet<K> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut entries: Vec<K> = std::mem::take(self).into_iter().collect();
        entries.persist(archive)?;
        self.extend(entries);
        Ok(())
    }
}

/// Declares what of types is state, to be [persisted](Persist).
///
/// - `struct T { a, b; skip c }`: `a` and `b` are state, `c` is not. `a: each` persists a collection of a fixed number
///   of parts, `a: part` a part that the description gives or not, each in place.
/// - `new struct T { a, b }`: values can be made of their state, so that collections of them grow. `new id T` is the
///   same for a struct of one field without a name.
/// - `enum T { A = 0, B(x) = 1 }`: the same for an enum, with the tag of each variant.
///
/// Generic types name their parameters first: `struct [T: Persist] Queue<T> { entries }`.
///
/// ```
/// use kit::persist::{Archive, Fresh, Persist};
/// #[derive(Clone, Debug, PartialEq)]
/// struct Request { address: u64, kind: Kind }
/// #[derive(Clone, Debug, PartialEq)]
/// enum Kind { Read, Write { bytes: u32 } }
/// struct Queue { limit: usize, requests: Vec<Request> }
/// kit::persist! {
///     new struct Request { address, kind }
///     enum Kind { Read = 0, Write { bytes } = 1 }
///     struct Queue { requests; skip limit }
/// }
/// let request = Request { address: 4096, kind: Kind::Write { bytes: 4 } };
/// let mut queue = Queue { limit: 8, requests: vec![request.clone()] };
/// let mut archive = Archive::writer();
/// queue.persist(&mut archive)?;
/// let mut other = Queue { limit: 8, requests: Vec::new() };
/// other.persist(&mut Archive::reader(archive.into_bytes()))?;
/// assert_eq!(other.requests, [request]);
/// # Ok::<(), kit::persist::Mismatch>(())
/// ```
#[macro_export]
macro_rules! persist {
    () => {};
    (new struct [$($generics:tt)*] $type:ty { $($field:ident),* $(,)? } $($rest:tt)*) => {
        $crate::persist! { struct [$($generics)*] $type { $($field),* } }
        impl<$($generics)*> $crate::persist::Fresh for $type {
            fn fresh() -> Self {
                Self { $($field: $crate::persist::Fresh::fresh(),)* }
            }
        }
        $crate::persist! { $($rest)* }
    };
    (new struct $type:ty { $($fields:tt)* } $($rest:tt)*) => {
        $crate::persist! { new struct [] $type { $($fields)* } $($rest)* }
    };
    (new id $type:ty; $($rest:tt)*) => {
        impl $crate::persist::Persist for $type {
            #[inline]
            fn persist(&mut self, archive: &mut $crate::persist::Archive) -> Result<(), $crate::persist::Mismatch> {
                let Self(inner) = self;
                $crate::persist::Persist::persist(inner, archive)
            }
        }
        impl $crate::persist::Fresh for $type {
            fn fresh() -> Self {
                Self($crate::persist::Fresh::fresh())
            }
        }
        $crate::persist! { $($rest)* }
    };
    (struct [$($generics:tt)*] $type:ty {
        $($field:ident $(: $how:ident)?),* $(,)? $(; skip $($skipped:ident),* $(,)?)?
    } $($rest:tt)*) => {
        impl<$($generics)*> $crate::persist::Persist for $type {
            #[allow(unused_variables, reason = "a type may have no state")]
            fn persist(&mut self, archive: &mut $crate::persist::Archive) -> Result<(), $crate::persist::Mismatch> {
                let Self { $($field,)* $($($skipped: _,)*)? } = self;
                $($crate::persist!(@field archive, $field $(, $how)?)?;)*
                Ok(())
            }
        }
        $crate::persist! { $($rest)* }
    };
    (struct $type:ty { $($fields:tt)* } $($rest:tt)*) => {
        $crate::persist! { struct [] $type { $($fields)* } $($rest)* }
    };
    (enum $type:ty {
        $($variant:ident $(($($inner:ident),*))? $({ $($field:ident),* })? = $tag:literal),* $(,)?
    } $($rest:tt)*) => {
        impl $crate::persist::Persist for $type {
            fn persist(&mut self, archive: &mut $crate::persist::Archive) -> Result<(), $crate::persist::Mismatch> {
                let mut tag: u8 = match self { $(Self::$variant { .. } => $tag,)* };
                $crate::persist::Persist::persist(&mut tag, archive)?;
                if archive.is_reading() {
                    *self = match tag {
                        $($tag => $crate::persist!(@fresh Self::$variant $(($($inner),*))? $({ $($field),* })?),)*
                        other => {
                            let of = stringify!($type);
                            return Err(archive.wrong(&format!("`{of}` has no variant {other}")));
                        }
                    };
                }
                match self {
                    $(Self::$variant $(($($inner),*))? $({ $($field),* })? => {
                        $($($crate::persist::Persist::persist($inner, archive)?;)*)?
                        $($($crate::persist::Persist::persist($field, archive)?;)*)?
                    })*
                }
                Ok(())
            }
        }
        impl $crate::persist::Fresh for $type {
            fn fresh() -> Self {
                $crate::persist!(@first
                    $($crate::persist!(@fresh Self::$variant $(($($inner),*))? $({ $($field),* })?),)*
                )
            }
        }
        $crate::persist! { $($rest)* }
    };
    (@field $archive:ident, $field:ident) => {
        $crate::persist::Persist::persist($field, $archive)
    };
    (@field $archive:ident, $field:ident, $how:ident) => {
        $crate::persist::$how($field, $archive)
    };
    (@fresh Self::$variant:ident) => { Self::$variant };
    (@fresh Self::$variant:ident ($($inner:ident),*)) => {
        Self::$variant($({
            let $inner = $crate::persist::Fresh::fresh();
            $inner
        }),*)
    };
    (@fresh Self::$variant:ident { $($field:ident),* }) => {
        Self::$variant { $($field: $crate::persist::Fresh::fresh()),* }
    };
    (@first $first:expr, $($others:expr,)*) => { $first };
}
