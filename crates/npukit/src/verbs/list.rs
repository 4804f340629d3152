//! `npu targets`: lists the accelerators, the built-in instances, and the parameters of an
//! instance.

use npukit_report::figure;
use npukit_target::{OptionSpec, Preset, Target, parameters, with_system};
use serde::Serialize;

use crate::Context;
use crate::boards::Kit;
use crate::error::Error;
use crate::targets::{instance_of, resolve, target, targets};

/// Description of an accelerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TargetReport {
    /// Name, as in `--target NAME`.
    pub name: String,
    /// One-line description.
    pub summary: String,
    /// Built-in instances, as in `--target NAME:PRESET`.
    pub presets: Vec<Preset>,
}

impl TargetReport {
    /// Returns the names of its instances as in `--target`, each followed by those with a system,
    /// and their descriptions.
    pub fn instances(&self) -> impl Iterator<Item = (String, &str)> {
        self.presets.iter().flat_map(|preset| {
            let name = format!("{}:{}", self.name, preset.name);
            let systems: Vec<_> = preset
                .systems
                .iter()
                .map(|system| (with_system(&name, &system.name), system.summary.as_str()))
                .collect();
            std::iter::once((name, preset.summary.as_str())).chain(systems)
        })
    }
}

/// Returns the tools that make the bitstream of a system for the instance called `name`, which
/// `npu rtl --board` writes; `None` without such a system.
pub fn tools(name: &str) -> Option<&'static str> {
    let preset = name.split_once(':').map_or(name, |(_, preset)| preset);
    match Kit::find(preset).ok()? {
        Kit::Open(_) => Some("open tools"),
        Kit::Vendor(_) => Some("Vivado"),
    }
}

/// Lists all accelerators.
pub fn list() -> Vec<TargetReport> {
    targets().iter().map(|target| report(target)).collect()
}

/// Describes the accelerator called `name`.
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`] if no accelerator has this name.
pub fn list_one(name: &str) -> Result<TargetReport, Error> {
    Ok(report(target(name)?))
}

/// Returns the options of the accelerator of `spec`, with or without an instance.
///
/// # Errors
///
/// Fails as [`resolve`] does.
pub fn options(spec: &str, context: Context<'_>) -> Result<&'static [OptionSpec], Error> {
    let (name, instance) = instance_of(spec);
    if instance.is_some() {
        resolve(spec, context.reader)?;
    }
    Ok(target(name)?.options)
}

/// Parameter of an instance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Parameter {
    /// Full name; the part after its last dot is enough if it is unique.
    pub name: String,
    /// Value of the parameter; null if it has none.
    pub value: serde_json::Value,
}

/// Returns the parameters of the instance `spec`, which may be set after its name.
///
/// # Errors
///
/// Fails as [`resolve`] does.
pub fn parameters_of(spec: &str, context: Context<'_>) -> Result<Vec<Parameter>, Error> {
    let tree = resolve(spec, context.reader)?.info().parameters.clone();
    let leaves = parameters::leaves(&tree);
    Ok(leaves.into_iter().map(|(name, value)| Parameter { name, value: value.clone() }).collect())
}

/// Block diagram of the instance `spec` as SVG: its units, memories and data paths, with their
/// sizes.
///
/// # Errors
///
/// Errors of [`resolve`]; a target that provides no diagram.
pub fn drawing(spec: &str, context: Context<'_>) -> Result<String, Error> {
    let instance = resolve(spec, context.reader)?;
    let info = instance.info();
    let drawing = figure::diagram(&info.diagram, &format!("block diagram of {}", info.name));
    drawing.ok_or_else(|| info.unsupported("targets --svg").into())
}

fn report(target: &Target) -> TargetReport {
    TargetReport {
        name: target.name.to_owned(),
        summary: target.summary.to_owned(),
        presets: target.presets(),
    }
}
