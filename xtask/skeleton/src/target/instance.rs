//! [`SkeletonInstance`]: assembler, disassembler and compiler of one instance.

use npukit_asm::{Style, Words};
use npukit_graph::Graph;
use npukit_isa::IsaSpec;
use npukit_numeric::NumberFormat;
use npukit_target::{
    Assembled, Chosen, CompileOptions, Compiled, Disassembled, HandProgram, Instance, Problem, ProgramText,
    Reader, Stage, TargetError, artifact_stem, bytes_of, instance_name, program_text,
};

use super::TARGET;
use super::hand::Written;
use super::program::SkeletonProgram;
use crate::config::Config;
use crate::isa::codec::encode_program;
use crate::isa::isa;
use crate::lower::{self, CompileError};
use crate::machine::state::FORMAT;
use crate::program::Program;

/// An instance with its name.
pub struct SkeletonInstance {
    /// Name of the preset or of the file.
    pub name: String,
    /// Its parameters.
    pub config: Config,
}

/// The only form of listing; it assembles again.
const LISTING: &str = "npukit";
/// The only stage of the compiler that prints.
const ASM: &str = "asm";

impl SkeletonInstance {
    fn program(&self, graph: &Graph, options: &CompileOptions) -> Result<Program, TargetError> {
        Chosen::new(TARGET, &[], Stage::Compile, &options.options)?;
        let name = artifact_stem(&options.model_name, &self.name);
        lower::compile(graph, &self.config, name, self.name.clone()).map_err(|error| match error {
            CompileError::Refused(problems) => TargetError::Refused(problems),
            error => TargetError::failed(error),
        })
    }
}

impl Instance for SkeletonInstance {
    fn name(&self) -> String {
        format!("{TARGET}:{}", self.name)
    }

    fn config(&self) -> serde_json::Value {
        serde_json::to_value(&self.config).expect("numbers and text have JSON")
    }

    fn number_format(&self) -> Option<NumberFormat> {
        Some(NumberFormat::Fixed(FORMAT))
    }

    fn isa(&self) -> Result<IsaSpec, TargetError> {
        Ok(isa())
    }

    fn check(&self, graph: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Chosen::new(TARGET, &[], Stage::Compile, &options.options)?;
        Ok(lower::check(graph))
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(SkeletonProgram(self.program(graph, options)?)))
    }

    fn stages(&self) -> &'static [&'static str] {
        &[ASM]
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        if stage != ASM {
            return Err(TargetError::option("emit", stage, format!("the stages are graph, {ASM}")));
        }
        let program = self.program(graph, options)?;
        let words = encode_program(&program.instructions).map_err(TargetError::failed)?;
        Ok(npukit_asm::disassemble(&isa(), &words).to_string())
    }

    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let assembly = npukit_asm::assemble_with(&isa(), name, text, &bytes_of(files));
        let assembly = assembly.map_err(TargetError::text)?;
        Ok(Assembled { bytes: assembly.bytes, instructions: assembly.lines.len(), warnings: Vec::new() })
    }

    fn hand_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn HandProgram>, TargetError> {
        let (words, text) = match program_text(bytes) {
            Some(text) => {
                let assembly = npukit_asm::assemble_with(&isa(), name, text, &bytes_of(files));
                let assembly = assembly.map_err(TargetError::text)?;
                (assembly.bytes.clone(), ProgramText::from(assembly))
            }
            None => (bytes.to_vec(), ProgramText::default()),
        };
        let instance = (self.name.as_str(), &self.config);
        let program = Written::new(instance_name(name).to_owned(), instance, &words, text);
        Ok(Box::new(program.map_err(|error| TargetError::in_file(name, error))?))
    }

    fn list(&self, name: &str, text: &str, files: &dyn Reader) -> Result<String, TargetError> {
        npukit_asm::list(&isa(), name, text, &bytes_of(files)).map_err(TargetError::text)
    }

    fn format(&self, _name: &str, text: &str) -> Result<String, TargetError> {
        Ok(npukit_asm::format(text, &Style::COMMON))
    }

    fn listings(&self) -> &'static [&'static str] {
        &[LISTING]
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        if form != LISTING {
            return Err(TargetError::option("format", form, format!("the only form is {LISTING}")));
        }
        let listing = npukit_asm::disassemble_as(&isa(), bytes, None, Words::Value);
        let problems = listing.problems.iter().map(ToString::to_string).collect();
        let (text, instructions, lines) = (listing.to_string(), listing.lines.len(), listing.listing());
        Ok(Disassembled { text, instructions, problems, lines })
    }
}
