//! Policies that choose among the ways of a set. Choosing walks the set.

use super::{Place, Policy};
use std::ops::Range;

/// A choice among the ways of a set; it keeps state for each set.
pub(in crate::cache) trait Choice {
    fn new(sets: usize, ways: usize) -> Self;
    /// `way` of `set` holds a new block.
    fn insert(&mut self, set: usize, way: usize);
    /// A request found its block in `way`, though perhaps not its sector.
    fn hit(&mut self, set: usize, way: usize);
    /// The block in `way` was dropped without another one in its place.
    fn drop_block(&mut self, _set: usize, _way: usize) {}
    /// One of `candidates`, of which there is at least one. The same until another method is called.
    fn victim(&self, set: usize, candidates: Candidates<'_>) -> usize;
}

/// The ways of a set that may be replaced.
#[derive(Clone, Copy, Debug)]
pub(in crate::cache) struct Candidates<'a> {
    places: &'a [Place],
    dirty_may_go: bool,
}

impl Candidates<'_> {
    fn is_one(self, place: Place) -> bool {
        place == Place::Clean || place == Place::Dirty && self.dirty_may_go
    }

    /// The candidates, lowest way first.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.places.len()).filter(move |&way| self.is_one(self.places[way]))
    }

    /// Whether a candidate is among `ways`, which may exceed the set.
    pub fn any(self, ways: Range<usize>) -> bool {
        let end = ways.end.min(self.places.len());
        (ways.start..end).any(|way| self.is_one(self.places[way]))
    }
}

/// The policy of a [`Choice`].
#[derive(Clone, Debug)]
pub(in crate::cache) struct ByWays<C> {
    choice: C,
    ways: usize,
    /// The way of each line in its set.
    way_of: Vec<u32>,
    /// The line in each way of each set, and its place.
    lines: Box<[u32]>,
    places: Box<[Place]>,
}

impl<C> ByWays<C> {
    fn at(&self, line: u32, set: u32) -> (usize, usize) {
        (set as usize, self.way_of[line as usize] as usize)
    }

    fn places(&self, set: u32) -> &[Place] {
        &self.places[set as usize * self.ways..][..self.ways]
    }

    fn line(&self, set: u32, way: usize) -> u32 {
        self.lines[set as usize * self.ways + way]
    }
}

impl<C: Choice> Policy for ByWays<C> {
    fn new(sets: u32, ways: u32) -> Self {
        let (sets, ways) = (sets as usize, ways as usize);
        Self {
            choice: C::new(sets, ways),
            ways,
            way_of: Vec::new(),
            lines: vec![0; sets * ways].into(),
            places: vec![Place::Pinned; sets * ways].into(),
        }
    }

    fn add_line(&mut self, set: u32, way: u32) {
        self.lines[set as usize * self.ways + way as usize] = self.way_of.len() as u32;
        self.way_of.push(way);
    }

    fn insert(&mut self, line: u32, set: u32) {
        let (set, way) = self.at(line, set);
        self.choice.insert(set, way);
    }

    fn hit(&mut self, line: u32, set: u32, _place: Place) {
        let (set, way) = self.at(line, set);
        self.choice.hit(set, way);
    }

    fn sector_miss(&mut self, line: u32, set: u32, _place: Place) {
        let (set, way) = self.at(line, set);
        self.choice.hit(set, way);
    }

    fn move_to(&mut self, line: u32, set: u32, place: Place) {
        let (set, way) = self.at(line, set);
        self.places[set * self.ways + way] = place;
        if place == Place::Free {
            self.choice.drop_block(set, way);
        }
    }

    fn free(&self, set: u32) -> Option<u32> {
        let way = self.places(set).iter().position(|&p| p == Place::Free)?;
        Some(self.line(set, way))
    }

    fn victim(&self, set: u32, dirty_may_go: bool) -> Option<u32> {
        let candidates = Candidates { places: self.places(set), dirty_may_go };
        candidates.iter().next()?;
        Some(self.line(set, self.choice.victim(set as usize, candidates)))
    }

    fn dirty_lines(&self, set: u32) -> u32 {
        self.places(set).iter().filter(|&&p| p == Place::Dirty).count() as u32
    }
}

kit::persist! {
    struct [C: kit::persist::Persist] ByWays<C> { choice, way_of, lines, places; skip ways }
}
