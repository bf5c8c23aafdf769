//! Handles: what programs hold of the driver's objects.
//!
//! A handle is a number with the kind of the object, its index, and a generation; it is never an address. A number
//! that is not a handle, or that is one of an object that is gone, is found out.

use crate::error::{Error, Result};

/// Kinds of objects, as numbers in handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
#[repr(u8)]
pub enum Kind {
    Context = 1,
    Module,
    Function,
    Stream,
    Event,
    Array,
    TexRef,
    Graph,
    GraphExec,
    GraphNode,
    Pool,
    Link,
    SurfRef,
    Mipmapped,
    Physical,
    UserObject,
}

/// Marks handles: addresses of no process have these bits.
const MARK: u64 = 0x5750 << 48;

/// Objects of one kind by their handles.
#[derive(Debug)]
pub struct Handles<T> {
    kind: Kind,
    slots: Vec<(u16, Option<T>)>,
    free: Vec<usize>,
}

impl<T> Handles<T> {
    /// No objects.
    pub fn new(kind: Kind) -> Self {
        Self { kind, slots: Vec::new(), free: Vec::new() }
    }

    /// Adds `object` and returns its handle.
    pub fn add(&mut self, object: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        self.slots[index].1 = Some(object);
        self.handle(index)
    }

    // Multiples of 16, as addresses of objects are.
    fn handle(&self, index: usize) -> u64 {
        MARK | (self.kind as u64) << 40 | u64::from(self.slots[index].0 & 0xff) << 32 | (index as u64) << 4
    }

    fn index(&self, handle: u64) -> Result<usize> {
        let index = (handle >> 4 & 0x0fff_ffff) as usize;
        let known = index < self.slots.len() && self.handle(index) == handle && self.slots[index].1.is_some();
        if known { Ok(index) } else { Err(Error::INVALID_HANDLE) }
    }

    /// The object of `handle`.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`].
    pub fn get(&self, handle: u64) -> Result<&T> {
        let index = self.index(handle)?;
        self.slots[index].1.as_ref().ok_or(Error::INVALID_HANDLE)
    }

    /// As [`Handles::get`], to change it.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`].
    pub fn get_mut(&mut self, handle: u64) -> Result<&mut T> {
        let index = self.index(handle)?;
        self.slots[index].1.as_mut().ok_or(Error::INVALID_HANDLE)
    }

    /// Takes the object of `handle` out.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`].
    pub fn remove(&mut self, handle: u64) -> Result<T> {
        let index = self.index(handle)?;
        let object = self.slots[index].1.take().ok_or(Error::INVALID_HANDLE)?;
        self.slots[index].0 = self.slots[index].0.wrapping_add(1);
        self.free.push(index);
        Ok(object)
    }

    /// All objects with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| Some((self.handle(i), slot.1.as_ref()?)))
    }

    /// Removes the objects that `keep` refuses, and returns their number.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let gone: Vec<u64> = self.iter().filter(|(_, object)| !keep(object)).map(|(handle, _)| handle).collect();
        for handle in gone {
            let _ = self.remove(handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_handles_of_objects_are_valid() {
        let (mut streams, mut events) = (Handles::new(Kind::Stream), Handles::new(Kind::Event));
        let (stream, event) = (streams.add('s'), events.add('e'));
        assert_eq!((streams.get(stream), events.get(event)), (Ok(&'s'), Ok(&'e')));
        assert_eq!(streams.get(event), Err(Error::INVALID_HANDLE));
        for wild in [0, 1, 2, 0x7fff_1234_5678, u64::MAX, stream + 1, stream + 16] {
            assert_eq!(streams.get(wild), Err(Error::INVALID_HANDLE), "{wild:#x}");
        }
        assert_eq!(streams.remove(stream), Ok('s'));
        let next = streams.add('t');
        assert_ne!(next, stream, "a handle that is gone is not that of its successor");
        assert_eq!(streams.get(stream), Err(Error::INVALID_HANDLE));
        assert_eq!(streams.get(next), Ok(&'t'));
    }
}
