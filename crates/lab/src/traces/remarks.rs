//! Anomalies of a trace that do not make it useless.

use kit::text::counted;
use trace::Oddities;

/// Anomalies of a trace, each once per kernel.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    notes: Vec<String>,
    kernels: Vec<(String, Oddities)>,
}

impl Remarks {
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds what is odd about one launch of `kernel`.
    pub fn add(&mut self, kernel: &str, oddities: &Oddities) {
        if let Some((_, sum)) = self.kernels.iter_mut().find(|(name, _)| name == kernel) {
            sum.add(oddities);
        } else {
            self.kernels.push((kernel.to_owned(), oddities.clone()));
        }
    }

    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.notes.clone();
        for (kernel, odd) in &self.kernels {
            let counts = [
                (odd.accesses_without_address, "access", "by active lanes without an address: taken for address 0"),
                (odd.accesses_near_zero, "access", "to global memory below 64 KiB, where no allocation is"),
                (odd.accesses_beyond_memory, "access", "at addresses of more than 57 bits, which no GPU has: cut"),
                (odd.warps_without_exit, "warp", "without EXIT at the end"),
            ];
            for unknown in &odd.unknown_opcodes {
                let (opcode, count) = (&unknown.opcode, counted(unknown.count, "warp instruction"));
                lines.push(format!(
                    "{kernel}: the opcode {opcode} ({count}) is in no table: timed as an integer addition"
                ));
            }
            let some = counts.iter().filter(|(n, ..)| *n > 0);
            lines.extend(some.map(|(n, what, how)| format!("{kernel}: {} {how}", counted(*n, what))));
        }
        lines
    }
}
