//! The list of accelerators, and how one is named: `tcu`, `tcu:PRESET`, `tcu:path/to/file.tarch`.

use npukit_target::{Config, Instance, Reader, Target};

use crate::error::Error;

/// All accelerators, a line for each.
#[rustfmt::skip]
static TARGETS: &[&dyn Target] = &[
    &npukit_tcu::Tcu,
    &npukit_opu::Opu,
    &npukit_pccx::Pccx,
    &npukit_drra::Drra,
];

/// All accelerators.
pub fn targets() -> &'static [&'static dyn Target] {
    TARGETS
}

/// The target a name stands for when none is given.
pub fn default_target() -> &'static dyn Target {
    targets()[0]
}

/// The accelerator called `name`.
///
/// # Errors
///
/// [`Error::UnknownTarget`] when there is none of this name.
pub fn target(name: &str) -> Result<&'static dyn Target, Error> {
    targets().iter().copied().find(|target| target.name() == name).ok_or_else(|| Error::UnknownTarget {
        name: name.to_owned(),
        known: targets().iter().map(|target| target.name()).collect::<Vec<_>>().join(", "),
    })
}

/// The instance `spec` names; what is after the colon is a file when it has a folder or the ending
/// of the target's configuration files.
///
/// # Errors
///
/// [`Error::UnknownTarget`]; [`Error::Read`] when the file cannot be read; [`Error::Target`] when the preset
/// does not exist or the file does not describe an instance.
pub fn resolve(spec: &str, reader: &dyn Reader) -> Result<Box<dyn Instance>, Error> {
    let (name, instance) = instance_of(spec);
    let target = target(name)?;
    let Some(instance) = instance else {
        return Ok(target.instance(Config::Default)?);
    };
    let is_file = instance.contains(['/', '\\'])
        || target.config_extensions().iter().any(|extension| has_extension(instance, extension));
    if !is_file {
        return Ok(target.instance(Config::Preset(instance))?);
    }
    let bytes = reader.read(instance)?;
    Ok(target.instance(Config::File { name: instance, bytes: &bytes })?)
}

/// The target and the instance that `spec` names.
pub(crate) fn instance_of(spec: &str) -> (&str, Option<&str>) {
    match spec.split_once(':') {
        Some((name, instance)) => (name, Some(instance)),
        None => (spec, None),
    }
}

/// The target whose artifacts end as `path` does.
pub(crate) fn artifact_target(path: &str) -> Option<&'static dyn Target> {
    let is_its = |target: &&dyn Target| target.artifact_extensions().iter().any(|e| has_extension(path, e));
    targets().iter().copied().find(is_its)
}

/// Endings of all artifacts, for messages.
pub(crate) fn artifact_extensions() -> String {
    let all = targets().iter().flat_map(|target| target.artifact_extensions());
    all.map(|extension| format!(".{extension}")).collect::<Vec<_>>().join(", ")
}

/// Whether `path` ends in `.extension`.
pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    path.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use npukit_target::ReadError;

    fn no_files(path: &str) -> Result<Vec<u8>, ReadError> {
        Err(ReadError::Absent { path: path.to_owned() })
    }

    #[test]
    fn instances_have_names() {
        assert_eq!(resolve("tcu", &no_files).unwrap().name(), "tcu:pynqz1");
        assert_eq!(resolve("tcu:ultra96v2", &no_files).unwrap().name(), "tcu:ultra96v2");
    }

    #[test]
    fn files_are_read_and_names_are_usage() {
        let file = |spec: &str| resolve(spec, &no_files).err().unwrap();
        assert!(matches!(file("tcu:my.tarch"), Error::Read(_)));
        assert!(matches!(file("tcu:folder/x"), Error::Read(_)));
        assert!(file("tcu:nowhere").is_usage());
        assert!(file("gpu").is_usage());
    }
}
