//! The scalar-vector core by name: a core design that it can be combined with, then `+scalar` and further
//! choices.

use sm::scalar::{Divergence, ScalarConfig};
use std::collections::BTreeSet;
use workloads::suggest;

/// What may follow the name of a core design, and what it does. The first turns the scalar path on.
pub const SCALAR_CHOICES: &[(&str, &str)] = &[
    ("scalar", "arithmetic whose operands are the same in all lanes is done once, on scalar ALUs (scalar-vector core)"),
    ("memory", "loads and stores at one address are scalar, too"),
    ("half", "halves of a warp are scalar each for itself"),
    ("noalu", "no scalar ALUs: scalar instructions execute in one lane of a vector unit"),
    ("early", "scalar instructions go to scalar collectors wherever their operands are, as in the paper's simulator"),
    ("compiler", "registers that some lanes may write alone are never scalar, by the compiler's marks"),
    ("unguarded", "nothing guards scalar registers that some lanes write alone: the paper's original, which is wrong"),
];

/// The core design and the scalar path that `core` names, as `ghost+scalar+half`.
///
/// # Errors
/// `core` names no design, has an unknown choice or one twice, or a choice of the scalar path without `scalar`
/// before it; the message says what can be written.
pub(crate) fn split(core: &str) -> Result<(&str, Option<ScalarConfig>), String> {
    let mut parts = core.split('+').map(str::trim);
    let design = parts.next().unwrap_or_default();
    if design.is_empty() {
        return Err(format!("`{core}` names no core design; write for instance `inorder{core}`"));
    }
    let mut scalar: Option<ScalarConfig> = None;
    let mut seen = BTreeSet::new();
    for choice in parts {
        if !seen.insert(choice) {
            return Err(format!("`{core}`: `{choice}` is chosen twice"));
        }
        if choice == "scalar" {
            scalar.get_or_insert_default();
            continue;
        }
        let known: Vec<&str> = SCALAR_CHOICES.iter().map(|(name, _)| *name).collect();
        if !known.contains(&choice) {
            return Err(format!("`{core}`: there is no choice `{choice}`{}", suggest::among(choice, &known)));
        }
        let Some(scalar) = &mut scalar else {
            return Err(format!(
                "`{core}`: `{choice}` is a choice of the scalar path; write `{design}+scalar+{choice}`"
            ));
        };
        match choice {
            "memory" => scalar.memory = true,
            "half" => scalar.halves = true,
            "noalu" => scalar.alus = 0,
            "early" => scalar.early = true,
            "compiler" => scalar.divergence = Divergence::Compiler,
            _ => scalar.divergence = Divergence::Unguarded,
        }
    }
    if ["compiler", "unguarded"].iter().all(|choice| seen.contains(choice)) {
        return Err(format!("`{core}`: `compiler` guards scalar registers and `unguarded` does not; choose one"));
    }
    Ok((design, scalar))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(split("ghost"), Ok(("ghost", None)));
        assert_eq!(split("ghost+scalar"), Ok(("ghost", Some(ScalarConfig::default()))));
        let (design, scalar) = split("inorder+scalar+half+memory+compiler").unwrap();
        let scalar = scalar.unwrap();
        assert!(design == "inorder" && scalar.halves && scalar.memory && scalar.divergence == Divergence::Compiler);
        assert_eq!(split("inorder+scalar+noalu").unwrap().1.unwrap().alus, 0);
    }

    #[test]
    fn every_choice_is_understood() {
        for (choice, _) in &SCALAR_CHOICES[1..] {
            assert!(split(&format!("inorder+scalar+{choice}")).is_ok(), "{choice}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let error = split("inorder+scaler").unwrap_err();
        assert!(error.contains("`scaler`") && error.contains("scalar"), "{error}");
        let error = split("inorder+half").unwrap_err();
        assert!(error.contains("`inorder+scalar+half`"), "{error}");
        assert!(split("inorder+scalar+half+half").unwrap_err().contains("twice"));
        assert!(split("inorder+scalar+compiler+unguarded").unwrap_err().contains("choose one"));
        let error = split("+scalar").unwrap_err();
        assert!(error.contains("`inorder+scalar`"), "{error}");
    }
}
