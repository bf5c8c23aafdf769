//! Progress to a Python function; Ctrl-C and exceptions of it to the simulation.

use experiment::runs;
use lab::{Monitor, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// Why Python ended a run, once it has.
#[derive(Clone, Default)]
pub struct Stopped(Arc<Mutex<Option<PyErr>>>);

impl Stopped {
    /// The exception that ended the run.
    ///
    /// # Errors
    /// There is one.
    pub fn check(&self) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn set(&self, error: PyErr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// Calls a Python function with the progress. It ends the run by returning False or by an exception.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    stopped: Stopped,
}

impl Watch {
    /// A monitor, and why it has ended the run.
    pub fn new(callback: Option<Py<PyAny>>) -> (Self, Stopped) {
        let stopped = Stopped::default();
        (Self { callback, stopped: stopped.clone() }, stopped)
    }

    fn call(&self, py: Python<'_>, progress: &Progress) -> PyResult<bool> {
        py.check_signals()?;
        let Some(callback) = &self.callback else { return Ok(true) };
        let of = PyDict::new(py);
        of.set_item("kernel", &progress.kernel)?;
        of.set_item("kernels_done", progress.kernels_done)?;
        of.set_item("kernels_total", progress.kernels_total)?;
        of.set_item("share_done", progress.share_done)?;
        of.set_item("ctas_done", progress.ctas_done)?;
        of.set_item("ctas_total", progress.ctas_total)?;
        of.set_item("cycles", progress.cycles)?;
        of.set_item("warp_instructions", progress.warp_instructions)?;
        let answer = callback.bind(py).call1((of,))?;
        Ok(answer.is_none() || answer.is_truthy()?)
    }

    fn told(&self, progress: &Progress) -> ControlFlow<()> {
        Python::attach(|py| match self.call(py, progress) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                self.stopped.set(error);
                ControlFlow::Break(())
            }
        })
    }
}

impl runs::Watch for Watch {
    fn begin(&self) -> Box<dyn Monitor + '_> {
        Box::new(self)
    }

    /// Runs are stored after they have ended, where an error is raised.
    fn cannot_keep(&self, _: &str) {}
}

impl Monitor for Watch {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.told(progress)
    }
}

/// Of several runs, at the same time or one after the other.
impl Monitor for &Watch {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.told(progress)
    }
}
