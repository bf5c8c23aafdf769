//! Values that all threads of a launch share: computed once, when the configuration is written.

use crate::graph::{Input, Uniform};
use exec::function::Evaluator;
use exec::single::Element;
use isa::Dim3;

/// A coordinate, by axis.
pub fn along(at: Dim3, axis: u8) -> u64 {
    u64::from([at.x, at.y, at.z][usize::from(axis)])
}

/// Inputs of uniform values.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Packed parameters, in words.
    pub params: &'a [u32],
    /// Threads of a CTA.
    pub block: Dim3,
    /// CTAs.
    pub grid: Dim3,
}

impl Facts<'_> {
    /// The values of `uniforms`, each of which uses earlier ones.
    ///
    /// # Errors
    /// One uses a value that does not come before it, or bytes beyond the parameters.
    pub fn values(&self, uniforms: &[Uniform]) -> Result<Vec<u64>, String> {
        let (mut values, mut evaluator) = (Vec::<u64>::with_capacity(uniforms.len()), Evaluator::default());
        for uniform in uniforms {
            let read = |input: &Input| match *input {
                Input::Immediate(value) => Ok(value),
                Input::Uniform(id) => {
                    let value = values.get(id.0 as usize).copied();
                    value.ok_or_else(|| format!("uniform value {} is used before it is computed", id.0))
                }
                Input::Token(_) => Err("a uniform value depends on a token".to_owned()),
            };
            let value = match uniform {
                &Uniform::Param { offset, bytes, signed, register_bits } => {
                    self.param(offset, Element { bytes, signed, register_bits })?
                }
                &Uniform::Ntid(of) => along(self.block, of),
                &Uniform::Nctaid(of) => along(self.grid, of),
                Uniform::Apply(function, inputs) => {
                    let operands = inputs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
                    if operands.len() < function.operands().len() {
                        return Err("a uniform value has too few operands".into());
                    }
                    evaluator.apply(function, &operands)
                }
                Uniform::Select([holds, yes, no]) => {
                    let (holds, yes, no) = (read(holds)?, read(yes)?, read(no)?);
                    if holds & 1 == 1 { yes } else { no }
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    fn param(&self, offset: u32, element: Element) -> Result<u64, String> {
        let byte = |at: u32| self.params.get(at as usize / 4).map(|word| u64::from(word >> (8 * (at % 4)) & 0xff));
        let raw = (0..u32::from(element.bytes)).rev().try_fold(0, |raw, i| Some(raw << 8 | byte(offset + i)?));
        raw.map(|raw| element.extended(raw))
            .ok_or_else(|| format!("parameter offset {offset} is outside the kernel's {} bytes", 4 * self.params.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::UniformId;

    #[test]
    fn parameters_are_extended_and_selected() {
        let facts = Facts { params: &[0x8000_0001, 0xffff_fff0], block: Dim3::new(32, 2, 1), grid: Dim3::new(5, 6, 7) };
        let param = |offset, bytes, signed, register_bits| Uniform::Param { offset, bytes, signed, register_bits };
        let uniforms = [
            param(0, 8, false, 64),
            param(0, 4, true, 64),
            param(3, 1, true, 32),
            Uniform::Ntid(1),
            Uniform::Nctaid(2),
            Uniform::Select([Input::Immediate(0), Input::Uniform(UniformId(3)), Input::Uniform(UniformId(4))]),
        ];
        let values = facts.values(&uniforms).unwrap();
        assert_eq!(values, [0xffff_fff0_8000_0001, 0xffff_ffff_8000_0001, 0xffff_ff80, 2, 7, 7]);
        assert!(facts.values(&[param(6, 4, false, 32)]).unwrap_err().contains("outside the kernel's 8 bytes"));
        let later = Uniform::Select([Input::Uniform(UniformId(0)); 3]);
        assert!(facts.values(&[later]).unwrap_err().contains("before it is computed"));
    }
}
