//! Compilation of graphs for an [`OpuInstance`].

use std::collections::BTreeMap;

use npukit_graph::quantize::Quantization;
use npukit_graph::{Graph, ValueId};
use npukit_target::{
    CompileEstimate, CompileOptions, Finding, HostStepReport, Phase, Problem, Stage, TargetError,
    artifact_stem,
};

use super::options::chosen;
use super::program::{OpuProgram, ProgramOrigin};
use crate::check::lints::CONV_BOUNDS;
use crate::config::Validity;
use crate::isa::codec::encode_program;
use crate::isa::isa;
use crate::isa::op::Registers;
use crate::lower::{Lowered, backend, print};
use crate::program::Program;
use crate::target::OpuInstance;
use crate::target::diagnose::lower_error;
use crate::{check, lower};

const PRINTED: &str = "with the draft's printed strides it touches other bytes than the layer needs";
const UNPRINTED: &str = "compile for the instance without `+seed`; by hand, `ld.ker` wants as many input as output \
                         channels, and `pad` planes of one row";

/// Stages that can be printed.
pub(super) const STAGES: [&str; 3] = ["layers", "plan", "asm"];

impl OpuInstance {
    /// Returns the problem of every node that cannot be lowered.
    pub(super) fn problems(
        &self,
        graph: &Graph,
        options: &CompileOptions,
    ) -> Result<Vec<Problem>, TargetError> {
        let lowering = lower::Options { approximate: approximates(options)?, ..lower::Options::default() };
        let problems = lower::check(graph, &self.config, lowering);
        if !problems.is_empty() || self.config.validity.is_corrected() {
            return Ok(problems);
        }
        match self.program(graph, options) {
            Err(TargetError::Refused(problems)) => Ok(problems),
            // Other causes of a failed compilation do not concern single nodes.
            _ => Ok(problems),
        }
    }

    /// Returns the expected layers of a program; memory use is only known after constants are made.
    pub(super) fn surveyed(
        &self,
        graph: &Graph,
        options: &CompileOptions,
    ) -> Result<CompileEstimate, TargetError> {
        if !self.config.validity.is_corrected() {
            return Ok(CompileEstimate::of(&self.program(graph, options)?));
        }
        let lowering = lower::Options { approximate: approximates(options)?, ..lower::Options::default() };
        let model = lower::layers(graph, &self.config, lowering).map_err(lower_error)?;
        Ok(CompileEstimate {
            macs: Some(model.layers.iter().map(|layer| layer.macs).sum()),
            segments: 1,
            host_steps: model
                .outputs
                .iter()
                .flat_map(|output| &output.steps)
                .map(HostStepReport::from)
                .collect(),
            ..CompileEstimate::default()
        })
    }

    /// Compiles a program.
    pub(super) fn program(&self, graph: &Graph, options: &CompileOptions) -> Result<OpuProgram, TargetError> {
        let lowered = self.lowered(graph, options)?;
        let model = Some(options.model_name.as_str()).filter(|name| !name.is_empty()).unwrap_or(&graph.name);
        let name = artifact_stem(model, self.info.instance());
        let mut program = backend::program(&lowered, name, self.info.instance().to_owned(), &self.config);
        program.fractions =
            options.quantization.as_ref().map(|found| fractions(graph, found)).unwrap_or_default(); // Default: floats have no fraction lengths.
        program.reading.clone_from(&options.reading);
        self.as_printed(&program)?;
        sound(&program)?;
        let made = ProgramOrigin::Compiled { saturated_constants: lowered.constants.saturated };
        Ok(OpuProgram::new(program, made))
    }

    /// Returns the text of a stage.
    pub(super) fn stage(
        &self,
        graph: &Graph,
        options: &CompileOptions,
        stage: &str,
    ) -> Result<String, TargetError> {
        let lowered = self.lowered(graph, options)?;
        match stage {
            "layers" => Ok(print::layers(&lowered)),
            "plan" => Ok(print::plan(&lowered)),
            "asm" => {
                let words =
                    encode_program(&lowered.ops, self.config.validity).map_err(TargetError::failed)?;
                Ok(npukit_asm::disassemble(&isa(self.config.validity), &words).to_string())
            }
            _ => Err(self.info.unknown_stage(stage)),
        }
    }

    /// Checks that the draft's printed strides read and clear the same bytes as the program was
    /// made for.
    fn as_printed(&self, program: &Program) -> Result<(), TargetError> {
        if !self.config.validity.is_seed() {
            return Ok(());
        }
        let (mut registers, layers, types) =
            (Registers::default(), program.layer_of_each(), &self.config.types);
        let mut problems: Vec<Problem> = Vec::new();
        for (op, &layer) in program.instructions.iter().zip(&layers) {
            registers.set(op);
            let [meant, printed] = [Validity::Corrected, Validity::Seed].map(|validity| {
                let effects = op.effects(&registers, types, validity).into_iter();
                effects.flat_map(|effects| effects.memory.runs()).flat_map(|run| run.first..run.end)
            });
            let layer = program.layers.get(layer).map_or("(no layer)", |layer| &layer.name);
            let is_reported = |reported: &Problem| reported.node == layer && reported.op == op.mnemonic();
            if !problems.iter().any(is_reported) && !meant.eq(printed) {
                problems.push(Problem::new(layer, op.mnemonic(), PRINTED, UNPRINTED));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(TargetError::Refused(problems)) }
    }

    fn lowered(&self, graph: &Graph, options: &CompileOptions) -> Result<Lowered, TargetError> {
        let (quantization, approximate) = (options.quantization.as_ref(), approximates(options)?);
        let lowering = lower::Options { quantization, approximate, ..lower::Options::default() };
        lower::compile(graph, &self.config, lowering).map_err(lower_error)
    }
}

/// Returns the fraction lengths of computed values, by name.
fn fractions(graph: &Graph, found: &Quantization) -> BTreeMap<String, i32> {
    let values = (0..).map(ValueId).zip(&graph.values).filter(|(_, value)| value.constant.is_none());
    values.filter_map(|(id, value)| Some((value.name.clone(), found.fraction(id)?))).collect()
}

/// Whether leaky ReLU of any slope is approximated by slope 1/8.
fn approximates(options: &CompileOptions) -> Result<bool, TargetError> {
    Ok(chosen(Stage::Compile, &options.options)?.text("leaky") == Some("nearest"))
}

/// Last stage: checks that a machine can run the program, and run it twice.
fn sound(program: &Program) -> Result<(), TargetError> {
    let _phase = Phase::begin("check program");
    let errors: Vec<Finding> = check::program(program).into_iter().filter(Finding::is_error).collect();
    if !program.config.validity.is_corrected()
        && errors.iter().any(|finding| finding.code == CONV_BOUNDS.code)
    {
        return Err(TargetError::Refused(errors.iter().map(|finding| beyond(program, finding)).collect()));
    }
    match errors.into_iter().next() {
        Some(finding) => Err(TargetError::failed(Unsound(finding))),
        None => Ok(()),
    }
}

/// Returns the problem of a layer with convolutions that violate the draft's printed condition.
fn beyond(program: &Program, finding: &Finding) -> Problem {
    let op = finding.instruction.and_then(|index| program.instructions.get(index));
    // Default: an instruction without a layer still gets a problem.
    let layer = finding.layer.as_deref().unwrap_or("(no layer)");
    let hint = "the compiler places taps by the corrected condition: compile for the instance without `+draft` and `+seed`";
    Problem::new(layer, op.map_or("-", |op| op.mnemonic()), finding.message.clone(), hint)
}

/// Defect of the compiler, found before the program runs.
#[derive(Debug, thiserror::Error)]
#[error(
    "the compiler made an incorrect program; this is a bug in npukit, please report it: \
     {} in instruction {:?}: {}", .0.code, .0.instruction, .0.message
)]
struct Unsound(Finding);
