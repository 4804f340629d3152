//! [`Instance`]: an accelerator with its parameters fixed.

pub mod asm_program;
pub mod compile_estimate;
pub mod generator;
pub mod host;
pub mod info;
pub mod text;

use std::collections::BTreeSet;

use npukit_asm::Experiment;
use npukit_asm::analysis::Language;
use npukit_graph::Graph;
use npukit_isa::IsaSpec;
use npukit_lower::Problem;

use crate::config::compile_options::CompileOptions;
use crate::config::run_options::HazardMode;
use crate::contract::program::Compiled;
use crate::error::TargetError;
use crate::files::read::{Reader, bytes_of};
use crate::lint::{Finding, Linted, raw_numbers};
use crate::rtl::{Circuit, Defects};
use asm_program::{AsmOptions, AsmProgram};
use compile_estimate::CompileEstimate;
use generator::LanguageModels;
use host::HostSide;
use info::InstanceInfo;
use text::{Assembled, Disassembled, text_error};

/// Form of a graph inside a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphForm {
    /// The graph that is lowered, possibly optimized to fewer cycles. A program's values are found
    /// in this form.
    Lowered,
    /// The model's graph with operators decomposed as for lowering, where the parts have scales
    /// that can be chosen.
    Decomposed,
}

/// An accelerator with its parameters fixed.
pub trait Instance: Send + Sync {
    /// Returns what is known of the instance without work.
    fn info(&self) -> &InstanceInfo;

    /// Returns variants of the instance with wider number formats, the narrowest first.
    ///
    /// Values that saturate on this instance may fit one of them.
    fn wider_formats(&self) -> Vec<Box<dyn Instance>> {
        Vec::new()
    }

    /// Returns the instance as a circuit: sources, parameters and ports.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no circuit; [`TargetError::Unbuildable`] with
    /// every parameter that its circuit does not support.
    fn circuit(&self, _defects: Defects) -> Result<Circuit, TargetError> {
        Err(self.info().unsupported("rtl"))
    }

    /// Returns every node that cannot be lowered. Of `options` only the target-specific options
    /// matter.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no compiler; [`TargetError::Option`] for
    /// invalid options. Nodes that cannot be lowered are not an error here.
    fn check(&self, _graph: &Graph, _options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Err(self.info().unsupported("check"))
    }

    /// Returns an equivalent graph in one of the compiler's forms.
    ///
    /// # Errors
    ///
    /// Invalid options; an invalid graph.
    fn prepare(
        &self,
        graph: &Graph,
        _options: &CompileOptions,
        _form: GraphForm,
    ) -> Result<Graph, TargetError> {
        Ok(graph.clone())
    }

    /// Returns the names of the nodes that the host computes.
    ///
    /// # Errors
    ///
    /// A graph without the values that go between machine and host.
    fn nodes_of_host(&self, _graph: &Graph) -> Result<BTreeSet<String>, TargetError> {
        Ok(BTreeSet::new())
    }

    /// Compiles a model.
    ///
    /// # Errors
    ///
    /// [`TargetError::Refused`] with every node that cannot be lowered; a program that exceeds the
    /// memories, with the numbers; [`TargetError::Option`] for invalid options.
    fn compile(&self, _graph: &Graph, _options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Err(self.info().unsupported("compile"))
    }

    /// Estimates the result of `compile`. By default the model is compiled; a target may have a
    /// quicker way.
    ///
    /// A graph that still has to be quantized is accepted.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::compile`], as far as they are known without a program.
    fn estimate(&self, graph: &Graph, options: &CompileOptions) -> Result<CompileEstimate, TargetError> {
        Ok(CompileEstimate::of(&*self.compile(graph, options)?))
    }

    /// Returns what the instance does with language models, token by token; `None` if it does not
    /// run them.
    fn language_models(&self) -> Option<LanguageModels<'_>> {
        None
    }

    /// Returns the compiler's intermediate form after `stage`, as text.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::compile`]; a stage that is not one of [`InstanceInfo::stages`].
    fn emit(&self, _graph: &Graph, _options: &CompileOptions, _stage: &str) -> Result<String, TargetError> {
        Err(self.info().unsupported("compile --emit"))
    }

    /// Returns the assembly language, including the instruction set. `name` is a file name that
    /// selects the language. `None` if the target has no text form.
    /// [`SpecLanguage`](npukit_asm::analysis::SpecLanguage) builds a language from the forms of an
    /// instruction set.
    fn language(&self, _name: &str) -> Option<Box<dyn Language>> {
        None
    }

    /// Assembles text to words and collects its faults. `name` is the file name for errors; `files`
    /// reads included files. By default it uses the instruction set of [`Self::language`].
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] without an assembler; [`TargetError::Text`] with every
    /// fault of the text.
    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let language = self.language(name).ok_or_else(|| self.info().unsupported("asm"))?;
        let assembly = npukit_asm::assemble_with(language.spec(), name, text, &bytes_of(files));
        let assembly = assembly.map_err(TargetError::text)?;
        let findings = match self.info().lints {
            [] => Vec::new(),
            _ => self.lint(name, &assembly.bytes, Some(&assembly.experiment))?,
        };
        Ok(Assembled::new(assembly, findings, self.info().lints))
    }

    /// Disassembles words to text, in one of the forms of [`InstanceInfo::listings`].
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no disassembler; a form that is not one of
    /// [`InstanceInfo::listings`]. Invalid words are problems in the result, not errors.
    fn disassemble(&self, _bytes: &[u8], _listing: &str) -> Result<Disassembled, TargetError> {
        Err(self.info().unsupported("disasm"))
    }

    /// Checks a program of words; the findings are in instruction order. `name` is the file name
    /// for errors. `around` holds what the text declares about memories before and after a run;
    /// `None` for words without a text.
    ///
    /// # Errors
    ///
    /// Bytes that are not words of the instruction set.
    fn lint(
        &self,
        _name: &str,
        _bytes: &[u8],
        _around: Option<&Experiment>,
    ) -> Result<Vec<Finding>, TargetError> {
        Err(self.info().unsupported("lint"))
    }

    /// Reads an assembly program, as text or words. `name` is the file name, for errors and to
    /// select the language; `files` reads included files.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target's machine cannot run such a program;
    /// [`TargetError::Text`] with every fault of the text; invalid words.
    fn asm_program(
        &self,
        _name: &str,
        _bytes: &[u8],
        _files: &dyn Reader,
    ) -> Result<Box<dyn AsmProgram>, TargetError> {
        Err(self.info().unsupported("run of an assembly program"))
    }

    /// Returns the host's registers and commands; `None` if the target does not describe them.
    fn host(&self) -> Option<HostSide<'_>> {
        None
    }
}

impl dyn Instance + '_ {
    /// Returns the instruction set.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] if the target has no instruction set.
    pub fn isa(&self) -> Result<IsaSpec, TargetError> {
        let language = self.language("").ok_or_else(|| self.info().unsupported("isa"))?;
        Ok(language.spec().clone())
    }

    /// Returns the language of an assembly file; `None` for a file of words or if the target has no
    /// text form.
    pub fn language_of(&self, file: &str) -> Option<Box<dyn Language>> {
        let is_words = self.info().words_extension.is_some_and(|extension| file.ends_with(extension));
        if is_words { None } else { self.language(file) }
    }

    /// Assembles text to a listing: address, bytes, line number and text of each line, followed by
    /// the symbols.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] without an assembler; [`TargetError::Text`] with every
    /// fault of the text.
    pub fn list(&self, name: &str, text: &str, files: &dyn Reader) -> Result<String, TargetError> {
        let language = self.language_of(name).ok_or_else(|| self.no_text(name, "list", "asm --listing"))?;
        language.list(name, text, &bytes_of(files)).map_err(text_error)
    }

    /// Formats assembly text without changing the program; comments are kept. `name` is the file
    /// name, for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] without a formatter; [`TargetError::Text`] with every
    /// fault of the text.
    pub fn format(&self, name: &str, text: &str) -> Result<String, TargetError> {
        let language = self.language_of(name).ok_or_else(|| self.no_text(name, "lay out", "format"))?;
        language.format(name, text).map_err(text_error)
    }

    /// Lints an assembly text: its words, unless the text gives more information. Findings that the
    /// text allows are omitted.
    ///
    /// # Errors
    ///
    /// The errors of [`Instance::assemble`]; [`TargetError::Unsupported`] if the target has no
    /// linter.
    pub fn lint_text(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Linted, TargetError> {
        if self.info().lints.is_empty() {
            return Err(self.info().unsupported("lint"));
        }
        let linted = self.assemble(name, text, files)?.linted;
        Ok(self.with_raw_numbers(name, text, files, linted))
    }

    /// Adds the findings about integers in a text that represent small real numbers.
    pub fn with_raw_numbers(&self, name: &str, text: &str, files: &dyn Reader, linted: Linted) -> Linted {
        if linted.text.experiment.unmarked().next().is_none() {
            return linted;
        }
        let options = AsmOptions { meaning: HazardMode::Sequential, ..AsmOptions::default() };
        let machine = self.asm_program(name, text.as_bytes(), files).and_then(|one| one.machine(&options));
        // The memories of a program that cannot run are unknown; a run reports the reason.
        let Ok(machine) = machine else { return linted };
        let found = raw_numbers(&linted.text.experiment, &*machine);
        linted.with_raw_numbers(found)
    }

    /// Returns the error for a file that is not assembly text.
    fn no_text(&self, name: &str, what: &str, verb: &'static str) -> TargetError {
        match self.info().words_extension.filter(|extension| name.ends_with(extension)) {
            Some(extension) => {
                TargetError::failed(format!("a {extension} file has binary words, not assembly to {what}"))
            }
            None => self.info().unsupported(verb),
        }
    }
}
