//! [`CosimRun`]: a program on a machine's circuit beside the machine and its clock.

use std::ops::ControlFlow;

use crate::rtl::{Circuit, Defects, Run, Seen};
use serde::Serialize;

use crate::error::TargetError;

/// How a program is to be run on a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CosimOptions {
    /// Whether the circuit has the defects of the released one.
    pub defects: Defects,
    /// Cycles from the address of a read to its data; those of the board when not given.
    pub latency: Option<u64>,
    /// Cycles from written data to the response; as for reads when only these are given.
    pub response_latency: Option<u64>,
    /// Seed of random waits of memory and streams; none waits without.
    pub stalls: Option<u64>,
}

/// Compares files of the simulator with machine and clock.
type Compare<'c> = dyn Fn(&Seen) -> Result<CosimJudgement, TargetError> + 'c;

/// A program with its memories, to run on a circuit, and what must come of it.
pub struct CosimRun<'c> {
    /// The circuit.
    pub circuit: &'c Circuit,
    /// What its simulator is to run.
    pub run: &'c Run,
    /// Compares what has come of it with machine and clock. Fails for files that are not what the simulator writes.
    pub compare: Box<Compare<'c>>,
}

/// Runs a program on its circuit and compares; ends the rest where there is nothing more to be seen.
pub type CosimJudge<'j> = dyn FnMut(&CosimRun<'_>) -> ControlFlow<()> + 'j;

/// A circuit's run beside that of machine and clock.
#[derive(Clone, Debug, PartialEq)]
pub struct CosimJudgement {
    /// Cycles of the whole.
    pub cycles: CosimCycles,
    /// What was compared.
    pub compared: Vec<CosimPart>,
    /// The first difference, by instructions; none when all is equal.
    pub difference: Option<CosimDifference>,
    /// What was not compared, and why.
    pub notes: Vec<String>,
    /// Cycles that were simulated.
    pub simulated: u64,
}

/// Cycles by the circuit and by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CosimCycles {
    /// Those of the circuit.
    pub rtl: u64,
    /// Those of the clock.
    pub model: u64,
    /// Whether they are to be equal.
    pub compared: bool,
}

/// A memory, an output or a kind of event that was compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CosimPart {
    /// What.
    pub what: String,
    /// Numbers compared.
    pub numbers: u64,
    /// Those that differ.
    pub different: u64,
}

/// Where circuit and machine part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CosimDifference {
    /// In a sentence.
    pub message: String,
    /// The memory or the kind of event, as in `compared`.
    pub what: String,
    /// What the circuit has.
    pub rtl: i64,
    /// What machine or clock have.
    pub model: i64,
    /// The segment that it is in, from 0; null where the program is one.
    pub segment: Option<u64>,
    /// The instruction that it is of: that was accepted in another cycle, or that wrote the number last. Null where it is
    /// of none.
    pub instruction: Option<u64>,
    /// Its layer.
    pub layer: Option<String>,
    /// The output that the number is of.
    pub output: Option<String>,
    /// Vector of the memory.
    pub address: Option<u64>,
    /// Lane of the vector.
    pub lane: Option<u64>,
    /// The cycle in which the circuit accepted the instruction.
    pub cycle: Option<u64>,
}
