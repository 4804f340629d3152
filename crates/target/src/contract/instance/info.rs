//! [`InstanceInfo`]: what is known of an instance.

use npukit_graph::quantise::Scheme;
use npukit_numeric::NumberFormat;
use serde_json::Value;

use crate::config::compile_options::{CompileOptions, Measures};
use crate::contract::diagram::Diagram;
use crate::error::TargetError;
use crate::lint::Lint;
use crate::report::area::Area;

/// What is known of an instance: made once, with the instance.
#[derive(Clone, Debug)]
pub struct InstanceInfo {
    /// Target and instance, as `TARGET:INSTANCE`.
    pub name: String,
    /// Parameters, by name.
    pub config: Value,
    /// Parameters that may be set after its name, as `,NAME=VALUE`: keys of its configuration file, null without a value.
    pub parameters: Value,
    /// Its configuration file: a file that names this very instance. `None` if it has no such file.
    pub config_text: Option<String>,
    /// What is around it, as the part `system` of its configuration file. `None` if the file specifies nothing.
    pub system: Option<Value>,
    /// What the author of its configuration file should know of: keys that nothing reads, for instance. Empty for a preset.
    pub warnings: Vec<String>,
    /// Units, memories and data paths, for a drawing. Empty if the target has none.
    pub diagram: Diagram,
    /// Use of an FPGA. `None` without a model of it.
    pub area: Option<Area>,
    /// Multiply-accumulates of a cycle in which all multipliers work: no program does more. `None` if unknown.
    pub macs_per_cycle: Option<f64>,
    /// The clock of its cycles, in MHz. `None` if unknown.
    pub clock_mhz: Option<f64>,
    /// The format of the numbers in its memories. `None` if it has several.
    pub number_format: Option<NumberFormat>,
    /// Whether numbers beyond the range of its formats saturate, and are lost. Floats become infinite only where the
    /// model's own would nearly be.
    pub saturates: bool,
    /// The integers that tensors must become before [`Instance::compile`](crate::Instance::compile). `None` for an instance
    /// that takes real values.
    pub quantisation: Option<Scheme>,
    /// How values of its programs can be scaled.
    pub scaling: Scaling,
    /// Whether [`Instance::compile`](crate::Instance::compile) measures programs on typical inputs to choose between them. Fails
    /// for options that the target does not take.
    pub measures: fn(&CompileOptions) -> Result<Measures, TargetError>,
    /// Stages of the compiler that print, in order.
    pub stages: &'static [&'static str],
    /// Extension of files of words, with the dot. `None` if the bytes of a file show whether it has words.
    pub words_extension: Option<&'static str>,
    /// Forms of listing that [`Instance::disassemble`](crate::Instance::disassemble) writes, the default first.
    pub listings: &'static [&'static str],
    /// [`Target::lints`](crate::Target::lints) of its target.
    pub lints: &'static [&'static Lint],
}

/// How values of programs can be multiplied by powers of two, so that they fit the number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Whether a function of one element takes a multiplication before and after it at no cost.
    pub functions: bool,
    /// Whether the host multiplies inputs and outputs where it converts them: see [`CompileOptions::scales`].
    pub ports: bool,
    /// Elements that a mean adds, at most, before it divides; 1 where sums are wider than the number format.
    pub addends_of_means: usize,
}

impl Scaling {
    /// Values that stay as they are.
    pub const NONE: Self = Self { functions: false, ports: false, addends_of_means: 1 };
}

impl InstanceInfo {
    /// An instance by its name and parameters, of which nothing else is known.
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
            quantisation: None,
            scaling: Scaling::NONE,
            measures: |_| Ok(Measures::Never),
            stages: &[],
            words_extension: None,
            listings: &[],
            lints: &[],
        }
    }

    /// The name without that of the target.
    pub fn instance(&self) -> &str {
        self.name.split_once(':').map_or(&self.name, |(_, instance)| instance)
    }

    /// The error of a part that is not there.
    pub fn unsupported(&self, verb: &'static str) -> TargetError {
        TargetError::Unsupported { target: self.name.clone(), verb }
    }

    /// The error of a stage of the compiler that is not one of [`Self::stages`].
    pub fn unknown_stage(&self, stage: &str) -> TargetError {
        let reason = format!("the stages are graph, {}", self.stages.join(", "));
        TargetError::option("emit", stage, reason)
    }

    /// The error of a form of listing that is not one of [`Self::listings`].
    pub fn unknown_listing(&self, form: &str) -> TargetError {
        TargetError::option("format", form, format!("the forms are {}", self.listings.join(", ")))
    }
}
