//! Compilation of graphs to programs. [`compile`] runs the stages in order; each is a module with a
//! printable form.
//!
//! | stage | module | from → to |
//! |---|---|---|
//! | rewrite | `rewrite` | graph → graph that takes fewer cycles |
//! | layers | [`mod@layers`] | graph nodes → chains that stay in the accumulators |
//! | HIR | [`layers::hir`], built by `layers::ops` | chain → steps on grids of vectors |
//! | plan | [`memory`] | objects → addresses in DRAM0, DRAM1 and local memory |
//! | schedule | [`schedule`] | steps → tiles that fit, with the cheapest tiling by the clock |
//! | tile | `tile` | a tile of a layer → runs of vectors |
//! | issue | `issue` | runs of vectors → instructions in the best order without hazards |
//! | program | [`backend`] | all of the above → [`Program`] |

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
pub use schedule::cost::Minimize;

use crate::config::{ClockParams, Config, System, board};
use crate::program::{Binding, Program, Usage};

/// Step at which a layer's bias is added, which decides how results are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The bias is added with the first tap that every output pixel has. Constants added to a
    /// matrix product become its bias.
    #[default]
    Default,
    /// Order of the released compiler: the bias is added with tap (0, 0) and the last block of
    /// input channels, and an addition stays an addition. Results equal the results of published
    /// programs bit for bit.
    Upstream,
}

/// Compiler options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the program; `None` uses the graph's name.
    pub name: Option<String>,
    /// Where variables and constants are stored; `None` picks the cheapest strategy.
    pub strategy: Option<Strategy>,
    /// Order in which biases are added.
    pub order: Order,
    /// Cost measure to minimize; `None` uses the hardware clock with memory like the ZCU104's.
    pub minimize: Option<Minimize>,
    /// Whether the graph comes from [`prepare`] and must be lowered as it is.
    pub prepared: bool,
    /// Exponents of inputs and outputs: the host multiplies by these powers of two instead of the
    /// graph.
    pub scales: Scales,
    /// Cache of tilings found by earlier compilations.
    pub cache: Cache,
    /// Whether each layer takes the first tiling that fits, regardless of its cost.
    pub draft: bool,
    /// Effort of the search for a schedule; ignored for a draft.
    pub effort: Effort,
}

/// Printable forms of all stages.
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

/// Result of [`compile`].
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Compiled program.
    pub program: Program,
    /// Strategy used.
    pub strategy: Strategy,
    /// Memory timing and the cycles that the hardware takes with it; `None` if unknown.
    pub clocked: Option<(ClockParams, u64)>,
    /// Number of constant elements that saturated when they were converted to the number format.
    pub saturated_constants: u64,
    /// For each layer of the program, the names of the graph values that it saves.
    pub results: Vec<Vec<String>>,
}

/// Compiles a simplified graph (see `npukit_graph::pass`) for an instance.
///
/// # Errors
///
/// Reports every node that cannot be lowered, or the layer and the memory in which it does not fit.
pub fn compile(graph: &Graph, config: &Config, options: &Options) -> Result<Compiled, LowerError> {
    let phase = Phase::begin("lower");
    let border = Border::take_off(graph, &options.scales);
    let graph = &border.graph;
    let model = layers::build(graph, config, options)?;
    drop(phase);
    let scheduled = schedule::choices::scheduled(&model, config, options, minimize(config, options))?;
    let strategy = scheduled.plan.strategy;
    let clocked = scheduled.clocked.map(|memory| (memory, scheduled.cycles));
    let saturated_constants = model.objects.saturated_constants();
    let results = model.layers.iter().map(|layer| saved_values(layer, &model, &border)).collect();
    let name = options.name.clone().unwrap_or_else(|| graph.name.clone());
    let mut program = backend::program(name, model, config, scheduled);
    scale_ports(&mut program, &border);
    Ok(Compiled { program, strategy, clocked, saturated_constants, results })
}

fn minimize(config: &Config, options: &Options) -> Minimize {
    options.minimize.unwrap_or_else(|| Minimize::Clock(board::memory(config, &System::OPEN, None)))
}

/// Returns the graph that [`compile`] lowers instead of `graph`: an equivalent one that takes fewer
/// cycles.
pub fn prepare(graph: &Graph, config: &Config, order: Order) -> Graph {
    rewrite::rewrite(graph, config, order).unwrap_or_else(|| graph.clone())
}

/// Returns the graph like [`prepare`], for inputs and outputs with these scales.
pub fn prepare_scaled(graph: &Graph, config: &Config, order: Order, scales: &Scales) -> Graph {
    let border = Border::take_off(graph, scales);
    if border.scales.is_empty() {
        return prepare(graph, config, order);
    }
    border.put_back(&prepare(&border.graph, config, order))
}

/// Returns `graph` with the operators that lookups make possible decomposed, as [`compile`] lowers
/// them.
pub fn decomposed(graph: &Graph, config: &Config) -> Graph {
    rewrite::decomposed(graph, config).unwrap_or_else(|| graph.clone())
}

/// Returns the names of the `graph` values that `layer` saves completely. The rewrite keeps these
/// names and appends its own values.
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

/// Sets the exponents of inputs and outputs, and the tensors of outputs that are multiples of
/// others.
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

/// Returns the nodes that prevent `graph` from being compiled; empty if `graph` can be compiled.
///
/// A graph without problems here can still fail in [`compile`] for lack of memory.
pub fn check(graph: &Graph, config: &Config) -> Vec<Problem> {
    match layers::build(graph, config, &Options::default()) {
        Err(LowerError::Unsupported { problems }) => problems,
        _ => Vec::new(),
    }
}

/// Returns the model as it would be compiled, with its usage of DRAM1, which does not depend on the
/// schedule.
///
/// # Errors
///
/// Reports every node that cannot be lowered, or a memory that is too small under every strategy.
pub fn estimate(
    graph: &Graph,
    config: &Config,
    options: &Options,
) -> Result<(layers::hir::Model, Usage), LowerError> {
    let model = layers::build(&Border::take_off(graph, &options.scales).graph, config, options)?;
    let plan = memory::Plan::possible(&model, config, options.strategy)?;
    Ok((model, plan.dram1))
}

/// Returns the printable forms of the stages, for debugging.
///
/// # Errors
///
/// Fails like [`compile`].
pub fn stages(graph: &Graph, config: &Config, options: &Options) -> Result<Stages, LowerError> {
    let model = layers::build(&Border::take_off(graph, &options.scales).graph, config, options)?;
    let scheduled = schedule::choices::scheduled(&model, config, options, minimize(config, options))?;
    Ok(Stages {
        layers: model.print_layers(),
        hir: model.print_steps(),
        plan: scheduled.plan.print(&model),
        lir: scheduled.print(&model),
    })
}
