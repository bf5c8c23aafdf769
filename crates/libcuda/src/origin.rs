//! Origins of launches, as the user has asked for them.

use crate::asked::by;
use crate::{nvtx, python};
use cuda::origin::Part;
use request::values::By;

/// Ranges open in this thread, the outermost first.
pub fn here() -> Vec<Part> {
    match by() {
        None => Vec::new(),
        Some(By::Nvtx) => nvtx::open(),
        Some(By::Python) => vec![Part { name: line(), range: 0 }],
    }
}

/// The line of Python that this thread executes. A thread without one works for another, as PyTorch's backward pass does:
/// its ranges have the numbers of the forward operations, which have had their line noted. Otherwise it is the line at
/// which the other thread waits.
fn line() -> String {
    let of_forward = || nvtx::line_of_forward().map(|line| format!("{line} (backward)"));
    let of_other =
        || python::line_of_the_only_thread().map(|line| format!("{line} (thread {})", python::thread_name()));
    let without = || format!("no Python frame (thread {})", python::thread_name());
    python::line().or_else(of_forward).or_else(of_other).unwrap_or_else(without)
}
