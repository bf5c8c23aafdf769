//! Encoding of numbers and strings in the native format.
//!
//! An unsigned number takes seven bits per byte, lowest first; the highest bit means that another byte
//! follows. A signed one is first folded so that small magnitudes stay small (0, -1, 1, -2 …).

/// A part that a reader expected and did not find.
pub(crate) type Expected = &'static str;

/// Appends an unsigned number.
pub(crate) fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends a signed number.
pub(crate) fn put_signed(out: &mut Vec<u8>, n: i64) {
    put(out, ((n << 1) ^ (n >> 63)) as u64);
}

/// Appends a string with its length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads numbers and strings one after the other. Holds no reference to the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub at: u32,
    pub end: u32,
}

impl Cursor {
    /// A cursor over all of `bytes`.
    pub fn over(bytes: &[u8]) -> Self {
        Self { at: 0, end: u32::try_from(bytes.len()).unwrap_or(u32::MAX) }
    }

    /// Number of remaining bytes.
    pub const fn left(self) -> u32 {
        self.end - self.at
    }

    /// The next `length` bytes as a separate cursor.
    pub fn split(&mut self, length: u64) -> Result<Self, Expected> {
        if length > u64::from(self.left()) {
            return Err("more bytes than are there");
        }
        let part = Self { at: self.at, end: self.at + length as u32 };
        self.at = part.end;
        Ok(part)
    }

    /// Returns the next byte without consuming it.
    #[inline]
    pub fn peek(self, bytes: &[u8]) -> Result<u8, Expected> {
        if self.at < self.end { bytes.get(self.at as usize).copied().ok_or("a byte") } else { Err("a byte") }
    }

    #[inline]
    pub fn byte(&mut self, bytes: &[u8]) -> Result<u8, Expected> {
        let byte = self.peek(bytes)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next four bytes.
    #[inline]
    pub fn word(&mut self, bytes: &[u8]) -> Result<u32, Expected> {
        let mut word = [0; 4];
        for byte in &mut word {
            *byte = self.byte(bytes)?;
        }
        Ok(u32::from_le_bytes(word))
    }

    /// Reads an unsigned number.
    #[inline]
    pub fn number(&mut self, bytes: &[u8]) -> Result<u64, Expected> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(bytes)?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return if shift < 63 || byte <= 1 { Ok(n) } else { Err("a number of 64 bits") };
            }
        }
        Err("a number of 64 bits")
    }

    /// Reads a signed number.
    #[inline]
    pub fn signed(&mut self, bytes: &[u8]) -> Result<i64, Expected> {
        let n = self.number(bytes)?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// Reads a number that fits a narrower type.
    pub fn narrow<T: TryFrom<u64>>(&mut self, bytes: &[u8]) -> Result<T, Expected> {
        T::try_from(self.number(bytes)?).map_err(|_| "a smaller number")
    }

    /// Reads the number of following items of at least `bytes_each` bytes; a number beyond the end of the
    /// file is an error.
    pub fn count(&mut self, bytes: &[u8], bytes_each: u32) -> Result<usize, Expected> {
        let count = self.number(bytes)?;
        if count > u64::from(self.left() / bytes_each) {
            return Err("as many entries as announced");
        }
        Ok(count as usize)
    }

    /// Reads a string.
    pub fn text(&mut self, bytes: &[u8]) -> Result<String, Expected> {
        let length = self.number(bytes)?;
        let part = self.split(length)?;
        let text = bytes.get(part.at as usize..part.end as usize).ok_or("a string")?;
        String::from_utf8(text.to_vec()).map_err(|_| "a string in UTF-8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(unsigned in any::<u64>(), signed in any::<i64>(), shift in 0u32..64, text in ".{0,20}") {
            let (unsigned, signed) = (unsigned >> shift, signed >> shift);
            let mut bytes = Vec::new();
            put(&mut bytes, unsigned);
            put_signed(&mut bytes, signed);
            put_text(&mut bytes, &text);
            let mut cursor = Cursor::over(&bytes);
            prop_assert_eq!(cursor.number(&bytes), Ok(unsigned));
            prop_assert_eq!(cursor.signed(&bytes), Ok(signed));
            prop_assert_eq!(cursor.text(&bytes), Ok(text));
            prop_assert_eq!(cursor.left(), 0);
        }

        #[test]
        fn any_bytes_give_numbers_or_errors(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let mut cursor = Cursor::over(&bytes);
            while cursor.number(&bytes).is_ok() {}
            prop_assert!(cursor.at <= cursor.end);
        }
    }
}
