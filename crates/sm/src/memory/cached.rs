//! Constants, parameters and textures: read-only caches, one line (or sector) per cycle.

use super::{Dispatch, Route};
use crate::design::CoreDesign;
use crate::inflight::InstId;
use crate::kernel::Kernel;
use crate::observe::observer::Observer;
use crate::sm::Sm;
use isa::{Space, WarpStream};
use kit::Cycle;
use mem::RequestKind;
use mem::cache::Answer;

/// Where kernel parameters lie for the caches: 64 KiB per launch.
const PARAM_BASE: u64 = 1 << 41;
/// Where constants lie for the caches.
const CONSTANT_BASE: u64 = 1 << 42;

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// Gathers the lines that an access to constants or textures touches.
    pub(super) fn begin_cached(&mut self, _kernels: &[Kernel], id: InstId, route: Route) {
        let (flight, dynamic) = (self.slab.get(id), self.slab.dynamic(id));
        let (cache, counter) = match route {
            Route::Texture => (&self.spec.sm.texture_cache, &mut self.counters.texture_accesses),
            _ => (&self.spec.sm.constant_cache, &mut self.counters.constant_accesses),
        };
        *counter += 1;
        if route == Route::Constant && self.lsu.constant.is_none() {
            return;
        }
        let second = (route == Route::Texture).then_some(&dynamic.addresses2);
        self.lsu.transactions.gather_lines(flight.mask, &dynamic.addresses, second, cache.fetch_bytes());
        self.slab.get_mut(id).pending = self.lsu.transactions.len() as u16;
    }

    /// Looks one line up. True if none is left.
    pub(super) fn go_on_cached(&mut self, now: Cycle, _kernels: &[Kernel], dispatch: Dispatch) -> bool {
        let flight = self.slab.get(dispatch.id);
        let (cache, kind, base) = match dispatch.route {
            Route::Texture => (&mut self.lsu.texture, RequestKind::Texture, 0),
            _ => {
                let Some(constant) = &mut self.lsu.constant else { return true };
                let param = flight.mem.is_some_and(|m| m.space == Space::Param);
                let base = if param { PARAM_BASE + (u64::from(flight.kernel.0) << 16) } else { CONSTANT_BASE };
                (constant, RequestKind::Constant, base)
            }
        };
        if !cache.data_port_free(now) {
            self.agenda.at(cache.data_port_free_at());
            return false;
        }
        let line = self.lsu.transactions[dispatch.sent];
        let mut request = line.request(kind, false, u32::from(dispatch.id.0));
        request.address += base;
        let access = cache.access(now, &request);
        self.lsu.may_send |= cache.peek_miss().is_some();
        if !access.is_taken() {
            self.agenda.at(now + 1);
            return false;
        }
        self.agenda.moved();
        if access.answer == Answer::Now {
            self.slab.get_mut(dispatch.id).pending -= 1;
        }
        let sent = dispatch.sent + 1;
        self.lsu.dispatch.as_mut().expect("in the dispatch register").sent = sent;
        sent == self.lsu.transactions.len()
    }
}
