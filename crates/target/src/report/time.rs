//! How long a program takes and where the time goes: [`TimeReport`], with the keys of `npu time
//! --json`.

use std::collections::BTreeMap;

use npukit_trace::Moments;
use serde::Serialize;

use crate::config::run_options::HazardMode;
use crate::report::activity::Activity;

/// Options of a time measurement beyond the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeOptions {
    /// Target-specific options, by name.
    pub options: BTreeMap<String, String>,
    /// Meaning to use where hardware deviates from sequential execution; the cycles are the same.
    pub meaning: HazardMode,
    /// Samples of the hardware's sampling unit, reported instead of the clock's cycles. Only for a
    /// program that can write [`TimeForm::Samples`].
    pub measured: Option<MeasuredSamples>,
    /// Whether only the [`Pace`] is needed, without other options; faster if the compiler knows it.
    pub is_brief: bool,
    /// Whether to count multiply-accumulates and bytes by memory ([`TimeReport::activity`]), which
    /// takes longer on some targets.
    pub counts_activity: bool,
}

/// A file of the hardware's sampling unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredSamples {
    /// File name, for errors.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// A file format in which a program's clock can write its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// The samples that the hardware's sampling unit would produce.
    Samples,
    /// The activity of every unit in each cycle, as text.
    Cycles,
    /// A trace for the target's own tools, given by its file name extension without the dot.
    Trace(&'static str),
}

impl TimeForm {
    /// Returns the verb that requests it.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Samples => "time --samples",
            Self::Cycles => "time --cycles",
            Self::Trace(_) => "time --trace in that format",
        }
    }
}

/// Summary of the time of a whole program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Cycles by the report's main cost model; `None` if it has no cycles.
    pub cycles: Option<u64>,
    /// Milliseconds at the clock; `None` if the clock is unknown.
    pub milliseconds: Option<f64>,
    /// Share of the multipliers' time spent on the products that the program computes; `None` if
    /// they are unknown.
    pub utilization: Option<f64>,
}

impl Pace {
    /// Returns the summary of a report.
    pub fn of(report: &TimeReport) -> Self {
        let TimeReport { milliseconds, utilization, .. } = *report;
        Self { cycles: report.cycles.get(&report.clock).copied(), milliseconds, utilization }
    }
}

/// Lower bounds of the time in cycles, however the program is scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Roofline {
    /// Cycles if all multipliers worked in every cycle.
    pub compute: u64,
    /// Cycles if the busiest memory worked in every cycle, for the program's traffic.
    pub memory: u64,
    /// The larger of the two bounds.
    pub bound: Bound,
    /// Cycles taken, as a multiple of the larger bound; null if both are 0. For a layer, the cycles
    /// of its own span.
    pub distance: Option<f64>,
}

/// Side of a roofline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The multipliers are the limit.
    #[default]
    Compute,
    /// A memory is the limit.
    Memory,
}

impl Bound {
    /// Returns the lowercase name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
        }
    }
}

impl Roofline {
    /// Creates the roofline of work that took `cycles`.
    pub fn new(compute: u64, memory: u64, cycles: u64) -> Self {
        let (bound, larger) =
            if memory > compute { (Bound::Memory, memory) } else { (Bound::Compute, compute) };
        Self { compute, memory, bound, distance: (larger > 0).then(|| cycles as f64 / larger as f64) }
    }
}

/// First and last cycle of some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleSpan {
    /// First cycle.
    pub first: u64,
    /// Last cycle.
    pub last: u64,
}

impl CycleSpan {
    /// Returns the span of `cycles` from `start`; `None` without cycles.
    pub fn of(start: u64, cycles: u64) -> Option<Self> {
        (cycles > 0).then(|| Self { first: start, last: start.saturating_add(cycles - 1) })
    }

    /// Returns the number of cycles.
    pub const fn cycles(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }

    /// Returns the span that begins and ends with the first and the last of two spans.
    pub fn join(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    /// Extends a span to include `more`.
    pub fn extend(span: &mut Option<Self>, more: Option<Self>) {
        *span = match (*span, more) {
            (Some(span), Some(more)) => Some(span.join(more)),
            (span, more) => span.or(more),
        };
    }
}

/// Time of one layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LayerTime {
    /// Names of the nodes.
    pub name: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Cycles. The cycles of all layers add up to the total.
    pub cycles: u64,
    /// First cycle in which a unit works for the layer; null if unknown. Layers overlap where units
    /// work ahead.
    pub first_cycle: Option<u64>,
    /// Last cycle in which a unit works for the layer; null if unknown.
    pub last_cycle: Option<u64>,
    /// Cycles in which the multipliers work for the layer; null if unknown.
    pub array_busy: Option<u64>,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
    /// Multiply-accumulates of the model.
    pub macs: u64,
    /// Multiply-accumulates of `macs` that the program computes; products without effect on an
    /// output may be left out.
    pub macs_computed: u64,
    /// Share of the multipliers' time spent on `macs_computed`, from the first to the last cycle,
    /// 0 to 1.
    pub utilization: f64,
    /// Lower bounds of the cycles.
    pub roofline: Roofline,
}

/// Time of one kind of instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KindTime {
    /// Mnemonic, with the variant.
    pub kind: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Number of vectors that they process.
    pub vectors: u64,
    /// Cycles. The cycles of all kinds add up to the total.
    pub cycles: u64,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
}

/// Time of one unit of the machine. Units work in parallel, so these do not add up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UnitTime {
    /// Name of the unit.
    pub unit: String,
    /// Cycles in which the unit worked.
    pub busy: u64,
    /// Share of all cycles, 0 to 1.
    pub share: f64,
    /// Reasons for waits while it had work, the longest first. For a unit that is always working or
    /// waiting, such as the one that issues instructions, they add up with `busy` to all cycles.
    pub waits: Vec<Wait>,
}

/// Cycles in which a unit waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Wait {
    /// Reason for the wait.
    pub on: String,
    /// Number of cycles.
    pub cycles: u64,
}

/// Time of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionTime {
    /// Index of its layer in the report; `None` if layers are unknown.
    pub layer: Option<usize>,
    /// Index of its kind in the report.
    pub kind: usize,
    /// Cycles. The cycles of all instructions add up to the total.
    pub cycles: u64,
}

/// A debug flag of the hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FlagTime {
    /// Name of the flag, and when it is high.
    pub flag: String,
    /// How often it rose.
    pub times: u64,
    /// Cycles in which it was high.
    pub cycles: u64,
    /// Index of the instruction at which it rose first.
    pub first_instruction: usize,
    /// Cycle in which it rose first.
    pub first_cycle: u64,
}

/// Time of a program. Unknown figures have their default: zero, empty or null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TimeReport {
    /// Cycles by cost model.
    pub cycles: BTreeMap<String, u64>,
    /// Clock on which all other figures are based: a key of `cycles`.
    pub clock: String,
    /// Assumptions of the cost models, one sentence each.
    pub assumptions: Vec<String>,
    /// Notes on how to read the figures, one sentence each.
    pub notes: Vec<String>,
    /// Milliseconds at `clock_mhz`; null if the clock is unknown.
    pub milliseconds: Option<f64>,
    /// Clock of the board, in MHz.
    pub clock_mhz: Option<f64>,
    /// Source of the clock figure.
    pub clock_source: Option<String>,
    /// Sum of `macs_computed` over all layers; null if the work is unknown.
    pub macs_computed: Option<u64>,
    /// Share of the multipliers' time spent on `macs_computed`; null if the work is unknown.
    pub utilization: Option<f64>,
    /// Share of the cycles in which the array received a vector.
    pub array_busy: f64,
    /// Lower bounds of the total cycles.
    pub roofline: Roofline,
    /// Times by layer; empty if the artifact does not record layers.
    pub layers: Vec<LayerTime>,
    /// Times by kind of instruction.
    pub kinds: Vec<KindTime>,
    /// Times by unit; empty if the cost model has no units.
    pub units: Vec<UnitTime>,
    /// Debug flags that rose during the program.
    pub flags: Vec<FlagTime>,
    /// Multiply-accumulates and bytes by memory; missing unless they are requested and the target
    /// counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// Times by instruction; not part of the JSON report because of their number.
    #[serde(skip)]
    pub instructions: Vec<InstructionTime>,
}

impl LayerTime {
    /// Returns the cycles from the first to the last one; without them, the layer's share of the
    /// total.
    pub fn span_cycles(&self) -> u64 {
        let span = self.first_cycle.zip(self.last_cycle);
        span.map_or(self.cycles, |(first, last)| CycleSpan { first, last }.cycles())
    }
}

impl TimeReport {
    /// Adds the counts of the program, as far as the report lists its layers.
    #[must_use]
    pub fn with_activity(self, activity: Option<Activity>) -> Self {
        let rows = self.layers.len();
        Self { activity: activity.map(|activity| activity.of_rows(rows)), ..self }
    }

    /// Returns the start cycle of each instruction, as if they ran one after the other.
    pub fn moments(&self) -> Moments {
        Moments::new(self.instructions.iter().map(|instruction| (instruction.layer, instruction.cycles)))
    }
}
