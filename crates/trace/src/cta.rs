//! The body of a kernel's trace: CTAs, one after the other.

use crate::TraceError;
use crate::error::shown;
use crate::line::{ADDRESS_BITS, Addresses, Layout, Line, addresses, decimal, is_sane};
use crate::program::{InstIndex, InstTable};
use crate::source::Lines;
use isa::Pc;
use kit::{LaneMask, WARP_LANES};

/// What comes next in the body of a trace.
pub(crate) enum Event {
    /// `#BEGIN_TB`.
    Begin,
    /// Instructions of this warp follow.
    Warp(u32),
    /// An instruction: [`Body::line`].
    Inst,
    /// `#END_TB`.
    End,
}

/// Reads the body of a trace and sees to it that its parts stand where they belong.
#[derive(Debug)]
pub(crate) struct Body {
    lines: Lines,
    layout: Layout,
    in_cta: bool,
    /// Instructions announced for the present warp that have not come.
    left: u64,
}

impl Body {
    pub fn new(lines: Lines, layout: Layout) -> Self {
        Self { lines, layout, in_cta: false, left: 0 }
    }

    pub fn error(&self, what: impl Into<String>) -> TraceError {
        self.lines.error(what)
    }

    /// The next event, or `None` at the end of the file.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Event>, TraceError> {
        if self.left > 0 {
            self.left -= 1;
            return match self.lines.next()? {
                Some(line) if line[0] != b'#' && !line.starts_with(b"warp") => Ok(Some(Event::Inst)),
                _ => Err(self
                    .error(format!("{} instructions of the warp are missing", self.left + 1))
                    .hint("the trace may be cut short")),
            };
        }
        self.next_mark()
    }

    fn next_mark(&mut self) -> Result<Option<Event>, TraceError> {
        let mut warp = None;
        loop {
            let Some(line) = self.lines.next()? else {
                let open = self.in_cta || warp.is_some();
                return if open {
                    Err(self.error("ends within a CTA").hint("the trace may be cut short"))
                } else {
                    Ok(None)
                };
            };
            let text = String::from_utf8_lossy(line).into_owned();
            let (key, value) = text.split_once('=').map_or((text.as_str(), ""), |(k, v)| (k.trim(), v.trim()));
            let misplaced = || self.error(format!("`{}` is not expected here", shown(text.as_bytes())));
            match key {
                "#BEGIN_TB" if !self.in_cta => {
                    self.in_cta = true;
                    return Ok(Some(Event::Begin));
                }
                "#END_TB" if self.in_cta && warp.is_none() => {
                    self.in_cta = false;
                    return Ok(Some(Event::End));
                }
                "warp" if self.in_cta && warp.is_none() => {
                    warp = Some(value.parse().map_err(|_| misplaced())?);
                }
                "insts" if self.in_cta => {
                    let Some(warp) = warp else { return Err(misplaced()) };
                    self.left = value.parse().map_err(|_| misplaced())?;
                    return Ok(Some(Event::Warp(warp)));
                }
                // Position in the grid, cluster: of no use.
                "thread block" => {}
                key if key.starts_with("cluster") => {}
                _ => return Err(misplaced().hint("a CTA goes from #BEGIN_TB to #END_TB; each warp gives `insts = N`")),
            }
        }
    }

    /// Instructions announced for the present warp that have not come.
    pub fn announced(&self) -> u64 {
        self.left
    }

    /// The instruction in the present line.
    #[inline]
    pub fn line(&self) -> Result<Line<'_>, TraceError> {
        let text = self.lines.current();
        Line::parse(text, self.layout).map_err(|expected| self.expected(expected))
    }

    /// The present line lacks something.
    #[cold]
    pub fn expected(&self, expected: &str) -> TraceError {
        let text = self.lines.current();
        self.error(format!("expected {expected} in `{}`", shown(text)))
    }
}

/// One executed instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub pc: Pc,
    pub mask: LaneMask,
    /// Where its addresses are in [`CtaTrace::words`]; the lowest bit tells a list from base and
    /// stride. `u32::MAX` without any. For a wait on copies: the groups that may stay pending.
    addresses: u32,
}

impl Record {
    /// Groups of copies that may stay pending, for an instruction that waits for copies.
    pub fn groups_left(self) -> u8 {
        self.addresses.min(u32::from(u8::MAX)) as u8
    }
}

const NO_ADDRESSES: u32 = u32::MAX;

/// What is left of an address that no GPU can have.
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// A CTA's instructions, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct CtaTrace {
    records: Vec<Record>,
    words: Vec<u64>,
    /// Where each warp's records are.
    warps: Vec<(u32, u32)>,
}

impl CtaTrace {
    /// The records of `warp`: first, and one past the last.
    pub fn warp(&self, warp: usize) -> (u32, u32) {
        self.warps.get(warp).copied().unwrap_or_default()
    }

    #[inline]
    pub fn record(&self, at: u32) -> Record {
        self.records[at as usize]
    }

    /// Spreads the addresses of `record` over its lanes.
    #[inline]
    pub fn spread(&self, record: Record, out: &mut [u64; WARP_LANES]) {
        if record.addresses == NO_ADDRESSES {
            out.fill(0);
            return;
        }
        let words = &self.words[(record.addresses >> 1) as usize..];
        if record.addresses & 1 == 0 {
            let (base, stride) = (words[0], words[1]);
            if record.mask == LaneMask::MAX {
                for (lane, address) in out.iter_mut().enumerate() {
                    *address = base.wrapping_add(stride.wrapping_mul(lane as u64));
                }
                return;
            }
            for (rank, lane) in kit::lanes(record.mask).enumerate() {
                out[lane] = base.wrapping_add(stride.wrapping_mul(rank as u64));
            }
        } else {
            for (lane, &address) in kit::lanes(record.mask).zip(words) {
                out[lane] = address;
            }
        }
    }

    fn clear(&mut self, warps: usize) {
        self.records.clear();
        self.words.clear();
        self.warps.clear();
        self.warps.resize(warps, (0, 0));
    }
}

/// Decodes CTAs in file order.
#[derive(Debug)]
pub(crate) struct CtaReader {
    body: Body,
    warps: usize,
    list: [u64; WARP_LANES],
}

impl CtaReader {
    pub fn new(body: Body, warps: usize) -> Self {
        Self { body, warps, list: [0; WARP_LANES] }
    }

    /// Decodes the next CTA into `out`, whose memory is used again.
    pub fn next(&mut self, table: &InstTable, out: &mut CtaTrace) -> Result<(), TraceError> {
        out.clear(self.warps);
        let mut warp = 0;
        let mut previous: InstIndex = InstIndex::MAX;
        loop {
            match self.body.next()? {
                Some(Event::Begin) => {}
                Some(Event::Warp(w)) => {
                    warp = w as usize;
                    if warp >= self.warps {
                        return Err(self.body.error("a warp that the CTA does not have"));
                    }
                    let at = out.records.len() as u32;
                    out.warps[warp] = (at, at);
                    previous = InstIndex::MAX;
                }
                Some(Event::Inst) => {
                    previous = self.instruction(table, previous, out)?;
                    out.warps[warp].1 += 1;
                }
                Some(Event::End) => return Ok(()),
                None => return Err(self.body.error("has fewer CTAs than its grid")),
            }
        }
    }

    #[inline]
    fn instruction(
        &mut self,
        table: &InstTable,
        previous: InstIndex,
        out: &mut CtaTrace,
    ) -> Result<InstIndex, TraceError> {
        let mut line = self.body.line()?;
        let Some(at) = table.find(&line, previous) else {
            return Err(self.body.error("the file has changed since it was opened"));
        };
        let mut place = NO_ADDRESSES;
        if line.width > 0 && line.mask != 0 && table.meaning(at).mem.is_some() {
            let lanes = line.mask.count_ones();
            let found = addresses(&mut line.rest, line.mask, &mut self.list);
            let start = (out.words.len() as u32) << 1;
            match found.map_err(|expected| self.body.expected(expected))? {
                Addresses::Absent => {}
                Addresses::Affine { base, stride } if is_sane(base, stride, lanes) => {
                    out.words.extend([base, stride as u64]);
                    place = start;
                }
                Addresses::Affine { base, stride } => {
                    let lane = |i| base.wrapping_add_signed(stride.wrapping_mul(i)) & ADDRESS_MASK;
                    out.words.extend((0..i64::from(lanes)).map(lane));
                    place = start | 1;
                }
                Addresses::List => {
                    out.words.extend(self.list[..lanes as usize].iter().map(|a| a & ADDRESS_MASK));
                    place = start | 1;
                }
            }
        }
        if table.meaning(at).control == isa::Control::AsyncWait {
            // The immediate, which stands last (tracer version 4 and later).
            place = line.rest.next().and_then(decimal).map_or(0, |groups| groups.min(255) as u32);
        }
        out.records.push(Record { pc: table.pc(at), mask: line.mask, addresses: place });
        Ok(at)
    }
}
