//! Tests of the C boundary, in the built library.

mod library;
mod symbols;
