//! What a compilation may be asked for: [`Options`].

use std::collections::BTreeMap;

use thiserror::Error;

use crate::config::Config;

/// Whether CVO's extensions may be used (specification 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Only the five instructions as published: elementwise products are host steps.
    Base,
    /// MUL, RELU and TANH as well.
    Ext,
}

/// Where attention is computed (specification 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kv {
    /// On the machine, with keys and values as 4-bit weights.
    Npu,
    /// On the host in `f32`.
    Host,
}

/// What becomes of a Gelu by the error function, which the machine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// The machine's, by the hyperbolic tangent; they are at most 0.0005 apart.
    Tanh,
    /// A host step.
    Exact,
}

/// How much of its activations a product takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activations {
    /// The 8 bits of a block that the engines take (specification 4.4.1).
    Bits8,
    /// 8 bits, and 8 of what they leave: every product is computed twice. Several rows that are no whole words of
    /// L2 keep 8 bits.
    Bits16,
}

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `isa`: as the instance has it, when not said.
    pub isa: Isa,
    /// `kv`
    pub kv: Kv,
    /// `gelu`
    pub gelu: Gelu,
    /// `activations`
    pub activations: Activations,
    /// `m_tile`: most tokens of a prompt that are computed at once.
    pub m_tile: usize,
}

/// An option that is none, or has another value than it may.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("option `{key}={value}`: {reason}")]
pub struct OptionError {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What is legal.
    pub reason: String,
}

/// Tokens of a prompt computed at once when nobody says (specification 5.6).
const M_TILE: usize = 16;

impl Options {
    /// Those of an instance when nothing is asked for.
    pub const fn of(config: &Config) -> Self {
        let isa = if config.extensions { Isa::Ext } else { Isa::Base };
        Self { isa, kv: Kv::Npu, gelu: Gelu::Tanh, activations: Activations::Bits8, m_tile: M_TILE }
    }

    /// Those asked for by name.
    ///
    /// # Errors
    ///
    /// Other names and values, and extensions that the instance does not have.
    pub fn parse(config: &Config, asked: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        let mut options = Self::of(config);
        for (key, value) in asked {
            let wrong = |reason: &str| OptionError {
                key: key.clone(),
                value: value.clone(),
                reason: reason.to_owned(),
            };
            match (key.as_str(), value.as_str()) {
                ("isa", "base") => options.isa = Isa::Base,
                ("isa", "ext") if config.extensions => options.isa = Isa::Ext,
                ("isa", "ext") => {
                    return Err(wrong("the instance has no extensions; `pccx:extended` does"));
                }
                ("isa", _) => return Err(wrong("legal are base and ext")),
                ("kv", "npu") => options.kv = Kv::Npu,
                ("kv", "host") => options.kv = Kv::Host,
                ("kv", _) => return Err(wrong("legal are npu and host")),
                ("gelu", "tanh") => options.gelu = Gelu::Tanh,
                ("gelu", "exact") => options.gelu = Gelu::Exact,
                ("gelu", _) => return Err(wrong("legal are tanh and exact")),
                ("activations", "8") => options.activations = Activations::Bits8,
                ("activations", "16") => options.activations = Activations::Bits16,
                ("activations", _) => return Err(wrong("legal are 8 and 16")),
                ("m_tile", text) => {
                    let tile = text.parse().ok().filter(|tile| (1..=1024).contains(tile));
                    options.m_tile = tile.ok_or_else(|| wrong("legal are 1 to 1024"))?;
                }
                _ => return Err(wrong("pccx has the options isa, kv, gelu, activations and m_tile")),
            }
        }
        Ok(options)
    }

    /// As a report shows them.
    pub fn choices(&self) -> BTreeMap<String, String> {
        let isa = if self.isa == Isa::Ext { "ext" } else { "base" };
        let kv = if self.kv == Kv::Npu { "npu" } else { "host" };
        let activations = if self.activations == Activations::Bits8 { "8" } else { "16" };
        [("isa", isa), ("kv", kv), ("activations", activations)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }
}
