//! The front end: fetch, decode, and the buffers between decode and issue.

pub(crate) mod decode;
pub(crate) mod fetch;
pub(crate) mod instruction_buffer;
