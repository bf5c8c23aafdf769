//! Events: points in streams, with simulated time.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::stream::Event;
use crate::wait::Wait;
use crate::work::{Stamp, Work};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;
/// All flags that there are.
const FLAGS: u32 = 7;

impl Driver {
    /// Creates an event.
    ///
    /// # Errors
    /// There is no context, or flags are unknown.
    pub fn event_create(&mut self, flags: u32) -> Result<u64> {
        let (context, device) = self.place_here()?;
        if flags & !FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        Ok(self.events.add(Event { context, device, flags, recorded: None, captured: None }))
    }

    /// Destroys an event.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn event_destroy(&mut self, event: u64) -> Result<()> {
        self.events.remove(event).map(|_| ())
    }

    /// Records an event in a stream. In a stream that captures, an `external` record becomes a node of the graph.
    ///
    /// # Errors
    /// Either handle is invalid, or event and stream belong to different devices.
    pub fn event_record(&mut self, event: u64, stream: u64, external: bool) -> Result<()> {
        let (device, key) = self.key_of(stream)?;
        if self.events.get(event)?.device != device {
            return Err(Error::INVALID_HANDLE);
        }
        if self.is_captured(device, key)? {
            if external {
                return self.capture(key, Task::Record(event)).map(|_| ());
            }
            let captured = self.capture_point(key);
            self.events.get_mut(event)?.captured = captured;
            return Ok(());
        }
        let stamp = Stamp::default();
        let op = self.request(stream, Work::Record(stamp.clone()), &[])?;
        let event = self.events.get_mut(event)?;
        (event.recorded, event.captured) = (Some((op, stamp)), None);
        Ok(())
    }

    /// Makes later work of a stream wait for an event. In a stream that captures, an `external` wait becomes a node of
    /// the graph.
    ///
    /// # Errors
    /// Either handle is invalid, or captures do not permit it.
    pub fn stream_wait_event(&mut self, stream: u64, event: u64, external: bool) -> Result<Wait> {
        let Event { device: of_event, recorded, captured, .. } = self.events.get(event)?.clone();
        let (device, key) = self.key_of(stream)?;
        if let Some(captured) = captured.filter(|_| !external) {
            return self.capture_join(key, &captured).map(|()| Wait::Nothing);
        }
        if self.is_captured(device, key)? {
            if external {
                return self.capture(key, Task::Wait(event)).map(|_| Wait::Nothing);
            }
            if recorded.is_none() {
                return Ok(Wait::Nothing);
            }
            self.refuse_capture(key).map_err(|_| Error::STREAM_CAPTURE_ISOLATION)?;
        }
        let Some((op, _)) = recorded else { return Ok(Wait::Nothing) };
        if of_event != device {
            // Devices have no common time: the other one runs up to the event first.
            return Ok(Wait::Op(of_event, op));
        }
        if !self.is_done(device, op) {
            self.request(stream, Work::Nothing, &[op])?;
        }
        Ok(Wait::Nothing)
    }

    /// What a query or a wait for an event waits for.
    ///
    /// # Errors
    /// The handle is invalid, or the event is one of a capture.
    pub fn event_wait(&self, event: u64, only_ask: bool) -> Result<Wait> {
        let event = self.events.get(event)?;
        if event.captured.is_some() {
            return Err(Error::CAPTURED_EVENT);
        }
        Ok(match event.recorded {
            Some((op, _)) if only_ask => Wait::Query(event.device, op),
            Some((op, _)) => Wait::Op(event.device, op),
            None => Wait::Nothing,
        })
    }

    /// Whether an event has happened, or was never recorded.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn event_happened(&self, event: u64) -> Result<bool> {
        let event = self.events.get(event)?;
        Ok(event.recorded.as_ref().is_none_or(|&(op, _)| self.is_done(event.device, op)))
    }

    /// Milliseconds between two events.
    ///
    /// # Errors
    /// Either handle is invalid, or either event has no time or has not happened.
    pub fn event_elapsed(&self, start: u64, end: u64) -> Result<f32> {
        let (start, end) = (self.events.get(start)?, self.events.get(end)?);
        if start.device != end.device || (start.flags | end.flags) & DISABLE_TIMING != 0 {
            return Err(Error::INVALID_HANDLE);
        }
        if start.captured.is_some() || end.captured.is_some() {
            return Err(Error::CAPTURED_EVENT);
        }
        let (Some((_, from)), Some((_, to))) = (&start.recorded, &end.recorded) else {
            return Err(Error::INVALID_HANDLE);
        };
        let (Some(from), Some(to)) = (from.cycles(), to.cycles()) else { return Err(Error::NOT_READY) };
        let mhz = self.devices[start.device].setup.gpu.clocks.core_mhz;
        Ok(((to as f64 - from as f64) / (mhz * 1e3)) as f32)
    }
}
