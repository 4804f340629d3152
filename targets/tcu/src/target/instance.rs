//! [`TcuInstance`]: assembler, disassembler and compiler for one architecture.

use std::borrow::Cow;
use std::collections::BTreeMap;

use npukit_asm::Style;
use npukit_asm::analysis::{Language, SpecLanguage};
use npukit_graph::Graph;
use npukit_graph::rescale::Border;
use npukit_isa::IsaSpec;
use npukit_isa::program::At;
use npukit_numeric::NumberFormat;
use npukit_target::rtl::{Circuit, Defects};
use npukit_target::{
    Area, Assembled, CompileOptions, Compiled, Disassembled, Finding, HandProgram, HostStepReport, Instance,
    Lint, Linted, MemoryReport, Problem, ProgramText, Reader, Severity, Stage, Stopped, Survey, TargetError,
    artifact_stem, bytes_of, instance_name, program_text,
};

use super::hand::Written;
use super::options::chosen;
use super::program::TcuProgram;
use crate::check::dataflow::Around;
use crate::check::lints::{LINTS, LOST_ADDITION, MOVED_WRITES};
use crate::check::problem;
use crate::check::validate::validate_around;
use crate::circuit;
use crate::config::area::area;
use crate::config::{ClockParams, Config, DataType, System, board, settable};
use crate::isa::codec::{DecodeErrors, decode_program, decode_program_lenient, encode_program};
use crate::isa::isa;
use crate::isa::listing::listing;
use crate::isa::op::Op;
use crate::lower::{self, Effort, LowerError, Minimise, Order};
use crate::program::Usage;
use crate::target::TcuInstance;

/// The driver that is compiled for an architecture.
const EMBEDDED: &str = "embedded";
/// Our own syntax, which assembles again.
const OWN: &str = "npukit";
/// The listing upstream's compiler writes.
const UPSTREAM: &str = "upstream";
/// How names of files of words end; what is no text is words, too.
const WORDS: &str = ".tprog";

impl Instance for TcuInstance {
    fn name(&self) -> String {
        format!("tcu:{}", self.name)
    }

    fn config(&self) -> serde_json::Value {
        serde_json::to_value(&self.config).unwrap_or_default()
    }

    fn area(&self) -> Option<Area> {
        Some(area(&self.config))
    }

    /// A product in each cell of the array.
    fn macs_per_cycle(&self) -> Option<f64> {
        Some((self.config.array_size as f64).powi(2))
    }

    fn clock_mhz(&self) -> Option<f64> {
        self.system.clock_mhz
    }

    fn config_text(&self) -> Option<String> {
        Some(settable::text(&self.config, &self.system))
    }

    fn parameters(&self) -> serde_json::Value {
        settable::tree(&self.config, &self.system)
    }

    fn system(&self) -> Option<serde_json::Value> {
        (self.system != System::OPEN).then(|| serde_json::to_value(&self.system).ok()).flatten()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn number_format(&self) -> Option<NumberFormat> {
        Some(self.config.data_type.format())
    }

    fn saturates(&self) -> bool {
        self.config.data_type.format() != NumberFormat::Float32
    }

    fn wider(&self) -> Vec<Box<dyn Instance>> {
        let range = |data_type: DataType| data_type.format().largest();
        let wider = DataType::ALL.into_iter().filter(|&other| range(other) > range(self.config.data_type));
        wider.map(|data_type| Box::new(self.with_data_type(data_type)) as Box<dyn Instance>).collect()
    }

    fn isa(&self) -> Result<IsaSpec, TargetError> {
        Ok(isa(&self.config))
    }

    fn circuit(&self, defects: Defects) -> Result<Circuit, TargetError> {
        Ok(circuit::circuit(&self.name, &self.config, &self.system, defects)?)
    }

    fn check(&self, graph: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        let (graph, _) = self.drawn(graph, options)?;
        Ok(lower::check(&Border::take_off(&graph, &options.scales).graph, &self.config))
    }

    fn prepare(&self, graph: &Graph, options: &CompileOptions) -> Result<Graph, TargetError> {
        let (graph, _) = self.drawn(graph, options)?;
        Ok(lower::prepare_scaled(&graph, &self.config, self.options(options)?.order, &options.scales))
    }

    fn taken_apart(&self, graph: &Graph, options: &CompileOptions) -> Result<Graph, TargetError> {
        let (graph, _) = self.drawn(graph, options)?;
        Ok(lower::taken_apart(&graph, &self.config))
    }

    fn scales_functions(&self) -> bool {
        self.config.has_lookup() && self.saturates()
    }

    fn scales_ports(&self) -> bool {
        self.saturates()
    }

    fn addends_of_means(&self) -> usize {
        lower::ADDENDS_OF_MEANS
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        let embedded = chosen(Stage::Compile, &options.options)?.text("driver") == Some(EMBEDDED);
        let (graph, told) = self.drawn(graph, options)?;
        let options = self.options(options)?;
        let compiled = lower::compile(&graph, &self.config, &options).map_err(lower_error)?;
        self.check_tables(&compiled.program.instructions)?;
        let program = TcuProgram::compiled(compiled, self.name.clone(), self.system.clone());
        Ok(Box::new(program.for_embedded(embedded).told(told)))
    }

    /// DRAM1 is what all constants need, wherever they live; the other memories depend on the program.
    fn survey(&self, graph: &Graph, options: &CompileOptions) -> Result<Survey, TargetError> {
        let (graph, warnings) = self.drawn(graph, options)?;
        let options = self.options(options)?;
        let (model, dram1) = lower::survey(&graph, &self.config, &options).map_err(lower_error)?;
        let Usage { maximum, aggregate } = dram1;
        let unit = "vectors".to_owned();
        let dram1 = MemoryReport { maximum, aggregate, depth: self.config.dram1_depth, unit };
        Ok(Survey {
            macs: Some(model.layers.iter().map(|layer| layer.macs).sum()),
            segments: 1,
            host_steps: model.host_steps.iter().map(HostStepReport::from).collect(),
            memory: BTreeMap::from([("dram1".to_owned(), dram1)]),
            warnings,
            ..Survey::default()
        })
    }

    fn stages(&self) -> &'static [&'static str] {
        &["layers", "hir", "plan", "lir", "asm"]
    }

    fn emit(&self, graph: &Graph, options: &CompileOptions, stage: &str) -> Result<String, TargetError> {
        let (graph, _) = self.drawn(graph, options)?;
        let options = self.options(options)?;
        if stage == "asm" {
            let program = lower::compile(&graph, &self.config, &options).map_err(lower_error)?.program;
            let bytes = encode_program(&self.config, &program.instructions).map_err(TargetError::failed)?;
            return Ok(npukit_asm::disassemble(&isa(&self.config), &bytes).to_string());
        }
        let stages = lower::stages(&graph, &self.config, &options).map_err(lower_error)?;
        match stage {
            "layers" => Ok(stages.layers),
            "hir" => Ok(stages.hir),
            "plan" => Ok(stages.plan),
            "lir" => Ok(stages.lir),
            _ => {
                let reason = format!("the stages are graph, {}", self.stages().join(", "));
                Err(TargetError::option("emit", stage, reason))
            }
        }
    }

    fn assemble(&self, name: &str, text: &str, files: &dyn Reader) -> Result<Assembled, TargetError> {
        let (bytes, linted) = self.linted(name, text, files)?;
        Ok(Assembled { bytes, instructions: linted.text.places.len(), warnings: linted.warnings(LINTS) })
    }

    fn hand_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn HandProgram>, TargetError> {
        let text = program_text(bytes).filter(|_| !name.ends_with(WORDS));
        let (ops, text) = match text {
            Some(text) => self.read_text(name, text, files)?,
            None => {
                let ops = decode_program(&self.config, bytes);
                (ops.map_err(|error| TargetError::in_file(name, error))?, ProgramText::default())
            }
        };
        let name = instance_name(name).to_owned();
        Ok(Box::new(Written::new(name, (&self.name, &self.config, &self.system), ops, text)))
    }

    fn list(&self, name: &str, text: &str, files: &dyn Reader) -> Result<String, TargetError> {
        npukit_asm::list(&isa(&self.config), name, text, &bytes_of(files)).map_err(TargetError::text)
    }

    fn format(&self, _name: &str, text: &str) -> Result<String, TargetError> {
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
        let ops =
            decode_program_lenient(&self.config, bytes).map_err(|error| TargetError::in_file(name, error))?;
        let problems = validate_around(&self.config, &ops, self.memory(), &Around::default());
        Ok(problems.into_iter().map(|problem| finding(problem, None)).collect())
    }

    fn listings(&self) -> &'static [&'static str] {
        &[OWN, UPSTREAM]
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        let own = npukit_asm::disassemble(&isa(&self.config), bytes);
        let problems = own.problems.iter().map(ToString::to_string).collect();
        let instructions = own.lines.len();
        let lines = if form == OWN { own.listing() } else { Vec::new() };
        let text = match form {
            OWN => own.to_string(),
            UPSTREAM => {
                let whole = bytes.len() - bytes.len() % self.config.layout().instruction_bytes();
                let ops =
                    decode_program_lenient(&self.config, &bytes[..whole]).map_err(TargetError::failed)?;
                listing(&self.config, &ops)
            }
            _ => {
                let reason = format!("the forms are {OWN} and {UPSTREAM}");
                return Err(TargetError::option("format", form, reason));
            }
        };
        Ok(Disassembled { text, instructions, problems, lines })
    }
}

impl TcuInstance {
    /// The same with another number format, which its name tells.
    fn with_data_type(&self, data_type: DataType) -> Self {
        let name = format!("{} with data_type {}", self.name, data_type.name());
        let (config, system) = (Config { data_type, ..self.config.clone() }, self.system.clone());
        Self { name, config, system, warnings: Vec::new() }
    }

    /// The words of a program in assembly, and what is wrong with it.
    fn linted(&self, name: &str, text: &str, files: &dyn Reader) -> Result<(Vec<u8>, Linted), TargetError> {
        let assembly = npukit_asm::assemble_with(&isa(&self.config), name, text, &bytes_of(files));
        let mut assembly = assembly.map_err(TargetError::text)?;
        let bytes = std::mem::take(&mut assembly.bytes);
        let ops = decode_program_lenient(&self.config, &bytes).map_err(TargetError::failed)?;
        let around = Around::of_text(&self.config, &assembly.experiment);
        let problems = validate_around(&self.config, &ops, self.memory(), &around);
        let findings = problems.into_iter().map(|problem| finding(problem, None)).collect();
        Ok((bytes, Linted::new(assembly.into(), findings, LINTS)))
    }

    /// A program in assembly, with where its instructions stand and what there is to warn of.
    fn read_text(
        &self,
        name: &str,
        text: &str,
        files: &dyn Reader,
    ) -> Result<(Vec<Op>, ProgramText), TargetError> {
        let (bytes, linted) = self.linted(name, text, files)?;
        let text = linted.warned(LINTS);
        // A text may spell out words that are no instructions.
        let ops = decode_program(&self.config, &bytes).map_err(|errors| undecoded(errors, &text))?;
        Ok((ops, text))
    }

    fn options(&self, options: &CompileOptions) -> Result<lower::Options, TargetError> {
        let name = artifact_stem(&options.model_name, &self.name);
        let prepared = options.prepared;
        let chosen = chosen(Stage::Compile, &options.options)?;
        let minimise = Some(self.hardware());
        Ok(lower::Options {
            name: Some(name),
            strategy: chosen.word("strategy", |name| name.parse().ok()),
            order: chosen.word("order", order).unwrap_or_default(),
            minimise: chosen.word("minimise", |name| self.minimise(name)).or(minimise),
            prepared,
            scales: options.scales.clone(),
            cache: options.cache.clone(),
            draft: options.draft,
            // Default: as long as it pays.
            effort: chosen.word("search", effort).unwrap_or_default(),
        })
    }

    /// The graph with lines for functions, where that is asked for, and what is to be told of them.
    fn drawn<'g>(
        &self,
        graph: &'g Graph,
        options: &CompileOptions,
    ) -> Result<(Cow<'g, Graph>, Vec<String>), TargetError> {
        if chosen(Stage::Compile, &options.options)?.text("functions") != Some("lines") {
            return Ok((Cow::Borrowed(graph), Vec::new()));
        }
        let mut drawn = graph.clone();
        let told = lower::lines::rewrite(&mut drawn, &self.config);
        Ok((Cow::Owned(drawn), told))
    }

    fn minimise(&self, name: &str) -> Option<Minimise> {
        match name {
            "estimator" => Some(Minimise::Estimator),
            "hw" => Some(self.hardware()),
            _ => None,
        }
    }

    /// Refuses tables of another size than every LoadLUT loads, where that does not say for itself how many vectors.
    fn check_tables(&self, ops: &[Op]) -> Result<(), TargetError> {
        let Some(depth) = self.config.lookup_vectors() else { return Ok(()) };
        let other = ops.iter().find_map(|op| match *op {
            Op::LoadLut { size, .. } if size != depth => Some(size),
            _ => None,
        });
        let Some(size) = other else { return Ok(()) };
        Err(TargetError::failed(format!(
            "by the page of the instruction set a LoadLUT does not say how much it loads: here it is {depth} vectors, and \
             the tables of this network have {size}; give `lookup_depth` {size} in a .tarch file, or leave `+seed` out"
        )))
    }

    /// The cycles of the board.
    fn hardware(&self) -> Minimise {
        Minimise::Clock(self.memory())
    }

    /// The memory of the board.
    fn memory(&self) -> ClockParams {
        board::memory(&self.config, &self.system, None)
    }
}

/// Codes of what the hardware computes otherwise than the instructions say.
pub(super) const HARDWARE_DIFFERS: [&str; 2] = [LOST_ADDITION.code, MOVED_WRITES.code];

/// A problem as `npu lint` says it.
pub(super) fn finding(problem: problem::Problem, layer: Option<String>) -> Finding {
    let problem::Problem { instruction, severity, lint, reason, hint } = problem;
    let severity = match severity {
        problem::Severity::Warning => Severity::Warning,
        problem::Severity::Error => Severity::Error,
    };
    let mut finding = Finding::new(lint, severity, Some(instruction), format!("{reason}; {hint}"));
    finding.layer = layer;
    finding
}

/// The error of words in a text that are no instructions: the first with its line.
fn undecoded(errors: DecodeErrors, text: &ProgramText) -> TargetError {
    match errors.errors.into_iter().next() {
        Some(At { index, error, .. }) => {
            text.stopped(Stopped { instruction: Some(index), error: TargetError::failed(error) })
        }
        None => TargetError::failed("words that are no instructions"),
    }
}

fn effort(name: &str) -> Option<Effort> {
    match name {
        "thorough" => Some(Effort::Thorough),
        "quick" => Some(Effort::Quick),
        _ => None,
    }
}

fn order(name: &str) -> Option<Order> {
    match name {
        "default" => Some(Order::Default),
        "upstream" => Some(Order::Upstream),
        _ => None,
    }
}
fn lower_error(error: LowerError) -> TargetError {
    match error {
        LowerError::Unsupported { problems } => TargetError::Refused(problems),
        other => TargetError::failed(other),
    }
}
