//! Requests of the user for all calls, also before the driver is made.

use request::options;
use request::values::By;
use std::sync::OnceLock;

/// Criterion by which the report groups kernels, if the user has asked for one.
pub fn by() -> Option<By> {
    static BY: OnceLock<Option<By>> = OnceLock::new();
    *BY.get_or_init(|| {
        let given = std::env::var(options::row("by")?.variable()).ok()?;
        [By::Nvtx, By::Python].into_iter().find(|by| by.name() == given.trim())
    })
}
