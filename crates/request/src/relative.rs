//! The column that the speedups and other relative figures of each column are over.

use crate::BadRequest;
use crate::comparison::{Axis, Column};
use crate::options::Options;
use crate::values::Over;
use kit::suggest;
use std::collections::BTreeSet;

/// Sets the baselines of `columns`: all combinations of the values that vary.
///
/// # Errors
/// `over` names an axis, or a value of one, that no column has.
pub(crate) fn set_baselines(columns: &mut [Column], options: &Options) -> Result<(), BadRequest> {
    let baselines = match &options.over {
        Some(Over::Value { axis, value }) => on_axis(columns, axis, value, options)?,
        over => columns.iter().map(|column| baseline(columns, column, over.as_ref())).collect(),
    };
    columns.iter_mut().zip(baselines).for_each(|(column, baseline)| column.baseline = baseline);
    Ok(())
}

/// The column that differs from `column` in nothing but the core or the scheduler, if speedups are over one, or in nothing
/// but the version; else the first one, of the same GPU where other things vary too.
fn baseline(columns: &[Column], column: &Column, over: Option<&Over>) -> usize {
    let (core, scheduler) = match over {
        None if column.version.label.is_empty() => {
            let mut of_gpu = (0..columns.len()).filter(|&at| columns[at].gpu_path == column.gpu_path);
            let first = of_gpu.next().unwrap_or(0);
            return if of_gpu.next().is_some() { first } else { 0 };
        }
        // The first version on the same machine.
        None | Some(Over::Value { .. }) => (&column.core, &column.scheduler),
        Some(Over::Core(core)) => (core, &column.scheduler),
        Some(Over::Scheduler(scheduler)) => (&column.core, &Some(scheduler.clone())),
    };
    let is_same = |c: &Column| {
        (&c.core, &c.scheduler, &c.gpu, &c.settings, &c.choice)
            == (core, scheduler, &column.gpu, &column.settings, &column.choice)
            && (over.is_none() || c.version == column.version)
    };
    columns.iter().position(is_same).unwrap_or(0)
}

/// For each column, the one with this value of an axis and the same values of all others.
fn on_axis(columns: &[Column], axis: &str, value: &str, options: &Options) -> Result<Vec<usize>, BadRequest> {
    let axes = &columns[0].axes;
    let is_exact = |of: &&usize| axes[**of].name == axis;
    let called: Vec<usize> =
        (0..axes.len()).filter(|&at| axes[at].name == axis || axes[at].short_name() == axis).collect();
    // The whole key of a setting is not the last part of another's.
    let place = called.iter().find(is_exact).or(called.first()).filter(|place| is_exact(place) || called.len() == 1);
    let refused = |why: String| Err(BadRequest::new(format!("{} {axis}={value}: {why}", options.called("over"))));
    let Some(&place) = place else {
        let known: Vec<&str> = axes.iter().map(Axis::short_name).collect();
        if called.is_empty() {
            return refused(suggest::unknown("axis", axis, &known));
        }
        let keys: Vec<&str> = called.iter().map(|&at| axes[at].name.as_str()).collect();
        return refused(format!("several axes are called so; give the whole key: {}", keys.join(", ")));
    };
    let known: BTreeSet<&str> = columns.iter().map(|column| column.axes[place].bare_value()).collect();
    if !known.contains(value) {
        return refused(suggest::unknown(&format!("value of {axis}"), value, &Vec::from_iter(known)));
    }
    let is_it = |of: &Column, column: &Column| {
        let mut pairs = of.axes.iter().zip(&column.axes).enumerate();
        pairs.all(|(at, (of, own))| if at == place { of.bare_value() == value } else { of == own })
    };
    let baselines = columns.iter().map(|column| columns.iter().position(|of| is_it(of, column)));
    Ok(baselines.map(|baseline| baseline.unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests {
    use crate::option::Way;
    use crate::options::{Options, Texts, row};
    use crate::sweep::Sweep;

    /// The baseline's label of each column, by its own label.
    fn baselines(words: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        let mut texts = Texts::new();
        for (name, text) in words {
            let row = row(name).unwrap();
            match texts.iter_mut().find(|(known, _)| known.name == row.name) {
                Some((_, all)) => all.push(text.into()),
                None => texts.push((row, vec![text.into()])),
            }
        }
        let options = Options::read(Way::Sweep, &texts, &|row| row.called(Way::Sweep)).map_err(|e| e.message)?;
        let columns = Sweep::new(&options, &["vectoradd".into()]).map_err(|e| e.message)?.columns;
        let of = |at: usize| (columns[at].label.clone(), columns[columns[at].baseline].label.clone());
        Ok((0..columns.len()).map(of).collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        Ok(expected.iter().map(|&(label, over)| (label.to_owned(), over.to_owned())).collect())
    }

    const GPUS: (&str, &str) = ("gpu", "rtx2060s,v100");
    const FILES: (&str, &str) = ("register_file", "x1,x2");

    #[test]
    fn each_gpu_has_a_baseline_where_something_else_varies() {
        let expected = [
            ("rtx2060s registers x1", "rtx2060s registers x1"),
            ("rtx2060s registers x2", "rtx2060s registers x1"),
            ("v100 registers x1", "v100 registers x1"),
            ("v100 registers x2", "v100 registers x1"),
        ];
        assert_eq!(baselines(&[GPUS, FILES]), pairs(&expected));
        assert_eq!(baselines(&[GPUS]), pairs(&[("rtx2060s", "rtx2060s"), ("v100", "rtx2060s")]));
    }

    #[test]
    fn over_a_value_all_else_is_the_same() {
        let over = |over| baselines(&[GPUS, FILES, ("over", over)]);
        let second = [
            ("rtx2060s registers x1", "rtx2060s registers x2"),
            ("rtx2060s registers x2", "rtx2060s registers x2"),
            ("v100 registers x1", "v100 registers x2"),
            ("v100 registers x2", "v100 registers x2"),
        ];
        assert_eq!(over("registers=x2"), pairs(&second));
        assert_eq!(over("registers x2"), pairs(&second), "as headings have it");
        let gpu = [
            ("rtx2060s registers x1", "v100 registers x1"),
            ("rtx2060s registers x2", "v100 registers x2"),
            ("v100 registers x1", "v100 registers x1"),
            ("v100 registers x2", "v100 registers x2"),
        ];
        assert_eq!(over("gpu=v100"), pairs(&gpu));
        let vary = ("vary", "sm.l1d.cache.replacement=lru,plru");
        for over in ["replacement=plru", "sm.l1d.cache.replacement=plru"] {
            let got = baselines(&[vary, ("over", over)]);
            assert_eq!(
                got,
                pairs(&[("replacement=lru", "replacement=plru"), ("replacement=plru", "replacement=plru")])
            );
        }
        let cores = baselines(&[("core", "inorder,ghost"), FILES, ("over", "core=ghost")]).unwrap();
        assert!(cores.iter().all(|(_, over)| over.starts_with("ghost")), "{cores:?}");
    }

    #[test]
    fn unknown_axes_and_values_name_the_known_ones() {
        let error = |words: &[(&str, &str)]| baselines(words).unwrap_err();
        let of_gpus = |over| error(&[GPUS, FILES, ("over", over)]);
        assert!(of_gpus("register=x1").contains("did you mean `registers`"), "{}", of_gpus("register=x1"));
        let value = of_gpus("gpu=titanv");
        assert!(value.contains("`titanv`") && value.contains("rtx2060s, v100"), "{value}");
        let both = ("vary", "sm.l1d.cache.replacement=lru,plru");
        let several = error(&[both, ("vary", "l2.cache.replacement=lru,plru"), ("over", "replacement=lru")]);
        assert!(several.contains("sm.l1d.cache.replacement, l2.cache.replacement"), "{several}");
        assert!(error(&[("over", "registers=x1")]).contains("there are none"));
        assert!(error(&[("over", "ghosd:issue_buffer=4")]).contains("ghosd"));
    }
}
