//! [`PccxInstance`]: assembler and disassembler of one instance.

use npukit_asm::analysis::{Language, SpecLanguage};
use npukit_asm::{Assembly, Style, Words};
use npukit_graph::Graph;
use npukit_graph::decoder::DecoderModel;
use npukit_isa::IsaSpec;
use npukit_target::{
    Area, Assembled, CompileOptions, Compiled, Disassembled, Finding, Generator, GeneratorOptions,
    HandProgram, HostSide, Instance, Lint, Linted, Measures, Problem, ProgramText, Reader, Step, TargetError,
    artifact_stem, bytes_of, instance_name, program_text,
};

use super::hand::{Written, filled, waits};
use super::program::PccxProgram;
use crate::check::lints::LINTS;
use crate::check::{text_findings, word_findings};
use crate::config::area::area;
use crate::config::{Config, settable};
use crate::host::protocol::Side;
use crate::isa::codec::{Codec, decode_program};
use crate::isa::op::{INSTRUCTION_BYTES, Op};
use crate::isa::{isa, listing};
use crate::lower::weight_bits::{Choice, Samples, resolve_without};
use crate::lower::{self, Executable, Options, WeightBits, Weights, compile};
use crate::program::artifact::{assembly, read_memh};
use crate::target::PccxInstance;
use crate::target::generate::Decoder;

/// Our own syntax, which assembles again.
const OWN: &str = "npukit";
/// With index and word.
const LISTING: &str = "listing";
/// Micro-operations of the upstream decoder.
const UOPS: &str = "uops";
/// Words for simulators of circuits.
const MEMH: &str = "memh";

/// How names of files with such words end.
const WORDS: &str = ".memh";

/// What is computed where.
const LAYERS: &str = "layers";
/// Where values lie.
const PLAN: &str = "plan";
/// The instructions.
const ASM: &str = "asm";

impl PccxInstance {
    fn executable(&self, graph: &Graph, options: &CompileOptions) -> Result<Executable, TargetError> {
        let Choice { options, told } = self.choice(graph, options)?;
        let compiled = compile(&self.config, graph, &options, &mut Weights::default());
        let mut executable = compiled.map_err(TargetError::failed)?;
        executable.host.warnings.extend(told);
        Ok(executable)
    }

    /// The options, with what they leave open of weights chosen.
    fn choice(&self, graph: &Graph, options: &CompileOptions) -> Result<Choice, TargetError> {
        let ours = Options::parse(&self.config, &options.options)?;
        let samples = Samples { tensors: &options.samples.tensors, made_up: options.samples.made_up };
        resolve_without(options.kept, &self.config, graph, &ours, samples).map_err(TargetError::failed)
    }

    /// The words of a text: assembly, or those of a `.memh` file, of which nothing says where they stand.
    fn read_text(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembly, TargetError> {
        let read = if name.ends_with(WORDS) {
            read_memh(name, text).map(|bytes| Assembly { bytes, ..Assembly::default() })
        } else {
            npukit_asm::assemble_with(&isa(&self.config), name, text, &bytes_of(files))
        };
        read.map_err(TargetError::text)
    }

    /// The words of a text, and what is wrong with it.
    fn linted(&self, name: &str, text: &str, files: &dyn Reader) -> Result<(Vec<u8>, Linted), TargetError> {
        let mut assembly = self.read_text(name, text, files)?;
        let bytes = std::mem::take(&mut assembly.bytes);
        let experiment = &assembly.experiment;
        let found = text_findings(&self.config, &bytes, &waits(experiment), &filled(experiment));
        let found = found.map_err(|error| TargetError::in_file(name, error))?;
        Ok((bytes, Linted::new(assembly.into(), found, LINTS)))
    }

    /// The instructions of a text or of words, and where they stand.
    fn read_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<(Vec<Op>, ProgramText), TargetError> {
        let (words, text) = match program_text(bytes) {
            Some(text) => {
                let mut assembly = self.read_text(name, text, files)?;
                (std::mem::take(&mut assembly.bytes), ProgramText::from(assembly))
            }
            None => (bytes.to_vec(), ProgramText::default()),
        };
        let ops = decode_program(&Codec::new(&self.config), &words);
        Ok((ops.map_err(|error| TargetError::in_file(name, error))?, text))
    }
}

impl Instance for PccxInstance {
    fn name(&self) -> String {
        format!("pccx:{}", self.name)
    }

    fn config(&self) -> serde_json::Value {
        serde_json::to_value(&self.config).unwrap_or_default()
    }

    fn area(&self) -> Option<Area> {
        Some(area(&self.config))
    }

    fn config_text(&self) -> Option<String> {
        toml::to_string(&self.config).ok()
    }

    fn parameters(&self) -> serde_json::Value {
        settable::tree(&self.config)
    }

    /// Its numbers are BF16, with the range of a float, and weights of 4 bits with a scale of their own.
    fn saturates(&self) -> bool {
        false
    }

    fn isa(&self) -> Result<IsaSpec, TargetError> {
        Ok(isa(&self.config))
    }

    /// Typical inputs choose the bits of weights.
    fn measures(&self, options: &CompileOptions) -> Result<Measures, TargetError> {
        Ok(match Options::parse(&self.config, &options.options)?.weight_bits {
            WeightBits::Auto => Measures::Always,
            WeightBits::Fitting => Measures::WhereGiven,
            WeightBits::Bits4 | WeightBits::Bits8 | WeightBits::Steps { .. } => Measures::Never,
        })
    }

    /// Nothing is refused: what the machine has no form of is the host's.
    fn check(&self, _: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Options::parse(&self.config, &options.options)?;
        Ok(Vec::new())
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        let executable = self.executable(graph, options)?;
        let (name, target) = (artifact_stem(&options.model_name, &self.name), self.name());
        Ok(Box::new(PccxProgram::new(name, target, executable, self.config.clone())))
    }

    fn stages(&self) -> &'static [&'static str] {
        &[LAYERS, PLAN, ASM]
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        let stages = || {
            let chosen = self.choice(graph, options)?.options;
            lower::stages(&self.config, graph, &chosen).map_err(TargetError::failed)
        };
        match stage {
            LAYERS => Ok(stages()?.layers),
            PLAN => Ok(stages()?.plan),
            ASM => assembly(&self.executable(graph, options)?.program).map_err(TargetError::failed),
            _ => {
                let reason = format!("the stages are graph, {}", self.stages().join(", "));
                Err(TargetError::option("emit", stage, reason))
            }
        }
    }

    fn generator(
        &self,
        model: &DecoderModel,
        options: &GeneratorOptions,
    ) -> Result<Box<dyn Generator>, TargetError> {
        let ours = Options::parse(&self.config, &options.options)?;
        let decoder = Decoder::new(&self.config, ours, model, options.capacity);
        let decoder = decoder.map_err(TargetError::failed)?;
        let model = model.config().name.clone();
        let step = artifact_stem(&format!("{model}_step"), &self.name);
        Ok(Box::new(PccxGenerator { name: self.name(), step, config: self.config.clone(), decoder }))
    }

    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let (bytes, linted) = self.linted(name, text, files)?;
        let (instructions, warnings) = (bytes.len() / INSTRUCTION_BYTES, linted.warnings(LINTS));
        Ok(Assembled { bytes, instructions, warnings })
    }

    fn hand_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn HandProgram>, TargetError> {
        let (ops, text) = self.read_program(name, bytes, files)?;
        let (target, config) = (self.name(), self.config.clone());
        let program = Written { name: instance_name(name).to_owned(), target, config, ops, text };
        Ok(Box::new(program.warned()))
    }

    fn host(&self) -> Option<Box<dyn HostSide + '_>> {
        let programs =
            Box::new(|name: &str, bytes: &[u8], files: &dyn Reader| self.read_program(name, bytes, files));
        Some(Box::new(Side { config: &self.config, programs }))
    }

    fn list(&self, name: &str, text: &str, files: &dyn Reader) -> Result<String, TargetError> {
        if name.ends_with(WORDS) {
            return Err(TargetError::failed("a .memh file has words, no assembly to list"));
        }
        npukit_asm::list(&isa(&self.config), name, text, &bytes_of(files)).map_err(TargetError::text)
    }

    fn format(&self, name: &str, text: &str) -> Result<String, TargetError> {
        if name.ends_with(WORDS) {
            return Err(TargetError::failed("a .memh file has words, no assembly to lay out"));
        }
        Ok(npukit_asm::format(text, &Style::COMMON))
    }

    fn language(&self, name: &str) -> Option<Box<dyn Language>> {
        (!name.ends_with(WORDS)).then(|| Box::new(SpecLanguage::new(isa(&self.config))) as Box<dyn Language>)
    }

    fn lints(&self) -> &'static [&'static Lint] {
        LINTS
    }

    fn lint_text(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Linted, TargetError> {
        Ok(self.linted(name, text, files)?.1)
    }

    fn lint(&self, name: &str, bytes: &[u8]) -> Result<Vec<Finding>, TargetError> {
        word_findings(&self.config, bytes).map_err(|error| TargetError::in_file(name, error))
    }

    fn listings(&self) -> &'static [&'static str] {
        &[OWN, LISTING, UOPS, MEMH]
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        let own = npukit_asm::disassemble_as(&isa(&self.config), bytes, None, Words::Value);
        let text = match form {
            OWN => own.to_string(),
            LISTING => listing::listing(&own, bytes),
            UOPS => listing::micro_operations(bytes),
            MEMH => listing::memh(bytes),
            _ => {
                let reason = format!("the forms are {}", self.listings().join(", "));
                return Err(TargetError::option("format", form, reason));
            }
        };
        let problems = own.problems.iter().map(ToString::to_string).collect();
        let lines = if form == OWN { own.listing() } else { Vec::new() };
        Ok(Disassembled { text, instructions: own.lines.len(), problems, lines })
    }
}

/// [`Decoder`] with what its programs are named after.
struct PccxGenerator {
    name: String,
    /// Of the artifacts.
    step: String,
    config: Config,
    decoder: Decoder,
}

impl Generator for PccxGenerator {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn clock_mhz(&self) -> Option<f64> {
        Some(self.config.timing.core_mhz)
    }

    fn program(&self) -> Option<Box<dyn Compiled>> {
        let executable = self.decoder.program()?.clone();
        Some(Box::new(PccxProgram::new(
            self.step.clone(),
            self.name.clone(),
            executable,
            self.config.clone(),
        )))
    }

    fn reset(&mut self) {
        self.decoder.reset();
    }

    fn take(&mut self, tokens: &[usize]) -> Result<Step, TargetError> {
        let taken = self.decoder.take(tokens).map_err(TargetError::failed)?;
        Ok(Step { logits: taken.logits, cycles: Some(taken.cycles) })
    }
}
