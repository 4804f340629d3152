//! What a compilation may be asked for: [`Options`], declared as [`OPTIONS`].

use std::collections::BTreeMap;

use npukit_target::{Aliases, Chosen, OptionError, OptionSpec, SEGMENTS, Stage, Values};

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
    /// 8 bits, and 8 of what they leave: every product is computed twice. Several rows that are not whole words of
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

/// Every option of this target.
#[rustfmt::skip] // A table.
pub const OPTIONS: [OptionSpec; 6] = [
    SEGMENTS,
    OptionSpec {
        key: "isa",
        values: Values::Choice(&["base", "ext"]),
        default: "the instance's",
        doc: "whether the extensions MUL, RELU and TANH are used: `base` has elementwise products as host steps",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "kv",
        values: Values::Choice(&["npu", "host"]),
        default: "npu",
        doc: "where attention is computed: `npu` with keys and values as 4-bit weights, `host` in float",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "gelu",
        values: Values::Choice(&["tanh", "exact"]),
        default: "tanh",
        doc: "what becomes of a Gelu by the error function: `tanh` is the machine's, `exact` a host step",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "activations",
        values: Values::Choice(&["8", "16"]),
        default: "8",
        doc: "bits of its activations that a product takes; with 16 it is computed twice",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "m_tile",
        values: Values::Whole { least: 1, most: 1024 },
        default: "16",
        doc: "most tokens of a prompt that are computed at once",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
];

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
        let chosen = Chosen::new("pccx", &OPTIONS, Stage::Compile, asked)?;
        let of = Self::of(config);
        let options = Self {
            isa: chosen.word("isa", isa).unwrap_or(of.isa),
            kv: chosen.word("kv", kv).unwrap_or(of.kv),
            gelu: chosen.word("gelu", gelu).unwrap_or(of.gelu),
            activations: chosen.word("activations", activations).unwrap_or(of.activations),
            m_tile: chosen.number("m_tile").unwrap_or(of.m_tile),
        };
        if options.isa == Isa::Ext && !config.extensions {
            let [key, value, reason] =
                ["isa", "ext", "the instance has no extensions; `pccx:extended` does"].map(str::to_owned);
            return Err(OptionError { key, value, reason });
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

fn isa(name: &str) -> Option<Isa> {
    match name {
        "base" => Some(Isa::Base),
        "ext" => Some(Isa::Ext),
        _ => None,
    }
}

fn kv(name: &str) -> Option<Kv> {
    match name {
        "npu" => Some(Kv::Npu),
        "host" => Some(Kv::Host),
        _ => None,
    }
}

fn gelu(name: &str) -> Option<Gelu> {
    match name {
        "tanh" => Some(Gelu::Tanh),
        "exact" => Some(Gelu::Exact),
        _ => None,
    }
}

fn activations(bits: &str) -> Option<Activations> {
    match bits {
        "8" => Some(Activations::Bits8),
        "16" => Some(Activations::Bits16),
        _ => None,
    }
}
