//! [`Survey`]: what an instance would do of a model.

use std::collections::BTreeMap;

use crate::contract::program::Compiled;
use crate::report::{HostStepReport, MemoryReport};

/// What an instance would do of a model that it takes, as far as it can tell without a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Multiply-accumulates of the model; none where nobody knows.
    pub macs: Option<u64>,
    /// Those of them that the host does.
    pub host_macs: u64,
    /// Whether the machine does nothing of it.
    pub is_idle: bool,
    /// Programs that the machine runs one after the other, with steps of the host between them.
    pub segments: usize,
    /// Steps left to the host, in order.
    pub host_steps: Vec<HostStepReport>,
    /// Use of those memories of which it is known before there is a program.
    pub memory: BTreeMap<String, MemoryReport>,
    /// What the model's user should know of.
    pub warnings: Vec<String>,
}

impl Survey {
    /// What a program does of its model.
    pub fn of(compiled: &dyn Compiled) -> Self {
        let info = compiled.info();
        let program = info.report.clone();
        Self {
            macs: program.macs,
            host_macs: info.host_macs,
            is_idle: program.instructions == 0,
            segments: info.segments.unwrap_or(1), // Default: one program.
            host_steps: program.host_steps,
            memory: program.memory,
            warnings: program.warnings,
        }
    }
}
