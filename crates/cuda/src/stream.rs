//! Streams: operations that follow each other.

use crate::default_stream::meant;
use crate::driver::{Driver, Wait};
use crate::error::{Error, Result};
use crate::timeline::OpId;
use crate::work::{Call, Work};

/// A stream that the program has made.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Stream {
    pub context: u64,
    pub device: usize,
    pub flags: u32,
    pub priority: i32,
    /// Unique number.
    pub id: u64,
    /// The last operation.
    pub tail: Option<OpId>,
}

/// The default streams of a device.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The last operation of the legacy default stream.
    legacy: Option<OpId>,
    /// The last operation of the default stream of each thread.
    per_thread: std::collections::HashMap<std::thread::ThreadId, OpId>,
    next_id: u64,
}

/// Handle of the legacy default stream, beside 0.
pub const LEGACY: u64 = 1;
/// Handle of the default stream of the calling thread.
pub const PER_THREAD: u64 = 2;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;
/// The highest and the lowest priority of streams.
pub const PRIORITIES: (i32, i32) = (-5, 0);

impl Driver {
    /// Creates a stream.
    ///
    /// # Errors
    /// There is no context, or flags are unknown.
    pub fn stream_create(&mut self, flags: u32, priority: i32) -> Result<u64> {
        let (context, device) = self.context_here().map(|(handle, c)| (handle, c.device))?;
        if flags & !NON_BLOCKING != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let streams = &mut self.devices[device].streams;
        streams.next_id += 1;
        // The default streams are 1 and 2.
        let id = streams.next_id + 2;
        let priority = priority.clamp(PRIORITIES.0, PRIORITIES.1);
        Ok(self.streams.add(Stream { context, device, flags, priority, id, tail: None }))
    }

    /// Destroys a stream. What was requested in it is still done.
    ///
    /// # Errors
    /// It is none.
    pub fn stream_destroy(&mut self, stream: u64) -> Result<()> {
        self.streams.remove(stream).map(|_| ())
    }

    /// A stream that the program has made.
    ///
    /// # Errors
    /// It is none, or a default stream.
    pub fn stream(&self, stream: u64) -> Result<&Stream> {
        self.streams.get(stream)
    }

    /// The device of a stream; of a default stream that of the current context.
    ///
    /// # Errors
    /// It is none, or there is no context.
    pub fn stream_device(&mut self, stream: u64) -> Result<usize> {
        let here = self.device_here()?;
        if stream <= PER_THREAD { Ok(here) } else { self.streams.get(stream).map(|stream| stream.device) }
    }

    /// Flags, priority and number of any stream.
    ///
    /// # Errors
    /// It is none.
    pub fn stream_facts(&self, stream: u64) -> Result<(u32, i32, u64)> {
        match meant(stream) {
            0 | LEGACY => Ok((0, 0, LEGACY)),
            PER_THREAD => Ok((0, 0, PER_THREAD)),
            _ => self.streams.get(stream).map(|s| (s.flags, s.priority, s.id)),
        }
    }

    /// Requests `work` in a stream, after the operations `also` too.
    ///
    /// # Errors
    /// It is no stream, or there is no context.
    pub(crate) fn request(&mut self, stream: u64, work: Work, also: &[OpId]) -> Result<OpId> {
        let stream = meant(stream);
        let device = self.stream_device(stream)?;
        let thread = std::thread::current().id();
        let defaults = &self.devices[device].streams;
        let mut after = also.to_vec();
        let mut priority = 0;
        match stream {
            0 | LEGACY => {
                after.extend(defaults.legacy);
                after.extend(defaults.per_thread.values());
                let blocking = self.streams.iter().filter(|(_, s)| s.device == device && s.flags & NON_BLOCKING == 0);
                after.extend(blocking.filter_map(|(_, s)| s.tail));
            }
            PER_THREAD => {
                after.extend(defaults.legacy);
                after.extend(defaults.per_thread.get(&thread));
            }
            _ => {
                let stream = self.streams.get(stream)?;
                priority = stream.priority;
                after.extend(stream.tail);
                after.extend(defaults.legacy.filter(|_| stream.flags & NON_BLOCKING == 0));
            }
        }
        let op = self.timeline(device)?.request(work, &after, priority);
        let defaults = &mut self.devices[device].streams;
        match stream {
            0 | LEGACY => defaults.legacy = Some(op),
            PER_THREAD => {
                defaults.per_thread.insert(thread, op);
            }
            _ => self.streams.get_mut(stream)?.tail = Some(op),
        }
        Ok(op)
    }

    /// The last operation of a stream.
    fn tail(&mut self, stream: u64) -> Result<(usize, Option<OpId>)> {
        let stream = meant(stream);
        let device = self.stream_device(stream)?;
        let defaults = &self.devices[device].streams;
        let tail = match stream {
            0 | LEGACY => defaults.legacy,
            PER_THREAD => defaults.per_thread.get(&std::thread::current().id()).copied(),
            _ => self.streams.get(stream)?.tail,
        };
        Ok((device, tail))
    }

    /// What a wait for a stream, or a query of it, waits for.
    ///
    /// # Errors
    /// It is none, or there is no context.
    pub fn stream_wait(&mut self, stream: u64, only_ask: bool) -> Result<Wait> {
        let stream = meant(stream);
        // A wait for the legacy stream is one for all streams that block.
        let (device, tail) = if stream <= LEGACY {
            let op = self.request(stream, Work::Nothing, &[])?;
            (self.stream_device(stream)?, Some(op))
        } else {
            self.tail(stream)?
        };
        Ok(match tail {
            Some(op) if only_ask => Wait::Query(device, op),
            Some(op) => Wait::Op(device, op),
            None => Wait::Nothing,
        })
    }

    /// Whether nothing of a stream is left to do.
    ///
    /// # Errors
    /// It is none, or there is no context.
    pub fn stream_idle(&mut self, stream: u64) -> Result<bool> {
        let (device, tail) = self.tail(stream)?;
        Ok(tail.is_none_or(|op| self.is_done(device, op)))
    }

    /// Requests a call of a function of the host program.
    ///
    /// # Errors
    /// It is no stream, or there is no context.
    pub fn call_host(&mut self, stream: u64, call: Call) -> Result<()> {
        self.request(stream, Work::Call(call), &[]).map(|_| ())
    }
}
