//! Compile options: [`Options`], declared as [`OPTIONS`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use npukit_numeric::BLOCK;
use npukit_target::{Aliases, Chosen, OptionError, OptionSpec, SEGMENTS, Stage, Values};

use super::limits::LARGEST;
use crate::config::{Config, Reading};
use crate::program::host::Host;

/// Whether CVO's extensions may be used (specification 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Only the five published instructions: element-wise products are host steps.
    Base,
    /// Also MUL, RELU and TANH.
    Ext,
}

/// Place where attention is computed (specification 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kv {
    /// The machine, with keys and values as 4-bit weights.
    Npu,
    /// The host, in `f32`.
    Host,
}

/// Place where norms are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// The machine. Without MUL, gains are folded into the weights of the products that follow, and
    /// the host computes the sum of squares of each row. The host computes norms that other nodes
    /// also read.
    Npu,
    /// The host computes norms.
    Host,
}

/// Place where rotations of pairs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotations {
    /// The machine, with sines and cosines that it also computes. Without MUL, these pass through
    /// the host into the scales of two products.
    Npu,
    /// The machine, with sines and cosines from the host.
    Tables,
    /// The host computes rotations.
    Host,
}

/// Source of the scales of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scales {
    /// With the weights, one per row.
    Rows,
    /// MEMSET, one per matrix; only for instances that follow the page of the instruction set.
    Memset,
}

/// Path of weights to the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightPath {
    /// Streams through separate ports, bypassing L2.
    Stream,
    /// MEMCPY to L2 as far as there is room; only for instances that follow the page of the
    /// instruction set.
    Memcpy,
}

/// Treatment of a Gelu of the error function, which the machine does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// The machine approximates it with the hyperbolic tangent; the difference is at most 0.0005.
    Tanh,
    /// The host computes it exactly.
    Exact,
}

/// Number of bits of its activations that a product uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activations {
    /// The 8 bits of a block that the engines use (specification 4.4.1).
    Bits8,
    /// 16 bits as two 8-bit passes: quantized value, then residual. Several rows that are not whole
    /// words of L2 keep 8 bits.
    Bits16,
}

/// Number of bits that products use of constant weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightBits {
    /// The 4 bits of the engines, in one pass.
    Bits4,
    /// 8 bits as two 4-bit passes: quantized value and residual.
    Bits8,
    /// Chosen for each product from samples.
    Auto,
    /// Chosen from samples if there are any; otherwise 8 bits for weights that are 8-bit integers,
    /// and 4 for others.
    Fitting,
    /// Result of a choice per step.
    Steps {
        /// Numbers of the graph's steps that use 8 bits. All other steps use 4 bits.
        wide: Arc<BTreeSet<usize>>,
        /// Whether the choice was requested by [`Self::Auto`].
        is_auto: bool,
    },
}

impl WeightBits {
    /// Reads the compile options.
    ///
    /// # Errors
    /// The first illegal option.
    pub fn asked(options: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        asked_bits(&Chosen::new("pccx", &OPTIONS, Stage::Compile, options)?)
    }

    /// Whether a step's product uses 8 bits; false if not chosen yet.
    pub fn is_8(&self, step: usize) -> bool {
        match self {
            Self::Bits8 => true,
            Self::Steps { wide, .. } => wide.contains(&step),
            Self::Bits4 | Self::Auto | Self::Fitting => false,
        }
    }
}

/// Options of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `isa`; the default depends on the instance.
    pub isa: Isa,
    /// `kv`: place of attention.
    pub kv: Kv,
    /// `norms`: place of norms.
    pub norms: Norms,
    /// `rotations`: place of rotations; the default depends on whether the instance has MUL.
    pub rotations: Rotations,
    /// `scales`: source of scales.
    pub scales: Scales,
    /// `weights`: path of weights.
    pub weights: WeightPath,
    /// `gelu`: treatment of exact Gelus.
    pub gelu: Gelu,
    /// `activations`: bits of activations.
    pub activations: Activations,
    /// `weight_bits`: bits of constant weights.
    pub weight_bits: WeightBits,
    /// `m_tile`: maximum number of prompt tokens that are computed at once.
    pub m_tile: usize,
    /// `k_part`: maximum number of columns of a product of a language model; `None` for all.
    pub k_part: Option<usize>,
    /// `kv_bits`: bits of cached keys and values of language models.
    pub kv_bits: u32,
    /// `weights=file`: whether weights of language models keep the codes of their file.
    pub keeps_codes: bool,
}

/// All options of this target.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub const OPTIONS: [OptionSpec; 13] = [
    SEGMENTS,
    OptionSpec {
        key: "isa",
        values: Values::Choice(&["base", "ext"]),
        default: "the instance's",
        doc: "whether to use the extensions MUL, RELU and TANH; with `base` the host computes element-wise products",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "kv",
        values: Values::Choice(&["npu", "host"]),
        default: "npu",
        doc: "where to compute attention: `npu` with keys and values as 4-bit weights, `host` in float",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "norms",
        values: Values::Choice(&["npu", "host"]),
        default: "npu",
        doc: "where to compute norms: `npu` with `isa=base` folds gains into the following weights, and takes sums of squares from the host",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "rotations",
        values: Values::Choice(&["npu", "tables", "host"]),
        default: "tables with isa=ext, host with isa=base",
        doc: "where to compute rotations: `npu` computes sines and cosines too, `tables` takes them from the host",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "scales",
        values: Values::Choice(&["rows", "memset"]),
        default: "rows",
        doc: "scales of weights: `rows` one per row, `memset` one per matrix, set by MEMSET (`+seed`)",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "weights",
        values: Values::Choice(&["stream", "memcpy", "4", "8", "auto", "file"]),
        default: "stream",
        doc: "path of weights: `stream` bypasses L2, `memcpy` loads them to L2 if there is room (`+seed`); `4`, `8` and `auto` stream and set `weight_bits`; `file` keeps the 4-bit codes of a language model's file. For such a model, a text of `npu generate --calibrate` improves `4`, and `auto` is `file`",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "gelu",
        values: Values::Choice(&["tanh", "exact"]),
        default: "tanh",
        doc: "how to compute a Gelu of the error function: `tanh` on the machine, `exact` on the host",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "activations",
        values: Values::Choice(&["8", "16"]),
        default: "8",
        doc: "bits of activations in a product; 16 needs two passes",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "weight_bits",
        values: Values::Choice(&["4", "8", "auto"]),
        default: "depends on the model",
        doc: "bits of constant weights in a product: 8 in two passes of 4, `auto` for each layer by its effect on samples; if not given, 8 where `--calibrate` shows a gain and for weights that are 8-bit integers, otherwise 4",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "kv_bits",
        values: Values::Choice(&["4", "8"]),
        default: "8",
        doc: "bits of the cached keys and values of a language model; 8 needs two passes",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "m_tile",
        values: Values::Whole { least: 1, most: 1024 },
        default: "16",
        doc: "maximum number of prompt tokens computed at once",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "k_part",
        values: Values::Whole { least: BLOCK as u64, most: MOST_COLUMNS as u64 },
        default: "whole rows",
        doc: "maximum number of weights of a row in a product of a language model, a multiple of 32: longer products are accumulated in parts",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
];

/// Default number of prompt tokens computed at once (specification 5.6).
const M_TILE: usize = 16;
/// Largest number of columns of a product in whole blocks of activations.
const MOST_COLUMNS: usize = LARGEST / BLOCK * BLOCK;
/// Default bits of cached keys and values: with 4, they lose too much.
const KV_BITS: u32 = 8;

impl Options {
    /// Returns the default options of an instance.
    pub const fn of(config: &Config) -> Self {
        let isa = if config.extensions { Isa::Ext } else { Isa::Base };
        Self {
            isa,
            kv: Kv::Npu,
            norms: Norms::Npu,
            rotations: Rotations::of(isa),
            scales: Scales::Rows,
            weights: WeightPath::Stream,
            gelu: Gelu::Tanh,
            activations: Activations::Bits8,
            weight_bits: WeightBits::Fitting,
            m_tile: M_TILE,
            k_part: None,
            kv_bits: KV_BITS,
            keeps_codes: false,
        }
    }

    /// Parses options by name.
    ///
    /// # Errors
    /// Unknown names, illegal values, and extensions that the instance does not have.
    pub fn parse(config: &Config, asked: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        let chosen = Chosen::new("pccx", &OPTIONS, Stage::Compile, asked)?;
        let of = Self::of(config);
        let isa = chosen.word("isa", isa).unwrap_or(of.isa);
        let options = Self {
            isa,
            kv: chosen.word("kv", kv).unwrap_or(of.kv),
            norms: chosen.word("norms", norms).unwrap_or(of.norms),
            rotations: chosen.word("rotations", rotations).unwrap_or(Rotations::of(isa)),
            scales: chosen.word("scales", scales).unwrap_or(of.scales),
            // Default: values that set bits stand for `stream`.
            weights: chosen.text("weights").and_then(weights).unwrap_or(of.weights),
            gelu: chosen.word("gelu", gelu).unwrap_or(of.gelu),
            activations: chosen.word("activations", activations).unwrap_or(of.activations),
            weight_bits: asked_bits(&chosen)?,
            m_tile: chosen.number("m_tile").unwrap_or(of.m_tile),
            k_part: k_part(&chosen)?,
            kv_bits: chosen.word("kv_bits", kv_bits).unwrap_or(of.kv_bits),
            keeps_codes: chosen.text("weights") == Some("file"),
        };
        if options.isa == Isa::Ext && !config.extensions {
            let [key, value, reason] =
                ["isa", "ext", "the instance has no extensions; `pccx:extended` does"].map(str::to_owned);
            return Err(OptionError { key, value, reason });
        }
        options.check_reading(config)?;
        Ok(options)
    }

    /// MEMSET of scales and MEMCPY of weights are only described on the page of the instruction
    /// set.
    fn check_reading(&self, config: &Config) -> Result<(), OptionError> {
        let asked = [
            (self.scales == Scales::Memset, "scales", "memset"),
            (self.weights == WeightPath::Memcpy, "weights", "memcpy"),
        ];
        match asked.into_iter().find(|(is_asked, ..)| *is_asked && config.reading != Reading::Seed) {
            None => Ok(()),
            Some((_, key, value)) => {
                let reason = "the instance does not support this; add `+seed` to its name";
                let [key, value, reason] = [key, value, reason].map(str::to_owned);
                Err(OptionError { key, value, reason })
            }
        }
    }

    /// Returns the options with which a program was compiled: its choices, and the layers with
    /// 8-bit weights.
    ///
    /// # Errors
    /// The errors of [`Self::parse`].
    pub fn of_program(config: &Config, host: &Host) -> Result<Self, OptionError> {
        let options = Self::parse(config, &host.choices)?;
        let steps = host.layers.iter().enumerate().filter(|(_, layer)| layer.has_8_bit_weights);
        let steps: BTreeSet<usize> = steps.map(|(step, _)| step).collect();
        Ok(Self { weight_bits: WeightBits::Steps { wide: Arc::new(steps), is_auto: false }, ..options })
    }

    /// Returns the options as a report shows them.
    pub fn choices(&self) -> BTreeMap<String, String> {
        let isa = if self.isa == Isa::Ext { "ext" } else { "base" };
        let kv = if self.kv == Kv::Npu { "npu" } else { "host" };
        let norms = if self.norms == Norms::Npu { "npu" } else { "host" };
        let activations = if self.activations == Activations::Bits8 { "8" } else { "16" };
        let rotations = match self.rotations {
            Rotations::Npu => "npu",
            Rotations::Tables => "tables",
            Rotations::Host => "host",
        };
        let weight_bits = match self.weight_bits {
            // A choice that depends on the model and its samples is not stored: compiling again
            // repeats it.
            WeightBits::Bits4 | WeightBits::Fitting | WeightBits::Steps { is_auto: false, .. } => None,
            WeightBits::Bits8 => Some(("weight_bits", "8")),
            WeightBits::Auto | WeightBits::Steps { is_auto: true, .. } => Some(("weight_bits", "auto")),
        };
        // Options of the page of the instruction set, where they are used.
        let page = [
            (self.scales == Scales::Memset).then_some(("scales", "memset")),
            (self.weights == WeightPath::Memcpy).then_some(("weights", "memcpy")),
            (self.gelu == Gelu::Exact).then_some(("gelu", "exact")),
        ];
        [("isa", isa), ("kv", kv), ("norms", norms), ("rotations", rotations), ("activations", activations)]
            .into_iter()
            .chain(page.into_iter().flatten())
            .chain(weight_bits)
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
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

impl Rotations {
    /// Without MUL, a rotation needs two additional products, so the host computes it. The
    /// specification (5.4) takes tables from the host, because BF16 angles lose the precision of
    /// sines.
    const fn of(isa: Isa) -> Self {
        match isa {
            Isa::Base => Self::Host,
            Isa::Ext => Self::Tables,
        }
    }
}

fn rotations(name: &str) -> Option<Rotations> {
    match name {
        "npu" => Some(Rotations::Npu),
        "tables" => Some(Rotations::Tables),
        "host" => Some(Rotations::Host),
        _ => None,
    }
}

fn scales(name: &str) -> Option<Scales> {
    match name {
        "rows" => Some(Scales::Rows),
        "memset" => Some(Scales::Memset),
        _ => None,
    }
}

fn weights(name: &str) -> Option<WeightPath> {
    match name {
        "stream" => Some(WeightPath::Stream),
        "memcpy" => Some(WeightPath::Memcpy),
        _ => None,
    }
}

fn norms(name: &str) -> Option<Norms> {
    match name {
        "npu" => Some(Norms::Npu),
        "host" => Some(Norms::Host),
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

/// Returns the bits of weights from `weight_bits` or `weights`; if both are given, they must agree.
fn asked_bits(chosen: &Chosen<'_>) -> Result<WeightBits, OptionError> {
    let by_key = |key| chosen.text(key).and_then(weight_bits);
    let (own, shared) = (by_key("weight_bits"), by_key("weights"));
    if let (Some(own), Some(shared), Some(value)) = (&own, &shared, chosen.text("weights"))
        && own != shared
    {
        let [key, value, reason] = ["weights", value, "it contradicts `weight_bits`"].map(str::to_owned);
        return Err(OptionError { key, value, reason });
    }
    // Default: without an option, the choice depends on the model.
    Ok(own.or(shared).unwrap_or(WeightBits::Fitting))
}

fn weight_bits(bits: &str) -> Option<WeightBits> {
    match bits {
        "4" => Some(WeightBits::Bits4),
        "8" => Some(WeightBits::Bits8),
        "auto" => Some(WeightBits::Auto),
        _ => None,
    }
}

/// Returns the maximum number of columns of a product: whole blocks of activations.
fn k_part(chosen: &Chosen<'_>) -> Result<Option<usize>, OptionError> {
    let part: Option<usize> = chosen.number("k_part");
    match part.filter(|part| !part.is_multiple_of(BLOCK)) {
        None => Ok(part),
        Some(part) => {
            let reason = format!("must be a multiple of {BLOCK} from {BLOCK} to {MOST_COLUMNS}");
            Err(OptionError { key: "k_part".to_owned(), value: part.to_string(), reason })
        }
    }
}

fn kv_bits(bits: &str) -> Option<u32> {
    match bits {
        "4" => Some(4),
        "8" => Some(8),
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
