//! Uses of buffers after the launches.

use super::outcome::{LaunchFileRunError, LaunchOutcome, refused};
use super::plan::optional;
use crate::data;
use crate::diagnostics::Problem;
use crate::expr::{Expr, Scope};
use crate::model::{Against, Compare, LaunchFile, OutputSpec};
use crate::scope::{Contents, whole};
use kit::output::NewFile;
use kit::stop::until_requested;
use kit::text::counted;
use std::io::Write;
use std::path::Path;
use workloads::check::Check;
use workloads::device::{Buffer, Device};
use workloads::element::{Number, ScalarType};

/// Numbers of an output.
struct Asked {
    /// Elements of the buffer.
    count: u64,
    /// Elements to print.
    print: Option<usize>,
    /// Tolerances of the comparison.
    absolute: f64,
    relative: f64,
}

impl LaunchFile {
    /// Checks all of an output that can be known before the first launch.
    pub(super) fn check_output(&self, spec: &OutputSpec, scope: &Contents<'_>) -> Result<(), Problem> {
        let asked = self.asked(spec, scope)?;
        let compare = spec.compare.as_ref();
        compare.map_or(Ok(()), |c| self.expected(c, asked.count, scope.buffers[spec.buffer].ty, scope).map(drop))
    }

    fn asked(&self, spec: &OutputSpec, scope: &Contents<'_>) -> Result<Asked, Problem> {
        let all = scope.length(spec.buffer);
        let print = spec.print.as_ref().map(|print| whole(print, scope, &[], 0..=u64::MAX)).transpose()?;
        let tolerance = |expr: fn(&Compare) -> &Option<Expr>| {
            let expr = spec.compare.as_ref().and_then(|compare| expr(compare).as_ref());
            expr.map_or(Ok(0.0), |expr| tolerance(expr, scope))
        };
        Ok(Asked {
            count: optional(spec.count.as_ref(), scope, &[], all, 0..=all)?,
            print: print.map(|shown| usize::try_from(shown).unwrap_or(usize::MAX)),
            absolute: tolerance(|compare| &compare.absolute)?,
            relative: tolerance(|compare| &compare.relative)?,
        })
    }

    /// Prints, writes and compares a buffer.
    pub(super) fn output(
        &self,
        device: &mut dyn Device,
        spec: &OutputSpec,
        scope: &Contents<'_>,
        buffers: &[Buffer],
        outcome: &mut LaunchOutcome,
    ) -> Result<(), LaunchFileRunError> {
        let ty = scope.buffers[spec.buffer].ty;
        let name = &self.buffers[spec.buffer].name.item;
        let in_file = |problem| refused(self, problem);
        let Asked { count, print, absolute, relative } = self.asked(spec, scope).map_err(in_file)?;
        let mut bytes = vec![0; count as usize * ty.bytes()];
        device.read(buffers[spec.buffer], 0, &mut bytes)?;
        if let Some(shown) = print {
            outcome.prints.push(data::listing(name, &bytes, ty, shown));
        }
        if let Some(compare) = &spec.compare {
            let expected = self.expected(compare, count, ty, scope).map_err(in_file)?;
            let got: Vec<_> = data::numbers(&bytes, ty).map(|b| ty.decode(b)).collect();
            outcome.checks.push(compare_numbers(name, &got, &expected, absolute, relative));
        }
        if let Some(target) = &spec.write {
            let path = self.beside(&target.item);
            write(&path, &data::encode(&path, &bytes, ty))
                .map_err(|source| LaunchFileRunError::Unwritten { path: path.clone(), source })?;
            outcome.written.push(path);
        }
        Ok(())
    }

    /// The numbers that the first `count` elements of a buffer are compared with.
    fn expected(
        &self,
        spec: &Compare,
        count: u64,
        ty: ScalarType,
        scope: &Contents<'_>,
    ) -> Result<Vec<Number>, Problem> {
        match &spec.against {
            // The expected value is rounded to the buffer's type, as a kernel's result is.
            Against::Formula(formula) => {
                until_requested(0..count).map(|i| Ok(rounded(formula.evaluate(scope, &[], i)?, ty))).collect()
            }
            Against::File(path) => {
                let full = self.beside(&path.item);
                let wrong = |e: String| Problem::new(path.span.clone(), format!("{}: {e}", full.display()));
                let contents = kit::files::read_data(&full).map_err(|e| wrong(e.to_string()))?;
                let data = data::decode(&full, &contents, Some(ty)).map_err(wrong)?;
                Ok(data::numbers(&data.bytes, ty).map(|b| ty.decode(b)).collect())
            }
        }
    }
}

/// Writes a file unless the program is asked to stop: the old one is then as it was.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    const BYTES_AT_A_TIME: usize = 4 << 20;
    let mut file = NewFile::create(path)?;
    for part in bytes.chunks(BYTES_AT_A_TIME) {
        kit::stop::check()?;
        file.write_all(part)?;
    }
    kit::stop::check()?;
    file.finish()
}

/// A number as a kernel's result of a type has it: too large a one is infinite.
fn rounded(value: Number, ty: ScalarType) -> Number {
    let infinite = || Number::Float(f64::INFINITY.copysign(value.as_f64()));
    let otherwise = || if ty.is_float() { infinite() } else { value };
    ty.encode(value).map_or_else(otherwise, |bytes| ty.decode(&bytes))
}

/// A tolerance of a comparison.
fn tolerance(expr: &Expr, scope: &dyn Scope) -> Result<f64, Problem> {
    let value = expr.evaluate(scope, &[], 0)?.as_f64();
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(Problem::new(expr.span.clone(), format!("this tolerance is {value}; it must be a finite number from 0 on")))
}

fn compare_numbers(name: &str, got: &[Number], expected: &[Number], absolute: f64, relative: f64) -> Check {
    let rule = match (absolute > 0.0, relative > 0.0) {
        (false, false) => "equal".to_owned(),
        (true, false) => format!("within {absolute:e}"),
        (false, true) => format!("within {relative:e} of the value"),
        (true, true) => format!("within {absolute:e} plus {relative:e} of the value"),
    };
    if got.len() != expected.len() {
        let values = |numbers: &[Number]| counted(numbers.len() as u64, "value");
        let message = (values(expected), values(got));
        return Check::by_rule(name, &rule, 1, |_| Some(message.clone()));
    }
    Check::by_rule(name, &rule, got.len(), |i| {
        let (g, e) = (got[i], expected[i]);
        let (x, y) = (g.as_f64(), e.as_f64());
        let same = g == e || x.is_nan() && y.is_nan() || (x - y).abs() <= absolute + relative * y.abs();
        (!same).then(|| (e.to_string(), g.to_string()))
    })
}
