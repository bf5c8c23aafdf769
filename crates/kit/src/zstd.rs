//! Data compressed by Zstandard (RFC 8878): frames one after another.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// Maximum window of a frame, which a decoder keeps in memory: the limit of the `zstd` command.
const MOST_WINDOW_BYTES: u64 = 128 << 20;

/// Reads the contents of all frames. Skippable frames are skipped, checksums are compared.
pub struct Reader<R> {
    from: R,
    decoder: FrameDecoder,
    /// Bytes of the present frame that have been read; `None` between frames.
    read: Option<u64>,
}

impl<R: BufRead> Reader<R> {
    /// Reads frames from `from`.
    pub fn new(from: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_WINDOW_BYTES);
        Self { from, decoder, read: None }
    }

    /// Begins the next frame; false at the end of the data.
    fn begin_frame(&mut self) -> Result<bool> {
        while !self.from.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.from) {
                Ok(()) => {
                    self.read = Some(0);
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = std::io::copy(&mut (&mut self.from).take(length.into()), &mut std::io::sink())?;
                    if skipped != u64::from(length) {
                        return Err(damaged("the end of a frame is missing"));
                    }
                }
                Err(FrameDecoderError::DictNotProvided { dict_id }) => {
                    return Err(damaged(format!("dictionary {dict_id:#x}, which it needs, is not in the file")));
                }
                Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                    return Err(damaged(format!("a window of {requested} bytes; the maximum is {max}")));
                }
                Err(_) => return Err(damaged("a frame has no valid head")),
            }
        }
        Ok(false)
    }

    /// Checks a frame of which `read` bytes have been read, which are all.
    fn end_frame(&mut self, read: u64) -> Result<()> {
        let wanted = self.decoder.get_checksum_from_data();
        if wanted.is_some() && wanted != self.decoder.get_calculated_checksum() {
            return Err(damaged("a checksum is wrong"));
        }
        // A frame without a size reports 0.
        if !matches!(self.decoder.content_size(), 0 | u64::MAX) && self.decoder.content_size() != read {
            return Err(damaged("a frame has another length than its head says"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(read) = self.read else {
                if self.begin_frame()? {
                    continue;
                }
                return Ok(0);
            };
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                crate::stop::check()?;
                let done = self.decoder.decode_blocks(&mut self.from, BlockDecodingStrategy::UptoBlocks(1));
                done.map_err(|_| damaged("a block cannot be expanded"))?;
            }
            let bytes = self.decoder.read(out)?;
            self.read = Some(read + bytes as u64);
            if bytes > 0 {
                return Ok(bytes);
            }
            self.end_frame(read)?;
            self.read = None;
        }
    }
}

impl<R> std::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("read", &self.read).finish_non_exhaustive()
    }
}

fn damaged(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn read(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Reader::new(bytes).read_to_end(&mut out).map(|_| out)
    }

    fn frame(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    /// A frame of one stored block, with the parts of the head that `descriptor` announces and this content checksum.
    fn stored(descriptor: u8, head: &[u8], text: &[u8], checksum: &[u8]) -> Vec<u8> {
        let block = ((text.len() as u32) << 3 | 1).to_le_bytes();
        [&0xfd2f_b528_u32.to_le_bytes(), &[descriptor][..], head, &block[..3], text, checksum].concat()
    }

    fn skippable(bytes: usize) -> Vec<u8> {
        [&0x184d_2a53_u32.to_le_bytes()[..], &(bytes as u32).to_le_bytes(), &vec![7; bytes]].concat()
    }

    #[test]
    fn frames_follow_each_other() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(|n| (n / 9).to_le_bytes()).collect();
        let (head, tail) = text.split_at(700_001);
        let several = [frame(head), frame(b""), skippable(0), skippable(1000), frame(tail), skippable(3)].concat();
        assert!(read(&several).unwrap() == text);
        assert_eq!(read(&skippable(9)).unwrap(), b"");
        // Without a size in the head (a window of 1 KiB), and with one of one byte and the number 0 of no dictionary.
        assert_eq!(read(&stored(0, &[0], b"abc", b"")).unwrap(), b"abc");
        assert_eq!(read(&stored(0x21, &[0, 3], b"abc", b"")).unwrap(), b"abc");
        assert_eq!(read(&vec![frame(b"ab"); 5000].concat()).unwrap().len(), 10_000);
    }

    /// XXH64 of "abc" is 0x44BC2CF5AD770999 (xxHash's own test values).
    #[test]
    fn damage_is_found() {
        let sum = 0xad77_0999_u32.to_le_bytes();
        assert_eq!(read(&stored(0x24, &[3], b"abc", &sum)).unwrap(), b"abc");
        let refused = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(refused(&stored(0x24, &[3], b"abd", &sum)).contains("checksum"));
        assert!(refused(&stored(0x24, &[4], b"abc", &sum)).contains("another length"));
        assert!(refused(&stored(0x21, &[9, 3], b"abc", b"")).contains("dictionary 0x9"));
        // A window of 2 GiB; garbage; a skippable frame without its end.
        assert!(refused(&stored(0, &[21 << 3], b"abc", b"")).contains("window"));
        assert!(refused(&[frame(b"abc"), b"garbage".to_vec()].concat()).contains("head"));
        assert!(refused(&skippable(1000)[..500]).contains("end of a frame"));
        let text = b"0123456789".repeat(1000);
        let good = frame(&text);
        assert!((1..good.len()).all(|length| read(&good[..length]).is_err()), "cut short");
        for at in 0..good.len() * 8 {
            let mut flipped = good.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            // Flips of the window's size may leave the contents as they are.
            assert!(read(&flipped).map_or(true, |read| read == text), "bit {at}");
        }
    }
}
