//! [`CosimRun`]: a program on a machine's circuit, compared with the machine and its clock.

use std::ops::ControlFlow;

use crate::rtl::{Circuit, Defects, Run, Seen};
use serde::Serialize;

use crate::error::TargetError;

/// Options of a run on a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CosimOptions {
    /// Whether the circuit has the defects of the released one.
    pub defects: Defects,
    /// Cycles from a read address to its data; `None` takes the board's latency.
    pub latency: Option<u64>,
    /// Cycles from written data to the response. `None` takes `latency` if that is given, and
    /// otherwise the board's latency.
    pub response_latency: Option<u64>,
    /// Seed of random wait cycles of memory and streams; `None` means no waits.
    pub stalls: Option<u64>,
}

/// Compares the simulator's output files with machine and clock.
type Compare<'c> = dyn Fn(&Seen) -> Result<CosimJudgement, TargetError> + 'c;

/// Passes the run of the first instructions of a program, in this number, to a function.
type First<'c> = dyn Fn(usize, &mut dyn FnMut(&CosimRun<'_>)) -> Result<(), TargetError> + 'c;

/// A program with its memories, to run on a circuit, and the check of its results.
pub struct CosimRun<'c> {
    /// Circuit of the program's instance.
    pub circuit: &'c Circuit,
    /// Inputs of the simulator.
    pub run: &'c Run,
    /// Compares the simulator's results with machine and clock. Fails for files that the simulator
    /// cannot have written.
    pub compare: Box<Compare<'c>>,
    /// Makes the run of the first instructions only. Fails if the circuit cannot run them alone.
    pub first: Box<First<'c>>,
}

/// Runs a program on its circuit and compares the results; breaks if no further run is needed.
pub type CosimJudge<'j> = dyn FnMut(&CosimRun<'_>) -> ControlFlow<()> + 'j;

/// Result of comparing a run of the circuit with machine and clock.
#[derive(Clone, Debug, PartialEq)]
pub struct CosimJudgement {
    /// Total cycles of circuit and clock.
    pub cycles: CosimCycles,
    /// Everything that was compared.
    pub compared: Vec<CosimPart>,
    /// First difference in instruction order; `None` if everything is equal.
    pub difference: Option<CosimDifference>,
    /// Omitted comparisons, with their reasons.
    pub notes: Vec<String>,
    /// Number of simulated cycles.
    pub simulated: u64,
}

/// Cycles by the circuit and by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CosimCycles {
    /// Cycles of the circuit.
    pub rtl: u64,
    /// Cycles of the clock.
    pub model: u64,
    /// Whether the two must be equal.
    pub compared: bool,
}

/// A memory, an output or a kind of event that was compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CosimPart {
    /// Name of the memory, output or event.
    pub what: String,
    /// Number of values compared.
    pub numbers: u64,
    /// Number of values that differ.
    pub different: u64,
}

/// First difference between circuit and machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CosimDifference {
    /// Description in one sentence.
    pub message: String,
    /// Name of the memory or kind of event, as in `compared`.
    pub what: String,
    /// Value of the circuit.
    pub rtl: i64,
    /// Value of machine or clock.
    pub model: i64,
    /// Index of the segment, starting at 0; null if the program has only one.
    pub segment: Option<u64>,
    /// Index of the instruction that was accepted in another cycle, or after which memories differ
    /// first. Null if unknown.
    pub instruction: Option<u64>,
    /// Layer of the instruction.
    pub layer: Option<String>,
    /// Output to which the number belongs.
    pub output: Option<String>,
    /// Vector address in the memory.
    pub address: Option<u64>,
    /// Lane of the vector.
    pub lane: Option<u64>,
    /// Cycle in which the circuit accepted the instruction.
    pub cycle: Option<u64>,
}
