//! Names of kernels where there is little room.

use std::borrow::Cow;
use std::collections::HashMap;

/// Maximum length of a mangled name in a sentence, in characters. Templates have names of several hundred.
const MOST_IN_TEXT: usize = 60;

/// Remark on kernels that are in place of a library's, whose names begin with `standin_`.
pub const STAND_INS: &str = "kernels standin_… are Warpwright's, NVIDIA's would take other times";

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

/// `text` with each long mangled name in its short form, as [`shorten`] makes it.
pub fn in_text(text: &str) -> Cow<'_, str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("_Z") {
        let is_begin = !rest[..at].ends_with(is_of_name);
        rest = &rest[at..];
        let (name, after) = rest.split_at(rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()));
        if is_begin && name.len() > MOST_IN_TEXT && !names.contains(&name) {
            names.push(name);
        }
        rest = after;
    }
    if names.is_empty() {
        return text.into();
    }
    let mut forms: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    shorten(forms.iter_mut());
    // A name may begin another one.
    let mut pairs: Vec<_> = names.into_iter().zip(forms).collect();
    pairs.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    pairs.into_iter().fold(text.to_owned(), |text, (name, form)| text.replace(name, &form)).into()
}

/// Whether a mangled name may have the character.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')
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

    #[test]
    fn long_names_in_sentences_are_short() {
        let of =
            |ty: &str| format!("_ZN7cutlass13device_kernelI{}EEvNT_6ParamsE", format!("N{ty}4gemm6kernel").repeat(9));
        let (a, b) = (of("1a"), of("1b"));
        let text = format!("kernel `{a}` cannot run: {b} and {a}: no _Z6matmulPKfS0_Pfi");
        let short = "kernel `device_kernel` cannot run: device_kernel #2 and device_kernel: no _Z6matmulPKfS0_Pfi";
        assert_eq!(in_text(&text), short);
        assert_eq!(in_text("`x_Z`, _Z and a_Z6matmul"), "`x_Z`, _Z and a_Z6matmul");
        let unknown = format!("_Z{}", "x".repeat(300));
        assert_eq!(in_text(&unknown), unknown, "not mangled");
        assert_eq!(in_text(&format!("{a} {a}x")), "device_kernel device_kernel #2");
    }
}
