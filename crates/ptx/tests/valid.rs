//! PTX in the style of each compiler is parsed without a diagnostic.

use crate::common;

use common::valid_files;
use ptx::Severity;

#[test]
fn no_errors() {
    for (name, text) in valid_files() {
        let parsed = ptx::parse(&name, &text);
        assert_eq!(parsed.render(Severity::Warning), "", "{name}");
    }
}
