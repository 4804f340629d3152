//! [`Program`]: the result of opening or compiling a [`Source`](crate::Source).

use npukit_numeric::Tensor;
use npukit_target::{
    ArtifactFile, Compiled, Finding, Port, ProgramReport, RunOptions, RunResult, TimeOptions, TimeReport,
};

use crate::error::Error;
use crate::model::compile_job::CompileJob;
use crate::model::remarks::Remarks;

/// Program for an accelerator: a compiled model, or an artifact that was read.
///
/// It is created by [`Source::program`](crate::Source::program).
pub struct Program {
    pub(crate) compiled: Box<dyn Compiled>,
    /// Model it was compiled from; `None` for artifacts and assembly programs.
    pub(crate) origin: Option<CompileJob>,
    /// Warnings of the instance, for a program without an origin.
    pub(crate) instance_warnings: Vec<String>,
}

impl Program {
    /// Returns a description: target, instructions, memory, layers, steps on the host.
    pub fn report(&self) -> ProgramReport {
        self.compiled.report()
    }

    /// Returns the inputs, with the shape of one sample.
    pub fn inputs(&self) -> Vec<Port> {
        self.compiled.inputs()
    }

    /// Returns the outputs, with the shape of one sample.
    pub fn outputs(&self) -> Vec<Port> {
        self.compiled.outputs()
    }

    /// Returns the files that the accelerator's drivers load, the manifest first.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Target`] for a program that was read from files of another kind, or that
    /// cannot be encoded.
    pub fn files(&self) -> Result<Vec<ArtifactFile>, Error> {
        Ok(self.compiled.files()?)
    }

    /// Runs one sample, a tensor for each input by name, on a machine whose memory is initially
    /// zero. Results equal the hardware's, bit for bit.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Target`] for inputs that do not fit, and if the machine faults.
    pub fn run(&self, inputs: &[(String, Tensor)]) -> Result<RunResult, Error> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// Runs one sample with options for the machine and the number of runs; see [`Self::run`].
    ///
    /// # Errors
    ///
    /// Fails as [`Self::run`] does, and with [`Error::Target`] if a repeated run gives other
    /// outputs.
    pub fn run_with(&self, inputs: &[(String, Tensor)], options: &RunOptions) -> Result<RunResult, Error> {
        Ok(self.compiled.run_with(inputs, options)?)
    }

    /// Returns the time of one sample, and where it is spent.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Target`] for a target without a clock, and for a program that the clock
    /// cannot run.
    pub fn time(&self) -> Result<TimeReport, Error> {
        self.time_with(&TimeOptions::default())
    }

    /// Returns the time by the cost model that the options choose; see [`Self::time`].
    ///
    /// # Errors
    ///
    /// Fails as [`Self::time`] does, and with [`Error::Target`] for options that the target does
    /// not support.
    pub fn time_with(&self, options: &TimeOptions) -> Result<TimeReport, Error> {
        Ok(self.compiled.time(options)?)
    }

    /// Returns the lint findings, in the order of the instructions.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Target`] for a target without a lint.
    pub fn lint(&self) -> Result<Vec<Finding>, Error> {
        Ok(self.compiled.lint()?)
    }

    /// Returns assumptions about the model, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.remarks().notes
    }

    /// Returns warnings about the model or the instance, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.remarks().warnings;
        warnings.extend(self.report().warnings);
        warnings
    }

    /// Returns the target's own representation of the program, for traces, performance samples and
    /// other features of some targets.
    pub fn compiled(&self) -> &dyn Compiled {
        &*self.compiled
    }

    pub(crate) fn remarks(&self) -> Remarks {
        match &self.origin {
            Some(origin) => origin.remarks(),
            None => Remarks { warnings: self.instance_warnings.clone(), ..Remarks::default() },
        }
    }
}
