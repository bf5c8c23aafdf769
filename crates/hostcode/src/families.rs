//! Families of NVIDIA's libraries in whose place there are ours: one table for the command and the auditing library.

/// Names by which users choose libraries (`exec --own-libraries`), and the libraries without version.
pub const FAMILIES: [(&str, &[&str]); 4] = [
    ("blas", &["libcublas", "libcublasLt"]),
    ("rand", &["libcurand"]),
    ("fft", &["libcufft"]),
    ("sparse", &["libcusparse"]),
];

/// Variable that names the chosen families, separated by commas. Without it all are chosen.
pub const CHOICE: &str = "WARPWRIGHT_OWN_LIBRARIES";

/// The family of a library without version; `None` of the driver and the runtime, which are always ours.
#[must_use]
pub fn family_of(library: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(_, libraries)| libraries.contains(&library)).map(|(family, _)| *family)
}
