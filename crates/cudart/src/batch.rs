//! Several copies by one call. The attributes of a copy are hints on when its source is read and
//! where memory is: copies in stream order obey all of them.

use crate::api::api;
use crate::argument::{Order, Out, Stream};
use crate::copy::copy_line;
use crate::error::{Error, Result};
use crate::transfer::BY_ADDRESS;
use cabi::address::{Address, read};

/// Copies `sizes[i]` bytes from `from[i]` to `to[i]`. `failed` gets the number of the copy that
/// failed.
pub fn copy_batch(
    to: Address,
    from: Address,
    sizes: Address,
    count: usize,
    failed: Out<usize>,
    stream: Stream,
) -> Result<()> {
    if count == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let word = |list: Address, index: usize| -> Result<usize> {
        let offset = index.checked_mul(size_of::<usize>()).ok_or(Error::INVALID_VALUE)?;
        Ok(read::<usize>(list.wrapping_add(offset))?)
    };
    let copy = |index| {
        let (to, from, bytes) = (word(to, index)?, word(from, index)?, word(sizes, index)?);
        copy_line(to, from, bytes, BY_ADDRESS, Order::asynchronous(stream))
    };
    for index in 0..count {
        if let Err(error) = copy(index) {
            failed.set_unless_null(index)?;
            return Err(error);
        }
    }
    Ok(())
}

api! {
    fn cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz(
        to: Address, from: Address, bytes: usize, _attributes: Address, stream: Stream,
    ) {
        copy_line(to, from, bytes, BY_ADDRESS, Order::asynchronous(stream))
    }
}
