//! The user's settings, from environment variables: `warpwright exec` sets them, and so can a user.

use crate::host::Host;
use lab::Setup;
use request::{Options, Way, environment, sweep};
use std::env::VarError;

/// The devices that a program sees, by number: CUDA's own variable.
const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// The user's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The devices, each with its core design.
    pub devices: Vec<Setup>,
    /// The options, for the report.
    pub options: Options,
}

impl Settings {
    /// Reads the settings; `get` gives the value of a variable.
    ///
    /// # Errors
    /// A variable has no meaning: all problems.
    pub fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let options = environment::read(get).map_err(|e| e.message)?;
        let devices = sweep::devices(&options).map_err(|e| e.message)?;
        Ok(Self { devices: visible(devices, get(VISIBLE_DEVICES).as_deref()), options })
    }

    /// As [`Settings::read`], from the variables of the process. Problems are reported to the user, and leave a process
    /// without devices.
    pub fn from_environment(host: &dyn Host) -> Self {
        let is_text = |name: &String| !matches!(std::env::var(name), Err(VarError::NotUnicode(_)));
        let names = environment::names().into_iter().chain([VISIBLE_DEVICES.to_owned()]);
        let read = match names.into_iter().find(|name| !is_text(name)) {
            Some(name) => Err(format!("{name}: its value is not UTF-8")),
            None => Self::read(&|name| std::env::var(name).ok()),
        };
        read.unwrap_or_else(|problems| {
            host.message(&format!("{problems}\nno device is simulated"));
            Self { devices: Vec::new(), options: Options { quiet: true, ..Options::new(Way::Exec) } }
        })
    }
}

/// The devices that a list of numbers lets a program see: up to the first number that is none.
fn visible(devices: Vec<Setup>, list: Option<&str>) -> Vec<Setup> {
    let Some(list) = list else { return devices };
    let mut seen = Vec::new();
    for entry in list.split(',') {
        match entry.trim().parse::<usize>() {
            Ok(number) if number < devices.len() && !seen.contains(&number) => seen.push(number),
            _ => break,
        }
    }
    seen.into_iter().map(|number| devices[number].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn variables_choose_devices_and_kernels() {
        let settings = read(&[
            ("WARPWRIGHT_GPU", "v100,rtx2060s"),
            ("WARPWRIGHT_CORE", "ghost"),
            ("WARPWRIGHT_TIME", "kernels=add, mul"),
            ("WARPWRIGHT_SET", "sm_count=4"),
            ("CUDA_VISIBLE_DEVICES", "1,0,7,0"),
        ]);
        let settings = settings.unwrap();
        let names: Vec<&str> = settings.devices.iter().map(|d| &*d.gpu.name).collect();
        assert_eq!(names, ["rtx2060s", "v100"]);
        assert_eq!((settings.devices[0].gpu.sm_count, &*settings.devices[0].core), (4, "ghost"));
        let time = &settings.devices[1].time;
        assert!(time.includes(0, "_Z3addPf") && time.includes(1, "mul") && !time.includes(2, "sub"));
    }

    #[test]
    fn a_gpu_that_does_not_exist_is_reported() {
        assert!(read(&[("WARPWRIGHT_GPU", "rtx2060")]).unwrap_err().contains("rtx2060"));
        let several = read(&[("WARPWRIGHT_CORE", "ghost,inorder")]).unwrap_err();
        assert!(several.contains("--core: one machine at a time"), "{several}");
    }
}
