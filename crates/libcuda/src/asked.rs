//! What the user asks for of all calls, also of those before the driver is made.

use request::options;
use request::values::By;
use std::sync::OnceLock;

/// What the report groups kernels by, if the user has asked for it.
pub fn by() -> Option<By> {
    static BY: OnceLock<Option<By>> = OnceLock::new();
    *BY.get_or_init(|| {
        let given = std::env::var(options::row("by")?.variable()).ok()?;
        [By::Nvtx, By::Python].into_iter().find(|by| by.name() == given.trim())
    })
}
