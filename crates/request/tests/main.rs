//! Options are the same whichever way they are given.

mod contract;
mod documents;
