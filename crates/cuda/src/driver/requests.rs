//! Requests in streams. In a stream that captures they become nodes of a graph.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::platform::Wait;
use crate::stream::{CAPTURED, Key, Mode};
use crate::timeline::OpId;
use crate::work::{Call, Work};

impl Driver {
    /// Requests `work` in a stream, after the operations `also` too. A stream that captures makes a node of it.
    ///
    /// # Errors
    /// It is not a stream, there is no context, or a capture does not permit the work.
    pub(crate) fn request(&mut self, stream: u64, work: Work, also: &[OpId]) -> Result<OpId> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        if self.streams.is_captured(device, key)? {
            return self.capture(key, Task::Work(work)).map(|_| CAPTURED);
        }
        self.streams.append(&mut self.platform, (device, key), work, also)
    }

    /// Requests stores and waits for values in a stream. In a capture they are one node.
    ///
    /// # Errors
    /// It is not a stream.
    pub fn request_values(&mut self, stream: u64, works: Vec<Work>) -> Result<()> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        if self.streams.is_captured(device, key)? {
            return self.capture(key, Task::Several(works)).map(|_| ());
        }
        works.into_iter().try_for_each(|work| self.request(stream, work, &[]).map(|_| ()))
    }

    /// Requests a call of a function of the host program.
    ///
    /// # Errors
    /// There is no function, it is not a stream, or there is no context.
    pub fn call_host(&mut self, stream: u64, call: Call) -> Result<()> {
        if call.function == 0 {
            return Err(Error::INVALID_VALUE);
        }
        if call.stream.is_some() {
            // Callbacks of streams are older than graphs.
            self.streams.refuse_capture_in(&self.platform, stream)?;
        }
        self.request(stream, Work::Call(call), &[]).map(|_| ())
    }

    /// Records an event in a stream. In a stream that captures, an `external` record becomes a node of the graph.
    ///
    /// # Errors
    /// Either handle is invalid, or event and stream belong to different devices.
    pub fn event_record(&mut self, event: u64, stream: u64, external: bool) -> Result<()> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        if self.streams.event(event)?.device != device {
            return Err(Error::INVALID_HANDLE);
        }
        if external && self.streams.is_captured(device, key)? {
            return self.capture(key, Task::Record(event)).map(|_| ());
        }
        self.streams.record(&mut self.platform, event, (device, key))
    }

    /// Makes later work of a stream wait for an event. In a stream that captures, an `external` wait becomes a node of
    /// the graph.
    ///
    /// # Errors
    /// Either handle is invalid, or captures do not permit it.
    pub fn stream_wait_event(&mut self, stream: u64, event: u64, external: bool) -> Result<Wait> {
        self.streams.event(event)?;
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        if external && self.streams.is_captured(device, key)? {
            return self.capture(key, Task::Wait(event)).map(|_| Wait::Nothing);
        }
        self.streams.wait_event(&mut self.platform, event, (device, key), external)
    }

    /// Makes a node of what is requested in a stream that captures.
    pub(crate) fn capture(&mut self, key: Key, task: Task) -> Result<u64> {
        let (graph, after) = self.streams.capturing(key)?;
        let node = self.graphs.add(&mut self.memory, graph, &after, task)?;
        self.streams.set_followed(key, &[node], true);
        Ok(node)
    }

    /// Begins a capture in a stream, into a new graph, or into a given one after some of its nodes.
    ///
    /// # Errors
    /// It is not a stream, it is the legacy default stream, or it captures already.
    pub fn capture_begin(&mut self, stream: u64, mode: Mode, into: Option<(u64, Vec<u64>)>) -> Result<()> {
        let place = self.streams.key_of(&self.platform, stream)?;
        self.streams.check_can_capture(place.1)?;
        let is_provided = into.is_some();
        let (graph, after) = match into {
            Some((graph, after)) => {
                self.graphs.check_nodes(graph, &after)?;
                (graph, after.into())
            }
            None => (self.graphs.create(&self.platform)?, Box::default()),
        };
        self.streams.begin_capture(place, mode, (graph, after), is_provided);
        Ok(())
    }

    /// Ends the capture that began in a stream; returns its graph.
    ///
    /// # Errors
    /// None began there, it is invalid, another thread began it, or other streams have not been waited for.
    pub fn capture_end(&mut self, stream: u64) -> Result<u64> {
        let (_, key) = self.streams.key_of(&self.platform, stream)?;
        let ended = self.streams.end_capture(key)?;
        // The first stream has waited for all others.
        let joined = self.graphs.ancestors(&ended.members[0].after);
        let is_joined = ended.members[1..].iter().flat_map(|member| &member.after).all(|node| joined.contains(node));
        let problem = match (ended.is_invalid, is_joined) {
            (false, true) => return Ok(ended.graph),
            (true, _) => Error::STREAM_CAPTURE_INVALIDATED,
            (false, false) => Error::STREAM_CAPTURE_UNJOINED,
        };
        if !ended.is_provided {
            let _ = self.graphs.destroy(&mut self.platform, &mut self.memory, ended.graph);
        }
        Err(problem)
    }

    /// Changes the nodes that the next one of a capturing stream follows: `replace` them, or add to them.
    ///
    /// # Errors
    /// The stream does not capture, or these are not nodes of its graph.
    pub fn capture_follow(&mut self, stream: u64, nodes: &[u64], replace: bool) -> Result<()> {
        let (device, key) = self.streams.key_of(&self.platform, stream)?;
        if !self.streams.is_captured(device, key)? {
            return Err(Error::ILLEGAL_STATE);
        }
        let (graph, _) = self.streams.capturing(key)?;
        self.graphs.check_nodes(graph, nodes)?;
        self.streams.set_followed(key, nodes, replace);
        Ok(())
    }
}
