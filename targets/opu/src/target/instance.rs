//! [`OpuInstance`]: the operations of an instance; its compiler is in `compile`.

use npukit_asm::analysis::{Language, SpecLanguage};
use npukit_asm::{Assembly, Experiment, Words};
use npukit_graph::Graph;
use npukit_target::{
    AsmProgram, Assembled, CompileEstimate, CompileOptions, Compiled, Disassembled, Finding, Instance,
    InstanceInfo, Problem, ProgramText, Reader, TargetError, bytes_of, failure, instance_name, program_text,
};

use super::asm_program::AssembledProgram;
use super::compile::STAGES;
use super::diagram::diagram;
use super::scheme::scheme;
use crate::check;
use crate::check::lints::{CONV_BOUNDS, LINTS};
use crate::config::area::area;
use crate::config::{Config, settable};
use crate::isa::codec::words;
use crate::isa::isa;
use crate::target::OpuInstance;

/// Extension of files with binary words; files that are not text are also read as words.
const WORDS: &str = ".words";
/// The only form of listing; it can be assembled again.
const LISTING: &str = "npukit";

impl Instance for OpuInstance {
    fn info(&self) -> &InstanceInfo {
        &self.info
    }

    fn language(&self, _name: &str) -> Option<Box<dyn Language>> {
        Some(Box::new(SpecLanguage::new(isa(self.config.validity))))
    }

    fn check(&self, graph: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        self.problems(graph, options)
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(self.program(graph, options)?))
    }

    fn estimate(&self, graph: &Graph, options: &CompileOptions) -> Result<CompileEstimate, TargetError> {
        self.surveyed(graph, options)
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        self.stage(graph, options, stage)
    }

    fn lint(
        &self,
        name: &str,
        bytes: &[u8],
        around: Option<&Experiment>,
    ) -> Result<Vec<Finding>, TargetError> {
        let words = words(bytes).map_err(|error| TargetError::in_file(name, error))?;
        Ok(match around {
            Some(_) => check::words_of_text(&words, &self.config),
            None => check::words(&words, &self.config),
        })
    }

    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let assembly = self.assembly(name, text, files)?;
        self.draft_allows(&assembly)?;
        self.linted(assembly)
    }

    fn asm_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn AsmProgram>, TargetError> {
        let in_file = |error| TargetError::in_file(name, error);
        let (words, text) = match program_text(bytes).filter(|_| !name.ends_with(WORDS)) {
            Some(text) => {
                let Assembled { bytes, linted, .. } = self.linted(self.assembly(name, text, files)?)?;
                (words(&bytes).map_err(in_file)?, linted.warned(LINTS))
            }
            None => (words(bytes).map_err(in_file)?, ProgramText::default()),
        };
        let name = instance_name(name).to_owned();
        Ok(Box::new(AssembledProgram::new(name, (self.info.instance(), &self.config), words, text)))
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        if form != LISTING {
            return Err(self.info.unknown_listing(form));
        }
        let isa = isa(self.config.validity);
        Ok(Disassembled::from(&npukit_asm::disassemble_as(&isa, bytes, None, Words::Value)))
    }
}

impl OpuInstance {
    /// Creates an instance with these parameters.
    pub fn new(name: &str, config: Config) -> Self {
        let info = InstanceInfo {
            parameters: settable::tree(&config),
            config_text: toml::to_string(&config).ok(),
            diagram: diagram(&config),
            area: Some(area(&config)),
            macs_per_cycle: Some(config.timing.macs_per_cycle.into()),
            clock_mhz: Some(config.timing.clock_mhz),
            quantization: scheme(&config.types),
            stages: &STAGES,
            words_extension: Some(WORDS),
            listings: &[LISTING],
            lints: LINTS,
            // Default: numbers and text can be converted to JSON.
            ..InstanceInfo::new(format!("opu:{name}"), serde_json::to_value(&config).unwrap_or_default())
        };
        Self { info, config }
    }

    fn assembly(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembly, TargetError> {
        npukit_asm::assemble_with(&isa(self.config.validity), name, text, &bytes_of(files))
            .map_err(TargetError::text)
    }

    /// Assembles a text and adds its lint findings.
    fn linted(&self, assembly: Assembly) -> Result<Assembled, TargetError> {
        let words = words(&assembly.bytes).map_err(TargetError::failed)?;
        Ok(Assembled::new(assembly, check::words_of_text(&words, &self.config), LINTS))
    }

    /// Rejects the first convolution of a text that violates the draft's condition, if that
    /// applies.
    fn draft_allows(&self, assembly: &Assembly) -> Result<(), TargetError> {
        if self.config.validity.is_corrected() {
            return Ok(());
        }
        let found = check::words(&words(&assembly.bytes).map_err(TargetError::failed)?, &self.config);
        let beyond = found.iter().find(|finding| finding.code == CONV_BOUNDS.code);
        let place = beyond.and_then(|finding| assembly.lines.get(finding.instruction?));
        match (beyond, place) {
            (Some(finding), Some(line)) => {
                let message = finding.message.clone();
                Err(TargetError::text(assembly.sources.fault_at(line.place, failure::WORDS.name, message)))
            }
            _ => Ok(()),
        }
    }
}
