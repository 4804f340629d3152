//! How long a program takes and where the time goes: [`TimeReport`], with the keys of `npu time --json`.

use std::collections::BTreeMap;

use npukit_trace::Moments;
use serde::Serialize;

use crate::config::run_options::Meaning;

/// What timing is asked beyond the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeOptions {
    /// The target's own options, by name.
    pub options: BTreeMap<String, String>,
    /// What counts where hardware computes something else than the instructions say; cycles are the same.
    pub meaning: Meaning,
    /// What the hardware's sampling unit gave, which is reported in place of the clock's cycles; only of a program that
    /// writes [`TimeForm::Samples`].
    pub measured: Option<MeasuredSamples>,
    /// Whether only the [`Pace`] is wanted, without other options: quicker where the compiler knows it.
    pub is_brief: bool,
}

/// A file of the hardware's sampling unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredSamples {
    /// Its name, for errors.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A form of its own in which a program's clock writes what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// What the hardware's sampling unit would give.
    Samples,
    /// What every part of the machine does in each cycle, as text.
    Cycles,
    /// A trace for the target's own tools, by the extension of its file name, without the dot.
    Trace(&'static str),
}

impl TimeForm {
    /// The verb that asks for it.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Samples => "time --samples",
            Self::Cycles => "time --cycles",
            Self::Trace(_) => "time --trace in that format",
        }
    }
}

/// What a report says of the whole program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// By the cost model that the report leads with; none where it has no cycles.
    pub cycles: Option<u64>,
    /// At the clock; none when that is not known.
    pub milliseconds: Option<f64>,
    /// Share of the multipliers that did the model's work; none when the work is not known.
    pub utilisation: Option<f64>,
}

impl Pace {
    /// That of a report.
    pub fn of(report: &TimeReport) -> Self {
        let TimeReport { milliseconds, utilisation, .. } = *report;
        Self { cycles: report.cycles.get(&report.model).copied(), milliseconds, utilisation }
    }
}

/// What bounds the time from below, whatever the program does, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Roofline {
    /// All multipliers at work in every cycle.
    pub compute: u64,
    /// The busiest memory at work in every cycle, with the traffic the program has.
    pub memory: u64,
    /// Which of them is larger.
    pub bound: Bound,
    /// Cycles taken, as a multiple of the larger one; none when both are 0.
    pub distance: Option<f64>,
}

/// A side of a roofline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The multipliers.
    #[default]
    Compute,
    /// A memory.
    Memory,
}

impl Bound {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
        }
    }
}

impl Roofline {
    /// The roofline of what took `cycles`.
    pub fn new(compute: u64, memory: u64, cycles: u64) -> Self {
        let (bound, larger) =
            if memory > compute { (Bound::Memory, memory) } else { (Bound::Compute, compute) };
        Self { compute, memory, bound, distance: (larger > 0).then(|| cycles as f64 / larger as f64) }
    }
}

/// Where time goes, by layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LayerTime {
    /// Names of the nodes.
    pub name: String,
    /// Instructions.
    pub instructions: usize,
    /// Cycles. Those of all layers add up to the whole.
    pub cycles: u64,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// Share of the array's multipliers that did the model's work, 0 to 1.
    pub utilisation: f64,
    /// What bounds them.
    pub roofline: Roofline,
}

/// Where time goes, by kind of instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KindTime {
    /// Mnemonic, with the variant.
    pub kind: String,
    /// Instructions.
    pub instructions: usize,
    /// Vectors they handle.
    pub vectors: u64,
    /// Cycles. Those of all kinds add up to the whole.
    pub cycles: u64,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
}

/// Where time goes, by unit of the machine. Units work at the same time, so these do not add up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UnitTime {
    /// Its name.
    pub unit: String,
    /// Cycles in which it did work.
    pub busy: u64,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
    /// What it waited for while it had work, the longest first. Where they are the whole rest of the
    /// time, as with the unit that issues instructions, they add up with `busy` to all cycles.
    pub waits: Vec<Wait>,
}

/// Cycles in which a unit waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Wait {
    /// For what.
    pub on: String,
    /// How long.
    pub cycles: u64,
}

/// Where time goes, by instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionTime {
    /// Place of its layer in the report; none when no layers are known.
    pub layer: Option<usize>,
    /// Place of its kind in the report.
    pub kind: usize,
    /// Cycles. Those of all instructions add up to the whole.
    pub cycles: u64,
}

/// A flag the hardware raises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FlagTime {
    /// Its name, and when it is high.
    pub flag: String,
    /// How often it rose.
    pub times: u64,
    /// Cycles in which it was high.
    pub cycles: u64,
    /// The instruction at which it rose first.
    pub first_instruction: usize,
    /// The cycle in which it did.
    pub first_cycle: u64,
}

/// How long a program takes. What a target does not know is the default: zero, empty or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TimeReport {
    /// Cycles by cost model.
    pub cycles: BTreeMap<String, u64>,
    /// The cost model behind everything else.
    pub model: String,
    /// What the cost models assume, a sentence each.
    pub assumptions: Vec<String>,
    /// How the figures are to be read, a sentence each.
    pub notes: Vec<String>,
    /// At `clock_mhz`; none when the clock is not known.
    pub milliseconds: Option<f64>,
    /// Clock of the board.
    pub clock_mhz: Option<f64>,
    /// Where the clock is from.
    pub clock_source: Option<String>,
    /// Share of the array's multipliers that did the model's work; none when the work is not known.
    pub utilisation: Option<f64>,
    /// Share of the cycles in which the array was given a vector.
    pub array_busy: f64,
    /// What bounds the whole.
    pub roofline: Roofline,
    /// By layer; empty when the artifact does not say.
    pub layers: Vec<LayerTime>,
    /// By kind of instruction.
    pub kinds: Vec<KindTime>,
    /// By unit; empty when the cost model has none.
    pub units: Vec<UnitTime>,
    /// Flags that rose.
    pub flags: Vec<FlagTime>,
    /// By instruction; too many for a report to print.
    #[serde(skip)]
    pub instructions: Vec<InstructionTime>,
}

impl TimeReport {
    /// When each instruction begins, were they one after the other.
    pub fn moments(&self) -> Moments {
        Moments::new(self.instructions.iter().map(|instruction| (instruction.layer, instruction.cycles)))
    }
}
