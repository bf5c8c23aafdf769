//! The hardware structures of core designs.

use crate::core_name::CoreName;
use crate::design_cost::Process;
use crate::error::RunError;
use crate::for_core::{ForCore, check_core_on, core_spec, for_core};
use crate::setup::Setup;
use energy::Hardware;
use isa::Form;
use sm::{ConfigOf, CoreDesign, CoreSpec, IssuePolicy, Structure, WarpMask};

/// The hardware structures of the core design that `setup` names, in an SM of its GPU.
///
/// # Errors
/// There is no such design or scheduler, or the description cannot be built.
pub fn structures(setup: &Setup) -> Result<Vec<Structure>, RunError> {
    struct StructuresOf(CoreSpec);
    impl ForCore for StructuresOf {
        type Output = Vec<Structure>;
        fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> Vec<Structure> {
            D::Issue::new(config, &self.0).structures()
        }
    }
    let options = setup.core_options().map_err(RunError::input)?;
    let spec = core_spec(&setup.core, &setup.gpu, Form::Sass, options).map_err(RunError::input)?;
    let scalar = spec.options.scalar.map_or(Vec::new(), |scalar| scalar.structures(&spec));
    let build = if spec.sm.max_warps as usize <= u64::SLOTS { for_core::<u64, _> } else { for_core::<u128, _> };
    check_core_on(&setup.core, &spec).map_err(RunError::input)?;
    let mut all = build(&setup.core, StructuresOf(spec)).map_err(RunError::input)?;
    all.extend(scalar);
    Ok(all)
}

/// Structures of the core that `setup` names, in `process`; `None` of an SM, which has [`structures`] beyond its GPU's,
/// and of a core without hardware.
///
/// # Errors
/// There is no such core or parameter, or the description and the parameters do not fit together.
pub fn hardware(setup: &Setup, process: Process) -> Result<Option<Hardware>, String> {
    let name = CoreName::parse(&setup.core)?;
    let Some(other) = name.other()? else { return Ok(None) };
    other.hardware(&setup.gpu, name.design, &name.parameters, process)
}

/// The structures of the in-order core on the GPU of `setup`. Their energy is in the events.
///
/// # Errors
/// The description cannot be built.
pub fn in_order(setup: &Setup) -> Result<Vec<Structure>, RunError> {
    structures(&Setup { core: "inorder".to_owned(), ..setup.clone() })
}
