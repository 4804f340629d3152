//! [`CompileEstimate`]: estimate of how an instance would compile a model.

use std::collections::BTreeMap;

use crate::contract::program::Compiled;
use crate::report::{HostStepReport, MemoryReport};

/// Estimate of how an instance would compile a model that it accepts, as far as it is known without
/// a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileEstimate {
    /// Multiply-accumulates of the model; `None` if unknown.
    pub macs: Option<u64>,
    /// Multiply-accumulates that the host computes.
    pub host_macs: u64,
    /// Whether the machine computes nothing of the model.
    pub is_idle: bool,
    /// Number of programs that the machine runs in sequence, with host steps in between.
    pub segments: usize,
    /// Steps that the host computes, in order.
    pub host_steps: Vec<HostStepReport>,
    /// Use of the memories for which it is known without a program.
    pub memory: BTreeMap<String, MemoryReport>,
    /// Warnings for the user of the model.
    pub warnings: Vec<String>,
}

impl CompileEstimate {
    /// Returns the survey of a compiled program.
    pub fn of(compiled: &dyn Compiled) -> Self {
        let info = compiled.info();
        let program = info.report.clone();
        Self {
            macs: program.macs,
            host_macs: info.host_macs,
            is_idle: program.instructions == 0,
            segments: info.segments.unwrap_or(1), // Default: a program that is not segmented is one program.
            host_steps: program.host_steps,
            memory: program.memory,
            warnings: program.warnings,
        }
    }
}
