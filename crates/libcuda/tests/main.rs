//! Tests of the driver library.

mod library;
mod programs;
mod symbols;
mod tensor_maps;
