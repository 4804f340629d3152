//! [`Instance`]: an accelerator with its parameters fixed.

pub mod generator;
pub mod hand;
pub mod host;
pub mod info;
pub mod survey;
pub mod text;

use std::collections::BTreeSet;

use npukit_asm::Experiment;
use npukit_asm::analysis::Language;
use npukit_graph::Graph;
use npukit_graph::decoder::DecoderModel;
use npukit_isa::IsaSpec;
use npukit_lower::Problem;

use crate::config::compile_options::CompileOptions;
use crate::contract::program::Compiled;
use crate::error::TargetError;
use crate::files::read::{Reader, bytes_of};
use crate::lint::{Finding, Linted};
use crate::rtl::{Circuit, Defects};
use generator::{Generator, GeneratorOptions};
use hand::HandProgram;
use host::HostSide;
use info::InstanceInfo;
use survey::Survey;
use text::{Assembled, Disassembled, text_error};

/// A form of a graph in a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphForm {
    /// The graph that is lowered: it may compute the same in fewer cycles. The values of a program are found in this one.
    Lowered,
    /// The model's graph with operators in parts as they are lowered, where these have scales that can be chosen.
    Apart,
}

/// An accelerator with its parameters fixed.
pub trait Instance: Send + Sync {
    /// What is known of it.
    fn info(&self) -> &InstanceInfo;

    /// The same instance with number formats whose range is wider, the narrowest of them first.
    ///
    /// What saturates on this instance may fit one of those.
    fn wider(&self) -> Vec<Box<dyn Instance>> {
        Vec::new()
    }

    /// It as a circuit: sources, parameters and ports.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no circuit; [`TargetError::Unbuildable`] with every parameter
    /// that its circuit cannot have.
    fn circuit(&self, _defects: Defects) -> Result<Circuit, TargetError> {
        Err(self.info().unsupported("rtl"))
    }

    /// Every node that cannot be lowered with the target's own options; nothing else of `options` matters.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no compiler; options that it does not take
    /// ([`TargetError::Option`]). What cannot be lowered is not an error here.
    fn check(&self, _graph: &Graph, _options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Err(self.info().unsupported("check"))
    }

    /// The graph in a form of the compiler: it computes the same as `graph`.
    ///
    /// # Errors
    ///
    /// Options that the target does not take; a graph that is not valid.
    fn prepare(
        &self,
        graph: &Graph,
        _options: &CompileOptions,
        _form: GraphForm,
    ) -> Result<Graph, TargetError> {
        Ok(graph.clone())
    }

    /// Names of the nodes of the graph that are the host's.
    ///
    /// # Errors
    ///
    /// A graph that does not have the values between machine and host.
    fn nodes_of_host(&self, _graph: &Graph) -> Result<BTreeSet<String>, TargetError> {
        Ok(BTreeSet::new())
    }

    /// Compiles a model.
    ///
    /// # Errors
    ///
    /// [`TargetError::Refused`] with every node that cannot be lowered; a program that does not fit the
    /// memories, with the numbers; options that the target does not take ([`TargetError::Option`]).
    fn compile(&self, _graph: &Graph, _options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Err(self.info().unsupported("compile"))
    }

    /// What `compile` would come to, as far as that is known without a program: unless a target has a quicker way to
    /// tell, it is compiled for this.
    ///
    /// A graph that is to become integers may be given as it is.
    ///
    /// # Errors
    ///
    /// Those of [`Self::compile`], where they are known before there is a program.
    fn survey(&self, graph: &Graph, options: &CompileOptions) -> Result<Survey, TargetError> {
        Ok(Survey::of(&*self.compile(graph, options)?))
    }

    /// A language model on this machine, at the beginning of a text.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no form of language models; a model whose sizes do
    /// not fit the machine; options that it does not take.
    fn generator(
        &self,
        _model: &DecoderModel,
        _options: &GeneratorOptions,
    ) -> Result<Generator, TargetError> {
        Err(self.info().unsupported("generate"))
    }

    /// What the compiler has after `stage`, as text.
    ///
    /// # Errors
    ///
    /// Those of [`Self::compile`]; a stage that is not one of [`InstanceInfo::stages`].
    fn emit(&self, _graph: &Graph, _options: &CompileOptions, _stage: &str) -> Result<String, TargetError> {
        Err(self.info().unsupported("compile --emit"))
    }

    /// The language of its program text, which has its instruction set; `name` is a file's, which tells languages apart.
    /// None without a text. A [`SpecLanguage`](npukit_asm::analysis::SpecLanguage) is what the forms of an instruction set make.
    fn language(&self, _name: &str) -> Option<Box<dyn Language>> {
        None
    }

    /// Text to words, and what is wrong with it. `name` is the file's, for errors; `files` gives those that it includes. By
    /// default in the forms of the instruction set of [`Self::language`].
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when there is no assembler; [`TargetError::Text`] with every fault of the text.
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

    /// Words to text, in one of the forms of [`InstanceInfo::listings`].
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no disassembler; a form that is not one of
    /// [`InstanceInfo::listings`]. Words without meaning are problems of the listing, not errors.
    fn disassemble(&self, _bytes: &[u8], _listing: &str) -> Result<Disassembled, TargetError> {
        Err(self.info().unsupported("disasm"))
    }

    /// What is wrong with a program of words, in the order of its instructions. `name` is the file's, for errors; `around`
    /// what the program's text says of the memories around a run, and `None` of words without a text.
    ///
    /// # Errors
    ///
    /// Bytes that are no words of the instruction set.
    fn lint(
        &self,
        _name: &str,
        _bytes: &[u8],
        _around: Option<&Experiment>,
    ) -> Result<Vec<Finding>, TargetError> {
        Err(self.info().unsupported("lint"))
    }

    /// A program that a person wrote: text or words, whichever `bytes` are. `name` is the file's, for errors and for
    /// telling languages apart; `files` gives those that a text includes.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target's machine takes no such program; [`TargetError::Text`] with every
    /// fault of the text; words that are not instructions.
    fn hand_program(
        &self,
        _name: &str,
        _bytes: &[u8],
        _files: &dyn Reader,
    ) -> Result<Box<dyn HandProgram>, TargetError> {
        Err(self.info().unsupported("run of a program in text or words"))
    }

    /// What software on the host writes and reads beside instructions; none where nothing is described.
    fn host(&self) -> Option<HostSide<'_>> {
        None
    }
}

impl dyn Instance + '_ {
    /// Its instruction set.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no instruction set to show.
    pub fn isa(&self) -> Result<IsaSpec, TargetError> {
        let language = self.language("").ok_or_else(|| self.info().unsupported("isa"))?;
        Ok(language.spec().clone())
    }

    /// The language of the text in a file; `None` for a file of words, and where there is no such text.
    pub fn language_of(&self, file: &str) -> Option<Box<dyn Language>> {
        let is_words = self.info().words_extension.is_some_and(|extension| file.ends_with(extension));
        if is_words { None } else { self.language(file) }
    }

    /// Program text with what each line of it becomes: address, bytes, number and text of the line, then the symbols.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when there is no such listing; [`TargetError::Text`] with every fault of the text.
    pub fn list(&self, name: &str, text: &str, files: &dyn Reader) -> Result<String, TargetError> {
        let language = self.language_of(name).ok_or_else(|| self.no_text(name, "list", "asm --listing"))?;
        language.list(name, text, &bytes_of(files)).map_err(text_error)
    }

    /// Program text, laid out: another layout of the same program, comments kept. `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when there is no layout; [`TargetError::Text`] with every fault of the text.
    pub fn format(&self, name: &str, text: &str) -> Result<String, TargetError> {
        let language = self.language_of(name).ok_or_else(|| self.no_text(name, "lay out", "format"))?;
        language.format(name, text).map_err(text_error)
    }

    /// What is wrong with a program in text: of its words, unless the text says more, and without what the text allows.
    ///
    /// # Errors
    ///
    /// Those of [`Instance::assemble`]; [`TargetError::Unsupported`] when the target has no linter.
    pub fn lint_text(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Linted, TargetError> {
        if self.info().lints.is_empty() {
            return Err(self.info().unsupported("lint"));
        }
        Ok(self.assemble(name, text, files)?.linted)
    }

    /// The error of a file that is no program text.
    fn no_text(&self, name: &str, what: &str, verb: &'static str) -> TargetError {
        match self.info().words_extension.filter(|extension| name.ends_with(extension)) {
            Some(extension) => {
                TargetError::failed(format!("a {extension} file has words, no assembly to {what}"))
            }
            None => self.info().unsupported(verb),
        }
    }
}
