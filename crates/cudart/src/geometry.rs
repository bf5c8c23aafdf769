//! Sizes and places of memory in up to three dimensions, as the API passes them.

use cabi::address::{Address, plain};

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Position {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Pitched {
    pub address: Address,
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

plain!(Extent, Position, Pitched);
