//! Contexts: primary ones and those that the program makes, the current ones of each thread, limits.

use crate::driver::{Context, Driver};
use crate::error::{Error, Result};
use std::cell::RefCell;
use workloads::device::Device as _;

thread_local! {
    /// The current contexts of a thread, the last one on top.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Driver {
    /// Creates a context and makes it current.
    ///
    /// # Errors
    /// There is no such device.
    pub fn context_create(&mut self, ordinal: i32, flags: u32) -> Result<u64> {
        let device = self.index_of(ordinal)?;
        let context = self.contexts.add(Context::of(device, false, flags));
        push(context);
        Ok(context)
    }

    /// Destroys a context and what belongs to it.
    ///
    /// # Errors
    /// It is not a context, or it is a primary one.
    pub fn context_destroy(&mut self, context: u64) -> Result<()> {
        if self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?.primary {
            return Err(Error::INVALID_CONTEXT);
        }
        self.release_objects(context);
        let _ = self.contexts.remove(context);
        change_current(|stack| stack.retain(|&c| c != context));
        Ok(())
    }

    /// Removes all objects of a context.
    fn release_objects(&mut self, context: u64) {
        self.release_modules(context);
        self.release_images(context);
        self.release_graphs(context);
        self.release_memory(context);
        self.streams.retain(|stream| stream.context != context);
        self.events.retain(|event| event.context != context);
    }

    /// The primary context of a device, retained once more.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_retain(&mut self, ordinal: i32) -> Result<u64> {
        let index = self.index_of(ordinal)?;
        let flags = self.devices[index].primary_flags;
        let context = match self.devices[index].primary {
            Some(context) => context,
            None => self.contexts.add(Context::of(index, true, flags)),
        };
        self.devices[index].primary = Some(context);
        self.devices[index].retained += 1;
        Ok(context)
    }

    /// Releases the primary context of a device; after the last release its objects are gone.
    ///
    /// # Errors
    /// It is not retained.
    pub fn primary_release(&mut self, ordinal: i32) -> Result<()> {
        let index = self.index_of(ordinal)?;
        if self.devices[index].retained == 0 {
            return Err(Error::INVALID_CONTEXT);
        }
        self.devices[index].retained -= 1;
        if self.devices[index].retained == 0 { self.primary_reset(ordinal) } else { Ok(()) }
    }

    /// Destroys what belongs to the primary context of a device. Its faults are forgotten.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_reset(&mut self, ordinal: i32) -> Result<()> {
        let index = self.index_of(ordinal)?;
        if let Some(context) = self.devices[index].primary {
            self.release_objects(context);
            let broken = self.contexts.get(context).is_ok_and(|c| c.broken.is_some());
            if broken {
                self.retire(index);
            }
            if self.devices[index].retained == 0 {
                self.devices[index].primary = None;
                let _ = self.contexts.remove(context);
                change_current(|stack| stack.retain(|&c| c != context));
            } else if let Ok(context) = self.contexts.get_mut(context) {
                *context = Context::of(index, true, context.flags);
            }
        }
        Ok(())
    }

    /// Flags and whether the primary context of a device is retained.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_state(&self, ordinal: i32) -> Result<(u32, bool)> {
        let device = self.device(ordinal)?;
        Ok((device.primary_flags, device.primary.is_some()))
    }

    /// Sets the flags of the primary context of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_set_flags(&mut self, ordinal: i32, flags: u32) -> Result<()> {
        let index = self.index_of(ordinal)?;
        self.devices[index].primary_flags = flags;
        Ok(())
    }

    /// Makes a context current in place of the present one; 0 takes that away.
    ///
    /// # Errors
    /// It is not a context.
    pub fn set_current(&self, context: u64) -> Result<()> {
        self.check_initialised()?;
        if context != 0 {
            self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
        }
        change_current(|stack| {
            stack.pop();
            stack.extend((context != 0).then_some(context));
        });
        Ok(())
    }

    /// Makes a context current above the present one.
    ///
    /// # Errors
    /// It is not a context.
    pub fn push_current(&self, context: u64) -> Result<()> {
        self.check_initialised()?;
        self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
        push(context);
        Ok(())
    }

    /// A context.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn context(&self, context: u64) -> Result<&Context> {
        self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)
    }

    /// The current context.
    ///
    /// # Errors
    /// There is none, or a kernel failed in it.
    pub fn context_here(&mut self) -> Result<(u64, &mut Context)> {
        self.check_initialised()?;
        let handle = current().ok_or(Error::INVALID_CONTEXT)?;
        let context = self.contexts.get_mut(handle).map_err(|_| Error::CONTEXT_IS_DESTROYED)?;
        match context.broken {
            Some(error) => Err(error),
            None => Ok((handle, context)),
        }
    }

    /// The current context and its device.
    pub(crate) fn place_here(&mut self) -> Result<(u64, usize)> {
        self.context_here().map(|(handle, context)| (handle, context.device))
    }

    /// The device of the current context.
    ///
    /// # Errors
    /// As [`Driver::context_here`].
    pub fn device_here(&mut self) -> Result<usize> {
        self.context_here().map(|(_, context)| context.device)
    }

    /// A limit of the current context (`CUlimit`).
    ///
    /// # Errors
    /// There is no context, or no such limit.
    pub fn limit(&mut self, limit: u32) -> Result<u64> {
        let (_, context) = self.context_here()?;
        let usual = *USUAL_LIMITS.get(limit as usize).ok_or(Error::UNSUPPORTED_LIMIT)?;
        Ok(context.limits.get(&limit).copied().unwrap_or(usual))
    }

    /// Sets a limit of the current context.
    ///
    /// # Errors
    /// There is no context, or no such limit.
    pub fn set_limit(&mut self, limit: u32, value: u64) -> Result<()> {
        let (_, context) = self.context_here()?;
        if limit as usize >= USUAL_LIMITS.len() {
            return Err(Error::UNSUPPORTED_LIMIT);
        }
        context.limits.insert(limit, value);
        let device = context.device;
        if limit == HEAP_SIZE {
            self.timeline(device)?.device.set_heap_bytes(value);
        }
        if limit == STACK_SIZE {
            let bytes = u32::try_from(value).map_err(|_| Error::INVALID_VALUE)?;
            self.timeline(device)?.device.set_stack_bytes(bytes);
        }
        Ok(())
    }
}

/// Limits that a context has at first, by number: stack size, printf buffer, heap size, depth of synchronisation and
/// pending launches of dynamic parallelism, L2 fetch granularity, persisting L2 bytes.
const USUAL_LIMITS: [u64; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0];

const STACK_SIZE: u32 = 0;

const HEAP_SIZE: u32 = 2;

/// Changes the current contexts of the thread, unless it is ending: then it has none.
fn change_current<T>(change: impl FnOnce(&mut Vec<u64>) -> T) -> Option<T> {
    CURRENT.try_with(|stack| change(&mut stack.borrow_mut())).ok()
}

/// The current context of the thread.
pub fn current() -> Option<u64> {
    CURRENT.try_with(|stack| stack.borrow().last().copied()).ok().flatten()
}

/// Takes the current context of the thread away; returns it.
///
/// # Errors
/// There is none.
pub fn pop_current() -> Result<u64> {
    change_current(Vec::pop).flatten().ok_or(Error::INVALID_CONTEXT)
}

fn push(context: u64) {
    change_current(|stack| stack.push(context));
}
