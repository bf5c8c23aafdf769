//! Tagged tokens and the buffers in which they wait for each other (§2.2, §5.1).
//!
//! A token buffer is an explicit token store: direct-mapped, a thread's place is its TID mod the number of entries.
//! A token whose place holds another thread waits upstream.

/// A value of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Token {
    pub value: u64,
    /// The thread, by its number in the pass.
    pub tag: u32,
    /// Its place in token buffers.
    pub place: u8,
}

/// All token buffers of a fabric, by port.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenBuffers {
    entries: u32,
    /// Places that hold a token, a bit each, by port.
    occupied: Vec<u64>,
    tags: Vec<u32>,
    values: Vec<u64>,
}

impl TokenBuffers {
    /// Empty buffers of `ports` ports.
    pub fn new(ports: usize, entries: u32) -> Self {
        let places = ports * entries as usize;
        Self { entries, occupied: vec![0; ports], tags: vec![0; places], values: vec![0; places] }
    }

    #[inline]
    const fn at(&self, port: u32, place: u8) -> usize {
        port as usize * self.entries as usize + place as usize
    }

    /// Whether `port` has room for a token at `place`.
    #[inline]
    pub fn has_room(&self, port: u32, place: u8) -> bool {
        self.occupied[port as usize] >> place & 1 == 0
    }

    /// Stores `token`, for which there is room.
    #[inline]
    pub fn put(&mut self, port: u32, token: Token) {
        debug_assert!(self.has_room(port, token.place), "port {port} overwrites a token");
        let at = self.at(port, token.place);
        self.occupied[port as usize] |= 1 << token.place;
        (self.tags[at], self.values[at]) = (token.tag, token.value);
    }

    /// Whether all `ports` hold a token of thread `tag` at `place`: the match of tags.
    #[inline]
    pub fn is_complete(&self, mut ports: std::ops::Range<u32>, tag: u32, place: u8) -> bool {
        ports.all(|port| !self.has_room(port, place) && self.tags[self.at(port, place)] == tag)
    }

    /// The thread at `place` of `port`.
    #[inline]
    pub fn tag(&self, port: u32, place: u8) -> u32 {
        self.tags[self.at(port, place)]
    }

    /// The value at `place` of `port`.
    #[inline]
    pub fn value(&self, port: u32, place: u8) -> u64 {
        self.values[self.at(port, place)]
    }

    /// Frees `place` of `port`.
    #[inline]
    pub fn free(&mut self, port: u32, place: u8) {
        self.occupied[port as usize] &= !(1 << place);
    }

    /// Whether `port` holds no token.
    #[inline]
    pub fn is_empty(&self, port: u32) -> bool {
        self.occupied[port as usize] == 0
    }

    /// Threads whose tokens are in `port`, in the order of their places.
    pub fn threads(&self, port: u32) -> Vec<u32> {
        kit::bits::set_bits(self.occupied[port as usize]).map(|place| self.tag(port, place as u8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn token(tag: u32, entries: u32) -> Token {
        Token { value: tag as u64 + 100, tag, place: (tag % entries) as u8 }
    }

    #[test]
    fn a_place_holds_one_thread_and_tags_must_match() {
        let mut buffers = TokenBuffers::new(2, 2);
        buffers.put(0, token(1, 2));
        assert!(!buffers.has_room(0, 1) && buffers.has_room(0, 0), "thread 3 waits, thread 2 does not");
        buffers.put(1, token(3, 2));
        assert!(!buffers.is_complete(0..2, 1, 1) && !buffers.is_complete(0..2, 3, 1), "tokens of different threads");
        buffers.free(1, 1);
        buffers.put(1, token(1, 2));
        assert!(buffers.is_complete(0..2, 1, 1));
        assert_eq!((buffers.value(0, 1), buffers.threads(1)), (101, vec![1]));
    }
}
