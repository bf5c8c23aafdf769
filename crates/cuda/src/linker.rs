//! x
/// y
#[derive(Debug)]
pub struct Linker;
