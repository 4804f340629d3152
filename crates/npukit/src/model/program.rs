//! [`Program`]: what a [`Source`](crate::Source) becomes.

use npukit_numeric::Tensor;
use npukit_target::{
    ArtifactFile, Compiled, Finding, Port, ProgramReport, RunOptions, RunResult, TimeOptions, TimeReport,
};

use crate::error::Error;
use crate::model::origin::Origin;
use crate::model::remarks::Remarks;

/// A program for an accelerator: a model that was compiled, or an artifact that was read.
///
/// It is made by [`Source::program`](crate::Source::program).
pub struct Program {
    pub(crate) compiled: Box<dyn Compiled>,
    /// What it was compiled from; none of an artifact, and of what a person wrote.
    pub(crate) origin: Option<Origin>,
    /// What the author of the instance should know of, where there is no origin that knows it.
    pub(crate) instance_warnings: Vec<String>,
}

impl Program {
    /// What it is: target, instructions, memory, layers, steps left to the host.
    pub fn report(&self) -> ProgramReport {
        self.compiled.report()
    }

    /// What it takes, with the shape of one sample.
    pub fn inputs(&self) -> Vec<Port> {
        self.compiled.inputs()
    }

    /// What it gives, with the shape of one sample.
    pub fn outputs(&self) -> Vec<Port> {
        self.compiled.outputs()
    }

    /// The files that the accelerator's drivers load, the manifest first.
    ///
    /// # Errors
    ///
    /// [`Error::Target`] for a program that came from files which are not the drivers', or that does not encode.
    pub fn files(&self) -> Result<Vec<ArtifactFile>, Error> {
        Ok(self.compiled.files()?)
    }

    /// Runs one sample, a tensor for each input by name, on a machine whose memory is zero at the start. Results are
    /// those of the hardware, bit by bit.
    ///
    /// # Errors
    ///
    /// [`Error::Target`] for inputs that do not fit, and what the machine faults on.
    pub fn run(&self, inputs: &[(String, Tensor)]) -> Result<RunResult, Error> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// As [`Self::run`], on a machine and as often as the options say.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run`]; [`Error::Target`] when a second run gives other outputs.
    pub fn run_with(&self, inputs: &[(String, Tensor)], options: &RunOptions) -> Result<RunResult, Error> {
        Ok(self.compiled.run_with(inputs, options)?)
    }

    /// How long a sample takes, and where the time goes.
    ///
    /// # Errors
    ///
    /// [`Error::Target`] for a target without a clock, and a program that the clock cannot run.
    pub fn time(&self) -> Result<TimeReport, Error> {
        self.time_with(&TimeOptions::default())
    }

    /// As [`Self::time`], by the cost model that the options choose.
    ///
    /// # Errors
    ///
    /// Those of [`Self::time`]; [`Error::Target`] for options that the target does not take.
    pub fn time_with(&self, options: &TimeOptions) -> Result<TimeReport, Error> {
        Ok(self.compiled.time(options)?)
    }

    /// What is wrong with the program, in the order of its instructions.
    ///
    /// # Errors
    ///
    /// [`Error::Target`] for a target without a lint.
    pub fn lint(&self) -> Result<Vec<Finding>, Error> {
        Ok(self.compiled.lint()?)
    }

    /// What was assumed about the model, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.remarks().notes
    }

    /// What may not be as the author of the model or of the instance meant, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.remarks().warnings;
        warnings.extend(self.report().warnings);
        warnings
    }

    /// The program as its target has it: traces, performance samples and all else that only some targets do.
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
