//! [`AssembledProgram`]: an assembly program, given as assembly, PASM or words.

use miette::Diagnostic;
use npukit_base::Coded;
use npukit_target::{AsmOptions, AsmProgram, Compiled, ProgramText, TargetError, UninitMemory};

use super::machine::DrraMachine;
use super::program::DrraProgram;
use super::{fabric_of_the_seed, meant};
use crate::check::findings;
use crate::config::fabric::Fabric;
use crate::isa::program::Program;
use crate::machine::Machine;
use crate::program::artifact::Artifact;
use crate::program::binary::Image;

/// Program without tensors.
pub(super) struct AssembledProgram {
    artifact: Artifact,
    text: ProgramText,
}

impl AssembledProgram {
    pub fn new(
        name: String,
        (fabric_name, fabric): (&str, &Fabric),
        program: Program,
        text: ProgramText,
    ) -> Self {
        let (fabric_name, fabric) = (fabric_name.to_owned(), fabric.clone());
        let (image, inputs, outputs) = (Image::new(), Vec::new(), Vec::new());
        Self { artifact: Artifact { name, fabric_name, fabric, program, image, inputs, outputs }, text }
    }

    /// Puts the error below the first line that the fabric executes differently, if there is a
    /// text.
    fn below_its_line(&self, error: TargetError) -> TargetError {
        let TargetError::Differs(findings) = &error else { return error };
        let placed = findings.iter().find_map(|finding| Some((finding, self.text.place(finding)?)));
        let Some((finding, place)) = placed else { return error };
        let message = match findings.len() - 1 {
            0 => finding.message.clone(),
            more => format!("{} (and {more} more: `npu lint` lists them)", finding.message),
        };
        let help = Diagnostic::help(&error).map(|help| help.to_string());
        let fault = self.text.fault(place, Coded::code(&error), message);
        TargetError::text(fault.with_label("the fabric executes this differently").with_help(help))
    }
}

impl AsmProgram for AssembledProgram {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    fn machine(&self, options: &AsmOptions) -> Result<Box<dyn npukit_target::Machine>, TargetError> {
        let Artifact { fabric, fabric_name, program, .. } = &self.artifact;
        let elsewhere = || fabric_of_the_seed(fabric_name);
        let findings = || findings(fabric, program, &elsewhere()).map_err(TargetError::failed);
        let mut fabric = fabric.clone();
        let revision = meant(fabric.options.revision, options.meaning, findings);
        fabric.options.revision = revision.map_err(|error| self.below_its_line(error))?;
        let mut machine = Machine::new(&fabric, program).map_err(TargetError::failed)?;
        match options.unset {
            UninitMemory::Poison => machine.unset(UninitMemory::Poison),
            UninitMemory::Zero | UninitMemory::Garbage(_) => machine.tell_unwritten(),
        }
        let names = (self.artifact.name.clone(), format!("drra:{fabric_name}"));
        Ok(Box::new(DrraMachine::new(names, machine, program, (&[], &[]))))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(DrraProgram::new(self.artifact.clone())))
    }
}
