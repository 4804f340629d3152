//! Graphs to programs: [`compile`] runs the stages in order, each a module and a printable form.
//!
//! | stage | module | from → to |
//! |---|---|---|
//! | rewrite | `rewrite` | graph → graph that takes fewer cycles |
//! | layers | [`mod@layers`] | graph nodes → chains that stay in the accumulators |
//! | HIR | [`layers::hir`], built by `layers::ops` (one file per operator family) | chain → steps on grids of vectors |
//! | plan | [`memory`] | objects → addresses in DRAM0, DRAM1 and local memory |
//! | schedule | [`schedule`] | steps → tiles that fit, the cheapest tiling by the clock of those that `schedule::search` names |
//! | tile | `tile` | a tile of a layer → runs of vectors |
//! | issue | `issue` | runs of vectors → instructions, in the order in which units wait least, and of which hardware loses none |
//! | program | [`backend`] | everything → [`Program`] |

pub mod backend;
pub mod error;
mod issue;
pub mod layers;
pub mod memory;
mod rewrite;
pub mod schedule;
mod tile;

use npukit_graph::Graph;
use npukit_graph::rescale::{Border, Scales};
pub use npukit_lower::Problem;
use npukit_target::{Cache, Phase};

pub use error::{LowerError, Memory};
pub use layers::ops::mean_factors;
pub use memory::Strategy;
pub use memory::object::converted;
pub use rewrite::{ADDENDS_OF_MEANS, lines};
pub use schedule::Effort;
pub use schedule::cost::Minimise;

use crate::config::{ClockParams, Config, System, board};
use crate::program::{Binding, Program, Usage};

/// Where a layer's bias enters, which decides how results round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The bias enters with the first tap that every output pixel has; constants added to a
    /// matrix product become its bias.
    #[default]
    Default,
    /// As upstream's compiler: the bias enters with tap (0, 0) and the last block of input channels,
    /// an addition stays an addition. Results equal those of published programs bit for bit.
    Upstream,
}

/// What the caller chooses.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the program; the graph's when `None`.
    pub name: Option<String>,
    /// Where variables and constants live; the cheapest when `None`.
    pub strategy: Option<Strategy>,
    /// Where the bias enters.
    pub order: Order,
    /// Whose cycles are minimised; when `None` those of the hardware's clock with a memory like the ZCU104's.
    pub minimise: Option<Minimise>,
    /// The graph comes from [`prepare`] and is to be lowered as it is.
    pub prepared: bool,
    /// Exponents of inputs and outputs, which the host multiplies by powers of two in place of the graph.
    pub scales: Scales,
    /// Where tilings are looked for that were found before.
    pub cache: Cache,
    /// Of each layer the first tiling that fits is taken, whatever it costs.
    pub draft: bool,
    /// How long is searched for a schedule that is no draft.
    pub effort: Effort,
}

/// The printable forms of every stage.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Chains of graph nodes.
    pub layers: String,
    /// Steps of each layer.
    pub hir: String,
    /// Addresses of the objects.
    pub plan: String,
    /// Instructions with layer and tile comments.
    pub lir: String,
}

/// What [`compile`] gives.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program.
    pub program: Program,
    /// Strategy taken.
    pub strategy: Strategy,
    /// Cycles that the hardware takes with this memory, where the compiler knows them.
    pub clocked: Option<(ClockParams, u64)>,
    /// Constants that saturated when they were converted to the number format.
    pub saturated_constants: u64,
    /// For each layer of the program, the names of the graph's values that it saves.
    pub results: Vec<Vec<String>>,
}

/// Compiles a simplified graph (see `npukit_graph::pass`) for an instance.
///
/// # Errors
///
/// Every node that cannot be lowered, or the memory a layer does not fit.
pub fn compile(graph: &Graph, config: &Config, options: &Options) -> Result<Compiled, LowerError> {
    let phase = Phase::begin("lower");
    let border = Border::take_off(graph, &options.scales);
    let graph = &border.graph;
    let model = layers::build(graph, config, options)?;
    drop(phase);
    let scheduled = schedule::choices::scheduled(&model, config, options, minimise(config, options))?;
    let strategy = scheduled.plan.strategy;
    let clocked = scheduled.clocked.map(|memory| (memory, scheduled.cycles));
    let saturated_constants = model.objects.saturated_constants();
    let results = model.layers.iter().map(|layer| saved_values(layer, &model, &border)).collect();
    let name = options.name.clone().unwrap_or_else(|| graph.name.clone());
    let mut program = backend::program(name, model, config, scheduled);
    scale_ports(&mut program, &border);
    Ok(Compiled { program, strategy, clocked, saturated_constants, results })
}

fn minimise(config: &Config, options: &Options) -> Minimise {
    options.minimise.unwrap_or_else(|| Minimise::Clock(board::memory(config, &System::OPEN, None)))
}

/// The graph that [`compile`] lowers in place of `graph`: it computes the same in fewer cycles.
pub fn prepare(graph: &Graph, config: &Config, order: Order) -> Graph {
    rewrite::rewrite(graph, config, order).unwrap_or_else(|| graph.clone())
}

/// As [`prepare`], where inputs and outputs have these scales.
pub fn prepare_scaled(graph: &Graph, config: &Config, order: Order, scales: &Scales) -> Graph {
    let border = Border::take_off(graph, scales);
    if border.scales.is_empty() {
        return prepare(graph, config, order);
    }
    border.put_back(&prepare(&border.graph, config, order))
}

/// `graph` with the operators in parts that lookups make possible, as [`compile`] takes them.
pub fn taken_apart(graph: &Graph, config: &Config) -> Graph {
    rewrite::taken_apart(graph, config).unwrap_or_else(|| graph.clone())
}

/// The names of the values of `graph` that `layer` saves whole. The rewrite keeps them, and adds its own after
/// them.
fn saved_values(layer: &layers::hir::Layer, model: &layers::hir::Model, border: &Border) -> Vec<String> {
    let Border { graph, renamed, .. } = border;
    let saved = layer.steps.iter().filter_map(|step| match step {
        layers::hir::Step::Save { object, .. } | layers::hir::Step::Keep { object } => {
            model.objects.get(*object).value
        }
        _ => None,
    });
    let known = saved.filter_map(|id| graph.values.get(id.0 as usize));
    known.map(|value| renamed.get(&value.name).unwrap_or(&value.name).clone()).collect()
}

/// Gives inputs and outputs the exponents that they have, and outputs that are multiples of others their places.
fn scale_ports(program: &mut Program, border: &Border) {
    for (output, of) in &border.copies {
        let found = program.outputs.iter().find(|binding| binding.name == *of).cloned();
        program.outputs.extend(found.map(|binding| Binding { name: output.clone(), ..binding }));
    }
    program.outputs.sort_by_key(|binding| binding.pieces.first().map(|piece| piece.base));
    for binding in program.inputs.iter_mut().chain(&mut program.outputs) {
        if let (Some(layout), Some(&exponent)) = (&mut binding.layout, border.scales.get(&binding.name)) {
            layout.exponent = exponent;
        }
    }
}

/// The nodes that stand in the way of compiling `graph`; empty when none does.
///
/// A graph without problems here can still fail [`compile`] for want of memory.
pub fn check(graph: &Graph, config: &Config) -> Vec<Problem> {
    match layers::build(graph, config, &Options::default()) {
        Err(LowerError::Unsupported { problems }) => problems,
        _ => Vec::new(),
    }
}

/// The model as it would be compiled, with the use of DRAM1, which does not depend on the schedule.
///
/// # Errors
///
/// Every node that cannot be lowered; the memory that is too small wherever objects live.
pub fn survey(
    graph: &Graph,
    config: &Config,
    options: &Options,
) -> Result<(layers::hir::Model, Usage), LowerError> {
    let model = layers::build(&Border::take_off(graph, &options.scales).graph, config, options)?;
    let plan = memory::Plan::possible(&model, config, options.strategy)?;
    Ok((model, plan.dram1))
}

/// The printable forms of the stages, for a person who debugs.
///
/// # Errors
///
/// As [`compile`].
pub fn stages(graph: &Graph, config: &Config, options: &Options) -> Result<Stages, LowerError> {
    let model = layers::build(&Border::take_off(graph, &options.scales).graph, config, options)?;
    let scheduled = schedule::choices::scheduled(&model, config, options, minimise(config, options))?;
    Ok(Stages {
        layers: model.print_layers(),
        hir: model.print_steps(),
        plan: scheduled.plan.print(&model),
        lir: scheduled.print(&model),
    })
}
