//! The data that the host has read from the device so far, so that its code runs again up to a checkpoint.

use kit::persist::{Archive, Mismatch, Persist};

/// Data that the host reads from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The address of memory that it has allocated.
    Address = 1,
    /// Bytes that it has read.
    Bytes = 2,
    /// The handle of a texture or surface.
    Handle = 3,
    /// Anomalies of a kernel's trace.
    Oddities = 4,
}

/// Bytes of a length that the host knows.
#[derive(Debug)]
pub(crate) struct Known<'a>(pub &'a mut [u8]);

impl Persist for Known<'_> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        archive.same("bytes that the host reads", self.0.len())?;
        archive.raw(self.0)
    }
}

/// The answers of the device, in order.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// All of them.
    written: Vec<u8>,
    /// The same, from the next one on that the host gets again.
    again: Option<Archive>,
}

impl Journal {
    /// The host gets `answers` again.
    pub(super) fn replaying(answers: Vec<u8>) -> Self {
        Self { written: answers.clone(), again: Some(Archive::reader(answers)) }
    }

    pub(super) fn answers(&self) -> &[u8] {
        &self.written
    }

    /// The host has got all answers again.
    ///
    /// # Errors
    /// Some are left.
    pub(super) fn end(&mut self) -> Result<(), Mismatch> {
        self.again.take().map_or(Ok(()), |again| again.end())
    }

    /// The next answer, which is of the kind `answer`.
    pub(super) fn next(&mut self, answer: Answer, value: &mut impl Persist) -> Result<(), Mismatch> {
        let Some(again) = &mut self.again else { return Err(Mismatch::new("no answers are left")) };
        let mut kind = answer as u8;
        kind.persist(again)?;
        if kind != answer as u8 {
            return Err(again.wrong(&format!("the host asks for {answer:?}, which it did not ask for there")));
        }
        value.persist(again)
    }

    /// Notes an answer.
    pub(super) fn note(&mut self, answer: Answer, value: &mut impl Persist) {
        let mut archive = Archive::writer();
        let mut kind = answer as u8;
        // Writing to memory has no errors.
        let _ = kind.persist(&mut archive).and_then(|()| value.persist(&mut archive));
        self.written.extend(archive.into_bytes());
    }
}
