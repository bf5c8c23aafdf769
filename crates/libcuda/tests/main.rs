//! Tests of the driver library.

mod programs;
