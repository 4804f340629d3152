//! [`InstanceInfo`]: properties of an instance.

use npukit_graph::quantize::Scheme;
use npukit_numeric::NumberFormat;
use serde_json::Value;

use crate::config::compile_options::{CompileOptions, Measures};
use crate::contract::diagram::Diagram;
use crate::error::TargetError;
use crate::lint::Lint;
use crate::report::area::Area;

/// Properties of an instance, computed once when it is created.
#[derive(Clone, Debug)]
pub struct InstanceInfo {
    /// Target and instance, as `TARGET:INSTANCE`.
    pub name: String,
    /// Parameters of the instance, by name.
    pub config: Value,
    /// Parameters that can be set after the name, as `,NAME=VALUE`, with the keys of the
    /// configuration file; null if they have no value.
    pub parameters: Value,
    /// Text of a configuration file that defines this exact instance. `None` if the instance cannot
    /// be written as a file.
    pub config_text: Option<String>,
    /// Bus, memory and clock around the instance, as the `system` part of its configuration file.
    /// `None` if the file specifies nothing.
    pub system: Option<Value>,
    /// Warnings for the author of the configuration file, for example unused keys. Empty for a
    /// built-in instance.
    pub warnings: Vec<String>,
    /// Units, memories and data paths, for a drawing. Empty if the target has none.
    pub diagram: Diagram,
    /// FPGA resources. `None` without an estimate.
    pub area: Option<Area>,
    /// Peak multiply-accumulates per cycle, with all multipliers working. `None` if unknown.
    pub macs_per_cycle: Option<f64>,
    /// Clock in MHz, to which its cycles refer. `None` if unknown.
    pub clock_mhz: Option<f64>,
    /// Format of the numbers in its memories. `None` if there are several.
    pub number_format: Option<NumberFormat>,
    /// Whether out-of-range numbers saturate and lose information. Floats become infinite only
    /// where the model's own values nearly would.
    pub saturates: bool,
    /// Integer types to which tensors must be quantized before
    /// [`Instance::compile`](crate::Instance::compile). `None` for an instance that takes real
    /// values.
    pub quantization: Option<Scheme>,
    /// Ways to scale values of its programs.
    pub scaling: Scaling,
    /// Returns whether [`Instance::compile`](crate::Instance::compile) measures programs on typical
    /// inputs to choose between them. Fails for invalid options.
    pub measures: fn(&CompileOptions) -> Result<Measures, TargetError>,
    /// Names of the compiler stages that can be printed, in order.
    pub stages: &'static [&'static str],
    /// Extension of files of words, with the dot. `None` if the content of a file shows whether it
    /// has words.
    pub words_extension: Option<&'static str>,
    /// Listing forms of [`Instance::disassemble`](crate::Instance::disassemble), the default first.
    pub listings: &'static [&'static str],
    /// [`Target::lints`](crate::Target::lints) of its target.
    pub lints: &'static [&'static Lint],
    /// Forms of a language model's weights; empty if there is only one.
    pub language_forms: &'static [LanguageForm],
}

/// Form of a language model's weights, which a compile option chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageForm {
    /// Name and value of the option.
    pub option: (&'static str, &'static str),
    /// Whether it uses [`GeneratorOptions::calibration`](crate::GeneratorOptions::calibration).
    pub is_calibrated: bool,
}

/// Ways to multiply values of programs by powers of two, so that they fit the number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Whether an elementwise function can be scaled before and after at no cost.
    pub functions: bool,
    /// Whether the host scales inputs and outputs when it converts them; see
    /// [`CompileOptions::scales`].
    pub ports: bool,
    /// Maximum number of elements that a mean adds before it divides; 1 if sums are wider than the
    /// number format.
    pub max_mean_terms: usize,
}

impl Scaling {
    /// No scaling.
    pub const NONE: Self = Self { functions: false, ports: false, max_mean_terms: 1 };
}

impl InstanceInfo {
    /// Creates the info of an instance with a name and parameters; everything further is unknown.
    pub fn new(name: String, config: Value) -> Self {
        Self {
            name,
            config,
            parameters: Value::Null,
            config_text: None,
            system: None,
            warnings: Vec::new(),
            diagram: Diagram::default(),
            area: None,
            macs_per_cycle: None,
            clock_mhz: None,
            number_format: None,
            saturates: true,
            quantization: None,
            scaling: Scaling::NONE,
            measures: |_| Ok(Measures::Never),
            stages: &[],
            words_extension: None,
            listings: &[],
            lints: &[],
            language_forms: &[],
        }
    }

    /// Returns the name without the target.
    pub fn instance(&self) -> &str {
        self.name.split_once(':').map_or(&self.name, |(_, instance)| instance)
    }

    /// Returns the error of an unsupported verb.
    pub fn unsupported(&self, verb: &'static str) -> TargetError {
        TargetError::Unsupported { target: self.name.clone(), verb }
    }

    /// Returns the error of a stage that is not one of [`Self::stages`].
    pub fn unknown_stage(&self, stage: &str) -> TargetError {
        let reason = format!("the stages are graph, {}", self.stages.join(", "));
        TargetError::option("emit", stage, reason)
    }

    /// Returns the error of a listing form that is not one of [`Self::listings`].
    pub fn unknown_listing(&self, form: &str) -> TargetError {
        TargetError::option("format", form, format!("the forms are {}", self.listings.join(", ")))
    }
}
