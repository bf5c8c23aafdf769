//! Capture: what is requested in a stream becomes nodes of a graph and is not done.
//!
//! A capture begins in one stream. A stream that waits for an event of the capture takes part in it from then on. Before
//! the capture ends, the first stream must have waited for all others.
//!
//! A call that is not allowed meanwhile invalidates the capture; the numbers of the errors are
//! CUDA's.

use crate::error::{Error, Result};
use crate::platform::Platform;
use crate::stream::Streams;
use crate::stream::objects::{Capture, Key, Member, Mode, Recorded};
use std::cell::Cell;

thread_local! {
    /// The mode of a thread, by which its calls are judged.
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// Sets the capture mode of the calling thread; returns the former one.
pub fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// Request of a program about a stream's capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Info {
    /// 0: none, 1: active, 2: invalidated.
    pub status: u32,
    pub id: u64,
    pub graph: u64,
    /// Address and number of the nodes that the next one follows.
    pub after: (u64, u64),
}

impl Streams {
    /// Whether a stream captures.
    ///
    /// # Errors
    /// It is a legacy default stream that would have to wait for a capture, or its capture is invalid.
    pub(crate) fn is_captured(&mut self, device: usize, key: Key) -> Result<bool> {
        if self.captures.list.is_empty() {
            return Ok(false);
        }
        if let Key::Legacy(_) = key {
            return self.check_legacy(device).map(|()| false);
        }
        match self.captures.of(key) {
            Some(capture) if capture.is_invalid => Err(Error::STREAM_CAPTURE_INVALIDATED),
            capture => Ok(capture.is_some()),
        }
    }

    /// Work in the legacy default stream waits for all streams that block, and none of them may capture.
    fn check_legacy(&mut self, device: usize) -> Result<()> {
        let blocking = |capture: &Capture| {
            capture.device == device && capture.members.iter().any(|member| self.blocks(member.key))
        };
        let ids: Vec<u64> = self.captures.list.iter().filter(|c| blocking(c)).map(|c| c.id).collect();
        self.captures.invalidate(|capture| ids.contains(&capture.id));
        if ids.is_empty() { Ok(()) } else { Err(Error::STREAM_CAPTURE_IMPLICIT) }
    }

    /// The graph of the capture that a stream takes part in, and the nodes that the next one follows.
    pub(crate) fn capturing(&mut self, key: Key) -> Result<(u64, Box<[u64]>)> {
        let capture = self.captures.of(key).ok_or(Error::ILLEGAL_STATE)?;
        let graph = capture.graph;
        Ok((graph, capture.member(key).map(|member| member.after.clone()).unwrap_or_default()))
    }

    /// For calls that a stream which captures does not permit: they invalidate its capture.
    ///
    /// # Errors
    /// The stream captures.
    pub(crate) fn refuse_capture(&mut self, key: Key) -> Result<()> {
        match self.captures.of(key) {
            Some(capture) => {
                capture.is_invalid = true;
                Err(Error::STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// As `refuse_capture`, by the handle of a stream.
    ///
    /// # Errors
    /// It is not a stream, or it captures.
    pub fn refuse_capture_in(&mut self, platform: &Platform, stream: u64) -> Result<()> {
        let (_, key) = self.key_of(platform, stream)?;
        self.refuse_capture(key)
    }

    /// For calls that may wait for streams that capture, such as allocations: the modes of the captures and of the
    /// thread say whether they are permitted. Otherwise they invalidate the captures.
    ///
    /// # Errors
    /// The call is not permitted.
    pub fn check_capture(&mut self) -> Result<()> {
        if self.captures.list.is_empty() {
            return Ok(());
        }
        let (thread, mode) = (std::thread::current().id(), MODE.get());
        let forbids = |capture: &Capture| match mode {
            Mode::Relaxed => false,
            Mode::ThreadLocal => capture.thread == thread && capture.mode != Mode::Relaxed,
            Mode::Global => capture.mode == Mode::Global || (capture.thread == thread && capture.mode != Mode::Relaxed),
        };
        let is_forbidden = self.captures.list.iter().any(forbids);
        self.captures.invalidate(forbids);
        if is_forbidden { Err(Error::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }

    /// For a wait for all work of a device.
    ///
    /// # Errors
    /// A stream of the device captures: its capture becomes invalid.
    pub fn refuse_captures_on(&mut self, device: usize) -> Result<()> {
        let is_any = self.captures.list.iter().any(|capture| capture.device == device);
        self.captures.invalidate(|capture| capture.device == device);
        if is_any { Err(Error::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }

    /// Whether a capture can begin in a stream.
    ///
    /// # Errors
    /// It is the legacy default stream, or it captures already.
    pub(crate) fn check_can_capture(&mut self, key: Key) -> Result<()> {
        if matches!(key, Key::Legacy(_)) {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.captures.of(key).is_some() { Err(Error::ILLEGAL_STATE) } else { Ok(()) }
    }

    /// Begins a capture in a stream, into a graph after some of its nodes.
    pub(crate) fn begin_capture(
        &mut self,
        (device, key): (usize, Key),
        mode: Mode,
        into: (u64, Box<[u64]>),
        is_provided: bool,
    ) {
        self.captures.begun += 1;
        self.captures.list.push(Capture {
            id: self.captures.begun,
            graph: into.0,
            device,
            mode,
            thread: std::thread::current().id(),
            is_invalid: false,
            is_provided,
            members: vec![Member { key, after: into.1 }],
        });
    }

    /// Ends the capture that began in a stream.
    ///
    /// # Errors
    /// None began there, or another thread began it.
    pub(crate) fn end_capture(&mut self, key: Key) -> Result<Capture> {
        let capture = self.captures.of(key).ok_or(Error::ILLEGAL_STATE)?;
        if capture.mode != Mode::Relaxed && capture.thread != std::thread::current().id() {
            return Err(Error::STREAM_CAPTURE_WRONG_THREAD);
        }
        if capture.members[0].key != key {
            capture.is_invalid = true;
            return Err(Error::STREAM_CAPTURE_UNMATCHED);
        }
        let id = capture.id;
        let at = self.captures.list.iter().position(|capture| capture.id == id).ok_or(Error::ILLEGAL_STATE)?;
        Ok(self.captures.list.remove(at))
    }

    /// The state of a stream's capture.
    ///
    /// # Errors
    /// It is not a stream, or it is the legacy default stream and a stream that blocks captures.
    pub fn capture_info(&mut self, platform: &Platform, stream: u64) -> Result<Info> {
        let (device, key) = self.key_of(platform, stream)?;
        if matches!(key, Key::Legacy(_)) {
            let blocking = |c: &Capture| c.device == device && c.members.iter().any(|m| self.blocks(m.key));
            let is_implicit = self.captures.list.iter().any(blocking);
            return if is_implicit { Err(Error::STREAM_CAPTURE_IMPLICIT) } else { Ok(Info::default()) };
        }
        let Some(capture) = self.captures.of(key) else { return Ok(Info::default()) };
        let (id, graph) = (capture.id, capture.graph);
        let status = if capture.is_invalid { 2 } else { 1 };
        let after = capture.member(key).map_or((0, 0), |member| {
            // Stable until the stream is used again, as CUDA promises.
            (member.after.as_ptr() as u64, member.after.len() as u64)
        });
        Ok(Info { status, id, graph, after })
    }

    /// Changes the nodes that the next one of a capturing stream follows: `replace` them, or add to them.
    pub(crate) fn set_followed(&mut self, key: Key, nodes: &[u64], replace: bool) {
        let Some(member) = self.captures.of(key).and_then(|capture| capture.member(key)) else { return };
        if replace {
            member.after = nodes.into();
        } else {
            add_nodes(member, nodes);
        }
    }

    /// Where an event is in the capture of a stream.
    pub(crate) fn capture_point(&mut self, key: Key) -> Option<Recorded> {
        let capture = self.captures.of(key)?;
        let id = capture.id;
        capture.member(key).map(|member| Recorded { capture: id, after: member.after.to_vec() })
    }

    /// Makes a stream wait for an event of a capture: the stream takes part in the capture from then on.
    ///
    /// # Errors
    /// The capture has ended, or the stream cannot take part in it.
    pub(crate) fn capture_join(&mut self, key: Key, event: &Recorded) -> Result<()> {
        let Some(at) = self.captures.list.iter().position(|capture| capture.id == event.capture) else {
            return Err(Error::CAPTURED_EVENT);
        };
        if let Some(other) = self.captures.of(key).map(|capture| capture.id)
            && other != event.capture
        {
            self.captures.invalidate(|capture| capture.id == other || capture.id == event.capture);
            return Err(Error::STREAM_CAPTURE_MERGE);
        }
        let capture = &mut self.captures.list[at];
        if capture.is_invalid {
            return Err(Error::STREAM_CAPTURE_INVALIDATED);
        }
        if let Key::Legacy(_) = key {
            capture.is_invalid = true;
            return Err(Error::STREAM_CAPTURE_IMPLICIT);
        }
        match capture.member(key) {
            Some(member) => add_nodes(member, &event.after),
            None => capture.members.push(Member { key, after: event.after.clone().into() }),
        }
        Ok(())
    }
}

fn add_nodes(member: &mut Member, nodes: &[u64]) {
    let mut all = member.after.to_vec();
    for node in nodes {
        if !all.contains(node) {
            all.push(*node);
        }
    }
    member.after = all.into();
}
