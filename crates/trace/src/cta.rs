//! The body of a kernel's trace: CTAs, one after the other.

use crate::decoded::{Decoded, Form, Shape, Span};
use crate::line::{ADDRESS_BITS, Access, Addresses, Dynamic, Layout, Line, Places, Words};
use crate::line::{addresses, decimal, is_sane};
use crate::oddities::Oddities;
use crate::program::{InstIndex, InstTable};
use crate::repeat::{Again, Known, Reach, Repeat, Same};
use crate::source::Lines;
use crate::whole::{Prefix, Whole};
use crate::{Header, TraceError};
use isa::{Pc, Space};
use kit::text::{counted, excerpt_bytes};
use kit::{LaneMask, WARP_LANES};

/// The next part of the body of a trace.
pub(crate) enum Event {
    /// `#BEGIN_TB`.
    Begin,
    /// Instructions of this warp follow: [`Body::instruction`].
    Warp(u32),
    /// `#END_TB`.
    End,
}

/// Reads the body of a trace and checks that its parts are where they belong.
#[derive(Debug)]
pub(crate) struct Body {
    lines: Lines,
    layout: Layout,
    in_cta: bool,
    /// Announced instructions of the present warp that have not been read.
    left: u64,
}

impl Body {
    pub fn new(lines: Lines, layout: Layout) -> Self {
        Self { lines, layout, in_cta: false, left: 0 }
    }

    pub fn error(&self, what: impl Into<String>) -> TraceError {
        self.lines.error(what)
    }

    /// The next event, or `None` at the end of the file. The instructions of a warp must have been read.
    pub fn next(&mut self) -> Result<Option<Event>, TraceError> {
        let mut warp = None;
        loop {
            if self.lines.next()?.is_none() {
                let open = self.in_cta || warp.is_some();
                return if open {
                    Err(self.error("ends within a CTA").hint("the trace may be cut short"))
                } else {
                    Ok(None)
                };
            }
            let line = self.lines.current();
            let (key, value) = match memchr::memchr(b'=', line) {
                Some(at) => (line[..at].trim_ascii(), line[at + 1..].trim_ascii()),
                None => (line, &[][..]),
            };
            let misplaced = || self.error(format!("`{}` is not expected here", excerpt_bytes(line)));
            match key {
                b"#BEGIN_TB" if !self.in_cta => {
                    self.in_cta = true;
                    return Ok(Some(Event::Begin));
                }
                b"#END_TB" if self.in_cta && warp.is_none() => {
                    self.in_cta = false;
                    return Ok(Some(Event::End));
                }
                b"warp" if self.in_cta && warp.is_none() => {
                    warp = Some(decimal(value).and_then(|n| u32::try_from(n).ok()).ok_or_else(misplaced)?);
                }
                b"insts" if self.in_cta => {
                    let Some(warp) = warp else { return Err(misplaced()) };
                    self.left = decimal(value).ok_or_else(misplaced)?;
                    return Ok(Some(Event::Warp(warp)));
                }
                // Position in the grid and cluster: not used.
                b"thread block" => {}
                key if key.starts_with(b"cluster") => {}
                _ => return Err(misplaced().hint("a CTA goes from #BEGIN_TB to #END_TB; each warp gives `insts = N`")),
            }
        }
    }

    /// Announced instructions of the present warp that have not been read.
    pub fn announced(&self) -> u64 {
        self.left
    }

    /// Moves to the present warp's next instruction.
    #[inline]
    fn instruction(&mut self) -> Result<(), TraceError> {
        self.left -= 1;
        match self.lines.next()? {
            Some(line) if line[0] != b'#' && !line.starts_with(b"warp") => Ok(()),
            _ => Err(self
                .error(format!("the warp lacks {}", counted(self.left + 1, "instruction")))
                .hint("the trace may be cut short")),
        }
    }

    /// The instruction in the present line.
    #[inline]
    fn line(&self) -> Result<Line<'_>, TraceError> {
        let text = self.lines.current();
        Line::parse(text, self.layout).map_err(|expected| self.expected(expected))
    }

    /// Skips the next line if it repeats all of the one in `repeat` but the first address.
    #[inline]
    fn same(&mut self, repeat: &Repeat) -> Option<Same> {
        let ahead = self.lines.ahead();
        let start = if self.layout.leading == 0 { 0 } else { self.layout.start(ahead)? };
        let same = repeat.same(&ahead[start..])?;
        self.lines.skip(1, start + same.bytes);
        self.left -= 1;
        Some(same)
    }

    /// Skips the next lines as far as they repeat the lines of a warp with as many as announced. Appends the lower
    /// halves of their first addresses to `bases`.
    fn same_lines(&mut self, whole: &Whole, bases: &mut Vec<u32>) -> Prefix {
        if whole.insts.len() as u64 != self.left {
            return Prefix::default();
        }
        let prefix = whole.compare(self.lines.ahead(), bases);
        self.lines.skip(prefix.lines, prefix.bytes);
        self.left -= prefix.lines as u64;
        prefix
    }

    /// Compares the next line with the one in `repeat`. Skips it if nothing else in it must be read.
    fn again(&mut self, repeat: &mut Repeat, form_is_known: bool) -> Option<Again> {
        let ahead = self.lines.ahead();
        let start = if self.layout.leading == 0 { 0 } else { self.layout.start(ahead)? };
        let again = repeat.compare(ahead, start, form_is_known)?;
        if let Again::Plain { bytes, .. } = again {
            repeat.remember_mask(&ahead[start..]);
            self.lines.skip(1, start + bytes);
            self.left -= 1;
        }
        Some(again)
    }

    /// An error: the present line lacks something.
    #[cold]
    fn expected(&self, expected: &str) -> TraceError {
        let text = self.lines.current();
        self.error(format!("expected {expected} in `{}`", excerpt_bytes(text)))
    }
}

/// Maximum number of warp instructions of a CTA, all of which are in memory while it runs: about 2 GiB.
const MOST_CTA_INSTRUCTIONS: u64 = 1 << 28;

/// Addresses below this are not in any process's device memory.
const NEAR_ZERO: u64 = 64 << 10;

/// Decodes CTAs in file order.
#[derive(Debug)]
pub(crate) struct CtaReader {
    body: Body,
    /// The trace contains the positions of the windows of generic addresses.
    knows_windows: bool,
    /// Warps of the present CTA that have instructions.
    seen: Vec<bool>,
    /// The present warp is the first of its CTA.
    is_first: bool,
    /// Per static instruction.
    repeats: Vec<Repeat>,
    /// First instruction of the last warp.
    first: InstIndex,
    /// Forms in lines remembered in another epoch are invalid.
    epoch: u32,
    /// A warp whose lines others repeat: usually the first of the present CTA.
    whole: Whole,
    /// The same warp, decoded.
    whole_span: Span,
    list: [u64; WARP_LANES],
    /// Without unknown opcodes.
    pub oddities: Oddities,
    pub thread_instructions: u64,
}

impl CtaReader {
    /// Reads the CTAs that follow the head in `lines`.
    pub fn new(lines: Lines, header: &Header) -> Self {
        Self {
            body: Body::new(lines, Layout::of(header)),
            knows_windows: header.shared_base != 0 && header.local_base != 0,
            seen: vec![false; header.shape.warps() as usize],
            is_first: false,
            repeats: Vec::new(),
            first: 0,
            epoch: 0,
            whole: Whole::default(),
            whole_span: Span::default(),
            list: [0; WARP_LANES],
            oddities: Oddities::default(),
            thread_instructions: 0,
        }
    }

    pub fn error(&self, what: impl Into<String>) -> TraceError {
        self.body.error(what)
    }

    /// Number of executions of each static instruction.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        self.repeats.iter().map(|r| r.count)
    }

    /// Decodes the next CTA into `out`, replacing its contents; false at the end of the file.
    pub fn next_alone(&mut self, table: &mut InstTable, out: &mut Decoded) -> Result<bool, TraceError> {
        out.clear();
        self.epoch += 1;
        self.next(table, out)
    }

    /// As [`Self::next_alone`]; the end of the file is an error.
    pub fn next_in_grid(&mut self, table: &mut InstTable, out: &mut Decoded) -> Result<(), TraceError> {
        match self.next_alone(table, out)? {
            true => Ok(()),
            false => Err(self.error("has fewer CTAs than its grid")),
        }
    }

    /// Decodes the next CTA into `out`, after earlier CTAs; false at the end of the file.
    pub fn next(&mut self, table: &mut InstTable, out: &mut Decoded) -> Result<bool, TraceError> {
        self.seen.fill(false);
        let first = out.warps.len();
        loop {
            match self.body.next()? {
                Some(Event::Begin) => out.warps.resize(first + self.seen.len(), Span::default()),
                Some(Event::Warp(warp)) => {
                    self.note_warp(warp)?;
                    let place = first + warp as usize;
                    let like = place.checked_sub(self.seen.len()).map(|same| out.warps[same]);
                    out.warps[place] = self.warp(like, table, out)?;
                }
                Some(Event::End) => {
                    if let Some(warp) = self.seen.iter().position(|seen| !seen) {
                        return Err(self.error(format!("the CTA has no instructions of warp {warp}")));
                    }
                    self.count_whole(out);
                    return Ok(true);
                }
                None => return Ok(false),
            }
        }
    }

    /// Checks that the CTA has this warp, whose instructions follow, once.
    fn note_warp(&mut self, warp: u32) -> Result<(), TraceError> {
        let warps = self.seen.len();
        self.is_first = self.seen.iter().all(|seen| !seen);
        match self.seen.get_mut(warp as usize) {
            None => Err(self.error(format!("warp {warp} of a CTA that has {warps}"))),
            Some(true) => Err(self.error(format!("warp {warp} comes twice in its CTA"))),
            Some(seen) => {
                // A warp without instructions could never end.
                *seen = self.body.announced() > 0;
                Ok(())
            }
        }
    }

    /// Decodes the instructions of a warp. `like` is a warp that probably has the same forms.
    fn warp(&mut self, like: Option<Span>, table: &mut InstTable, out: &mut Decoded) -> Result<Span, TraceError> {
        if out.records.len() as u64 + self.body.announced() > MOST_CTA_INSTRUCTIONS {
            return Err(self.error(format!("a CTA of more than {MOST_CTA_INSTRUCTIONS} warp instructions")));
        }
        let (next, base) = (out.records.len() as u32, out.bases.len() as u32);
        let mut prefix = Prefix::default();
        if self.whole.epoch == self.epoch {
            prefix = self.body.same_lines(&self.whole, &mut out.bases);
            if prefix.lines != 0 && self.body.announced() == 0 {
                self.whole.times += 1;
                self.count_end(self.whole.insts.last().copied(), table);
                return Ok(Span { base, ..self.whole_span });
            }
            if prefix.lines != 0 {
                self.decode_again(prefix, out);
            }
        }
        let mut last = self.whole.insts[..prefix.lines].last().copied();
        let mut likely = last.map_or(self.first, |last| self.repeats[last as usize].next);
        // Each CTA's first warp may be the one that the others repeat.
        let mut records = self.is_first && self.body.layout.leading == 0;
        if records {
            self.whole.restart(prefix, self.epoch);
        }
        while self.body.announced() > 0 {
            let at = match self.same_instruction(likely, out) {
                Some(next) => std::mem::replace(&mut likely, next),
                None => {
                    let at = self.other_instruction(likely, table, out)?;
                    if at != likely {
                        *last.map_or(&mut self.first, |last: InstIndex| &mut self.repeats[last as usize].next) = at;
                    }
                    likely = self.repeats[at as usize].next;
                    at
                }
            };
            last = Some(at);
            if records && !self.whole.add(at, &self.repeats[at as usize]) {
                records = false;
                self.whole.restart(Prefix::default(), self.epoch);
            }
        }
        self.count_end(last, table);
        let span = out.add_warp(next, base, like);
        if records {
            self.whole_span = span;
        }
        Ok(span)
    }

    /// Counts a warp that ends with the instruction `last`.
    fn count_end(&mut self, last: Option<InstIndex>, table: &InstTable) {
        let exits = last.is_some_and(|last| table.meaning(last).control == isa::Control::Exit);
        self.oddities.warps_without_exit += u64::from(!exits);
    }

    /// Adds the records of some lines that repeat the first ones of `whole`, and whose addresses have been added.
    fn decode_again(&mut self, prefix: Prefix, out: &mut Decoded) {
        let first = self.whole_span.next as usize;
        out.records.extend_from_within(first..first + prefix.lines);
        self.count(prefix.lines, 1, out);
    }

    /// Counts the executions of the warps that have repeated all of `whole`.
    fn count_whole(&mut self, out: &Decoded) {
        let times = std::mem::take(&mut self.whole.times);
        self.count(self.whole.insts.len(), times, out);
    }

    /// Counts that the first `lines` of `whole` were repeated `times` times.
    fn count(&mut self, lines: usize, times: u64, out: &Decoded) {
        if times == 0 {
            return;
        }
        let first = self.whole_span.next as usize;
        for (&at, &form) in self.whole.insts[..lines].iter().zip(&out.records[first..]) {
            self.repeats[at as usize].count += times;
            self.thread_instructions += times * u64::from(out.forms[form as usize].mask.count_ones());
        }
    }

    /// Decodes the next instruction if it is `likely` and its line repeats the last one of it but for the first
    /// address. Returns the instruction that probably follows.
    #[inline]
    fn same_instruction(&mut self, likely: InstIndex, out: &mut Decoded) -> Option<InstIndex> {
        let repeat = self.repeats.get_mut(likely as usize).filter(|repeat| repeat.epoch == self.epoch)?;
        let Same { base, odd, .. } = self.body.same(repeat)?;
        repeat.count += 1;
        self.thread_instructions += u64::from(repeat.lanes);
        if odd || repeat.no_address {
            self.oddities.accesses_without_address += u64::from(repeat.no_address);
            self.oddities.accesses_near_zero += u64::from(odd);
        }
        out.records.push(repeat.form);
        if let Some(base) = base {
            out.bases.push(base as u32);
        }
        Some(repeat.next)
    }

    /// Decodes the next instruction, which may still be `likely`, in any other case.
    #[inline(never)]
    fn other_instruction(
        &mut self,
        likely: InstIndex,
        table: &mut InstTable,
        out: &mut Decoded,
    ) -> Result<InstIndex, TraceError> {
        if let Some(repeat) = self.repeats.get_mut(likely as usize) {
            match self.body.again(repeat, repeat.epoch == self.epoch) {
                Some(Again::Plain { mask, .. }) => {
                    repeat.count += 1;
                    repeat.lanes = mask.count_ones();
                    self.thread_instructions += u64::from(repeat.lanes);
                    let form = Form { mask, ..out.forms[repeat.form as usize] };
                    out.add_instruction(form, repeat);
                    return Ok(likely);
                }
                Some(Again::Instruction { mask, places }) => {
                    let width = repeat.width;
                    self.body.instruction()?;
                    self.execution(likely, (mask, width, places), table, out)?;
                    return Ok(likely);
                }
                None => {}
            }
        }
        self.body.instruction()?;
        let line = self.body.line()?;
        let at = match table.find(&line, likely) {
            Some(at) => at,
            None if table.is_finished() => return Err(self.error("the file has changed since it was opened")),
            None => table.add(&line).map_err(|expected| self.body.expected(expected))?,
        };
        while self.repeats.len() < table.len() {
            // In straight-line code, instructions are first seen in order.
            self.repeats.push(Repeat::before(self.repeats.len() as InstIndex + 1));
        }
        let Dynamic { mask, width, places, .. } = line.dynamic;
        self.execution(at, (mask, width, places), table, out)?;
        Ok(at)
    }

    /// Decodes an execution of the instruction `at` from the present line; mask, width and positions have
    /// been read.
    fn execution(
        &mut self,
        at: InstIndex,
        (mask, width, places): (LaneMask, u64, Places),
        table: &InstTable,
        out: &mut Decoded,
    ) -> Result<(), TraceError> {
        let lines = &self.body.lines;
        let mut said = Dynamic { mask, width, rest: Words::from(lines.current(), places.rest), places };
        let meaning = table.meaning(at);
        let mut place = match meaning.mem {
            Some(mem) if mask != 0 => {
                let off_chip = mem.space == Space::Global || mem.space == Space::Generic && self.knows_windows;
                let odd_below = if off_chip { NEAR_ZERO } else { 0 };
                let found = Place::read(&mut said, odd_below, &mut self.list, &mut self.oddities, out);
                found.map_err(|expected| self.body.expected(expected))?
            }
            Some(_) => Place::NONE,
            None => Place { known: Known::Plain, ..Place::NONE },
        };
        if meaning.control == isa::Control::AsyncWait && !place.shape.has_base() {
            // The immediate is the last word (tracer version 4 and later).
            let groups = said.rest.next().and_then(decimal).unwrap_or(0);
            place.shape = Shape::GroupsLeft(groups.min(255) as u8);
        }
        let repeat = &mut self.repeats[at as usize];
        repeat.count += 1;
        repeat.lanes = mask.count_ones();
        self.thread_instructions += u64::from(repeat.lanes);
        repeat.no_address = place.no_address;
        if repeat.epoch != self.epoch {
            repeat.epoch = self.epoch;
            repeat.forms.clear();
        }
        let (pc, space) = (table.pc(at).unwrap_or(Pc(at)), meaning.mem.map(|mem| mem.space));
        repeat.high = place.high;
        out.add_instruction(Form { pc, mask, shape: place.shape, high: place.high, space }, repeat);
        // Lines with leading blanks are not worth a fast path.
        let text = lines.whole();
        if text[0] > b' ' {
            repeat.remember(text, &said, &place.known);
        } else {
            repeat.forget();
        }
        Ok(())
    }
}

/// The addresses of an instruction.
struct Place {
    shape: Shape,
    /// Upper half of the first address.
    high: u32,
    /// It should have addresses, but the trace lacks them.
    no_address: bool,
    known: Known,
}

impl Place {
    const NONE: Self = Self { shape: Shape::None, high: 0, no_address: false, known: Known::Whole };

    /// Reads the addresses into `out`, with `list` as scratch space. Addresses below `odd_below` are
    /// suspicious.
    fn read(
        said: &mut Dynamic<'_>,
        odd_below: u64,
        list: &mut [u64; WARP_LANES],
        oddities: &mut Oddities,
        out: &mut Decoded,
    ) -> Result<Self, &'static str> {
        let lanes = said.mask.count_ones();
        let absent = Access { addresses: Addresses::Absent, base: None };
        let found = if said.width == 0 { absent } else { addresses(&mut said.rest, said.mask, list)? };
        let (first, lowest, highest, beyond, shape);
        match found.addresses {
            Addresses::Absent => {
                oddities.accesses_without_address += 1;
                return Ok(Self { no_address: true, ..Self::NONE });
            }
            Addresses::Affine { base, stride } => {
                let last = base.wrapping_add_signed(stride.wrapping_mul(i64::from(lanes) - 1));
                (first, lowest, highest) = (base, base.min(last), base.max(last));
                beyond = !is_sane(base, stride, lanes);
                shape = Shape::Stride(stride as u64);
            }
            Addresses::List => {
                let list = &list[..lanes as usize];
                first = list[0];
                (lowest, highest) = list.iter().fold((first, first), |(low, high), &a| (low.min(a), high.max(a)));
                beyond = highest >> ADDRESS_BITS != 0;
                shape = Shape::Offsets(out.offsets.len() as u32);
                out.offsets.extend(list.iter().map(|a| a.wrapping_sub(first)));
            }
        }
        out.bases.push(first as u32);
        oddities.accesses_near_zero += u64::from(lowest < odd_below);
        oddities.accesses_beyond_memory += u64::from(beyond);
        let from_first = |address: u64| address.wrapping_sub(first) as i64;
        let reach = Reach { low: from_first(lowest), high: from_first(highest), odd_below };
        let known = match found.base {
            Some(digits) if !beyond => Known::Moving(digits, reach),
            _ => Known::Not,
        };
        Ok(Self { shape, high: (first >> 32) as u32, no_address: false, known })
    }
}
