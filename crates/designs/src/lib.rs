//! The core designs of papers, each as an issue policy of `sm` and the stages that it goes with.
//!
//! | module | design |
//! | --- | --- |
//! | [`ghost`] | GhOST, GhOST-Precise |
//! | [`loog`] | LOOG |
//! | [`socgpu`] | SOCGPU |
//! | [`boards`] | handling of write-after-read hazards, and the limit study's core without dependences |
//! | [`ideal`] | the idealised out-of-order core |
//! | [`load_slice`] | the load slice core |
//! | [`modern`] | the core of NVIDIA's GPUs since Volta |
//! | [`on_sub_cores`] | any of these over the stages of that core |
//!
//! A design is one file (or folder) that opens with its paper, what is modelled, and its numbered deviations; `lab` has
//! its row. The machine itself, with the in-order core that all are compared with, is `sm`.
#![warn(missing_docs)]

pub mod boards;
mod extent;
pub mod ghost;
pub mod ideal;
pub mod load_slice;
pub mod loog;
pub mod modern;
pub mod on_sub_cores;
pub mod socgpu;
