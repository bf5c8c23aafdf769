//! The data of streams, events and captures.

use crate::error::{Error, Result};
use crate::timeline::OpId;
use crate::work::Stamp;
use std::collections::{BTreeMap, HashMap};
use std::thread::ThreadId;

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
    /// Attributes that the program has set, by number.
    pub attributes: BTreeMap<u32, Vec<u8>>,
}

/// The default streams of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults {
    /// The last operation of the legacy default stream.
    pub(super) legacy: Option<OpId>,
    /// The last operation of the default stream of each thread.
    pub(super) per_thread: HashMap<ThreadId, OpId>,
    /// The last operations of blocking streams that are gone.
    pub(super) gone: Vec<OpId>,
    pub(super) next_id: u64,
}

/// Which stream a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The legacy default stream of a device.
    Legacy(usize),
    /// The default stream of a thread on a device.
    OfThread(usize, ThreadId),
    /// One that the program has made, by its handle.
    Made(u64),
}

/// Handle of the legacy default stream, beside 0.
pub const LEGACY: u64 = 1;

/// Handle of the default stream of the calling thread.
pub const PER_THREAD: u64 = 2;

/// `CU_STREAM_NON_BLOCKING`.
pub(super) const NON_BLOCKING: u32 = 1;

/// The highest and the lowest priority of streams.
pub const PRIORITIES: (i32, i32) = (-5, 0);

/// The operation of work that was captured: it counts as ended.
pub(crate) const CAPTURED: OpId = 0;

/// An event.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Event {
    pub context: u64,
    pub device: usize,
    pub flags: u32,
    /// Where it was recorded last: the operation and its time.
    pub recorded: Option<(OpId, Stamp)>,
    /// Where it was recorded in a capture since then.
    pub(crate) captured: Option<Recorded>,
}

/// Where an event was recorded in a capture.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) capture: u64,
    pub(crate) after: Vec<u64>,
}

/// Which calls are forbidden during a capture (`CU_STREAM_CAPTURE_MODE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Mode {
    Global,
    ThreadLocal,
    Relaxed,
}

impl Mode {
    /// The mode of a number.
    ///
    /// # Errors
    /// There is none.
    pub fn of(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// A stream that takes part in a capture, with the nodes that its next one follows.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(super) key: Key,
    pub(crate) after: Box<[u64]>,
}

/// A capture that has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(super) id: u64,
    pub(crate) graph: u64,
    pub(super) device: usize,
    pub(super) mode: Mode,
    pub(super) thread: ThreadId,
    pub(crate) is_invalid: bool,
    /// Whether the program has provided the graph.
    pub(crate) is_provided: bool,
    /// The stream that it began in, and further ones.
    pub(crate) members: Vec<Member>,
}

impl Capture {
    pub(super) fn member(&mut self, key: Key) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.key == key)
    }
}

/// The captures that have not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Captures {
    pub(super) list: Vec<Capture>,
    pub(super) begun: u64,
}

impl Captures {
    /// The capture that a stream takes part in.
    pub(super) fn of(&mut self, key: Key) -> Option<&mut Capture> {
        self.list.iter_mut().find(|capture| capture.members.iter().any(|member| member.key == key))
    }

    /// Whether a capture began in a stream, other than in one that takes part in it.
    pub(super) fn began_in(&self, key: Key) -> bool {
        self.list.iter().any(|capture| capture.members[0].key == key)
    }

    pub(super) fn invalidate(&mut self, which: impl Fn(&Capture) -> bool) {
        self.list.iter_mut().filter(|capture| which(capture)).for_each(|capture| capture.is_invalid = true);
    }
}
