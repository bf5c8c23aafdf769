//! Capture: what is requested in a stream becomes nodes of a graph and is not done.
//!
//! A capture begins in one stream. A stream that waits for an event of the capture takes part in it from then on. Before
//! the capture ends, the first stream must have waited for all others.
//!
//! What may not be done meanwhile invalidates the capture; the numbers of the errors are those of CUDA.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::graph::objects::{Capture, Member};
use crate::graph::{Mode, Task};
use crate::stream::{Key, Recorded};
use std::cell::Cell;

thread_local! {
    /// The mode of a thread, by which its calls are judged.
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// Sets the capture mode of the calling thread; returns the former one.
pub fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// What a program asks of a stream's capture.
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

impl Driver {
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

    /// Makes a node of what is requested in a stream that captures.
    pub(crate) fn capture(&mut self, key: Key, task: Task) -> Result<u64> {
        let capture = self.captures.of(key).ok_or(Error::ILLEGAL_STATE)?;
        let graph = capture.graph;
        let after = capture.member(key).map(|member| member.after.clone()).unwrap_or_default();
        let node = self.graph_add(graph, &after, task)?;
        if let Some(member) = self.captures.of(key).and_then(|capture| capture.member(key)) {
            member.after = Box::new([node]);
        }
        Ok(node)
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
    pub fn refuse_capture_in(&mut self, stream: u64) -> Result<()> {
        let (_, key) = self.key_of(stream)?;
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

    /// Begins a capture in a stream, into a new graph, or into a given one after some of its nodes.
    ///
    /// # Errors
    /// It is not a stream, it is the legacy default stream, or it captures already.
    pub fn capture_begin(&mut self, stream: u64, mode: Mode, into: Option<(u64, Vec<u64>)>) -> Result<()> {
        let (device, key) = self.key_of(stream)?;
        if matches!(key, Key::Legacy(_)) {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.captures.of(key).is_some() {
            return Err(Error::ILLEGAL_STATE);
        }
        let (graph, after, is_provided) = match into {
            Some((graph, after)) => {
                self.check_nodes(graph, &after)?;
                (graph, after.into(), true)
            }
            None => (self.graph_create()?, Box::default(), false),
        };
        self.captures.begun += 1;
        self.captures.list.push(Capture {
            id: self.captures.begun,
            graph,
            device,
            mode,
            thread: std::thread::current().id(),
            is_invalid: false,
            is_provided,
            members: vec![Member { key, after }],
        });
        Ok(())
    }

    /// Ends the capture that began in a stream; returns its graph.
    ///
    /// # Errors
    /// None began there, it is invalid, another thread began it, or other streams have not been waited for.
    pub fn capture_end(&mut self, stream: u64) -> Result<u64> {
        let (_, key) = self.key_of(stream)?;
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
        let ended = self.captures.list.remove(at);
        let problem = if ended.is_invalid {
            Some(Error::STREAM_CAPTURE_INVALIDATED)
        } else if self.is_joined(&ended) {
            None
        } else {
            Some(Error::STREAM_CAPTURE_UNJOINED)
        };
        match problem {
            None => Ok(ended.graph),
            Some(problem) => {
                if !ended.is_provided {
                    let _ = self.graph_destroy(ended.graph);
                }
                Err(problem)
            }
        }
    }

    /// Whether the first stream of a capture has waited for all others.
    fn is_joined(&self, capture: &Capture) -> bool {
        let joined = self.ancestors(&capture.members[0].after);
        capture.members[1..].iter().flat_map(|member| &member.after).all(|node| joined.contains(node))
    }

    /// The state of a stream's capture.
    ///
    /// # Errors
    /// It is not a stream, or it is the legacy default stream and a stream that blocks captures.
    pub fn capture_info(&mut self, stream: u64) -> Result<Info> {
        let (device, key) = self.key_of(stream)?;
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
    ///
    /// # Errors
    /// The stream does not capture, or these are not nodes of its graph.
    pub fn capture_follow(&mut self, stream: u64, nodes: &[u64], replace: bool) -> Result<()> {
        let (device, key) = self.key_of(stream)?;
        if !self.is_captured(device, key)? {
            return Err(Error::ILLEGAL_STATE);
        }
        let graph = self.captures.of(key).map_or(0, |capture| capture.graph);
        self.check_nodes(graph, nodes)?;
        let Some(member) = self.captures.of(key).and_then(|capture| capture.member(key)) else { return Ok(()) };
        if replace {
            member.after = nodes.into();
        } else {
            add_nodes(member, nodes);
        }
        Ok(())
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
