//! [`TcuInstance`]: assembler, disassembler and compiler for one architecture.

use std::borrow::Cow;
use std::collections::BTreeMap;

use npukit_asm::Experiment;
use npukit_asm::analysis::{Language, SpecLanguage};
use npukit_graph::Graph;
use npukit_graph::rescale::Border;
use npukit_isa::program::At;
use npukit_numeric::NumberFormat;
use npukit_target::rtl::{Circuit, Defects};
use npukit_target::{
    AsmProgram, Assembled, CompileEstimate, CompileOptions, Compiled, Disassembled, Finding, GraphForm,
    HostStepReport, Instance, InstanceInfo, MemoryReport, Problem, ProgramText, Reader, Scaling, Severity,
    Stage, Stopped, TargetError, artifact_stem, instance_name, program_text,
};

use super::asm_program::AssembledProgram;
use super::diagram::diagram;
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
use crate::lower::{self, Effort, LowerError, Minimize, Order};
use crate::program::Usage;
use crate::target::TcuInstance;

/// Name of the driver that must be compiled for an architecture.
const EMBEDDED: &str = "embedded";
/// Name of npukit's syntax, which can be assembled again.
const OWN: &str = "npukit";
/// Name of the listing format of Tensil's compiler.
const UPSTREAM: &str = "upstream";
/// Extension of files of words; bytes that are not text are words, too.
const WORDS: &str = ".tprog";

impl Instance for TcuInstance {
    fn info(&self) -> &InstanceInfo {
        &self.info
    }

    fn wider_formats(&self) -> Vec<Box<dyn Instance>> {
        let range = |data_type: DataType| data_type.format().largest();
        let wider = DataType::ALL.into_iter().filter(|&other| range(other) > range(self.config.data_type));
        wider.map(|data_type| Box::new(self.with_data_type(data_type)) as Box<dyn Instance>).collect()
    }

    fn language(&self, _name: &str) -> Option<Box<dyn Language>> {
        Some(Box::new(SpecLanguage::new(isa(&self.config))))
    }

    fn circuit(&self, defects: Defects) -> Result<Circuit, TargetError> {
        Ok(circuit::circuit(self.info.instance(), &self.config, &self.system, defects)?)
    }

    fn check(&self, graph: &Graph, options: &CompileOptions) -> Result<Vec<Problem>, TargetError> {
        let (graph, _) = self.drawn(graph, options)?;
        Ok(lower::check(&Border::take_off(&graph, &options.scales).graph, &self.config))
    }

    fn prepare(
        &self,
        graph: &Graph,
        options: &CompileOptions,
        form: GraphForm,
    ) -> Result<Graph, TargetError> {
        let (graph, _) = self.drawn(graph, options)?;
        Ok(match form {
            GraphForm::Decomposed => lower::decomposed(&graph, &self.config),
            GraphForm::Lowered => {
                let order = self.options(options)?.order;
                lower::prepare_scaled(&graph, &self.config, order, &options.scales)
            }
        })
    }

    fn compile(&self, graph: &Graph, options: &CompileOptions) -> Result<Box<dyn Compiled>, TargetError> {
        let embedded = chosen(Stage::Compile, &options.options)?.text("driver") == Some(EMBEDDED);
        let (graph, rewrites) = self.drawn(graph, options)?;
        let lowering = self.options(options)?;
        let compiled = lower::compile(&graph, &self.config, &lowering).map_err(lower_error)?;
        self.check_tables(&compiled.program.instructions)?;
        let (board, system) = (self.info.instance().to_owned(), self.system.clone());
        let program = TcuProgram::compiled(compiled, board, system, options.reading.clone());
        Ok(Box::new(program.for_embedded(embedded).rewrites(rewrites)))
    }

    /// Only DRAM1 is known, since it holds all constants wherever they are used; the other memories
    /// depend on the program.
    fn estimate(&self, graph: &Graph, options: &CompileOptions) -> Result<CompileEstimate, TargetError> {
        let (graph, warnings) = self.drawn(graph, options)?;
        let options = self.options(options)?;
        let (model, dram1) = lower::estimate(&graph, &self.config, &options).map_err(lower_error)?;
        let Usage { maximum, aggregate } = dram1;
        let unit = "vectors".to_owned();
        let dram1 = MemoryReport { maximum, aggregate, depth: self.config.dram1_depth, unit };
        Ok(CompileEstimate {
            macs: Some(model.layers.iter().map(|layer| layer.macs).sum()),
            segments: 1,
            host_steps: model.host_steps.iter().map(HostStepReport::from).collect(),
            memory: BTreeMap::from([("dram1".to_owned(), dram1)]),
            warnings,
            ..CompileEstimate::default()
        })
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
            _ => Err(self.info.unknown_stage(stage)),
        }
    }

    fn asm_program(
        &self,
        name: &str,
        bytes: &[u8],
        files: &dyn Reader,
    ) -> Result<Box<dyn AsmProgram>, TargetError> {
        let text = program_text(bytes).filter(|_| !name.ends_with(WORDS));
        let (ops, text) = match text {
            Some(text) => self.read_text(name, text, files)?,
            None => {
                let ops = decode_program(&self.config, bytes);
                (ops.map_err(|error| TargetError::in_file(name, error))?, ProgramText::default())
            }
        };
        let name = instance_name(name).to_owned();
        Ok(Box::new(AssembledProgram::new(
            name,
            (self.info.instance(), &self.config, &self.system),
            ops,
            text,
        )))
    }

    fn lint(
        &self,
        name: &str,
        bytes: &[u8],
        around: Option<&Experiment>,
    ) -> Result<Vec<Finding>, TargetError> {
        let ops =
            decode_program_lenient(&self.config, bytes).map_err(|error| TargetError::in_file(name, error))?;
        // Default: for words without a text, nothing is known about memories.
        let around = around.map(|text| Around::of_text(&self.config, text)).unwrap_or_default();
        let problems = validate_around(&self.config, &ops, self.memory(), &around);
        Ok(problems.into_iter().map(|problem| finding(problem, None)).collect())
    }

    fn disassemble(&self, bytes: &[u8], form: &str) -> Result<Disassembled, TargetError> {
        let own = Disassembled::from(&npukit_asm::disassemble(&isa(&self.config), bytes));
        match form {
            OWN => Ok(own),
            UPSTREAM => {
                let whole = bytes.len() - bytes.len() % self.config.layout().instruction_bytes();
                let ops =
                    decode_program_lenient(&self.config, &bytes[..whole]).map_err(TargetError::failed)?;
                Ok(own.in_form(listing(&self.config, &ops)))
            }
            _ => Err(self.info.unknown_listing(form)),
        }
    }
}

impl TcuInstance {
    /// Creates an instance of an architecture; `warnings` are for the author of its `.tarch` file.
    pub fn new(name: &str, config: Config, system: System, warnings: Vec<String>) -> Self {
        let format = config.data_type.format();
        let saturates = format != NumberFormat::Float32;
        let own = (system != System::OPEN).then(|| serde_json::to_value(&system).ok());
        let info = InstanceInfo {
            parameters: settable::tree(&config, &system),
            config_text: Some(settable::text(&config, &system)),
            system: own.flatten(),
            warnings,
            diagram: diagram(&config),
            area: Some(area(&config)),
            // Each cell of the array computes one product per cycle.
            macs_per_cycle: Some((config.array_size as f64).powi(2)),
            clock_mhz: system.clock_mhz,
            number_format: Some(format),
            saturates,
            scaling: Scaling {
                functions: config.has_lookup() && saturates,
                ports: saturates,
                max_mean_terms: lower::ADDENDS_OF_MEANS,
            },
            stages: &["layers", "hir", "plan", "lir", "asm"],
            words_extension: Some(WORDS),
            listings: &[OWN, UPSTREAM],
            lints: LINTS,
            // Default: never used, numbers and text can be represented in JSON.
            ..InstanceInfo::new(format!("tcu:{name}"), serde_json::to_value(&config).unwrap_or_default())
        };
        Self { info, config, system }
    }

    /// Returns the instance with another number format, which its name includes.
    fn with_data_type(&self, data_type: DataType) -> Self {
        let name = format!("{} with data_type {}", self.info.instance(), data_type.name());
        Self::new(&name, Config { data_type, ..self.config.clone() }, self.system.clone(), Vec::new())
    }

    /// Assembles a text; returns instructions, source positions and warnings.
    fn read_text(
        &self,
        name: &str,
        text: &str,
        files: &dyn Reader,
    ) -> Result<(Vec<Op>, ProgramText), TargetError> {
        let Assembled { bytes, linted, .. } = self.assemble(name, text, files)?;
        let text = linted.warned(LINTS);
        // The text may contain words that are not instructions, so the words are decoded.
        let ops = decode_program(&self.config, &bytes).map_err(|errors| undecoded(errors, &text))?;
        Ok((ops, text))
    }

    fn options(&self, options: &CompileOptions) -> Result<lower::Options, TargetError> {
        let name = artifact_stem(&options.model_name, self.info.instance());
        let prepared = options.prepared;
        let chosen = chosen(Stage::Compile, &options.options)?;
        let minimize = Some(self.hardware());
        Ok(lower::Options {
            name: Some(name),
            strategy: chosen.word("strategy", |name| name.parse().ok()),
            order: chosen.word("order", order).unwrap_or_default(),
            minimize: chosen.word("minimize", |name| self.minimize(name)).or(minimize),
            prepared,
            scales: options.scales.clone(),
            cache: options.cache.clone(),
            draft: options.draft,
            // Default: search as long as it pays off.
            effort: chosen.word("search", effort).unwrap_or_default(),
        })
    }

    /// Returns the graph with piecewise linear functions, if requested, and messages about them.
    fn drawn<'g>(
        &self,
        graph: &'g Graph,
        options: &CompileOptions,
    ) -> Result<(Cow<'g, Graph>, Vec<String>), TargetError> {
        if chosen(Stage::Compile, &options.options)?.text("functions") != Some("lines") {
            return Ok((Cow::Borrowed(graph), Vec::new()));
        }
        let Some((drawn, approximated)) = lower::lines::drawn(graph, &self.config) else {
            return Ok((Cow::Borrowed(graph), Vec::new()));
        };
        Ok((Cow::Owned(drawn), lower::lines::sentences(&approximated)))
    }

    fn minimize(&self, name: &str) -> Option<Minimize> {
        match name {
            "estimator" => Some(Minimize::Estimator),
            "hw" => Some(self.hardware()),
            _ => None,
        }
    }

    /// Refuses tables of a size that LoadLUT cannot load, if all tables have the same size.
    fn check_tables(&self, ops: &[Op]) -> Result<(), TargetError> {
        let Some(depth) = self.config.lookup_vectors() else { return Ok(()) };
        let other = ops.iter().find_map(|op| match *op {
            Op::LoadLut { size, .. } if size != depth => Some(size),
            _ => None,
        });
        let Some(size) = other else { return Ok(()) };
        Err(TargetError::failed(format!(
            "by the instruction set specification a LoadLUT has no size: it loads {depth} vectors here, but \
             the tables of this network have {size}; set `lookup_depth` {size} in a .tarch file, or remove `+seed`"
        )))
    }

    /// Returns the cost function: cycles of the board.
    fn hardware(&self) -> Minimize {
        Minimize::Clock(self.memory())
    }

    /// Returns the memory of the board.
    fn memory(&self) -> ClockParams {
        board::memory(&self.config, &self.system, None)
    }
}

/// Codes of findings where the hardware deviates from the instructions.
pub(super) const HARDWARE_DIFFERS: [&str; 2] = [LOST_ADDITION.code, MOVED_WRITES.code];

/// Converts a problem to a finding of `npu lint`.
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

/// Returns the error for words in a text that are not instructions: the first one, with its line.
fn undecoded(errors: DecodeErrors, text: &ProgramText) -> TargetError {
    match errors.errors.into_iter().next() {
        Some(At { index, error, .. }) => {
            text.stopped(Stopped { instruction: Some(index), error: TargetError::failed(error) })
        }
        None => TargetError::failed("the text contains words that are not instructions"),
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
