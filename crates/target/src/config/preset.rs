//! [`Preset`]: a built-in instance; [`InstanceSpec`]: source of an instance's parameters.

use serde::Serialize;

use crate::config::system::{NamedSystems, SystemName};

/// A built-in instance, as listed by `npu targets`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Preset {
    /// Name, as in `--target TARGET:NAME`.
    pub name: String,
    /// Parameters, in one line.
    pub summary: String,
    /// Systems in addition to its own, for `--target TARGET:NAME@SYSTEM`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<PresetSystem>,
}

/// Clock, bus and memory around an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PresetSystem {
    /// Name of the system.
    pub name: String,
    /// Figures of the system, in one line.
    pub summary: String,
}

impl PresetSystem {
    /// Lists all `systems`, sorted by name.
    pub fn list<S>(systems: &NamedSystems<S>, summary: impl Fn(&S) -> String) -> Vec<Self> {
        let one = |(name, system): (&SystemName, &S)| Self {
            name: name.as_str().to_owned(),
            summary: summary(system),
        };
        systems.iter().map(one).collect()
    }
}

/// Source of an instance's parameters.
#[derive(Clone, Copy, Debug)]
pub enum InstanceSpec<'a> {
    /// The default instance of the target.
    Default,
    /// A built-in instance, optionally with `@` and a system and with parameters as `,NAME=VALUE`.
    Preset(&'a str),
    /// A configuration file, with its content.
    File {
        /// Path of the file, for errors and artifact names; a system and parameters may follow, as
        /// for a built-in instance.
        name: &'a str,
        /// Content of the file.
        bytes: &'a [u8],
    },
}
