//! Experiments as files, and runs that are kept.

mod file;
mod points;
