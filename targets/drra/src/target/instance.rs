//! [`DrraInstance`]: assembler, disassembler and compiler for one fabric.

use npukit_asm::analysis::Language;
use npukit_asm::{Experiment, Separated, separate};
use npukit_base::{excerpt, without_bom};
use npukit_graph::Graph;
use npukit_target::{
    AsmProgram, Assembled, CompileEstimate, CompileOptions, Compiled, Disassembled, Finding, GraphForm,
    Instance, InstanceInfo, Lint, Linted, Phase, Problem, ProgramText, Reader, Stage, TargetError,
    artifact_stem, bytes_of, instance_name, program_text,
};
use serde_json::{Value, json};

use super::asm_program::AssembledProgram;
use super::diagram::diagram;
use super::model::host_step;
use super::options::chosen;
use super::{EXTENDED, fabric_of_the_seed};
use crate::check::lints::{DEFAULT_STEP, LINTS};
use crate::check::{self, Mistake, findings_with, lints, memory, mistakes};
use crate::config::column::columns;
use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric};
use crate::config::revision::{Repx, Revision, Widths};
use crate::config::{settable, to_json};
use crate::isa::asm::{self, Listing, Source};
use crate::isa::language::{AssemblyLanguage, PasmLanguage};
use crate::isa::pasm::epoch::EpochReport;
use crate::isa::pasm::kernel;
use crate::isa::program::Program;
use crate::lower;
use crate::program::artifact::Model;
use crate::program::binary::{read_program, write_program, write_program_hex};
use crate::program::executable::Executable;
use crate::program::plan::Step;
use crate::target::DrraInstance;

/// Listing style with names instead of numbers.
const NAMED: &str = "npukit";
/// Listing style of upstream's `instr.asm`.
const UPSTREAM: &str = "upstream";
/// Extension of PASM files; all other files have assembly.
const PASM: &str = ".pasm";
/// Message for a file that is neither text nor words.
const NO_TEXT: &str = "it is not text; a program is assembly, PASM, or words in binary or hexadecimal digits";
/// Stages of the compiler.
const PLAN: &str = "plan";
const KERNELS: &str = "pasm";
/// Stage of the kernels' instructions.
const ASSEMBLY: &str = "asm";
/// Listing style with words in hexadecimal.
const HEX: &str = "hex";

impl Instance for DrraInstance {
    fn info(&self) -> &InstanceInfo {
        &self.info
    }

    /// Intermediate sums of the extension do not saturate.
    fn wider_formats(&self) -> Vec<Box<dyn Instance>> {
        if self.fabric.options.extensions {
            return Vec::new();
        }
        let (name, mut fabric) = (format!("{}{EXTENDED}", self.info.instance()), self.fabric.clone());
        fabric.options.extensions = true;
        vec![Box::new(Self::new(&name, fabric, Vec::new()))]
    }

    fn check(&self, graph: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        chosen(Stage::Compile, &options.options)?;
        let graph = lower::prepare(graph).map_err(TargetError::failed)?;
        Ok(lower::check(&self.fabric, &graph))
    }

    fn prepare(
        &self,
        graph: &Graph,
        _options: &CompileOptions,
        form: GraphForm,
    ) -> Result<Graph, TargetError> {
        match form {
            GraphForm::Lowered => lower::prepare(graph).map_err(TargetError::failed),
            GraphForm::Decomposed => Ok(graph.clone()),
        }
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(self.program(graph, options)?))
    }

    fn estimate(&self, graph: &Graph, options: &CompileOptions) -> Result<CompileEstimate, TargetError> {
        chosen(Stage::Compile, &options.options)?;
        let prepared = lower::prepare(graph).map_err(TargetError::failed)?;
        let plan = lower::lower(&self.fabric, &prepared, None).map_err(TargetError::Refused)?;
        Ok(CompileEstimate {
            macs: Some(prepared.macs()),
            is_idle: plan.steps.iter().all(Step::is_host),
            segments: 1,
            host_steps: plan
                .steps
                .iter()
                .filter(|step| step.is_host())
                .map(|step| host_step(&plan, step))
                .collect(),
            warnings: self.fabric.unreleased().into_iter().collect(),
            ..CompileEstimate::default()
        })
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        let program = self.program(graph, options)?;
        match stage {
            PLAN => Ok(program.plan()),
            KERNELS => Ok(program.executable.kernels.iter().map(|ready| ready.pasm.as_str()).collect()),
            ASSEMBLY => Ok(program.assembly()),
            _ => Err(self.info.unknown_stage(stage)),
        }
    }

    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let (program, linted, warnings) = self.linted(name, without_bom(text), files)?;
        Ok(Assembled { bytes: self.words(&program)?, instructions: program.instructions(), warnings, linted })
    }

    fn asm_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn AsmProgram>, TargetError> {
        let text = program_text(bytes).ok_or_else(|| TargetError::in_file(name, NO_TEXT))?;
        // A text of words is also a legal program, so it is tried first.
        let (program, text) = match read_program(text) {
            Ok(words) if !name.ends_with(PASM) && words.instructions() > 0 => {
                let program =
                    self.fabric.decoded(&words).map_err(|error| TargetError::in_file(name, error))?;
                (program, ProgramText::default())
            }
            _ => self.read_text(name, without_bom(text), files)?,
        };
        let fabric = (self.info.instance(), &self.fabric);
        Ok(Box::new(AssembledProgram::new(instance_name(name).to_owned(), fabric, program, text)))
    }

    fn language(&self, name: &str) -> Option<Box<dyn Language>> {
        let fabric = self.fabric.clone();
        Some(if name.ends_with(PASM) {
            Box::new(PasmLanguage::new(fabric))
        } else {
            Box::new(AssemblyLanguage::new(fabric, &self.info.name))
        })
    }

    fn lint(
        &self,
        name: &str,
        bytes: &[u8],
        around: Option<&Experiment>,
    ) -> Result<Vec<Finding>, TargetError> {
        let text = std::str::from_utf8(bytes).map_err(|error| TargetError::in_file(name, error))?;
        let program = read_program(text).map_err(|error| TargetError::in_file(name, error))?;
        let program = self.fabric.decoded(&program).map_err(|error| TargetError::in_file(name, error))?;
        let nothing = Experiment::default();
        let of_memory = memory(&self.fabric, &program, around.unwrap_or(&nothing));
        findings_with(&self.fabric, &program, of_memory, &fabric_of_the_seed(self.info.instance()))
            .map_err(|error| TargetError::in_file(name, error))
    }

    fn disassemble(&self, bytes: &[u8], listing: &str) -> Result<Disassembled, TargetError> {
        let text = std::str::from_utf8(bytes).map_err(TargetError::failed)?;
        let program = read_program(text).map_err(TargetError::failed)?;
        let hex = write_program_hex(&program);
        let words: Vec<String> = program.cells.values().flatten().map(|word| format!("{word:08x}")).collect();
        let program = self.fabric.decoded(&program).map_err(TargetError::failed)?;
        let instructions = program.instructions();
        let form = if listing == UPSTREAM { Listing::Upstream } else { Listing::Named };
        let mut listed = asm::disassemble(&self.fabric, &program, form);
        // Files may use another bit order, so the words are shown as in the file.
        let listed_words = listed.lines.iter_mut().filter_map(|line| line.word.as_mut());
        listed_words.zip(words).for_each(|(word, bits)| word.bits = bits);
        let text = if listing == HEX { hex } else { listed.text() };
        let lines = if listing == NAMED { listed.lines } else { Vec::new() };
        Ok(Disassembled { text, instructions, problems: listed.problems, lines })
    }
}

impl DrraInstance {
    /// Creates an instance of a fabric; `warnings` are warnings on its file.
    pub fn new(name: &str, fabric: Fabric, warnings: Vec<String>) -> Self {
        let info = InstanceInfo {
            parameters: settable::tree(&fabric),
            config_text: Some(format!("{:#}\n", to_json(&fabric))),
            warnings: warnings.into_iter().chain(fabric.unreleased()).collect(),
            diagram: diagram(&fabric),
            quantization: Some(lower::scheme(&fabric)),
            stages: &[PLAN, KERNELS, ASSEMBLY],
            listings: &[NAMED, UPSTREAM, HEX],
            lints: LINTS,
            ..InstanceInfo::new(format!("drra:{name}"), config(&fabric))
        };
        Self { info, fabric }
    }

    /// Reads a program in assembly or PASM, with the positions of its instructions and warnings.
    fn read_text(
        &self,
        name: &str,
        text: &str,
        files: &dyn Reader,
    ) -> Result<(Program, ProgramText), TargetError> {
        let (program, linted, warnings) = self.linted(name, text, files)?;
        Ok((program, ProgramText { warnings, ..linted.text }))
    }

    /// Reads a program in assembly or PASM, with its findings and assembler warnings.
    fn linted(
        &self,
        name: &str,
        text: &str,
        files: &dyn Reader,
    ) -> Result<(Program, Linted, Vec<String>), TargetError> {
        if name.ends_with(PASM) {
            return self.linted_pasm(name, text);
        }
        let source = asm::assemble_with(&self.fabric, name, text, &bytes_of(files));
        let Source { program, places, experiment, sources, default_steps } =
            source.map_err(TargetError::text)?;
        let steps = default_steps.into_iter().map(|at| (at, check::Lint::DefaultStep));
        let others = steps.chain(memory(&self.fabric, &program, &experiment)).collect();
        let elsewhere = fabric_of_the_seed(self.info.instance());
        let findings =
            findings_with(&self.fabric, &program, others, &elsewhere).map_err(TargetError::failed)?;
        // Positions follow the program's order, cell after cell.
        let places = places.into_values().collect();
        let text = ProgramText { sources, places, experiment, warnings: Vec::new() };
        let linted = Linted::new(text, findings, LINTS);
        let warnings = linted.warnings(LINTS);
        Ok((program, linted, warnings))
    }

    /// Reads a program in PASM. Its instructions come from a schedule and have no lines. Findings
    /// on an operation are placed at the operation, and findings caused by the schedule have no
    /// position.
    fn linted_pasm(&self, name: &str, text: &str) -> Result<(Program, Linted, Vec<String>), TargetError> {
        let separated = separate(name, text, asm::COMMENTS).map_err(TargetError::text)?;
        let Separated { text, experiment, sources } = separated;
        let kernel = kernel::compile(&self.fabric, name, &text, 0).map_err(TargetError::text)?;
        let of_memory = memory(&self.fabric, &kernel.program, &experiment);
        let elsewhere = fabric_of_the_seed(self.info.instance());
        let mut findings = findings_with(&self.fabric, &kernel.program, of_memory, &elsewhere)
            .map_err(TargetError::failed)?;
        let mistakes = mistakes(&self.fabric, &kernel.texts);
        // Words do not show which of their values are defaults.
        let steps = mistakes.iter().filter(|(_, mistake)| mistake.kind == Some(DEFAULT_STEP));
        let of_text = |(_, mistake): &(_, Mistake)| {
            Finding::new(DEFAULT_STEP, DEFAULT_STEP.severity, None, mistake.message.clone())
        };
        findings.extend(steps.map(of_text));
        let separated = ProgramText { sources, places: Vec::new(), experiment, warnings: Vec::new() };
        let linted = Linted::new(separated, findings, LINTS);
        let is_left = |kind: &Lint| linted.findings.iter().any(|finding| finding.code == kind.code);
        let warnings = mistakes.iter().filter(|(_, mistake)| mistake.kind.is_none_or(is_left));
        let warnings = warnings.map(|(span, mistake)| excerpt(&text, *span, &mistake.to_string()));
        let ops = kernel.program.decode(&self.fabric).map_err(TargetError::failed)?;
        let in_time = lints(&self.fabric, &ops).into_iter();
        let in_time = in_time.filter(|(_, lint)| lint.is_after_scheduling() && is_left(lint.kind()));
        let in_time = in_time.map(|(at, lint)| {
            Mistake::new(lint.kind(), format!("{at}: {}", check::message(&lint, &elsewhere))).to_string()
        });
        let of_comments =
            linted.findings.iter().filter(|finding| !LINTS.iter().any(|lint| lint.code == finding.code));
        let of_comments = of_comments.map(|finding| finding.message.clone());
        let warnings = warnings.chain(in_time).chain(of_comments);
        let warnings = warnings.chain(kernel.epochs.iter().filter_map(EpochReport::gap)).collect();
        Ok((kernel.program, linted, warnings))
    }

    /// Returns the words of a program as a file has them.
    pub fn words(&self, program: &Program) -> Result<Vec<u8>, TargetError> {
        let program = self.fabric.encoded(program).map_err(TargetError::failed)?;
        Ok(write_program(&program).into_bytes())
    }

    fn program(&self, graph: &Graph, options: &CompileOptions) -> Result<Model, TargetError> {
        chosen(Stage::Compile, &options.options)?;
        let phase = Phase::begin("lower");
        let prepared = if options.prepared {
            graph.clone()
        } else {
            lower::prepare(graph).map_err(TargetError::failed)?
        };
        // Fraction lengths are indexed by values of the prepared graph, so that graph is lowered.
        let quantization = options.quantization.as_ref();
        let plan = lower::lower(&self.fabric, &prepared, quantization).map_err(TargetError::Refused)?;
        drop(phase);
        let executable = Executable::new(&self.fabric, plan).map_err(TargetError::failed)?;
        let name = artifact_stem(&options.model_name, self.info.instance());
        let macs = prepared.macs();
        let model = Model::new(name, self.info.name.clone(), executable, macs);
        Ok(Model { reading: options.reading.clone(), ..model })
    }
}

/// Returns the configuration of a fabric for reports.
fn config(fabric: &Fabric) -> Value {
    let mut config = json!({
        "rows": fabric.rows,
        "cols": fabric.cols,
        "cells": fabric.places().zip(&fabric.cells).map(|(place, cell)| {
            json!({ "row": place.row, "col": place.col, "name": cell.name, "iram_words": cell.iram_words,
                    "slots": slots(cell) })
        }).collect::<Vec<_>>(),
        "input_buffer_depth": fabric.input_depth,
        "output_buffer_depth": fabric.output_depth,
        "fraction_bits": columns(fabric).ok().and_then(|all| all.first().map(|column| column.fraction_bits)),
        "revision": revision(fabric.options.revision),
        "call_skew": fabric.options.call_skew,
        "extensions": fabric.options.extensions,
        "strict": fabric.options.strict,
        "encoding": fabric.options.encoding,
    });
    if fabric.options.revision.is_seed() {
        config["seed"] = json!(fabric.options.seed);
    }
    config
}

/// Describes a revision: bits that components keep of the fields of `rep`, the meaning of `repx`,
/// and the driver's view of the end of a call.
fn revision(revision: Revision) -> Value {
    let parts = Component::ALL.into_iter().filter(|component| *component != Component::Sequencer);
    let part = |component: Component| {
        let Widths { iter, step, delay } = revision.widths(component);
        let extends = revision.repx(component) == Repx::Extends;
        let repx = if extends { "extends the level before" } else { "writes the next level" };
        (component.name().to_owned(), json!({ "iter": iter, "step": step, "delay": delay, "repx": repx }))
    };
    let parts: serde_json::Map<String, Value> = parts.map(part).collect();
    json!({ "name": revision.name(), "rep_bits": parts, "ret": "sticky: count a kernel's cycles starting with the second call" })
}

fn slots(cell: &Cell) -> Value {
    cell.resources.iter().map(|part| json!({ "slot": part.slot, "kind": part.component.name() })).collect()
}
