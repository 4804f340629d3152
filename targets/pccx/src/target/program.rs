//! [`PccxProgram`]: a program container, reported, timed and traced.

use std::collections::BTreeMap;
use std::io::Write;

use npukit_target::{
    ArtifactFile, Compiled, HostStepReport, Port, ProgramReport, TargetError, TimeOptions, TimeReport,
};

use crate::clock::{self, Timeline};
use crate::config::Config;
use crate::program::{HostOp, Program};
use crate::timing::{Banks, cost};
use crate::{artifact, report};

/// A program and the instance it is timed on.
pub(super) struct PccxProgram {
    pub name: String,
    pub program: Program,
    pub config: Config,
}

impl PccxProgram {
    fn timeline(&self, options: &TimeOptions) -> Result<Timeline, TargetError> {
        if let Some((key, value)) = options.options.iter().next() {
            let reason = "pccx has no options of time: its parameters are the instance's".to_owned();
            return Err(TargetError::Option { key: key.clone(), value: value.clone(), reason });
        }
        Ok(clock::run(&self.config, &self.program.code))
    }

    fn macs(&self) -> u64 {
        let mut banks = Banks::default();
        let one = |op| {
            let macs = cost(&self.config, &banks, op).macs;
            banks.step(op);
            macs
        };
        self.program.code.iter().map(one).sum()
    }
}

impl Compiled for PccxProgram {
    fn report(&self) -> ProgramReport {
        let step = |op: &HostOp| HostStepReport {
            node: format!("before instruction {}", op.position),
            op: format!("host operation {}", op.kind),
            output: String::new(),
            reason: "the program says so".to_owned(),
        };
        ProgramReport {
            name: self.name.clone(),
            target: format!("pccx:{}", self.program.preset()),
            instructions: self.program.code.len(),
            macs: Some(self.macs()),
            memory: BTreeMap::new(),
            host_steps: self.program.host_ops.iter().map(step).collect(),
            layers: Vec::new(),
            choices: BTreeMap::new(),
            saturated_constants: None,
            warnings: Vec::new(),
        }
    }

    fn inputs(&self) -> Vec<Port> {
        Vec::new()
    }

    fn outputs(&self) -> Vec<Port> {
        Vec::new()
    }

    fn files(&self) -> Result<Vec<ArtifactFile>, TargetError> {
        let bytes = artifact::write(&self.program).map_err(TargetError::failed)?;
        Ok(vec![ArtifactFile { name: format!("{}.pcp", self.name), bytes }])
    }

    fn time(&self, options: &TimeOptions) -> Result<TimeReport, TargetError> {
        let timeline = self.timeline(options)?;
        Ok(report::report(&self.config, &self.program.code, &timeline, &[], |_| 0))
    }

    fn trace(&self, options: &TimeOptions, out: &mut dyn Write) -> Result<(), TargetError> {
        let timeline = self.timeline(options)?;
        let (config, code) = (&self.config, &self.program.code);
        report::chrome_trace(config, code, &timeline, &self.name, out).map_err(TargetError::failed)
    }
}
