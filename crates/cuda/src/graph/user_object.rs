//! Objects of the program that live as long as graphs refer to them.
//!
//! The destructor of an object is called when the program waits next, or by itself soon after.

use crate::error::{Error, Result};
use crate::graph::{Graphs, UserObject};
use crate::platform::Platform;
use crate::timeline::OpId;
use crate::work::{Call, Work};

impl Graphs {
    /// An object that `destructor` destroys, with references of the program.
    ///
    /// # Errors
    /// There is no context, no destructor, or no reference.
    pub fn user_object_create(&mut self, platform: &Platform, destructor: Call, references: u32) -> Result<u64> {
        let device = platform.device_here()?;
        if destructor.function == 0 || references == 0 {
            return Err(Error::INVALID_VALUE);
        }
        Ok(self.user_objects.add(UserObject { device, destructor, references }))
    }

    /// Adds references to an object.
    ///
    /// # Errors
    /// The handle is invalid, or no references are added.
    pub fn user_object_retain(&mut self, object: u64, count: u32) -> Result<()> {
        let object = self.user_objects.get_mut(object).map_err(|_| Error::INVALID_VALUE)?;
        let sum = object.references.checked_add(count).filter(|_| count != 0);
        object.references = sum.ok_or(Error::INVALID_VALUE)?;
        Ok(())
    }

    /// Takes references to an object away; after the last one it is destroyed, not before the operations `after`.
    ///
    /// # Errors
    /// The handle is invalid, or the object has fewer references.
    pub fn user_object_release(
        &mut self,
        platform: &mut Platform,
        handle: u64,
        count: u32,
        after: &[OpId],
    ) -> Result<()> {
        let object = self.user_objects.get_mut(handle).map_err(|_| Error::INVALID_VALUE)?;
        let rest = object.references.checked_sub(count).filter(|_| count != 0);
        object.references = rest.ok_or(Error::INVALID_VALUE)?;
        if object.references == 0 {
            let UserObject { device, destructor, .. } = self.user_objects.remove(handle)?;
            platform.timeline(device)?.request(Work::Call(destructor), after, 0);
        }
        Ok(())
    }

    /// Gives a graph references to an object: further ones, or the program's.
    ///
    /// # Errors
    /// Either handle is invalid, or there are fewer references.
    pub fn retain_object(&mut self, graph: u64, object: u64, count: u32, moves: bool) -> Result<()> {
        self.get(graph)?;
        let present = self.user_objects.get(object).map_err(|_| Error::INVALID_VALUE)?.references;
        if count == 0 || (moves && present < count) {
            return Err(Error::INVALID_VALUE);
        }
        if !moves {
            self.user_object_retain(object, count)?;
        }
        *self.graphs.get_mut(graph)?.objects.entry(object).or_default() += count;
        Ok(())
    }

    /// Takes references of a graph away.
    ///
    /// # Errors
    /// It is not a graph, or it has fewer references to the object.
    pub fn release_object(&mut self, platform: &mut Platform, graph: u64, object: u64, count: u32) -> Result<()> {
        self.get(graph)?;
        let held = self.graphs.get_mut(graph)?.objects.get_mut(&object).ok_or(Error::INVALID_VALUE)?;
        *held = held.checked_sub(count).filter(|_| count != 0).ok_or(Error::INVALID_VALUE)?;
        self.user_object_release(platform, object, count, &[])
    }
}
