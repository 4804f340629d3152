//! [`Preset`]: an instance that comes with npukit; [`Config`]: where the parameters of one come from.

use serde::Serialize;

use crate::config::system::{NamedSystems, SystemName};

/// An instance that comes with npukit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Preset {
    /// Name, as in `--target TARGET:NAME`.
    pub name: String,
    /// Its parameters in a line.
    pub summary: String,
    /// The systems it has beside its own: `--target TARGET:NAME@SYSTEM`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<PresetSystem>,
}

/// A clock, bus and memory that an instance may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PresetSystem {
    /// Name.
    pub name: String,
    /// What it states, in a line.
    pub summary: String,
}

impl PresetSystem {
    /// All of `systems`, by their names.
    pub fn list<S>(systems: &NamedSystems<S>, summary: impl Fn(&S) -> String) -> Vec<Self> {
        let one = |(name, system): (&SystemName, &S)| Self {
            name: name.as_str().to_owned(),
            summary: summary(system),
        };
        systems.iter().map(one).collect()
    }
}

/// Where an instance's parameters come from.
#[derive(Clone, Copy, Debug)]
pub enum Config<'a> {
    /// The default one.
    Default,
    /// A preset, with `@` one of its systems and with `,NAME=VALUE` parameters of its own.
    Preset(&'a str),
    /// The bytes of a configuration file.
    File {
        /// Name of the file, for errors and for naming artifacts, with what may follow a preset.
        name: &'a str,
        /// Content.
        bytes: &'a [u8],
    },
}
