//! CTAs in memory: what each warp executed, four to eight bytes an instruction.

use crate::line::ADDRESS_BITS;
use crate::program::{InstIndex, InstTable};
use crate::repeat::{MAX_FORMS, Repeat};
use isa::{Pc, Space};
use kit::{LaneMask, WARP_LANES};

/// An instruction executed by a warp, without its first address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// The instruction; its [`InstIndex`] until the program is finished.
    pub pc: Pc,
    pub mask: LaneMask,
    pub shape: Shape,
    /// Upper half of the first address.
    pub high: u32,
    /// For accesses to memory, the space that the instruction names.
    pub space: Option<Space>,
}

/// The pattern of an access's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No addresses.
    None,
    /// Difference between the addresses of consecutive active lanes.
    Stride(u64),
    /// Distances of the addresses of active lanes from the first one, at this index of [`Decoded::offsets`].
    Offsets(u32),
    /// A wait for copies instead of an access: the number of groups that may stay pending.
    GroupsLeft(u8),
}

impl Shape {
    /// Whether it has a first address.
    #[inline]
    pub const fn has_base(self) -> bool {
        matches!(self, Self::Stride(_) | Self::Offsets(_))
    }
}

/// Positions of a warp's first and last instruction, and of its first address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub next: u32,
    pub end: u32,
    pub base: u32,
}

/// Bits that are kept of an address that no GPU can have.
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// Decoded CTAs: four bytes per instruction and four more for one with addresses, if most repeat an earlier
/// form except for the lower half of the first address. Warps of the same forms share the four bytes.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// Index of the form of each instruction, warp by warp.
    pub records: Vec<u32>,
    /// Lower half of the first address of each access, in the same order.
    pub bases: Vec<u32>,
    pub forms: Vec<Form>,
    pub offsets: Vec<u64>,
    /// The warps of each CTA.
    pub warps: Vec<Span>,
}

impl Decoded {
    /// The instructions of a warp; warps are numbered across all CTAs.
    pub fn warp(&self, warp: usize) -> Span {
        self.warps.get(warp).copied().unwrap_or_default()
    }

    /// The form of an instruction.
    #[inline]
    pub fn form(&self, record: u32) -> &Form {
        &self.forms[self.records[record as usize] as usize]
    }

    /// The program counter at the start of `span`; `None` if it is empty.
    #[inline]
    pub fn next_pc(&self, span: Span) -> Option<Pc> {
        (span.next < span.end).then(|| self.form(span.next).pc)
    }

    /// The addresses of the active lanes for an access of this form whose first one is `base`.
    #[inline]
    pub fn spread(&self, form: &Form, base: u32, out: &mut [u64; WARP_LANES]) {
        if !form.shape.has_base() {
            out.fill(0);
            return;
        }
        let base = u64::from(form.high) << 32 | u64::from(self.bases[base as usize]);
        if form.mask != LaneMask::MAX {
            self.spread_some(form, base, out);
        } else if let Shape::Stride(stride) = form.shape {
            spread_stride(base, stride, out);
        } else if let Some(offsets) = self.distances(form).first_chunk() {
            spread_offsets(base, offsets, out);
        }
    }

    /// As [`Self::spread`], for a first address of `base` and any active lanes.
    #[inline(never)]
    fn spread_some(&self, form: &Form, base: u64, out: &mut [u64; WARP_LANES]) {
        let at = |distance: u64| base.wrapping_add(distance) & ADDRESS_MASK;
        let lanes = kit::lanes(form.mask);
        if let Shape::Stride(stride) = form.shape {
            lanes.enumerate().for_each(|(rank, lane)| out[lane] = at(stride.wrapping_mul(rank as u64)));
        } else {
            lanes.zip(self.distances(form)).for_each(|(lane, offset)| out[lane] = at(*offset));
        }
    }

    /// The distances of the addresses of active lanes from the first one, and what follows them, of a form that has
    /// them.
    #[inline]
    fn distances(&self, form: &Form) -> &[u64] {
        if let Shape::Offsets(first) = form.shape { &self.offsets[first as usize..] } else { &[] }
    }

    /// Size in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.records)
            + size_of_val(&*self.bases)
            + size_of_val(&*self.forms)
            + size_of_val(&*self.offsets)
            + size_of_val(&*self.warps)
    }

    /// Appends CTAs, whose instructions with index *i* have index `indices[i]` here.
    pub fn append(&mut self, next: &Self, indices: &[InstIndex]) {
        let len = |part: usize| part as u32;
        let (records, bases) = (len(self.records.len()), len(self.bases.len()));
        let (forms, offsets) = (len(self.forms.len()), len(self.offsets.len()));
        self.records.extend(next.records.iter().map(|form| form + forms));
        self.bases.extend_from_slice(&next.bases);
        self.forms.extend(next.forms.iter().map(|form| {
            let shape = match form.shape {
                Shape::Offsets(first) => Shape::Offsets(first + offsets),
                other => other,
            };
            Form { pc: Pc(indices[form.pc.0 as usize]), shape, ..*form }
        }));
        self.offsets.extend_from_slice(&next.offsets);
        let moved = |span: &Span| Span { next: span.next + records, end: span.end + records, base: span.base + bases };
        self.warps.extend(next.warps.iter().map(moved));
    }

    /// Gives the room for further CTAs back: there are none.
    pub fn shrink(&mut self) {
        self.records.shrink_to_fit();
        self.bases.shrink_to_fit();
        self.forms.shrink_to_fit();
        self.offsets.shrink_to_fit();
        self.warps.shrink_to_fit();
    }

    /// Adds an execution of `form`, which becomes the last one of its instruction.
    pub fn add_instruction(&mut self, form: Form, repeat: &mut Repeat) {
        let is_it = |&(mask, at): &(LaneMask, u32)| mask == form.mask && self.is_same(&self.forms[at as usize], &form);
        let known = repeat.forms.iter().copied().find(is_it).map(|(_, at)| at);
        repeat.form = known.unwrap_or(self.forms.len() as u32);
        self.records.push(repeat.form);
        match (known, form.shape) {
            // Its distances have just been added.
            (Some(_), Shape::Offsets(first)) if form.shape != self.forms[repeat.form as usize].shape => {
                self.offsets.truncate(first as usize);
            }
            (Some(_), _) => {}
            (None, _) => {
                self.forms.push(form);
                if repeat.forms.len() == MAX_FORMS {
                    repeat.forms.remove(0);
                }
                repeat.forms.push((form.mask, repeat.form));
            }
        }
    }

    /// Whether two forms of an instruction that have the same mask are the same, distances included.
    fn is_same(&self, a: &Form, b: &Form) -> bool {
        if (a.space, a.high) != (b.space, b.high) {
            return false;
        }
        let lanes = a.mask.count_ones() as usize;
        match (a.shape, b.shape) {
            (Shape::Offsets(_), Shape::Offsets(_)) => self.distances(a)[..lanes] == self.distances(b)[..lanes],
            (a, b) => a == b,
        }
    }

    /// A warp whose instructions have been added from `next` on, and whose first address is at `base`. If `like` is a
    /// warp of the same forms, its records serve for both.
    pub fn add_warp(&mut self, next: u32, base: u32, like: Option<Span>) -> Span {
        let records = |span: Span| &self.records[span.next as usize..span.end as usize];
        let span = Span { next, end: self.records.len() as u32, base };
        match like.filter(|&like| records(like) == records(span)) {
            Some(like) => {
                self.records.truncate(next as usize);
                Span { base, ..like }
            }
            None => span,
        }
    }

    /// Replaces instruction indices by places in the finished program.
    pub fn place(&mut self, table: &InstTable) {
        for form in &mut self.forms {
            form.pc = table.pc(form.pc.0).unwrap_or_default();
        }
    }

    pub fn clear(&mut self) {
        self.records.clear();
        self.bases.clear();
        self.forms.clear();
        self.offsets.clear();
        self.warps.clear();
    }
}

// Each of the following two functions is a loop that compilers vectorise.

/// Addresses of all lanes at a distance of `stride` bytes from each other.
#[inline(never)]
fn spread_stride(base: u64, stride: u64, out: &mut [u64; WARP_LANES]) {
    let mut next: [u64; 4] = std::array::from_fn(|rank| base.wrapping_add(stride.wrapping_mul(rank as u64)));
    for four in out.as_chunks_mut::<4>().0 {
        for i in 0..4 {
            four[i] = next[i] & ADDRESS_MASK;
            next[i] = next[i].wrapping_add(stride.wrapping_mul(4));
        }
    }
}

/// Addresses of all lanes at these distances from `base`.
#[inline(never)]
fn spread_offsets(base: u64, offsets: &[u64; WARP_LANES], out: &mut [u64; WARP_LANES]) {
    for i in 0..WARP_LANES {
        out[i] = base.wrapping_add(offsets[i]) & ADDRESS_MASK;
    }
}
