//! What a compilation may be asked for: [`Options`], declared as [`OPTIONS`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use npukit_target::{Aliases, Chosen, OptionError, OptionSpec, SEGMENTS, Stage, Values};

use crate::config::{Config, Reading};
use crate::program::host::Host;

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

/// Where norms are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norms {
    /// On the machine. Without MUL gains go into the weights of the products behind them, the host gives one scalar a
    /// row, the sum of its squares, and has the norms that something else reads as well.
    Npu,
    /// On the host.
    Host,
}

/// Where rotations of pairs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotations {
    /// On the machine, by sines and cosines that it computes itself. Without MUL these go through the host into the
    /// scales of two products.
    Npu,
    /// On the machine, by the host's sines and cosines.
    Tables,
    /// On the host.
    Host,
}

/// Where the scales of weights come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scales {
    /// With the weights, one for each row.
    Rows,
    /// By MEMSET, one for each matrix, where the instance goes by the page of the instruction set.
    Memset,
}

/// How weights come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightPath {
    /// Past L2, through ports of their own.
    Stream,
    /// To L2, by MEMCPY, as far as there is room, where the instance goes by the page of the instruction set.
    Memcpy,
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

/// How many bits products take of weights that are constants of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightBits {
    /// The engines' 4.
    Bits4,
    /// 4, and 4 of what they leave: two passes.
    Bits8,
    /// Chosen for each product on samples.
    Auto,
    /// As the model asks for it: chosen where there are samples, 8 where its weights are integers of 8 bits, else 4.
    Fitting,
    /// What came of a choice.
    Steps {
        /// The steps of the graph, by number, in which it is 8; in the others it is 4.
        wide: Arc<BTreeSet<usize>>,
        /// Whether [`Self::Auto`] was asked for.
        is_auto: bool,
    },
}

impl WeightBits {
    /// What compile options ask for.
    ///
    /// # Errors
    ///
    /// The first option that is not legal.
    pub fn asked(options: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        asked_bits(&Chosen::new("pccx", &OPTIONS, Stage::Compile, options)?)
    }

    /// Whether a step's product takes 8. What is yet to be chosen is 4.
    pub fn is_8(&self, step: usize) -> bool {
        match self {
            Self::Bits8 => true,
            Self::Steps { wide, .. } => wide.contains(&step),
            Self::Bits4 | Self::Auto | Self::Fitting => false,
        }
    }
}

/// How to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `isa`: as the instance has it, when not said.
    pub isa: Isa,
    /// `kv`
    pub kv: Kv,
    /// `norms`
    pub norms: Norms,
    /// `rotations`: as the instance has MUL, when not said.
    pub rotations: Rotations,
    /// `scales`
    pub scales: Scales,
    /// `weights`
    pub weights: WeightPath,
    /// `gelu`
    pub gelu: Gelu,
    /// `activations`
    pub activations: Activations,
    /// `weight_bits`
    pub weight_bits: WeightBits,
    /// `m_tile`: most tokens of a prompt that are computed at once.
    pub m_tile: usize,
}

/// Every option of this target.
#[rustfmt::skip] // A table.
pub const OPTIONS: [OptionSpec; 11] = [
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
        key: "norms",
        values: Values::Choice(&["npu", "host"]),
        default: "npu",
        doc: "where norms are computed: `npu` with `isa=base` has gains in the weights behind them, and sums of squares from the host",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "rotations",
        values: Values::Choice(&["npu", "tables", "host"]),
        default: "tables with isa=ext, host with isa=base",
        doc: "where rotations are computed: `npu` with sines and cosines of its own, `tables` with the host's",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "scales",
        values: Values::Choice(&["rows", "memset"]),
        default: "rows",
        doc: "scales of weights: `rows` has one of each row with the weights, `memset` one of each matrix by MEMSET (`+seed`)",
        stage: Stage::Compile,
        aliases: Aliases::NONE,
    },
    OptionSpec {
        key: "weights",
        values: Values::Choice(&["stream", "memcpy", "4", "8", "auto"]),
        default: "stream",
        doc: "how weights come: `stream` past L2, `memcpy` to L2 by MEMCPY as far as there is room (`+seed`); `4`, `8` and `auto` stream and are `weight_bits`",
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
        key: "weight_bits",
        values: Values::Choice(&["4", "8", "auto"]),
        default: "by the model",
        doc: "bits of its constant weights that a product takes: 8 in two passes of 4, `auto` for each layer by its effect on samples; when not given, 8 where `--calibrate` shows a gain and for weights that are integers of 8 bits, else 4",
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
        }
    }

    /// Those asked for by name.
    ///
    /// # Errors
    ///
    /// Other names and values, and extensions that the instance does not have.
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
            // Default: what says bits streams.
            weights: chosen.text("weights").and_then(weights).unwrap_or(of.weights),
            gelu: chosen.word("gelu", gelu).unwrap_or(of.gelu),
            activations: chosen.word("activations", activations).unwrap_or(of.activations),
            weight_bits: asked_bits(&chosen)?,
            m_tile: chosen.number("m_tile").unwrap_or(of.m_tile),
        };
        if options.isa == Isa::Ext && !config.extensions {
            let [key, value, reason] =
                ["isa", "ext", "the instance has no extensions; `pccx:extended` does"].map(str::to_owned);
            return Err(OptionError { key, value, reason });
        }
        options.check_reading(config)?;
        Ok(options)
    }

    /// Only the page of the instruction set says that MEMSET brings scales and MEMCPY weights.
    fn check_reading(&self, config: &Config) -> Result<(), OptionError> {
        let asked = [
            (self.scales == Scales::Memset, "scales", "memset"),
            (self.weights == WeightPath::Memcpy, "weights", "memcpy"),
        ];
        match asked.into_iter().find(|(is_asked, ..)| *is_asked && config.reading != Reading::Seed) {
            None => Ok(()),
            Some((_, key, value)) => {
                let reason = "the instance has no such reading; with `+seed` behind its name it does";
                let [key, value, reason] = [key, value, reason].map(str::to_owned);
                Err(OptionError { key, value, reason })
            }
        }
    }

    /// Those that a program was compiled with: its choices, and which of its layers have weights of 8 bits.
    ///
    /// # Errors
    ///
    /// Those of [`Self::parse`].
    pub fn of_program(config: &Config, host: &Host) -> Result<Self, OptionError> {
        let options = Self::parse(config, &host.choices)?;
        let steps = host.layers.iter().enumerate().filter(|(_, layer)| layer.has_8_bit_weights);
        let steps: BTreeSet<usize> = steps.map(|(step, _)| step).collect();
        Ok(Self { weight_bits: WeightBits::Steps { wide: Arc::new(steps), is_auto: false }, ..options })
    }

    /// As a report shows them.
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
            // What follows from the model and its samples follows once more.
            WeightBits::Bits4 | WeightBits::Fitting | WeightBits::Steps { is_auto: false, .. } => None,
            WeightBits::Bits8 => Some(("weight_bits", "8")),
            WeightBits::Auto | WeightBits::Steps { is_auto: true, .. } => Some(("weight_bits", "auto")),
        };
        // Those of the page of the instruction set, where they are used.
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
    /// Without MUL a rotation takes two products of its own: the host has it. Tables of the host's are what the
    /// specification has, 5.4, since BF16 loses of sines what it lost of their angles.
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

/// The bits of weights, by their own key or by `weights`, which say the same where both do.
fn asked_bits(chosen: &Chosen<'_>) -> Result<WeightBits, OptionError> {
    let by_key = |key| chosen.text(key).and_then(weight_bits);
    let (own, shared) = (by_key("weight_bits"), by_key("weights"));
    if let (Some(own), Some(shared), Some(value)) = (&own, &shared, chosen.text("weights"))
        && own != shared
    {
        let [key, value, reason] = ["weights", value, "`weight_bits` says something else"].map(str::to_owned);
        return Err(OptionError { key, value, reason });
    }
    // Default: what nobody has asked for follows from the model.
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

fn activations(bits: &str) -> Option<Activations> {
    match bits {
        "8" => Some(Activations::Bits8),
        "16" => Some(Activations::Bits16),
        _ => None,
    }
}
