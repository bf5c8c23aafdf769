//! Streams: operations that follow each other; events, which are points in them; captures, in which what is requested
//! is not done.

mod capture;
pub mod default_stream;
mod event;
mod objects;

pub use capture::{Info, exchange_mode};
pub(crate) use objects::{CAPTURED, Key};
pub use objects::{Event, LEGACY, Mode, PER_THREAD, PRIORITIES, Stream};

use crate::error::{Error, Result};
use crate::handles::{Handles, Kind};
use crate::platform::{Platform, Wait};
use crate::timeline::OpId;
use crate::work::Work;
use default_stream::meant;
use objects::{Captures, Defaults, NON_BLOCKING};
use std::collections::BTreeMap;

/// Default streams of threads of which those that are idle are kept.
const IDLE_THREADS: usize = 64;

/// Owner of streams, events and captures.
pub struct Streams {
    made: Handles<Stream>,
    /// The default streams, by device.
    defaults: Vec<Defaults>,
    events: Handles<Event>,
    captures: Captures,
}

impl Streams {
    /// The default streams of as many devices.
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            made: Handles::new(Kind::Stream),
            defaults: vec![Defaults::default(); devices],
            events: Handles::new(Kind::Event),
            captures: Captures::default(),
        }
    }

    /// Removes the streams and events of a context.
    pub(crate) fn release_context(&mut self, context: u64) {
        self.made.retain(|stream| stream.context != context);
        self.events.retain(|event| event.context != context);
    }

    /// Creates a stream.
    ///
    /// # Errors
    /// There is no context, or flags are unknown.
    pub fn create(&mut self, platform: &Platform, flags: u32, priority: i32) -> Result<u64> {
        let (context, device) = platform.place_here()?;
        if flags & !NON_BLOCKING != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let streams = &mut self.defaults[device];
        streams.next_id += 1;
        // The default streams are 1 and 2.
        let id = streams.next_id + 2;
        let priority = priority.clamp(PRIORITIES.0, PRIORITIES.1);
        let attributes = BTreeMap::new();
        Ok(self.made.add(Stream { context, device, flags, priority, id, tail: None, attributes }))
    }

    /// Destroys a stream. Operations requested in it are still done, and captured ones stay in the graph.
    ///
    /// # Errors
    /// The handle is invalid, or a capture began in the stream.
    pub fn destroy(&mut self, platform: &Platform, stream: u64) -> Result<()> {
        self.made.get(stream)?;
        if self.captures.began_in(Key::Made(stream)) {
            self.refuse_capture(Key::Made(stream))?;
        }
        let Stream { device, flags, tail, .. } = self.made.remove(stream)?;
        if let Some(tail) = tail.filter(|_| flags & NON_BLOCKING == 0) {
            // The legacy default stream still waits for it.
            let gone = &mut self.defaults[device].gone;
            gone.push(tail);
            gone.retain(|&op| !platform.is_done(device, op));
        }
        Ok(())
    }

    /// A stream that the program has made.
    ///
    /// # Errors
    /// The handle is invalid, or a default stream's.
    pub fn get(&self, stream: u64) -> Result<&Stream> {
        self.made.get(stream)
    }

    /// The device of a stream; of a default stream the current context's device.
    ///
    /// # Errors
    /// The handle is invalid, or there is no context.
    pub fn device_of(&self, platform: &Platform, stream: u64) -> Result<usize> {
        self.key_of(platform, stream).map(|(device, _)| device)
    }

    /// The stream that a handle means, and its device.
    pub(crate) fn key_of(&self, platform: &Platform, stream: u64) -> Result<(usize, Key)> {
        let here = platform.device_here()?;
        match meant(stream) {
            0 | LEGACY => Ok((here, Key::Legacy(here))),
            PER_THREAD => Ok((here, Key::OfThread(here, std::thread::current().id()))),
            _ => self.made.get(stream).map(|made| (made.device, Key::Made(stream))),
        }
    }

    /// Flags, priority and number of any stream.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn facts(&self, stream: u64) -> Result<(u32, i32, u64)> {
        match meant(stream) {
            0 | LEGACY => Ok((0, 0, LEGACY)),
            PER_THREAD => Ok((0, 0, PER_THREAD)),
            _ => self.made.get(stream).map(|s| (s.flags, s.priority, s.id)),
        }
    }

    /// Whether work of the legacy default stream and of this stream follow each other.
    pub(crate) fn blocks(&self, key: Key) -> bool {
        match key {
            Key::Legacy(_) | Key::OfThread(..) => true,
            Key::Made(stream) => self.made.get(stream).is_ok_and(|stream| stream.flags & NON_BLOCKING == 0),
        }
    }

    /// The operations that the next one of a stream waits for, and its priority.
    pub(crate) fn before(&self, device: usize, key: Key) -> (Vec<OpId>, i32) {
        let defaults = &self.defaults[device];
        match key {
            Key::Legacy(_) => {
                let blocking = self.made.iter().filter(|(_, s)| s.device == device && s.flags & NON_BLOCKING == 0);
                let made = blocking.filter_map(|(_, s)| s.tail);
                let defaults = defaults.legacy.iter().chain(defaults.per_thread.values()).chain(&defaults.gone);
                (defaults.copied().chain(made).collect(), 0)
            }
            Key::OfThread(_, thread) => {
                (defaults.legacy.iter().chain(defaults.per_thread.get(&thread)).copied().collect(), 0)
            }
            Key::Made(stream) => self.made.get(stream).map_or((Vec::new(), 0), |stream| {
                let legacy = defaults.legacy.filter(|_| stream.flags & NON_BLOCKING == 0);
                (stream.tail.into_iter().chain(legacy).collect(), stream.priority)
            }),
        }
    }

    /// Makes `op` the last operation of a stream.
    pub(crate) fn advance(&mut self, platform: &Platform, device: usize, key: Key, op: OpId) {
        match key {
            Key::Legacy(_) => self.defaults[device].legacy = Some(op),
            Key::OfThread(_, thread) => {
                let threads = &mut self.defaults[device].per_thread;
                if threads.len() > IDLE_THREADS {
                    threads.retain(|_, &mut op| !platform.is_done(device, op));
                }
                threads.insert(thread, op);
            }
            Key::Made(stream) => {
                if let Ok(stream) = self.made.get_mut(stream) {
                    stream.tail = Some(op);
                }
            }
        }
    }

    /// Requests `work` in a stream that does not capture, after the operations `also` too.
    pub(crate) fn append(
        &mut self,
        platform: &mut Platform,
        (device, key): (usize, Key),
        work: Work,
        also: &[OpId],
    ) -> Result<OpId> {
        let (mut after, priority) = self.before(device, key);
        after.extend(also);
        let op = platform.timeline(device)?.request(work, &after, priority);
        self.advance(platform, device, key, op);
        Ok(op)
    }

    /// The last operations of a stream. The legacy default stream has the last operations of all streams that block.
    fn tails(&mut self, platform: &Platform, stream: u64) -> Result<(usize, Vec<OpId>)> {
        let (device, key) = self.key_of(platform, stream)?;
        if self.is_captured(device, key)? {
            self.refuse_capture(key)?;
        }
        let defaults = &self.defaults[device];
        let mut tails = match key {
            Key::Legacy(_) => self.before(device, key).0,
            Key::OfThread(_, thread) => defaults.per_thread.get(&thread).copied().into_iter().collect(),
            Key::Made(stream) => self.made.get(stream)?.tail.into_iter().collect(),
        };
        tails.retain(|&op| !platform.is_done(device, op));
        Ok((device, tails))
    }

    /// Operations that a wait for a stream, or a query of it, waits for.
    ///
    /// # Errors
    /// The handle is invalid, there is no context, or the stream captures.
    pub fn wait(&mut self, platform: &mut Platform, stream: u64, only_ask: bool) -> Result<Wait> {
        let (device, tails) = self.tails(platform, stream)?;
        let op = match tails[..] {
            [] => return Ok(Wait::Nothing),
            [op] => op,
            // The end of several operations; no stream waits for it.
            _ => platform.timeline(device)?.request(Work::Nothing, &tails, 0),
        };
        Ok(if only_ask { Wait::Query(device, op) } else { Wait::Op(device, op) })
    }

    /// Whether nothing of a stream is left to do.
    ///
    /// # Errors
    /// The handle is invalid, there is no context, or the stream captures.
    pub fn is_idle(&mut self, platform: &Platform, stream: u64) -> Result<bool> {
        self.tails(platform, stream).map(|(_, tails)| tails.is_empty())
    }

    /// Sets an attribute of a stream (`CU_STREAM_ATTRIBUTE_*`).
    ///
    /// # Errors
    /// It is not one that the program has made.
    pub fn set_attribute(&mut self, stream: u64, attribute: u32, value: Vec<u8>) -> Result<()> {
        let stream = self.made.get_mut(stream)?;
        if attribute == ATTRIBUTE_PRIORITY {
            let priority = value.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
            stream.priority = priority.clamp(PRIORITIES.0, PRIORITIES.1);
        }
        stream.attributes.insert(attribute, value);
        Ok(())
    }

    /// An attribute of a stream, of `bytes` bytes; zeros if it was never set.
    ///
    /// # Errors
    /// It is not a stream.
    pub fn attribute(&self, stream: u64, attribute: u32, bytes: usize) -> Result<Vec<u8>> {
        let (_, priority, _) = self.facts(stream)?;
        let set = self.made.get(stream).ok().and_then(|stream| stream.attributes.get(&attribute));
        let mut value = match (attribute, set) {
            (ATTRIBUTE_PRIORITY, _) => priority.to_le_bytes().to_vec(),
            (_, Some(set)) => set.clone(),
            (_, None) => Vec::new(),
        };
        value.resize(bytes, 0);
        Ok(value)
    }

    /// Gives a stream the attributes of another one.
    ///
    /// # Errors
    /// Either stream is not one that the program has made.
    pub fn copy_attributes(&mut self, to: u64, from: u64) -> Result<()> {
        let Stream { attributes, priority, .. } = self.made.get(from)?.clone();
        let to = self.made.get_mut(to)?;
        (to.attributes, to.priority) = (attributes, priority);
        Ok(())
    }
}

/// `CU_STREAM_ATTRIBUTE_PRIORITY`.
const ATTRIBUTE_PRIORITY: u32 = 8;
