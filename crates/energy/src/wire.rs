//! Energy of wires.
//!
//! S. Keckler, W. Dally, B. Khailany, M. Garland and D. Glasco, "GPUs and the Future of Parallel Computing", IEEE Micro
//! 31(5), 2011, table 1: 240 fJ per bit, millimetre and transition in a GPU at 40 nm and 0.9 V, so that 256 random bits
//! take 310 pJ over 10 mm: half of the bits change. The capacitance of a millimetre is about the same in all processes
//! (there), so that only the voltage scales it.

/// Energy of a change of a wire of a millimetre, in picojoules.
const TRANSITION_PJ: f64 = 0.24;
/// Voltage of that figure.
const VOLTS: f64 = 0.9;
/// Share of bits that change from one token to the next.
const SWITCHING: f64 = 0.5;

/// Energy of a bit that travels `mm` millimetres at `volts`, in picojoules.
pub fn bit_pj(mm: f64, volts: f64) -> f64 {
    SWITCHING * TRANSITION_PJ * mm * (volts / VOLTS).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figure of the table's next row.
    #[test]
    fn the_bus_of_the_table_takes_310_pj() {
        assert!((256.0 * bit_pj(10.0, 0.9) - 310.0).abs() < 5.0);
        assert!((bit_pj(1.0, 1.8) / bit_pj(1.0, 0.9) - 4.0).abs() < 1e-12);
    }
}
