//! Names of kernels where there is little room.

use std::collections::HashMap;

/// The name of a kernel without what C++ adds to it: namespaces, types of templates and of parameters.
pub fn short(name: &str) -> &str {
    let Some(mut rest) = name.strip_prefix("_Z") else { return name };
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut last = None;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let Some((word, after)) = number.parse().ok().and_then(|length| after.split_at_checked(length)) else {
            return last.unwrap_or(name);
        };
        (last, rest) = (Some(word), after);
    }
}

/// Makes the mangled names of a column short. Other names than the first one with the same short form get a number, by
/// which they are told apart: `add`, `add #2`.
pub fn shorten<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut forms: HashMap<String, Vec<String>> = HashMap::new();
    for name in names {
        let form = short(name);
        if form == name {
            continue;
        }
        let of_form = forms.entry(form.to_owned()).or_default();
        let at = of_form.iter().position(|other| other == name).unwrap_or_else(|| {
            of_form.push(name.clone());
            of_form.len() - 1
        });
        *name = if at == 0 { form.to_owned() } else { format!("{form} #{}", at + 1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_the_last_word_before_types() {
        for (name, expected) in [
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_T1_",
                "vectorized_elementwise_kernel",
            ),
            ("_Z6matmulPKfS0_Pfi", "matmul"),
            ("_Z", "_Z"),
            ("_Z99short", "_Z99short"),
            ("_ZN3\u{e9}", "_ZN3\u{e9}"),
            ("triton_poi_fused_0", "triton_poi_fused_0"),
        ] {
            assert_eq!(short(name), expected);
        }
    }

    #[test]
    fn names_with_the_same_short_form_are_told_apart() {
        let mut names = ["_Z3addPfi", "one", "_Z3addPdi", "_Z3addPfi", "_Z3addPdi"].map(str::to_owned);
        shorten(names.iter_mut());
        assert_eq!(names, ["add", "one", "add #2", "add", "add #2"]);
    }
}
