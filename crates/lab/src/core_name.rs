//! The name of a core: a design with parameters, and a scalar path with its own, as
//! `ghost:issue_buffer=16,guarded=false+scalar:memory=true`.

use crate::designs::{self, Design};
use crate::other_core::Other;
use kit::Parameters;
use kit::parameters::{self, Parameter, Settings};
use kit::suggest;
use kit::text::excerpt;
use sm::scalar::ScalarConfig;
use std::collections::BTreeSet;

/// A short name for a parameter of the scalar path, or for the scalar path itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct ScalarChoice {
    /// The parts after the `+`.
    pub name: &'static str,
    /// The parameter that it sets and the value; none for the scalar path itself.
    pub sets: Option<(&'static str, &'static str)>,
    pub description: &'static str,
}

const fn choice(
    name: &'static str,
    sets: Option<(&'static str, &'static str)>,
    description: &'static str,
) -> ScalarChoice {
    ScalarChoice { name, sets, description }
}

/// Choices that may follow the name of a core design. The first turns the scalar path on.
pub const SCALAR_CHOICES: &[ScalarChoice] = &[
    choice(
        "scalar",
        None,
        "arithmetic whose operands are the same in all lanes is done once, on scalar ALUs (scalar-vector core)",
    ),
    choice("memory", Some(("memory", "true")), "loads and stores at one address are scalar, too"),
    choice("half", Some(("halves", "true")), "halves of a warp are scalar each for itself"),
    choice("noalu", Some(("alus", "0")), "no scalar ALUs: scalar instructions execute in one lane of a vector unit"),
    choice(
        "early",
        Some(("early", "true")),
        "scalar instructions go to scalar collectors wherever their operands are, as in the paper's simulator",
    ),
    choice(
        "compiler",
        Some(("divergence", "compiler")),
        "registers that only some lanes may write are never scalar, by the compiler's marks",
    ),
    choice(
        "unguarded",
        Some(("divergence", "unguarded")),
        "nothing guards scalar registers that only some lanes write: the paper's original, which is wrong",
    ),
];

/// The parts of a core's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CoreName<'a> {
    pub design: &'static str,
    /// Parameters of the design, with their values, in the order in which they are set.
    pub parameters: Settings<'a>,
    /// The scalar path, if there is one.
    pub scalar: Option<ScalarConfig>,
}

impl<'a> CoreName<'a> {
    /// Takes `core` apart. Parameters of the design are not checked.
    ///
    /// # Errors
    /// No design, an unknown one, an unknown choice or parameter of the scalar path, or choices without `scalar`
    /// before them; the message names the valid ones.
    pub fn parse(core: &'a str) -> Result<Self, String> {
        let mut parts = core.split('+').map(str::trim);
        let first = parts.next().unwrap_or_default();
        if first.is_empty() {
            let core = excerpt(core);
            return Err(format!("`{core}` names no core design; write for instance `inorder{core}`"));
        }
        let (name, given) = with_parameters(first)?;
        let (design, mut parameters) = match designs::stands_for(name) {
            Some(setting) => with_parameters(setting)?,
            None => (name, Vec::new()),
        };
        let design = designs::find(design).ok_or_else(|| designs::unknown(name))?.name;
        parameters.extend(given);
        let scalar = scalar_path(core, first, parts)?;
        Ok(Self { design, parameters, scalar })
    }

    /// The configuration of the design with the parameters set.
    ///
    /// # Errors
    /// There is no such parameter, or it does not take its value.
    pub fn config<C: Parameters>(&self) -> Result<C, String> {
        parameters::configured(&format!("core design `{}`", self.design), &self.parameters)
    }

    /// How machines of the core are made, if it is not an SM.
    ///
    /// # Errors
    /// It is not an SM, and its name has a scalar path or a parameter that the core does not have.
    pub fn other(&self) -> Result<Option<&'static Other>, String> {
        let Self { design, parameters, scalar } = self;
        let Some(other) = designs::find(design).and_then(|design| design.other.as_ref()) else { return Ok(None) };
        if scalar.is_some() {
            return Err(format!("core `{design}` is not an SM and has no operand stage for a scalar path"));
        }
        other.check(design, parameters)?;
        Ok(Some(other))
    }
}

/// A name and the parameters after its colon.
fn with_parameters(text: &str) -> Result<(&str, Settings<'_>), String> {
    parameters::split(text, "ghost:issue_buffer=16,guarded=false")
}

/// The scalar path of `core`, whose design may be unregistered.
///
/// # Errors
/// As [`CoreName::parse`], of the scalar path.
pub(crate) fn scalar_path_of(core: &str) -> Result<Option<ScalarConfig>, String> {
    let mut parts = core.split('+').map(str::trim);
    let design = parts.next().unwrap_or_default();
    scalar_path(core, design, parts)
}

/// The scalar path that `choices` describe, which follow `design` in `core`.
fn scalar_path<'a>(
    core: &str,
    design: &str,
    choices: impl Iterator<Item = &'a str>,
) -> Result<Option<ScalarConfig>, String> {
    let mut scalar: Option<ScalarConfig> = None;
    let mut seen = BTreeSet::new();
    let shown = excerpt(core);
    for part in choices {
        let (name, parameters) = with_parameters(part)?;
        if !seen.insert(name) {
            return Err(format!("`{shown}`: `{}` is chosen twice", excerpt(name)));
        }
        let Some(choice) = SCALAR_CHOICES.iter().find(|choice| choice.name == name) else {
            let known: Vec<&str> = SCALAR_CHOICES.iter().map(|choice| choice.name).collect();
            return Err(format!("`{shown}`: {}", suggest::unknown("choice", name, &known)));
        };
        let config = match choice.sets {
            None => scalar.get_or_insert_default(),
            Some(_) => scalar.as_mut().ok_or_else(|| {
                format!("`{shown}`: `{name}` is a choice of the scalar path; write `{design}+scalar+{name}`")
            })?,
        };
        for (key, value) in choice.sets.into_iter().chain(parameters) {
            config.set(key, value).map_err(|problem| format!("scalar path: {problem}"))?;
        }
    }
    if ["compiler", "unguarded"].iter().all(|choice| seen.contains(choice)) {
        return Err(format!("`{shown}`: `compiler` guards scalar registers and `unguarded` does not; choose one"));
    }
    Ok(scalar)
}

/// The parameters of the design that `core` names, with what `core` sets them to as their defaults.
///
/// # Errors
/// There is no such core.
pub fn core_parameters(core: &str) -> Result<Vec<Parameter>, String> {
    let name = CoreName::parse(core)?;
    let schema = designs::find(name.design).map_or_else(Vec::new, Design::parameters);
    Ok(parameters::with_defaults(schema, &name.parameters))
}

/// The parameters of a scalar path.
pub fn scalar_parameters() -> Vec<Parameter> {
    ScalarConfig::schema()
}

/// The core `core` with one more parameter set; `None` if its design has no such parameter.
///
/// # Errors
/// There is no such core.
pub fn with_parameter(core: &str, name: &str, value: &str) -> Result<Option<String>, String> {
    let has_it = core_parameters(core)?.iter().any(|parameter| parameter.name == name);
    Ok(has_it.then(|| parameters::with(core, name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::designs::ghost::GhostConfig;
    use sm::scalar::Divergence;

    fn scalar(core: &str) -> Option<ScalarConfig> {
        CoreName::parse(core).unwrap().scalar
    }

    fn error(core: &str) -> String {
        CoreName::parse(core).unwrap_err()
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(CoreName::parse("ghost").unwrap().design, "ghost");
        assert_eq!(scalar("ghost"), None);
        assert_eq!(scalar("ghost+scalar"), Some(ScalarConfig::default()));
        let of = scalar("inorder+scalar+half+memory+compiler").unwrap();
        assert!(of.halves && of.memory && of.divergence == Divergence::Compiler);
        assert_eq!(scalar("inorder+scalar+noalu").unwrap().alus, 0);
        assert_eq!(scalar("inorder+scalar:alus=4,clock=1").unwrap().alus, 4);
    }

    #[test]
    fn parameters_are_set_after_those_of_a_short_name() {
        let config = |core| CoreName::parse(core).unwrap().config::<GhostConfig>();
        assert_eq!(config("ghost-16").unwrap(), GhostConfig { issue_buffer: 16, ..GhostConfig::default() });
        let expected = GhostConfig { issue_buffer: 12, guarded: false, ..GhostConfig::default() };
        assert_eq!(config("ghost-16:guarded=false , issue_buffer = 12+scalar").unwrap(), expected);
        let error = config("ghost:issue_buffer=65").unwrap_err();
        assert_eq!(error, "core design `ghost`: `issue_buffer` is 1 to 64, and `65` is not");
        assert!(config("ghost:size=1").unwrap_err().contains("its parameters are issue_buffer"));
    }

    #[test]
    fn every_choice_is_understood() {
        for choice in &SCALAR_CHOICES[1..] {
            assert_ne!(scalar(&format!("inorder+scalar+{}", choice.name)), scalar("inorder+scalar"), "{choice:?}");
        }
    }

    #[test]
    fn a_design_of_someone_else_may_have_a_scalar_path() {
        assert_eq!(scalar_path_of("sidestep"), Ok(None));
        assert_eq!(scalar_path_of("sidestep+scalar"), Ok(Some(ScalarConfig::default())));
    }

    #[test]
    fn a_parameter_is_added() {
        let with = |core| with_parameter(core, "issue_buffer", "4").unwrap();
        assert_eq!(with("ghost").unwrap(), "ghost:issue_buffer=4");
        assert_eq!(with("ghost:guarded=false+scalar").unwrap(), "ghost:guarded=false,issue_buffer=4+scalar");
        assert_eq!(with("inorder"), None);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let wrong = error("inorder+scaler");
        assert!(wrong.contains("`scaler`") && wrong.contains("scalar"), "{wrong}");
        assert!(error("inorder+half").contains("`inorder+scalar+half`"));
        assert!(error("inorder+scalar+half+half").contains("twice"));
        assert!(error("inorder+scalar+compiler+unguarded").contains("choose one"));
        assert!(error("+scalar").contains("`inorder+scalar`"));
        assert!(error("ghost:issue_buffer").contains("expected NAME=VALUE"));
        assert!(error("ghost:guarded=true,guarded=false").contains("`guarded` is set twice"));
        assert!(error("inorder+scalar:alu=2").contains("its parameters are alus"));
        assert!(error("ghots:guarded=true").contains("did you mean `ghost`?"));
    }
}
