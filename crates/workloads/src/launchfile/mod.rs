//! Launch files: how to run any kernel.
