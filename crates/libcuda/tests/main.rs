//! Tests of the driver library.
