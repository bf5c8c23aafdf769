//! Events: points in streams, with simulated time.

use crate::error::{Error, Result};
use crate::platform::{Platform, Wait};
use crate::stream::objects::Key;
use crate::stream::{Event, Streams};
use crate::timeline::OpId;
use crate::work::{Stamp, Work};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;
/// All flags that there are.
const FLAGS: u32 = 7;

impl Streams {
    /// Creates an event.
    ///
    /// # Errors
    /// There is no context, or flags are unknown.
    pub fn event_create(&mut self, platform: &Platform, flags: u32) -> Result<u64> {
        let (context, device) = platform.place_here()?;
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

    /// An event.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn event(&self, event: u64) -> Result<&Event> {
        self.events.get(event)
    }

    /// Records an event in a stream, or notes where it is in the stream's capture.
    pub(crate) fn record(&mut self, platform: &mut Platform, event: u64, (device, key): (usize, Key)) -> Result<()> {
        if self.is_captured(device, key)? {
            let captured = self.capture_point(key);
            self.events.get_mut(event)?.captured = captured;
            return Ok(());
        }
        let stamp = Stamp::default();
        let op = self.append(platform, (device, key), Work::Record(stamp.clone()), &[])?;
        self.set_recorded(event, op, stamp)
    }

    /// Notes the operation that records an event.
    pub(crate) fn set_recorded(&mut self, event: u64, op: OpId, stamp: Stamp) -> Result<()> {
        let event = self.events.get_mut(event)?;
        (event.recorded, event.captured) = (Some((op, stamp)), None);
        Ok(())
    }

    /// The operation that recorded an event last.
    pub(crate) fn recorded(&self, event: u64) -> Option<OpId> {
        self.events.get(event).ok()?.recorded.as_ref().map(|&(op, _)| op)
    }

    /// Makes later work of a stream wait for an event, or the stream take part in the event's capture unless
    /// the wait is `external` to it.
    pub(crate) fn wait_event(
        &mut self,
        platform: &mut Platform,
        event: u64,
        (device, key): (usize, Key),
        external: bool,
    ) -> Result<Wait> {
        let Event { device: of_event, recorded, captured, .. } = self.events.get(event)?.clone();
        if let Some(captured) = captured.filter(|_| !external) {
            return self.capture_join(key, &captured).map(|()| Wait::Nothing);
        }
        if self.is_captured(device, key)? {
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
        if !platform.is_done(device, op) {
            self.append(platform, (device, key), Work::Nothing, &[op])?;
        }
        Ok(Wait::Nothing)
    }

    /// Operations that a query or a wait for an event waits for.
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
    pub fn event_happened(&self, platform: &Platform, event: u64) -> Result<bool> {
        let event = self.events.get(event)?;
        Ok(event.recorded.as_ref().is_none_or(|&(op, _)| platform.is_done(event.device, op)))
    }

    /// Milliseconds between two events.
    ///
    /// # Errors
    /// Either handle is invalid, or either event has no time or has not happened.
    pub fn event_elapsed(&self, platform: &Platform, start: u64, end: u64) -> Result<f32> {
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
        let mhz = platform.devices[start.device].setup.gpu.clocks.core_mhz;
        Ok(((to as f64 - from as f64) / (mhz * 1e3)) as f32)
    }
}
