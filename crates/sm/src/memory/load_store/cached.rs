//! Constants, parameters and textures: read-only caches, one line (or sector) per cycle.

use super::LoadStoreUnit;
use super::dispatch::{Dispatch, Path, Sending};
use crate::state::State;
use crate::warps::mask::WarpMask;
use kit::{Cycle, LaneMask, WARP_LANES, lanes};
use mem::RequestKind;
use mem::cache::Answer;

impl LoadStoreUnit {
    /// Gathers the lines that an access to constants or textures touches.
    pub(super) fn begin_cached<M: WarpMask>(&mut self, state: &mut State<M>, dispatch: &mut Dispatch) {
        let (id, path) = (dispatch.id, dispatch.path);
        let (flight, dynamic) = (state.slab.get(id), state.slab.dynamic(id));
        let (fetch_bytes, looked_up, counter) = match path {
            Path::Texture => {
                (state.spec.sm.texture_cache.fetch_bytes(), flight.mask, &mut state.counters.texture_accesses)
            }
            _ => {
                let looked_up = if self.constants.looks_up(flight) { flight.mask } else { 0 };
                (self.constants.fetch_bytes, looked_up, &mut state.counters.constant_accesses)
            }
        };
        *counter += 1;
        let second = (path == Path::Texture).then_some(dynamic.second_addresses());
        self.sending = Sending::new();
        self.transactions.gather_lines(looked_up, &dynamic.addresses, second, fetch_bytes);
        if let Some(words) = state.spec.sm.constant_words_per_cycle.filter(|_| path == Path::Constant) {
            let passes = distinct_words(flight.mask, &dynamic.addresses).div_ceil(words);
            state.counters.constant_conflict_cycles += Cycle::from(passes.saturating_sub(1));
            let lines = self.transactions.len().max(1);
            dispatch.ready_at += Cycle::from(self.constants.passes_without_look_up(passes, lines));
        }
        state.slab.get_mut(id).pending = self.transactions.len() as u16;
    }

    /// Looks one line up. True if none is left.
    pub(super) fn go_on_cached<M: WarpMask>(&mut self, state: &mut State<M>, now: Cycle) -> bool {
        let Some(dispatch) = &self.dispatch else { return true };
        if self.transactions.is_empty() {
            return true;
        }
        let (cache, kind, base) = match dispatch.path {
            Path::Texture => (&mut self.texture, RequestKind::Texture, 0),
            _ => {
                let base = self.constants.base(state.slab.get(dispatch.id));
                let Some(constant) = &mut self.constants.cache else { return true };
                (constant, RequestKind::Constant, base)
            }
        };
        if !cache.data_port_free(now) {
            state.wake_up.at(cache.data_port_free_at());
            return false;
        }
        let line = self.transactions[self.sending.sent];
        let mut request = line.request(kind, false, u32::from(dispatch.id.0));
        request.address += base;
        let access = cache.access(now, &request);
        self.may_send |= cache.peek_miss().is_some();
        if !access.is_taken() {
            state.wake_up.at(now + 1);
            return false;
        }
        state.wake_up.moved();
        if access.answer == Answer::Now {
            state.slab.get_mut(dispatch.id).pending -= 1;
        }
        self.sending.sent += 1;
        self.sending.sent == self.transactions.len()
    }
}

/// Different words in which the accesses of the lanes of `mask` begin.
fn distinct_words(mask: LaneMask, addresses: &[u64; WARP_LANES]) -> u32 {
    // Most accesses are of all lanes to one word.
    let unlike = addresses.iter().fold(0, |unlike, address| unlike | address ^ addresses[0]);
    if mask == LaneMask::MAX && unlike < 4 {
        return 1;
    }
    let mut words = [0; WARP_LANES];
    let mut count = 0;
    for word in lanes(mask).map(|lane| addresses[lane] / 4) {
        if !words[..count].contains(&word) {
            words[count] = word;
            count += 1;
        }
    }
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_once_and_only_in_lanes_that_execute() {
        let each = std::array::from_fn(|lane| 4 * lane as u64);
        let pairs = std::array::from_fn(|lane| 1000 + 2 * lane as u64);
        assert_eq!([distinct_words(!0, &[13; 32]), distinct_words(!0, &each), distinct_words(!0, &pairs)], [1, 32, 16]);
        assert_eq!([distinct_words(0, &each), distinct_words(0b1011, &each), distinct_words(0b11, &pairs)], [0, 3, 1]);
        // Bytes 7 and 8 are of different words.
        let edge = std::array::from_fn(|lane| 7 + u64::from(lane == 31));
        assert_eq!([distinct_words(!0, &edge), distinct_words(!0 >> 1, &edge)], [2, 1]);
    }
}
