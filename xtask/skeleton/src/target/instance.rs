//! [`SkeletonInstance`]: assembler, disassembler and compiler of one instance.

use npukit_asm::Words;
use npukit_asm::analysis::{Language, SpecLanguage};
use npukit_graph::Graph;
use npukit_numeric::NumberFormat;
use npukit_target::{
    AsmProgram, Chosen, CompileOptions, Compiled, Disassembled, Instance, InstanceInfo, Problem, ProgramText,
    Reader, Stage, TargetError, artifact_stem, bytes_of, instance_name, program_text,
};

use super::TARGET;
use super::asm_program::AssembledProgram;
use super::diagram::diagram;
use super::program::SkeletonProgram;
use crate::config::Config;
use crate::isa::codec::encode_program;
use crate::isa::isa;
use crate::lower::{self, CompileError};
use crate::machine::state::FORMAT;
use crate::program::Program;

/// An instance with its name.
pub struct SkeletonInstance {
    info: InstanceInfo,
    config: Config,
}

/// The only form of listing, which can be assembled again.
const LISTING: &str = "npukit";
/// The only compiler stage with text output.
const ASM: &str = "asm";

impl SkeletonInstance {
    /// Creates an instance from its parameters.
    pub fn new(name: &str, config: Config) -> Self {
        let parameters = serde_json::to_value(&config).expect("numbers and text have JSON");
        let info = InstanceInfo {
            diagram: diagram(&config),
            number_format: Some(NumberFormat::Fixed(FORMAT)),
            stages: &[ASM],
            listings: &[LISTING],
            ..InstanceInfo::new(format!("{TARGET}:{name}"), parameters)
        };
        Self { info, config }
    }

    fn program(&self, graph: &Graph, options: &CompileOptions) -> Result<Program, TargetError> {
        Chosen::new(TARGET, &[], Stage::Compile, &options.options)?;
        let name = artifact_stem(&options.model_name, self.info.instance());
        lower::compile(graph, &self.config, name, self.info.instance().to_owned()).map_err(
            |error| match error {
                CompileError::Refused(problems) => TargetError::Refused(problems),
                error => TargetError::failed(error),
            },
        )
    }
}

impl Instance for SkeletonInstance {
    fn info(&self) -> &InstanceInfo {
        &self.info
    }

    fn language(&self, _name: &str) -> Option<Box<dyn Language>> {
        Some(Box::new(SpecLanguage::new(isa())))
    }

    fn check(&self, graph: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Chosen::new(TARGET, &[], Stage::Compile, &options.options)?;
        Ok(lower::check(graph))
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(SkeletonProgram::new(self.program(graph, options)?)))
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        if stage != ASM {
            return Err(self.info.unknown_stage(stage));
        }
        let program = self.program(graph, options)?;
        let words = encode_program(&program.instructions).map_err(TargetError::failed)?;
        Ok(npukit_asm::disassemble(&isa(), &words).to_string())
    }

    fn asm_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn AsmProgram>, TargetError> {
        let (words, text) = match program_text(bytes) {
            Some(text) => {
                let assembly = npukit_asm::assemble_with(&isa(), name, text, &bytes_of(files));
                let assembly = assembly.map_err(TargetError::text)?;
                (assembly.bytes.clone(), ProgramText::from(assembly))
            }
            None => (bytes.to_vec(), ProgramText::default()),
        };
        let instance = (self.info.instance(), &self.config);
        let program = AssembledProgram::new(instance_name(name).to_owned(), instance, &words, text);
        Ok(Box::new(program.map_err(|error| TargetError::in_file(name, error))?))
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        if form != LISTING {
            return Err(self.info.unknown_listing(form));
        }
        Ok(Disassembled::from(&npukit_asm::disassemble_as(&isa(), bytes, None, Words::Value)))
    }
}
