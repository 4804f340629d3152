//! [`Instance`]: an accelerator with its parameters fixed.

pub mod generator;
pub mod hand;
pub mod host;
pub mod survey;

use std::collections::BTreeSet;

use npukit_asm::ListingLine;
use npukit_asm::analysis::Language;
use npukit_graph::Graph;
use npukit_graph::decoder::DecoderModel;
use npukit_graph::quantise::Scheme;
use npukit_isa::IsaSpec;
use npukit_lower::Problem;
use npukit_numeric::NumberFormat;

use crate::config::compile_options::{CompileOptions, Measures};
use crate::contract::program::Compiled;
use crate::error::TargetError;
use crate::files::read::Reader;
use crate::lint::{Finding, Lint, Linted};
use crate::report::area::Area;
use crate::rtl::{Circuit, Defects};
use generator::{Generator, GeneratorOptions};
use hand::HandProgram;
use host::HostSide;
use survey::Survey;

/// A program made from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// The words in file order.
    pub bytes: Vec<u8>,
    /// How many there are.
    pub instructions: usize,
    /// What hardware would not do as written, with the place of each.
    pub warnings: Vec<String>,
}

/// A program as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// The listing.
    pub text: String,
    /// How many instructions there are.
    pub instructions: usize,
    /// Words without meaning and the like, each with its place.
    pub problems: Vec<String>,
    /// The lines of the listing, a line of each instruction in the order of the program; empty for a form that takes no
    /// comments behind them.
    pub lines: Vec<ListingLine>,
}

/// An accelerator with its parameters fixed.
pub trait Instance: Send + Sync {
    /// Target and instance, as `TARGET:INSTANCE`.
    fn name(&self) -> String;

    /// Parameters, by name.
    fn config(&self) -> serde_json::Value;

    /// What may be set of it behind its name, as `,NAME=VALUE`: the keys of its configuration file; null where one has no
    /// value.
    fn parameters(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    /// What it takes of an FPGA; none where no model tells.
    fn area(&self) -> Option<Area> {
        None
    }

    /// Multiply-accumulates of a cycle in which all multipliers work: no program does more. None where nobody knows.
    fn macs_per_cycle(&self) -> Option<f64> {
        None
    }

    /// The clock in MHz that its cycles are taken at; none where it is not known.
    fn clock_mhz(&self) -> Option<f64> {
        None
    }

    /// Its configuration file: a file that names this very instance. None where it has no such file.
    fn config_text(&self) -> Option<String> {
        None
    }

    /// What is around it, as the part `system` of its configuration file; none where that says nothing.
    fn system(&self) -> Option<serde_json::Value> {
        None
    }

    /// What the author of its configuration file should know of: keys that nobody reads, for instance. Empty for a
    /// preset.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The format of the numbers in its memories; none when there is no one format to name.
    fn number_format(&self) -> Option<NumberFormat> {
        None
    }

    /// Whether numbers beyond the range of its formats saturate, and are lost. Floats become infinite only where the
    /// model's own would nearly be.
    fn saturates(&self) -> bool {
        true
    }

    /// The integers that tensors are to become before `compile`; none for an instance that takes real values.
    fn quantisation(&self) -> Option<Scheme> {
        None
    }

    /// Whether [`Self::compile`] measures programs on typical inputs to choose between them.
    ///
    /// # Errors
    ///
    /// Options that the target does not take.
    fn measures(&self, _options: &CompileOptions) -> Result<Measures, TargetError> {
        Ok(Measures::Never)
    }

    /// The same instance with number formats whose range is wider, the narrowest of them first.
    ///
    /// What saturates on this instance may fit one of those.
    fn wider(&self) -> Vec<Box<dyn Instance>> {
        Vec::new()
    }

    /// Its instruction set.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no instruction set to show.
    fn isa(&self) -> Result<IsaSpec, TargetError> {
        Err(self.unsupported("isa"))
    }

    /// It as a circuit: sources, parameters and ports.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no circuit; [`TargetError::Unbuildable`] with every parameter
    /// that its circuit cannot have.
    fn circuit(&self, _defects: Defects) -> Result<Circuit, TargetError> {
        Err(self.unsupported("rtl"))
    }

    /// Every node that cannot be lowered with the target's own options; nothing else of `options` matters.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no compiler; options that it does not take
    /// ([`TargetError::Option`]). What cannot be lowered is not an error here.
    fn check(&self, _graph: &Graph, _options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Err(self.unsupported("check"))
    }

    /// The graph that `compile` lowers in place of `graph`: it may compute the same in fewer cycles. Who
    /// wants to look at the values of a program finds them in this one.
    ///
    /// # Errors
    ///
    /// Options that the target does not take; a graph that is not valid.
    fn prepare(&self, graph: &Graph, _options: &CompileOptions) -> Result<Graph, TargetError> {
        Ok(graph.clone())
    }

    /// The graph with operators in parts as `compile` has them, where these have scales that can be chosen; it computes
    /// the same.
    ///
    /// # Errors
    ///
    /// Options that the target does not take; a graph that is not valid.
    fn taken_apart(&self, graph: &Graph, _options: &CompileOptions) -> Result<Graph, TargetError> {
        Ok(graph.clone())
    }

    /// Whether a function of one element takes a multiplication by a power of two before and after it for nothing.
    fn scales_functions(&self) -> bool {
        false
    }

    /// Whether the host, where it converts inputs and outputs, multiplies them by powers of two: see
    /// [`CompileOptions::scales`].
    fn scales_ports(&self) -> bool {
        false
    }

    /// Names of the nodes of the graph that are the host's.
    ///
    /// # Errors
    ///
    /// A graph that does not have the values between machine and host.
    fn nodes_of_host(&self, _graph: &Graph) -> Result<BTreeSet<String>, TargetError> {
        Ok(BTreeSet::new())
    }

    /// How many elements a mean adds, at most, before it divides; 1 where sums are wider than the number format.
    fn addends_of_means(&self) -> usize {
        1
    }

    /// Compiles a model.
    ///
    /// # Errors
    ///
    /// [`TargetError::Refused`] with every node that cannot be lowered; a program that does not fit the
    /// memories, with the numbers; options that the target does not take ([`TargetError::Option`]).
    fn compile(&self, _graph: &Graph, _options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Err(self.unsupported("compile"))
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
    ) -> Result<Box<dyn Generator>, TargetError> {
        Err(self.unsupported("generate"))
    }

    /// Stages of the compiler that print, in order.
    fn stages(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the compiler has after `stage`, as text.
    ///
    /// # Errors
    ///
    /// Those of [`Self::compile`]; a stage that is not one of [`Self::stages`].
    fn emit(&self, _graph: &Graph, _options: &CompileOptions, _stage: &str) -> Result<String, TargetError> {
        Err(self.unsupported("compile --emit"))
    }

    /// Text to words. `name` is the file's, for errors; `files` gives those that it includes.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no assembler; [`TargetError::Text`] with every
    /// fault of the text.
    fn assemble(&self, _name: &str, _text: &str, _files: &dyn Reader) -> Result<Assembled, TargetError> {
        Err(self.unsupported("asm"))
    }

    /// Program text with what each line of it becomes: address, bytes, number and text of the line, then the symbols.
    ///
    /// # Errors
    ///
    /// Those of [`Self::assemble`]; [`TargetError::Unsupported`] when the target has no such listing of the text.
    fn list(&self, _name: &str, _text: &str, _files: &dyn Reader) -> Result<String, TargetError> {
        Err(self.unsupported("asm --listing"))
    }

    /// Program text, laid out: another layout of the same program, comments kept. `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no layout of text; [`TargetError::Text`] with every
    /// fault of the text.
    fn format(&self, _name: &str, _text: &str) -> Result<String, TargetError> {
        Err(self.unsupported("format"))
    }

    /// The language of program text, as editors need it; `name` is the file's, which tells languages apart. None where
    /// there is no such text.
    fn language(&self, _name: &str) -> Option<Box<dyn Language>> {
        None
    }

    /// Forms of listing that `disassemble` writes, the default first.
    fn listings(&self) -> &'static [&'static str] {
        &[]
    }

    /// Words to text, in one of the forms of [`Instance::listings`].
    ///
    /// # Errors
    ///
    /// [`TargetError::Unsupported`] when the target has no disassembler; a form that is not one of
    /// [`Self::listings`]. Words without meaning are problems of the listing, not errors.
    fn disassemble(&self, _bytes: &[u8], _listing: &str) -> Result<Disassembled, TargetError> {
        Err(self.unsupported("disasm"))
    }

    /// [`Target::lints`](crate::Target::lints) of its target.
    fn lints(&self) -> &'static [&'static Lint] {
        &[]
    }

    /// What is wrong with a program in text: of its words, unless the text says more, and without what the text allows.
    ///
    /// # Errors
    ///
    /// Those of [`Self::assemble`] and [`Self::lint`].
    fn lint_text(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Linted, TargetError> {
        let findings = self.lint(name, &self.assemble(name, text, files)?.bytes)?;
        let program = self.hand_program(name, text.as_bytes(), files);
        // Default: without a machine that takes the program, its findings have no lines.
        let text = program.map(|program| program.text().clone()).unwrap_or_default();
        Ok(Linted::new(text, findings, self.lints()))
    }

    /// What is wrong with a program of words, in the order of its instructions. `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// Bytes that are no words of the instruction set.
    fn lint(&self, _name: &str, _bytes: &[u8]) -> Result<Vec<Finding>, TargetError> {
        Err(self.unsupported("lint"))
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
        Err(self.unsupported("run of a program in text or words"))
    }

    /// What software on the host writes and reads beside instructions; none where nothing is described.
    fn host(&self) -> Option<Box<dyn HostSide + '_>> {
        None
    }

    /// The error of a part that is not there.
    fn unsupported(&self, verb: &'static str) -> TargetError {
        TargetError::Unsupported { target: self.name(), verb }
    }
}
