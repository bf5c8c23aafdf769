//! State of a fabric's elements: the injector, links, units.

use crate::statistics::Reason;
use crate::token::Token;
use kit::Ring;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How far the injector is with a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceState {
    /// The thread whose value is sent next, by its number in the pass: one of its copy.
    pub next: u32,
    /// The first cycle in which it may be.
    pub from: u64,
}

impl SourceState {
    /// A source that begins with thread `first`.
    pub const fn new(first: u32) -> Self {
        Self { next: first, from: 0 }
    }
}

/// The tokens in all segments of links. A segment of *n* registers in a row, of which each passes its token on as
/// soon as the next one is empty, is a FIFO of *n* tokens that each take at least *n* cycles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// By segment, each with the cycle in which it has reached the last register.
    pub tokens: Vec<Ring<(u64, Token)>>,
}

impl Links {
    /// Empty ones.
    pub fn new(segments: usize) -> Self {
        Self { tokens: vec![Ring::new(); segments] }
    }

    /// The tokens in segment `s`.
    pub fn held(&self, s: usize) -> impl Iterator<Item = Token> + '_ {
        self.tokens[s].iter().map(|(_, token)| *token)
    }
}

/// A unit that is in use.
#[derive(Clone, Debug)]
pub(crate) struct UnitState {
    /// Places of threads whose tokens are all there, in the order in which they became so.
    pub ready: VecDeque<u8>,
    /// In the pipeline, in order, each with the first cycle in which it may leave.
    pub pipeline: Ring<(u64, Token)>,
    /// In blocks or in L1, each with the cycle in which it is done, and a number in order.
    pub timed: BinaryHeap<Reverse<(u64, u32, u64, u8)>>,
    /// For each divider or root in use, the cycle in which it is free.
    pub blocks: Vec<u64>,
    /// Done, but not sent.
    pub done: VecDeque<Token>,
    /// Entries of the reservation buffer in use.
    pub reserved: u32,
    pub reserved_since: u64,
    /// Threads whose result has left it in this pass.
    pub left: u32,
    /// Threads that it has executed in this pass.
    pub fired: u32,
    /// The epoch of the thread that was executed last.
    pub epoch: u32,
    /// First cycle in which it may fire.
    pub next_fire: u64,
    /// Its state from `since` on, until it is examined again.
    pub reason: Reason,
    pub since: u64,
}

impl UnitState {
    /// An empty unit that waits for tokens from cycle `since` on.
    pub fn new(since: u64) -> Self {
        Self {
            ready: VecDeque::new(),
            pipeline: Ring::new(),
            timed: BinaryHeap::new(),
            blocks: Vec::new(),
            done: VecDeque::new(),
            reserved: 0,
            reserved_since: since,
            left: 0,
            fired: 0,
            epoch: 0,
            next_fire: 0,
            reason: Reason::NoToken,
            since,
        }
    }

    /// Whether it holds no thread.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.pipeline.is_empty() && self.timed.is_empty() && self.reserved == 0
    }
}
