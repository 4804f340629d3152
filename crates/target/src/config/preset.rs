//! [`Preset`]: an instance that comes with npukit; [`Config`]: where the parameters of one come from.

use serde::Serialize;

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
