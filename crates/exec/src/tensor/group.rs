//! `wgmma.mma_async`: its registers, and its factors in shared memory.
//!
//! Each warp of the group executes its part when it is stepped, and has its results at once. Hardware reads the factors
//! and writes the results until the group of instructions is waited for. Both agree where nothing changes the factors
//! between the first warp's step and that wait, and nothing reads the results before, as PTX demands of programs.

use crate::access::{Spaces, shared_unit};
use crate::fault::{Outcome, Stop, Trap};
use crate::lanes::{Lanes, Pred, Reg};
use crate::matrix::{A_REGISTERS, BLOCK, Descriptor, GroupMma, MOST_WORDS, Major, ROWS, UNIT_BYTES, WORDS};
use isa::FaultKind;
use kit::text::counted;
use kit::{LaneMask, WARP_LANES};

/// Words of a unit of 16 bytes.
const UNIT_WORDS: usize = UNIT_BYTES as usize / 4;
/// Warps of a group.
const GROUP_WARPS: u32 = 4;

/// A multiplication with its operands. Lists of registers are lists of columns.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GroupMultiply {
    /// Types, shape and modifiers.
    pub plan: GroupMma,
    pub d: Vec<Reg>,
    /// Accumulator that is read; none if the result is only the product.
    pub c: Vec<Reg>,
    pub a: GroupFactor,
    /// Descriptor of B, two columns.
    pub b: Reg,
    /// Positions of the stored elements of a sparse A.
    pub metadata: Option<Reg>,
    /// The accumulator is added where this holds.
    pub accumulates: Pred,
}

/// The factor A.
#[derive(Clone, Debug)]
pub enum GroupFactor {
    /// Registers of the warp's rows.
    Registers([Reg; A_REGISTERS]),
    /// Descriptor of all 64 rows, two columns.
    Shared(Reg),
}

/// Place of the executing warp in its CTA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpPlace {
    pub index: u32,
    /// Threads of the CTA.
    pub threads: u64,
}

impl GroupMultiply {
    /// Its work for a matrix unit.
    pub fn work(&self) -> isa::MatrixWork {
        self.plan.work(matches!(self.a, GroupFactor::Registers(_)))
    }

    /// Executes the warp's part.
    pub(crate) fn run(&self, file: &mut Lanes<'_>, m: &Spaces<'_, '_>, warp: WarpPlace) -> Outcome {
        // The instruction is switched off in the whole warp.
        if file.mask == 0 {
            return Ok(());
        }
        let types = *self.plan.types();
        check_warp(file.mask, warp)?;
        let a = match &self.a {
            GroupFactor::Registers(registers) => GroupMma::rows(registers.each_ref().map(|r| file.column(*r))),
            GroupFactor::Shared(descriptor) => {
                let factor = SharedFactor::new(file, "A", *descriptor, types.transposed[0], WORDS)?;
                let mut rows = [[0; WORDS]; ROWS];
                let first = warp.index % GROUP_WARPS * ROWS as u32;
                let (upper, lower) = rows.split_at_mut(BLOCK);
                factor.read(m, first, upper, file.mask)?;
                factor.read(m, first + BLOCK as u32, lower, file.mask)?;
                rows
            }
        };
        let b = SharedFactor::new(file, "B", self.b, types.transposed[1], self.plan.column_words())?;
        let accumulates = file.pred(self.accumulates);
        if accumulates != 0 && accumulates != LaneMask::MAX {
            return illegal("its predicate `scale-d` differs between lanes of the warp", file.mask);
        }
        let metadata = self.metadata.map_or([0; WARP_LANES], |r| *file.column(r));
        let a = self.plan.factor(&a, &metadata);
        let count = self.plan.block_registers();
        for (block, d) in self.d.chunks(count).enumerate() {
            let mut columns = [[0; MOST_WORDS]; BLOCK];
            b.read(m, (block * BLOCK) as u32, &mut columns, file.mask)?;
            let zeros = [0; WARP_LANES];
            let c = self
                .c
                .get(block * count..(block + 1) * count)
                .filter(|_| accumulates != 0)
                .map(|c| std::array::from_fn(|i| c.get(i).map_or(&zeros, |&r| file.column(r))));
            let mut results = [[0; WARP_LANES]; 4];
            self.plan.execute(&a, &columns, c, &mut results);
            d.iter().zip(&results).for_each(|(&d, column)| file.write(d, column));
        }
        Ok(())
    }
}

/// All lanes must execute it, in all warps of the group.
fn check_warp(mask: LaneMask, warp: WarpPlace) -> Outcome {
    if mask != LaneMask::MAX {
        let some = mask.count_ones();
        return illegal(&format!("{some} of the {WARP_LANES} lanes of the warp execute it, all must"), mask);
    }
    let first = warp.index - warp.index % GROUP_WARPS;
    let threads = u64::from(first + GROUP_WARPS) * WARP_LANES as u64;
    if warp.threads < threads {
        let of_cta = counted(warp.threads, "thread");
        let what = format!(
            "its warp group is warps {first} to {} of the CTA, which has {of_cta} only",
            first + GROUP_WARPS - 1
        );
        return illegal(&what, mask);
    }
    Ok(())
}

#[cold]
fn illegal<T>(what: &str, lanes: LaneMask) -> Result<T, Stop> {
    Err(Trap::stop(FaultKind::IllegalInstruction, format!("matrix operation of a warp group: {what}"), lanes))
}

/// A factor in shared memory.
struct SharedFactor {
    name: &'static str,
    descriptor: Descriptor,
    major: Major,
    /// Words of a row of A or a column of B.
    words: usize,
}

impl SharedFactor {
    fn new(file: &Lanes<'_>, name: &'static str, bits: Reg, transposed: bool, words: usize) -> Result<Self, Stop> {
        let (low, high) = file.pair(bits);
        let bits = u64::from(low[0]) | u64::from(high[0]) << 32;
        if low.iter().any(|&x| x != low[0]) || high.iter().any(|&x| x != high[0]) {
            return illegal(&format!("the descriptor of {name} differs between lanes of the warp"), file.mask);
        }
        let major = if transposed { Major::Mn } else { Major::K };
        let checked = |descriptor: Descriptor| match major {
            Major::K => descriptor.check_row((words / UNIT_WORDS) as u32).map(|()| descriptor),
            Major::Mn => Ok(descriptor),
        };
        match Descriptor::of(bits).and_then(checked) {
            Ok(descriptor) => Ok(Self { name, descriptor, major, words }),
            Err(what) => illegal(&format!("descriptor {bits:#x} of {name}: {what}"), file.mask),
        }
    }

    /// Reads eight rows of A or columns of B, from number `first` on.
    fn read<const N: usize>(&self, m: &Spaces<'_, '_>, first: u32, out: &mut [[u32; N]], lanes: LaneMask) -> Outcome {
        let unit = |along: u32, other: u32| {
            let address = self.descriptor.address(self.major, along, other);
            shared_unit(m, address).ok_or_else(|| self.outside(m, address, lanes))
        };
        match self.major {
            Major::K => {
                for (row, words) in (first..).zip(out) {
                    for (along, four) in (0..).zip(words[..self.words].as_chunks_mut::<UNIT_WORDS>().0) {
                        *four = unit(along, row)?;
                    }
                }
            }
            // A unit has the same element, of 16 bits, of eight rows.
            Major::Mn => {
                for k in 0..2 * self.words {
                    let four: [u32; UNIT_WORDS] = unit(first / BLOCK as u32, k as u32)?;
                    for (row, words) in out.iter_mut().enumerate() {
                        let element = four[row / 2 % UNIT_WORDS] >> (row % 2 * 16) & 0xffff;
                        words[k / 2] |= element << (k % 2 * 16);
                    }
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, m: &Spaces<'_, '_>, address: u32, lanes: LaneMask) -> Stop {
        let Self { name, descriptor, .. } = self;
        let Descriptor { start_address, leading_bytes, stride_bytes, .. } = descriptor;
        let of_cta = counted(m.shared.bytes().into(), "byte");
        let what = format!(
            "matrix operation of a warp group: descriptor of {name}: start address {start_address:#x} with leading offset \
             {leading_bytes} and stride offset {stride_bytes} leads to shared address {address:#x}, outside the CTA's \
             {of_cta} of shared memory"
        );
        Trap::stop(FaultKind::IllegalAddress, what, lanes)
    }
}
