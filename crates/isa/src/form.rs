//! PTX or machine code.

/// Which code of a program runs, and which latencies and initiation intervals hold for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// PTX, the virtual machine's code.
    #[default]
    Ptx,
    /// Machine code (SASS) of the GPU's architecture.
    Sass,
}

impl Form {
    /// Its name in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ptx => "PTX",
            Self::Sass => "machine code",
        }
    }
}
