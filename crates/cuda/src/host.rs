//! The driver's interface to the process that it is in. The C boundary implements it; tests have their own.

/// The process around the driver.
///
/// Addresses come from programs and may be wrong: access to memory that does not exist returns `false` and changes
/// nothing that can be relied on.
pub trait Host: Send {
    /// Copies memory of the process at `address` to `out`.
    fn read(&self, address: u64, out: &mut [u8]) -> bool;
    /// Copies several pieces of memory of the process, each from its address.
    fn read_each(&self, pieces: &mut [(u64, &mut [u8])]) -> bool {
        pieces.iter_mut().all(|(address, out)| self.read(*address, out))
    }
    /// Copies `data` to memory of the process at `address`.
    fn write(&self, address: u64, data: &[u8]) -> bool;
    /// Reserves zeroed memory of the process at `address`, both multiples of [`PAGE_BYTES`].
    fn map(&self, address: u64, bytes: u64) -> bool;
    /// Gives back memory that [`Host::map`] has reserved.
    fn unmap(&self, address: u64, bytes: u64);
    /// Writes what kernels print to the program's standard output.
    fn print(&self, text: &str);
    /// Writes a message to the user to standard error.
    fn message(&self, text: &str);
}

/// Alignment of [`Host::map`].
pub const PAGE_BYTES: u64 = 4096;

/// Maximum length of a text that programs pass.
const MOST_TEXT_BYTES: usize = 256 << 20;

/// Reads a text that a zero ends, without the zero. `None` if there is no memory, or no end within 256 MiB.
pub fn read_text(host: &dyn Host, address: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut at = address;
    while text.len() < MOST_TEXT_BYTES {
        // To the end of the page: the next one may not exist.
        let mut piece = vec![0; (PAGE_BYTES - at % PAGE_BYTES) as usize];
        if address == 0 || !host.read(at, &mut piece) {
            return None;
        }
        if let Some(end) = piece.iter().position(|&byte| byte == 0) {
            text.extend_from_slice(&piece[..end]);
            return Some(text);
        }
        at += piece.len() as u64;
        text.append(&mut piece);
    }
    None
}
