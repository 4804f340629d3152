//! [`PccxInstance`]: assembler, disassembler and compiler of one instance.

use std::sync::{Arc, Mutex};

use npukit_asm::analysis::{Language, SpecLanguage};
use npukit_asm::{Assembly, Experiment, Words};
use npukit_graph::Graph;
use npukit_graph::decoder::DecoderModel;
use npukit_graph::language::Model;
use npukit_target::{
    AsmProgram, Assembled, CompileOptions, Compiled, Disassembled, Finding, Generator, GeneratorOptions,
    HostSide, Instance, InstanceInfo, KeysAndValues, LanguageForm, LanguageModel, LanguageModels,
    LanguageTime, LanguageTimeOptions, MakeProgram, Measures, OptionError, Problem, ProgramText, Reader,
    Step, TargetError, Tokens, artifact_stem, bytes_of, instance_name, locked, program_text,
};

use super::asm_program::{AssembledProgram, filled, waits};
use super::diagram::diagram;
use super::program::PccxProgram;
use crate::check::lints::LINTS;
use crate::check::{text_findings, word_findings};
use crate::clock::report::assumptions;
use crate::config::area::area;
use crate::config::{Config, settable};
use crate::host::protocol::host_side;
use crate::isa::codec::{Codec, decode_program};
use crate::isa::op::{INSTRUCTION_BYTES, Op};
use crate::isa::{isa, listing};
use crate::lower::language::LanguageOptions;
use crate::lower::weight_bits::{Choice, Samples, resolve_without};
use crate::lower::{self, Executable, Options, WeightBits, Weights, compile};
use crate::program::artifact::{assembly, read_memh};
use crate::target::PccxInstance;
use crate::target::generate::{Decoder, Taken};
use crate::target::language::LanguageDecoder;
use crate::target::language_cost::LanguageCost;

/// Listing format: npukit's syntax, which can be assembled again.
const OWN: &str = "npukit";
/// Listing format: with index and word.
const LISTING: &str = "listing";
/// Listing format: micro-operations of the published decoder.
const UOPS: &str = "uops";
/// Listing format: words for circuit simulators.
const MEMH: &str = "memh";

/// Extension of files with words for circuit simulators.
const WORDS: &str = ".memh";

/// Compiler stage: assignment of layers to machine and host.
const LAYERS: &str = "layers";
/// Compiler stage: addresses of values.
const PLAN: &str = "plan";
/// Compiler stage: instructions.
const ASM: &str = "asm";

impl PccxInstance {
    /// Returns the instance with these parameters. Its numbers are BF16 with the range of a float,
    /// and weights have 4 bits with their own scales, so nothing saturates.
    pub fn new(name: &str, config: Config) -> Self {
        let info = InstanceInfo {
            parameters: settable::tree(&config),
            config_text: toml::to_string(&config).ok(),
            diagram: diagram(&config),
            area: Some(area(&config)),
            saturates: false,
            measures,
            stages: &[LAYERS, PLAN, ASM],
            words_extension: Some(WORDS),
            listings: &[OWN, LISTING, UOPS, MEMH],
            lints: LINTS,
            language_forms: &[
                LanguageForm { option: ("weights", "4"), is_calibrated: true },
                LanguageForm { option: ("weights", "file"), is_calibrated: false },
                LanguageForm { option: ("weights", "8"), is_calibrated: false },
            ],
            // Default: numbers and text can always be serialized.
            ..InstanceInfo::new(format!("pccx:{name}"), serde_json::to_value(&config).unwrap_or_default())
        };
        Self { info, config }
    }

    fn executable(&self, graph: &Graph, options: &CompileOptions) -> Result<Executable, TargetError> {
        let Choice { options, notes } = self.choice(graph, options)?;
        let compiled = compile(&self.config, graph, &options, &mut Weights::default());
        let mut executable = compiled.map_err(TargetError::failed)?;
        let columns = executable.program.images.iter().map(|image| image.k()).max();
        if let Some((k_part, found)) = options.k_part.zip(columns).filter(|(part, found)| found > part) {
            return Err(undivided(k_part, &format!("a product has {found} columns")).into());
        }
        executable.host.warnings.extend(notes);
        Ok(executable)
    }

    /// Returns the options with the bits of weights chosen.
    fn choice(&self, graph: &Graph, options: &CompileOptions) -> Result<Choice, TargetError> {
        let ours = Options::parse(&self.config, &options.options)?;
        if ours.keeps_codes {
            let [key, value, reason] =
                ["weights", "file", "only the file of a language model has codes"].map(str::to_owned);
            return Err(OptionError { key, value, reason }.into());
        }
        let samples = Samples { tensors: &options.samples.tensors, made_up: options.samples.made_up };
        resolve_without(options.kept, &self.config, graph, &ours, samples).map_err(TargetError::failed)
    }

    /// Returns a function that makes the programs of a language model's steps.
    fn step_programs(&self, model: &str) -> impl Fn(Arc<Executable>) -> MakeProgram + Clone + Send + use<> {
        let step = artifact_stem(&format!("{model}_step"), self.info.instance());
        let (target, config) = (self.info.name.clone(), self.config.clone());
        move |executable| {
            let (step, target, config) = (step.clone(), target.clone(), config.clone());
            Box::new(move || {
                let (executable, config) = ((*executable).clone(), config.clone());
                Box::new(PccxProgram::new(step.clone(), target.clone(), executable, config))
            })
        }
    }

    /// Returns a model that becomes graphs on the machine.
    fn described(
        &self,
        model: &DecoderModel,
        ours: Options,
        capacity: usize,
    ) -> Result<Generator, TargetError> {
        if let Some(k_part) = ours.k_part {
            return Err(undivided(k_part, "the model is a description").into());
        }
        let decoder = Decoder::new(&self.config, ours, model, capacity);
        let mut decoder = decoder.map_err(TargetError::failed)?;
        let make = self.step_programs(&model.config().name);
        let take = move |tokens: &[usize], begins: bool| {
            if begins {
                decoder.reset();
            }
            let Taken { logits, cycles } = decoder.take(tokens).map_err(TargetError::failed)?;
            Ok(Step { logits, cycles: Some(cycles), program: decoder.program().map(&make) })
        };
        let generator = Generator::new(self.info.name.clone(), Some(self.config.timing.core_mhz), take);
        Ok(generator.with_notes(assumptions(&self.config)))
    }

    /// Returns a model from its own files on the machine.
    fn published(
        &self,
        model: Arc<Model>,
        ours: &Options,
        options: &GeneratorOptions,
    ) -> Result<Generator, TargetError> {
        let ours = LanguageOptions::new(ours);
        let ours = LanguageOptions { calibration: options.calibration.clone(), ..ours };
        let make = self.step_programs(&model.description().name);
        let decoder = LanguageDecoder::new(&self.config, ours, model, options.capacity);
        let decoder = decoder.map_err(TargetError::failed)?;
        let notes = [decoder.notes(), assumptions(&self.config)].concat();
        let decoder = Arc::new(Mutex::new(decoder));
        let keys_and_values =
            KeysAndValues::shared(&decoder, LanguageDecoder::saved, LanguageDecoder::restore);
        let extend = move |Tokens { keep, new, all }: Tokens<'_>| {
            let mut text = locked(&decoder);
            text.keep(keep);
            let Taken { logits, cycles } = text.take(new, all).map_err(TargetError::failed)?;
            // The closure copies a program only when the caller needs it.
            let (decoder, make) = (Arc::clone(&decoder), make.clone());
            let program = text.last().map(|last| -> MakeProgram {
                Box::new(move || {
                    let program = locked(&decoder).program(last);
                    make(Arc::new(program.expect("a program that ran can be compiled again")))()
                })
            });
            Ok(Step { logits, cycles: Some(cycles), program })
        };
        let mhz = Some(self.config.timing.core_mhz);
        let generator = Generator::with_memory(self.info.name.clone(), mhz, extend, keys_and_values);
        Ok(generator.with_notes(notes))
    }

    /// Assembles a text, or reads the words of a `.memh` file, which has no source places.
    fn read_text(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembly, TargetError> {
        let read = if name.ends_with(WORDS) {
            read_memh(name, text).map(|bytes| Assembly { bytes, ..Assembly::default() })
        } else {
            npukit_asm::assemble_with(&isa(&self.config), name, text, &bytes_of(files))
        };
        read.map_err(TargetError::text)
    }

    /// Reads the instructions of a text or of words, and their positions.
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

    fn generator(
        &self,
        model: LanguageModel<'_>,
        options: &GeneratorOptions,
    ) -> Result<Generator, TargetError> {
        let ours = Options::parse(&self.config, &options.options)?;
        let has_few_bits = ours.weight_bits == WeightBits::Bits4;
        let is_used = matches!(model, LanguageModel::Published(_)) && has_few_bits;
        if !options.calibration.is_empty() && !is_used {
            let reason = "a text for calibration is only used for 4-bit weights of a model from its own files, \
                          by `weights=4`";
            // Default: the option that is missing has no value.
            let value = options.options.get("weights").cloned().unwrap_or_default();
            return Err(OptionError { key: "weights".to_owned(), value, reason: reason.to_owned() }.into());
        }
        match model {
            LanguageModel::Described(model) => self.described(model, ours, options.capacity),
            LanguageModel::Published(model) => self.published(model, &ours, options),
        }
    }

    fn language_time(
        &self,
        model: &Arc<Model>,
        options: &LanguageTimeOptions,
    ) -> Result<LanguageTime, TargetError> {
        let ours = LanguageOptions::new(&Options::parse(&self.config, &options.options)?);
        let cost = LanguageCost::new(&self.config, model, ours).map_err(TargetError::failed)?;
        Ok(cost.report(options))
    }
}

/// Returns the error for products with more columns than `k_part`, which are not divided.
fn undivided(k_part: usize, found: &str) -> OptionError {
    let reason = format!("{found}: only products of a language model from its own files are divided");
    OptionError { key: "k_part".to_owned(), value: k_part.to_string(), reason }
}

impl Instance for PccxInstance {
    fn info(&self) -> &InstanceInfo {
        &self.info
    }

    fn language(&self, _name: &str) -> Option<Box<dyn Language>> {
        Some(Box::new(SpecLanguage::new(isa(&self.config))))
    }

    /// No node is refused: the host computes nodes that the machine does not support.
    fn check(&self, _: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        Options::parse(&self.config, &options.options)?;
        Ok(Vec::new())
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        let mut executable = self.executable(graph, options)?;
        executable.host.reading.clone_from(&options.reading);
        let name = artifact_stem(&options.model_name, self.info.instance());
        let target = self.info.name.clone();
        Ok(Box::new(PccxProgram::new(name, target, executable, self.config.clone())))
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
            _ => Err(self.info.unknown_stage(stage)),
        }
    }

    fn language_models(&self) -> Option<LanguageModels<'_>> {
        Some(LanguageModels {
            generator: Box::new(|model, options| self.generator(model, options)),
            time: Box::new(|model, options| self.language_time(model, options)),
        })
    }

    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let assembly = self.read_text(name, text, files)?;
        let instructions = assembly.bytes.len() / INSTRUCTION_BYTES;
        let findings = self.lint(name, &assembly.bytes, Some(&assembly.experiment))?;
        Ok(Assembled { instructions, ..Assembled::new(assembly, findings, LINTS) })
    }

    fn asm_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn AsmProgram>, TargetError> {
        let (ops, text) = self.read_program(name, bytes, files)?;
        let (target, config) = (self.info.name.clone(), self.config.clone());
        let program = AssembledProgram { name: instance_name(name).to_owned(), target, config, ops, text };
        Ok(Box::new(program.warned()))
    }

    fn host(&self) -> Option<HostSide<'_>> {
        Some(host_side(&self.config, |name, bytes, files| self.read_program(name, bytes, files)))
    }

    fn lint(
        &self,
        name: &str,
        bytes: &[u8],
        around: Option<&Experiment>,
    ) -> Result<Vec<Finding>, TargetError> {
        let findings = match around {
            Some(text) => text_findings(&self.config, bytes, &waits(text), &filled(text)),
            None => word_findings(&self.config, bytes),
        };
        findings.map_err(|error| TargetError::in_file(name, error))
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        let listing = npukit_asm::disassemble_as(&isa(&self.config), bytes, None, Words::Value);
        let own = Disassembled::from(&listing);
        match form {
            OWN => Ok(own),
            LISTING => Ok(own.in_form(listing::listing(&listing, bytes))),
            UOPS => Ok(own.in_form(listing::micro_operations(bytes))),
            MEMH => Ok(own.in_form(listing::memh(bytes))),
            _ => Err(self.info.unknown_listing(form)),
        }
    }
}

/// Typical inputs are needed to choose the bits of weights.
fn measures(options: &CompileOptions) -> Result<Measures, TargetError> {
    Ok(match WeightBits::asked(&options.options)? {
        WeightBits::Auto => Measures::Always,
        WeightBits::Fitting => Measures::WhereGiven,
        WeightBits::Bits4 | WeightBits::Bits8 | WeightBits::Steps { .. } => Measures::Never,
    })
}
