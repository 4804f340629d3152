//! [`OpuInstance`]: what an instance does; its compiler is in `compile`.

use npukit_asm::analysis::{Language, SpecLanguage};
use npukit_asm::{Assembly, Style, Words};
use npukit_graph::Graph;
use npukit_graph::quantise::Scheme;
use npukit_isa::IsaSpec;
use npukit_target::{
    Area, Assembled, CompileOptions, Compiled, Disassembled, Finding, HandProgram, Instance, Lint, Linted,
    Problem, ProgramText, Reader, Survey, TargetError, bytes_of, failure, instance_name, program_text,
};

use super::compile::STAGES;
use super::hand::Written;
use crate::check;
use crate::check::lints::{CONV_BOUNDS, LINTS};
use crate::config::area::area;
use crate::config::settable;
use crate::isa::codec::words;
use crate::isa::isa;
use crate::target::OpuInstance;

/// How names of files of words end; what is no text is words, too.
const WORDS: &str = ".words";
/// The only form of listing; it assembles again.
const LISTING: &str = "npukit";

impl Instance for OpuInstance {
    fn name(&self) -> String {
        format!("opu:{}", self.name)
    }

    fn config(&self) -> serde_json::Value {
        serde_json::to_value(&self.config).unwrap_or_default()
    }

    fn macs_per_cycle(&self) -> Option<f64> {
        Some(self.config.timing.macs_per_cycle.into())
    }

    fn area(&self) -> Option<Area> {
        Some(area(&self.config))
    }

    fn clock_mhz(&self) -> Option<f64> {
        Some(self.config.timing.clock_mhz)
    }

    fn config_text(&self) -> Option<String> {
        toml::to_string(&self.config).ok()
    }

    fn parameters(&self) -> serde_json::Value {
        settable::tree(&self.config)
    }

    fn isa(&self) -> Result<IsaSpec, TargetError> {
        Ok(isa(self.config.validity))
    }

    fn quantisation(&self) -> Option<Scheme> {
        self.scheme()
    }

    fn check(&self, graph: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        self.problems(graph, options)
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(self.program(graph, options)?))
    }

    fn survey(&self, graph: &Graph, options: &CompileOptions) -> Result<Survey, TargetError> {
        self.surveyed(graph, options)
    }

    fn stages(&self) -> &'static [&'static str] {
        &STAGES
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        self.stage(graph, options, stage)
    }

    fn language(&self, name: &str) -> Option<Box<dyn Language>> {
        (!name.ends_with(WORDS))
            .then(|| Box::new(SpecLanguage::new(isa(self.config.validity))) as Box<dyn Language>)
    }

    fn lints(&self) -> &'static [&'static Lint] {
        LINTS
    }

    fn lint_text(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Linted, TargetError> {
        let assembly = self.assembly(name, text, files)?;
        self.draft_allows(&assembly)?;
        Ok(self.linted(assembly)?.1)
    }

    fn lint(&self, name: &str, bytes: &[u8]) -> Result<Vec<Finding>, TargetError> {
        let words = words(bytes).map_err(|error| TargetError::in_file(name, error))?;
        Ok(check::words(&words, &self.config))
    }

    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let assembly = self.assembly(name, text, files)?;
        self.draft_allows(&assembly)?;
        let (bytes, linted) = self.linted(assembly)?;
        Ok(Assembled { bytes, instructions: linted.text.places.len(), warnings: linted.warnings(LINTS) })
    }

    fn hand_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn HandProgram>, TargetError> {
        let in_file = |error| TargetError::in_file(name, error);
        let (words, text) = match program_text(bytes).filter(|_| !name.ends_with(WORDS)) {
            Some(text) => {
                let (bytes, linted) = self.linted(self.assembly(name, text, files)?)?;
                (words(&bytes).map_err(in_file)?, linted.warned(LINTS))
            }
            None => (words(bytes).map_err(in_file)?, ProgramText::default()),
        };
        let name = instance_name(name).to_owned();
        Ok(Box::new(Written::new(name, (&self.name, &self.config), words, text)))
    }

    fn list(&self, name: &str, text: &str, files: &dyn Reader) -> Result<String, TargetError> {
        npukit_asm::list(&isa(self.config.validity), name, text, &bytes_of(files)).map_err(TargetError::text)
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
        let own = npukit_asm::disassemble_as(&isa(self.config.validity), bytes, None, Words::Value);
        let problems = own.problems.iter().map(ToString::to_string).collect();
        let (text, instructions, lines) = (own.to_string(), own.lines.len(), own.listing());
        Ok(Disassembled { text, instructions, problems, lines })
    }
}

impl OpuInstance {
    fn assembly(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembly, TargetError> {
        npukit_asm::assemble_with(&isa(self.config.validity), name, text, &bytes_of(files))
            .map_err(TargetError::text)
    }

    /// The words of a text, and what is wrong with it.
    fn linted(&self, mut assembly: Assembly) -> Result<(Vec<u8>, Linted), TargetError> {
        let bytes = std::mem::take(&mut assembly.bytes);
        let findings = check::words_of_text(&words(&bytes).map_err(TargetError::failed)?, &self.config);
        Ok((bytes, Linted::new(assembly.into(), findings, LINTS)))
    }

    /// Refuses the first convolution of a text that the draft's condition does not allow, where that one counts.
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
