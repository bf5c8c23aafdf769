//! Contexts: primary ones and those that the program makes, the current ones of each thread, limits.

use crate::error::{Error, Result};
use crate::platform::{Context, Platform};
use std::cell::RefCell;
use workloads::device::Device as _;

thread_local! {
    /// The current contexts of a thread, the last one on top.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Platform {
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

    /// Takes a retention of the primary context of a device away; returns whether it was the last one.
    pub(crate) fn release_primary(&mut self, ordinal: i32) -> Result<bool> {
        let index = self.index_of(ordinal)?;
        let retained = self.devices[index].retained.checked_sub(1).ok_or(Error::INVALID_CONTEXT)?;
        self.devices[index].retained = retained;
        Ok(retained == 0)
    }

    /// Makes the primary context of a device as new, or removes it if it is not retained.
    pub(crate) fn renew_primary(&mut self, device: usize, context: u64) {
        if self.devices[device].retained == 0 {
            self.devices[device].primary = None;
            self.remove_context(context);
        } else if let Ok(context) = self.contexts.get_mut(context) {
            *context = Context::of(device, true, context.flags);
        }
    }

    /// Removes a context. It is not current any more.
    pub(crate) fn remove_context(&mut self, context: u64) {
        let _ = self.contexts.remove(context);
        change_current(|stack| stack.retain(|&c| c != context));
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
    pub fn context_here(&self) -> Result<(u64, &Context)> {
        self.check_initialised()?;
        let handle = current().ok_or(Error::INVALID_CONTEXT)?;
        let context = self.contexts.get(handle).map_err(|_| Error::CONTEXT_IS_DESTROYED)?;
        context.broken.map_or(Ok((handle, context)), Err)
    }

    /// As [`Platform::context_here`], to change it.
    ///
    /// # Errors
    /// As [`Platform::context_here`].
    pub fn context_here_mut(&mut self) -> Result<(u64, &mut Context)> {
        let (handle, _) = self.context_here()?;
        self.contexts.get_mut(handle).map(|context| (handle, context))
    }

    /// The current context and its device.
    pub(crate) fn place_here(&self) -> Result<(u64, usize)> {
        self.context_here().map(|(handle, context)| (handle, context.device))
    }

    /// The device of the current context.
    ///
    /// # Errors
    /// As [`Platform::context_here`].
    pub fn device_here(&self) -> Result<usize> {
        self.context_here().map(|(_, context)| context.device)
    }

    /// A limit of the current context (`CUlimit`).
    ///
    /// # Errors
    /// There is no context, or no such limit.
    pub fn limit(&self, limit: u32) -> Result<u64> {
        let (_, context) = self.context_here()?;
        let usual = *USUAL_LIMITS.get(limit as usize).ok_or(Error::UNSUPPORTED_LIMIT)?;
        Ok(context.limits.get(&limit).copied().unwrap_or(usual))
    }

    /// Sets a limit of the current context.
    ///
    /// # Errors
    /// There is no context, or no such limit.
    pub fn set_limit(&mut self, limit: u32, value: u64) -> Result<()> {
        let (_, context) = self.context_here_mut()?;
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
