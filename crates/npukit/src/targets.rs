//! List of accelerators, and parsing of names: `tcu`, `tcu:PRESET`, `tcu:path/to/file.tarch`. The
//! last two may be followed by `@SYSTEM` and by parameters such as `,array_size=8`.

pub(crate) mod list;

use std::path::Path;

use npukit_base::closest;
use npukit_target::{
    Compiled, Instance, InstanceSpec, Reader, SEGMENTS_EXTENSION, Setting, Target, TargetError,
    load_segments, segments_target, split_parameters, split_system, with_parameters,
};

use crate::error::Error;
use crate::model::confined::Confined;
pub use list::{default_target, first_instance, targets};

/// Returns the accelerator called `name`.
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`] if no accelerator has this name.
pub fn target(name: &str) -> Result<&'static Target, Error> {
    targets().iter().copied().find(|target| target.name == name).ok_or_else(|| Error::UnknownTarget {
        name: name.to_owned(),
        meant: meant(name),
        known: targets().iter().map(|target| target.name).collect::<Vec<_>>().join(", "),
    })
}

/// Returns the target or instance closest to a misspelled `name`. For a file, it is the target that
/// reads its extension.
fn meant(name: &str) -> Option<String> {
    let reads = |target: &&Target| target.config_extensions.iter().any(|ending| has_extension(name, ending));
    if let Some(target) = targets().iter().copied().find(|target| reads(target)) {
        return Some(format!("{}:{name}", target.name));
    }
    if let Some(near) = closest(name, targets().iter().map(|target| target.name)) {
        return Some(near.to_owned());
    }
    let presets = targets().iter().flat_map(|target| {
        target
            .presets()
            .into_iter()
            .map(|preset| (preset.name.clone(), format!("{}:{}", target.name, preset.name)))
    });
    let specs: Vec<(String, String)> = presets.collect();
    let near = closest(name, specs.iter().map(|(preset, _)| preset.as_str()))?;
    specs.iter().find(|(preset, _)| preset == near).map(|(_, spec)| spec.clone())
}

/// Returns the instance that `spec` names. The part after the colon is a file if it contains a
/// folder or has an extension of the target's configuration files. A name after `@` selects one of
/// its systems.
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`]; [`Error::Read`] if the file cannot be read; [`Error::Target`]
/// if the built-in instance does not exist or the file does not describe an instance.
pub fn resolve(spec: &str, reader: &dyn Reader) -> Result<Box<dyn Instance>, Error> {
    let (name, instance) = instance_of(spec);
    let target = target(name)?;
    let Some(instance) = instance else {
        return Ok(target.instance(InstanceSpec::Default)?);
    };
    if !is_file(target, instance) {
        return Ok(target.instance(InstanceSpec::Preset(instance))?);
    }
    let bytes = reader.read(plain(instance))?;
    Ok(target.instance(InstanceSpec::File { name: instance, bytes: &bytes })?)
}

/// Returns the name of the instance of `spec` that follows the target's specification to the letter
/// ([`Target::strict`]).
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`], or [`Error::Target`] for a target without such instances. Also
/// for an instance from a file, which must select this itself.
pub fn strict(spec: &str) -> Result<String, Error> {
    let (name, instance) = instance_of(spec);
    let target = target(name)?;
    let refused = |reason: String| Error::from(TargetError::option("strict-draft", spec, reason));
    let Some(suffix) = target.strict else {
        return Err(refused(format!(
            "{name} has no instances that follow the specification to the letter: its README lists the available suffixes"
        )));
    };
    let instance = instance.map_or_else(|| default_instance(target), |instance| Ok(instance.to_owned()))?;
    if is_file(target, &instance) {
        return Err(refused(format!(
            "an instance from a file must select this in the file; for a built-in instance, write `{name}:PRESET+{suffix}`"
        )));
    }
    let (board, _) = split_parameters(&instance);
    let settings = &instance[board.len()..];
    let (preset, system) = split_system(board);
    let is_strict = preset.rsplit_once('+').is_some_and(|(_, last)| last == suffix);
    let preset = if is_strict { preset.to_owned() } else { format!("{preset}+{suffix}") };
    let system = system.map(|system| format!("@{system}")).unwrap_or_default();
    Ok(format!("{name}:{preset}{system}{settings}"))
}

/// Returns the name of the instance of `spec` with these parameters. Without an instance, the
/// target's default instance is used.
///
/// ```
/// # use npukit::{target_with, targets};
/// let target = targets()[0].name;
/// let spec = target_with(&format!("{target}:mine"), &[("array_size", "8")])?;
/// assert_eq!(spec, format!("{target}:mine,array_size=8"));
/// # Ok::<(), npukit::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`], or [`Error::Target`] for parameters with illegal characters.
pub fn target_with(spec: &str, settings: &[Setting<'_>]) -> Result<String, Error> {
    if settings.is_empty() {
        return Ok(spec.to_owned());
    }
    let (name, instance) = instance_of(spec);
    let instance = match instance {
        Some(instance) => instance.to_owned(),
        None => default_instance(target(name)?)?,
    };
    let set = with_parameters(&instance, settings);
    let set = set.map_err(|reason| TargetError::option("target", spec, reason))?;
    Ok(format!("{name}:{set}"))
}

/// Returns the instance that `spec` stands for if it is the name of a target alone.
///
/// ```
/// # use npukit::{default_spec, targets};
/// let target = targets()[0].name;
/// assert!(default_spec(target).is_some_and(|spec| spec.starts_with(&format!("{target}:"))));
/// assert_eq!(default_spec(&format!("{target}:mine")), None);
/// ```
pub fn default_spec(spec: &str) -> Option<String> {
    let instance = default_instance(target(spec).ok()?).ok()?;
    (!instance.is_empty()).then(|| format!("{spec}:{instance}"))
}

/// Resolves a file in `spec` relative to `folder`, and returns the resulting name.
///
/// ```
/// # use npukit::{target_in, targets};
/// let target = targets()[0].name;
/// assert_eq!(target_in("boards", &format!("{target}:./mine")), format!("{target}:boards/./mine"));
/// assert_eq!(target_in("boards", target), target);
/// ```
pub fn target_in(folder: &str, spec: &str) -> String {
    match (instance_of(spec), target(instance_of(spec).0)) {
        ((name, Some(instance)), Ok(target)) if is_file(target, instance) => {
            format!("{name}:{}", Path::new(folder).join(instance).display())
        }
        _ => spec.to_owned(),
    }
}

/// Returns the instance that the target's name alone stands for.
fn default_instance(target: &Target) -> Result<String, TargetError> {
    let name = target.instance(InstanceSpec::Default)?.info().name.clone();
    // Default: an instance with the name of its target has no name of its own.
    Ok(instance_of(&name).1.unwrap_or_default().to_owned())
}

/// Whether the part after the colon is a file.
fn is_file(target: &Target, instance: &str) -> bool {
    let path = plain(instance);
    path.contains(['/', '\\'])
        || target.config_extensions.iter().any(|extension| has_extension(path, extension))
}

/// Returns the built-in instance or file of `instance`, without its system and parameters.
fn plain(instance: &str) -> &str {
    split_system(split_parameters(instance).0).0
}

/// Splits `spec` into target and instance.
pub(crate) fn instance_of(spec: &str) -> (&str, Option<&str>) {
    match spec.split_once(':') {
        Some((name, instance)) => (name, Some(instance)),
        None => (spec, None),
    }
}

/// Whether `path` has the extension of an artifact, of a target or in segments.
pub fn is_artifact(path: &str) -> bool {
    artifact_target(path).is_some() || has_extension(path, SEGMENTS_EXTENSION)
}

/// Reads the artifact at `path`; returns `None` if it is not one.
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`] for segments of an unknown target, and [`Error::Target`] for an
/// artifact that cannot be read.
pub(crate) fn load(path: &str, reader: &dyn Reader) -> Result<Option<Artifact>, Error> {
    let Some(target) = target_of_artifact(path, reader)? else { return Ok(None) };
    let files = Confined { reader, manifest: path };
    let compiled = if has_extension(path, SEGMENTS_EXTENSION) {
        load_segments(path, &files, &|path, files| target.load(path, files))?
    } else {
        target.load(path, &files)?
    };
    Ok(Some(Artifact { target, compiled }))
}

/// Returns the target of the artifact at `path`, if it is one. For an artifact in segments, the
/// manifest names the target.
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`] or [`Error::Target`] if the manifest of segments does not name
/// a valid target.
pub(crate) fn target_of_artifact(path: &str, reader: &dyn Reader) -> Result<Option<&'static Target>, Error> {
    if has_extension(path, SEGMENTS_EXTENSION) {
        return target(instance_of(&segments_target(path, reader)?).0).map(Some);
    }
    Ok(artifact_target(path))
}

/// Artifact that was read.
pub(crate) struct Artifact {
    pub target: &'static Target,
    pub compiled: Box<dyn Compiled>,
}

/// Returns the target whose artifacts have the extension of `path`; `None` for artifacts in
/// segments.
pub fn artifact_target(path: &str) -> Option<&'static Target> {
    let is_its = |target: &&Target| target.artifact_extensions.iter().any(|e| has_extension(path, e));
    targets().iter().copied().find(is_its)
}

/// Returns the display name of the cost model with the key `key` in reports of `target`.
///
/// ```
/// # use npukit::{cost_model_name, targets};
/// let target = targets()[0].name;
/// assert_eq!(cost_model_name(&format!("{target}:mine"), "estimator"), "estimator");
/// assert_eq!(cost_model_name(target, "estimator_undrained"), "estimator, undrained");
/// ```
pub fn cost_model_name(spec: &str, key: &str) -> String {
    // A report of an unknown target has no display names.
    let names = target(instance_of(spec).0).map_or(&[][..], |target| target.cost_model_names);
    let named = names.iter().find(|(model, _)| *model == key);
    named.map_or_else(|| key.replace('_', ", "), |(_, name)| (*name).to_owned())
}

/// Returns the extensions of all artifacts, for messages.
pub(crate) fn artifact_extensions() -> String {
    let all = targets().iter().flat_map(|target| target.artifact_extensions);
    let all = all.copied().chain([SEGMENTS_EXTENSION]);
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
        assert_eq!(resolve("tcu", &no_files).unwrap().info().name, "tcu:pynqz1");
        assert_eq!(resolve("tcu:ultra96v2", &no_files).unwrap().info().name, "tcu:ultra96v2");
    }

    #[test]
    fn files_are_read_and_names_are_usage() {
        let file = |spec: &str| resolve(spec, &no_files).err().unwrap();
        assert!(matches!(file("tcu:my.tarch"), Error::Read(_)));
        assert!(matches!(file("tcu:folder/x"), Error::Read(_)));
        let Error::Read(error) = file("tcu:my.tarch@fast") else { panic!("the file is read") };
        assert_eq!(error, ReadError::Absent { path: "my.tarch".to_owned() });
        let Error::Read(error) = file("tcu:my.tarch@fast,array_size=8") else { panic!("the file is read") };
        assert_eq!(error, ReadError::Absent { path: "my.tarch".to_owned() });
        assert!(file("tcu:nowhere").is_usage());
        assert!(file("gpu").is_usage());
    }

    #[test]
    fn parameters_are_set_behind_the_name() {
        for (spec, parameter) in [
            ("tcu:ultra96v2+lut,array_size=8", "/array_size"),
            ("opu:reference,macs_per_cycle=8", "/timing/macs_per_cycle"),
        ] {
            let instance = resolve(spec, &no_files).unwrap();
            assert_eq!(instance.info().name, spec);
            assert_eq!(instance.info().config.pointer(parameter), Some(&8.into()), "{spec}");
        }
        let message = resolve("tcu:ultra96v2,array_sise=8", &no_files).err().unwrap().to_string();
        assert!(message.contains("unknown parameter `array_sise` (did you mean `array_size`?)"), "{message}");
        assert_eq!(strict("opu:ideal,clock_mhz=300").unwrap(), "opu:ideal+draft,clock_mhz=300");
    }

    #[test]
    fn misspelt_targets_and_instances_are_known() {
        let [name, ..] = [targets()[0].name];
        let preset = targets()[0].presets().remove(0).name;
        assert_eq!(meant(&name.to_uppercase()).as_deref(), Some(name));
        assert_eq!(meant(&preset), Some(format!("{name}:{preset}")));
        assert_eq!(meant("nothing like it"), None);
    }
}
