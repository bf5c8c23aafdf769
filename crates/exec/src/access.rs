//! Loads and stores: addresses, state spaces, vector and narrow forms, faults.

mod local;
mod peers;
mod rows;
mod transfer;
mod windows;

pub(crate) use local::copy_local;
pub(crate) use peers::{is_for_exchange, owner_mut};
pub(crate) use transfer::Spaces;
pub use transfer::{Address, Format, Transfer};

use crate::fault::{Outcome, Stop, Trap};
use crate::lanes::{Column, Lanes, Reg, blend};
use crate::memory::{WINDOWS_END, Window, generic_space, window_base};
use isa::{DynInst, FaultKind, Space};
use kit::text::counted;
use kit::{LaneMask, WARP_LANES, lanes};
use local::{read_local, write_local};
use peers::{gather_beyond, goes_beyond, owner, scatter_beyond};
use windows::{Params, Refused, Words, gather, is_aligned, one, scatter, scatter_own};

/// Computes the addresses of all lanes into `out`.
#[inline]
pub(crate) fn addresses(file: &Lanes<'_>, a: Address, frame: u32, out: &mut [u64; WARP_LANES]) {
    let offset = if a.frame { a.offset + i64::from(frame) } else { a.offset } as u64;
    if a.wide {
        wide_addresses(file.pair(a.base), offset, out);
    } else {
        narrow_addresses(file.column(a.base), offset as u32, out);
    }
}

// Parameters cannot alias, so that these loops are vectorised.

#[inline(never)]
fn wide_addresses((low, high): (&Column, &Column), offset: u64, out: &mut [u64; WARP_LANES]) {
    for i in 0..WARP_LANES {
        out[i] = (u64::from(low[i]) | u64::from(high[i]) << 32).wrapping_add(offset);
    }
}

#[inline(never)]
fn narrow_addresses(base: &Column, offset: u32, out: &mut [u64; WARP_LANES]) {
    for i in 0..WARP_LANES {
        out[i] = u64::from(base[i].wrapping_add(offset));
    }
}

/// Splits the lanes of a generic access by state space and makes their addresses relative to it. Returns the
/// lanes of (global, shared, local, param).
pub(crate) fn split_generic(addresses: &mut [u64; WARP_LANES], mask: LaneMask) -> [LaneMask; 4] {
    let mut low = false;
    for &a in addresses.iter() {
        low |= a < WINDOWS_END;
    }
    let mut masks = [mask, 0, 0, 0];
    if low {
        for lane in lanes(mask) {
            let space = generic_space(addresses[lane]);
            addresses[lane] -= window_base(space);
            masks[0] &= !(1 << lane);
            masks[space_index(space)] |= 1 << lane;
        }
    }
    masks
}

const fn space_index(space: Space) -> usize {
    match space {
        Space::Shared => 1,
        Space::Local => 2,
        Space::Param => 3,
        _ => 0,
    }
}

/// The spaces in the order of [`split_generic`]'s masks.
pub(crate) const SPLIT_SPACES: [Space; 4] = [Space::Global, Space::Shared, Space::Local, Space::Param];

/// The space that most lanes access: the timing model sees only this one.
pub(crate) fn majority(masks: [LaneMask; 4]) -> Space {
    let most = (0..4).max_by_key(|&i| (masks[i].count_ones(), 4 - i)).unwrap_or(0);
    SPLIT_SPACES[most]
}

/// Executes a load. Writes the addresses and the space to `out`, where they are `SEEN`.
#[inline(always)]
pub(crate) fn load<const SEEN: bool>(
    file: &mut Lanes<'_>,
    m: &mut Spaces<'_, '_>,
    t: &Transfer,
    out: &mut DynInst,
) -> Outcome {
    // Kernel parameters and module variables have one address for all lanes.
    if t.address.base.is_constant() && t.format.total_bytes() >= 4 && load_fixed::<SEEN>(file, m, t, out) {
        return Ok(());
    }
    if rows::load::<SEEN>(file, m, t, out) {
        return Ok(());
    }
    match t.format.total_bytes() {
        ..=4 => load_words::<1>(file, m, t, out),
        8 => load_words::<2>(file, m, t, out),
        _ => load_words::<4>(file, m, t, out),
    }
}

#[inline(never)]
fn load_words<const N: usize>(
    file: &mut Lanes<'_>,
    m: &mut Spaces<'_, '_>,
    t: &Transfer,
    out: &mut DynInst,
) -> Outcome {
    addresses(file, t.address, m.frame, &mut out.addresses);
    let mut words = [[0; WARP_LANES]; N];
    let size = u64::from(t.format.total_bytes());
    out.space = t.space;
    if file.mask != 0 {
        if t.space == Space::Generic {
            read_generic(m, file.mask, size, out, &mut words)?;
        } else {
            read(m, t.space, &out.addresses, file.mask, size, &mut words)?;
        }
    }
    deliver(file, t.format, &t.registers, &words);
    Ok(())
}

/// Reads `size` bytes per lane in `mask` at generic addresses, which become addresses within their spaces.
#[inline(never)]
fn read_generic<const N: usize>(
    m: &Spaces<'_, '_>,
    mask: LaneMask,
    size: u64,
    out: &mut DynInst,
    words: &mut [Column; N],
) -> Outcome {
    let masks = split_generic(&mut out.addresses, mask);
    out.space = majority(masks);
    for (space, part) in SPLIT_SPACES.into_iter().zip(masks) {
        if part == mask {
            read(m, space, &out.addresses, part, size, words)?;
        } else if part != 0 {
            let mut found = [[0; WARP_LANES]; N];
            read(m, space, &out.addresses, part, size, &mut found)?;
            words.iter_mut().zip(&found).for_each(|(word, found)| blend(word, found, part));
        }
    }
    Ok(())
}

/// Loads from an address that is a constant of the kernel. Returns false if the access needs the general
/// path.
#[inline(never)]
fn load_fixed<const SEEN: bool>(file: &mut Lanes<'_>, m: &Spaces<'_, '_>, t: &Transfer, out: &mut DynInst) -> bool {
    let base = if t.address.wide { file.get(t.address.base, 0) } else { u64::from(file.get::<u32>(t.address.base, 0)) };
    let address = base.wrapping_add(t.address.offset as u64);
    let done = match t.format.total_bytes() {
        4 => fixed_words::<1>(file, m, t, address),
        8 => fixed_words::<2>(file, m, t, address),
        _ => fixed_words::<4>(file, m, t, address),
    };
    if done && SEEN {
        out.space = t.space;
        out.addresses = [address; WARP_LANES];
    }
    done
}

#[inline]
fn fixed_words<const N: usize>(file: &mut Lanes<'_>, m: &Spaces<'_, '_>, t: &Transfer, address: u64) -> bool {
    let words: Option<[u32; N]> = match t.space {
        Space::Param => one(&Params(m.params), address),
        Space::Global | Space::Constant => one(m.device, address),
        Space::Shared => one(m.shared, address),
        Space::Local | Space::Generic | Space::Texture => None,
    };
    let Some(words) = words else { return false };
    match (t.format.bytes, t.format.register_bits) {
        // The most frequent parameters: numbers and pointers.
        (4, 32) if N == 1 => file.write(t.registers[0], &[words[0]; WARP_LANES]),
        (8, _) if N == 2 => {
            file.write(t.registers[0], &[words[0]; WARP_LANES]);
            file.write(t.registers[0].next(), &[words[1]; WARP_LANES]);
        }
        _ => deliver(file, t.format, &t.registers, &words.map(|word| [word; WARP_LANES])),
    }
    true
}

/// Moves loaded words to the registers.
#[inline]
pub(crate) fn deliver<const N: usize>(file: &mut Lanes<'_>, f: Format, registers: &[Reg; 4], words: &[Column; N]) {
    match (f.bytes, f.register_bits) {
        (4, 32) => {
            for (register, column) in registers.iter().zip(words).take(f.count as usize) {
                file.write(*register, column);
            }
        }
        (8, _) => {
            for (register, pair) in registers.iter().zip(words.chunks_exact(2)).take(f.count as usize) {
                file.write(*register, &pair[0]);
                file.write(register.next(), &pair[1]);
            }
        }
        _ => deliver_extended(file, f, registers, words),
    }
}

/// Moves loaded elements that are narrower than their registers, with extension.
fn deliver_extended(file: &mut Lanes<'_>, f: Format, registers: &[Reg; 4], words: &[Column]) {
    let unused = 32 - 8 * u32::from(f.bytes);
    for k in 0..f.count as usize {
        let at = k * f.bytes as usize;
        let shift = 8 * (at % 4) as u32;
        let word = &words[at / 4];
        let (mut low, mut high) = ([0; WARP_LANES], [0; WARP_LANES]);
        for i in 0..WARP_LANES {
            let top = word[i] >> shift << unused;
            let value = if f.signed { ((top as i32) >> unused) as u32 } else { top >> unused };
            low[i] = if f.register_bits == 16 { value & 0xffff } else { value };
            high[i] = if f.signed { ((value as i32) >> 31) as u32 } else { 0 };
        }
        file.write(registers[k], &low);
        if f.register_bits == 64 {
            file.write(registers[k].next(), &high);
        }
    }
}

/// Executes a store. Writes the addresses and the space to `out`, where they are `SEEN`.
#[inline(always)]
pub(crate) fn store<const SEEN: bool>(
    file: &Lanes<'_>,
    m: &mut Spaces<'_, '_>,
    t: &Transfer,
    out: &mut DynInst,
) -> Outcome {
    if rows::store::<SEEN>(file, m, t, out) {
        return Ok(());
    }
    match t.format.total_bytes() {
        ..=4 => store_words::<1>(file, m, t, out),
        8 => store_words::<2>(file, m, t, out),
        _ => store_words::<4>(file, m, t, out),
    }
}

#[inline(never)]
fn store_words<const N: usize>(file: &Lanes<'_>, m: &mut Spaces<'_, '_>, t: &Transfer, out: &mut DynInst) -> Outcome {
    addresses(file, t.address, m.frame, &mut out.addresses);
    let size = u64::from(t.format.total_bytes());
    out.space = t.space;
    if file.mask == 0 {
        return Ok(());
    }
    let words: [Column; N] = collect(file, t.format, &t.registers);
    if t.space == Space::Generic {
        let masks = split_generic(&mut out.addresses, file.mask);
        out.space = majority(masks);
        for (space, mask) in SPLIT_SPACES.into_iter().zip(masks) {
            if mask != 0 {
                write(m, space, &out.addresses, mask, size, &words)?;
            }
        }
        Ok(())
    } else {
        write(m, t.space, &out.addresses, file.mask, size, &words)
    }
}

/// The words that a store moves.
#[inline]
pub(crate) fn collect<const N: usize>(file: &Lanes<'_>, f: Format, registers: &[Reg; 4]) -> [Column; N] {
    let mut words = [[0; WARP_LANES]; N];
    match f.bytes {
        4 => {
            for (word, register) in words.iter_mut().zip(registers) {
                *word = *file.column(*register);
            }
        }
        8 => {
            for (pair, register) in words.chunks_exact_mut(2).zip(registers) {
                let (low, high) = file.pair(*register);
                pair.copy_from_slice(&[*low, *high]);
            }
        }
        bytes => {
            let keep = (1u32 << (8 * bytes)) - 1;
            for k in 0..f.count as usize {
                let at = k * bytes as usize;
                let shift = 8 * (at % 4) as u32;
                let value = file.column(registers[k]);
                for i in 0..WARP_LANES {
                    words[at / 4][i] |= (value[i] & keep) << shift;
                }
            }
        }
    }
    words
}

/// 16 bytes of the CTA's own shared memory, at an address in it, also in a cluster; `None` outside it.
pub(crate) fn shared_unit(m: &Spaces<'_, '_>, address: u32) -> Option<[u32; 4]> {
    one(m.shared, m.shared.start() + u64::from(address))
}

/// Reads `size` bytes per lane in `mask` from one space.
#[inline(always)]
pub(crate) fn read<const N: usize>(
    m: &Spaces<'_, '_>,
    space: Space,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    out: &mut [Column; N],
) -> Outcome {
    let result = match space {
        Space::Shared if goes_beyond(m, addresses, mask) => gather_beyond(m, addresses, mask, size, out),
        Space::Shared => gather(m.shared, addresses, mask, size, out),
        Space::Param => gather(&Params(m.params), addresses, mask, size, out),
        Space::Local => read_local(m.local, addresses, mask, size, out),
        _ => gather(m.device, addresses, mask, size, out),
    };
    result.map_err(|refused| stop(refused, m, "load from", (space, addresses, mask, size)))
}

/// Writes `size` bytes per lane in `mask` to one space.
#[inline]
pub(crate) fn write<const N: usize>(
    m: &mut Spaces<'_, '_>,
    space: Space,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> Outcome {
    if m.device.is_unchanged() && space != Space::Local && !holds_already(m, space, addresses, mask, size, words) {
        m.device.note_change();
    }
    let result = match space {
        Space::Shared if goes_beyond(m, addresses, mask) => scatter_beyond(m, addresses, mask, size, words),
        Space::Shared => scatter(m.shared, addresses, mask, size, words),
        Space::Local => write_local(m.local, addresses, mask, size, words),
        Space::Param => Err(Refused::BadAddress),
        _ => match m.device.own() {
            Some(own) => scatter_own(own, addresses, mask, size, words),
            None => {
                let mut memory = m.device.exclusive();
                memory.as_mut().map_or(Ok(()), |memory| scatter(memory, addresses, mask, size, words))
            }
        },
    };
    result.map_err(|refused| stop(refused, m, "store to", (space, addresses, mask, size)))
}

/// Why the warp does not continue after an access that is not performed.
#[cold]
fn stop(
    refused: Refused,
    m: &Spaces<'_, '_>,
    verb: &str,
    (space, addresses, mask, size): (Space, &[u64; WARP_LANES], LaneMask, u64),
) -> Stop {
    match refused {
        Refused::BadAddress => explain(m, verb, space, addresses, mask, size).into(),
        Refused::Unreduced | Refused::Elsewhere => Stop::Deferred,
    }
}

/// The window of the parameters around `address`, for accesses of `size` bytes.
pub(crate) fn params_window(params: &[u32], address: u64, size: u64) -> Option<Window<&[u32]>> {
    Params(params).window(address, size).map(|w| Window { words: params, ..w })
}

/// Whether a write to shared or device memory leaves its contents unchanged.
#[cold]
#[inline(never)]
fn holds_already<const N: usize>(
    m: &Spaces<'_, '_>,
    space: Space,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
    words: &[Column; N],
) -> bool {
    let mut old = [[0; WARP_LANES]; N];
    let found = match space {
        Space::Shared if goes_beyond(m, addresses, mask) => return false,
        Space::Shared => gather(m.shared, addresses, mask, size, &mut old),
        _ => gather(m.device, addresses, mask, size, &mut old),
    };
    let keep = if size < 4 { (1u32 << (8 * size)) - 1 } else { u32::MAX };
    let same = |lane: usize| old.iter().zip(words).all(|(old, new)| (old[lane] ^ new[lane]) & keep == 0);
    found.is_ok() && lanes(mask).all(same)
}

/// Finds the faulting lanes and describes the fault of the first.
#[cold]
pub(crate) fn explain(
    m: &Spaces<'_, '_>,
    verb: &str,
    space: Space,
    addresses: &[u64; WARP_LANES],
    mask: LaneMask,
    size: u64,
) -> Box<Trap> {
    let store = verb != "load from";
    let outside = |a: u64| match space {
        Space::Shared => owner(m, a).is_none_or(|(shared, a)| shared.window(a, size).is_none()),
        Space::Local => !m.local.holds(a, size),
        Space::Param => store || Params(m.params).window(a, size).is_none(),
        _ => {
            let read_only = |a| m.device.base().allocation_of(a).is_some_and(|a| a.read_only);
            m.device.window(a, size).is_none() || store && read_only(a)
        }
    };
    let bad = lanes(mask).filter(|&lane| !is_aligned(addresses[lane], size) || outside(addresses[lane]));
    let bad = bad.fold(0, |m, lane| m | 1 << lane);
    let address = addresses[(bad | LaneMask::from(bad == 0)).trailing_zeros() as usize];
    let bytes = counted(size, "byte");
    let misaligned = !is_aligned(address, size) && !outside(address);
    let what = match space {
        _ if misaligned => {
            let wanted = "is not a multiple of its size";
            format!("misaligned {verb} {} address {address:#x} of {}: the address {wanted}", name(space), bytes)
        }
        Space::Shared => {
            let of_cta = counted(m.shared.bytes().into(), "byte");
            format!("{verb} shared address {address:#x} ({bytes}) outside the CTA's {of_cta} of shared memory")
        }
        Space::Local => {
            let of_thread = counted(m.local.bytes().into(), "byte");
            format!("{verb} local address {address:#x} ({bytes}) outside the thread's {of_thread} of local memory")
        }
        Space::Param if store => format!("{verb} kernel parameters, which are constant, at offset {address}"),
        Space::Param => {
            let of_kernel = counted(4 * m.params.len() as u64, "byte");
            format!("{verb} parameter offset {address} ({}) outside the kernel's {of_kernel}", bytes)
        }
        _ => {
            let nearest = m.device.base().describe(address);
            format!("out-of-bounds {verb} {} address {address:#x} ({}): {nearest}", name(space), bytes)
        }
    };
    let kind = if misaligned { FaultKind::MisalignedAddress } else { FaultKind::IllegalAddress };
    Box::new(Trap { kind, what, lanes: bad })
}

fn name(space: Space) -> &'static str {
    match space {
        Space::Global | Space::Generic | Space::Texture => "global",
        Space::Local => "local",
        Space::Shared => "shared",
        Space::Constant => "constant",
        Space::Param => "parameter",
    }
}
