//! Compiles graphs to programs: [`compile`] runs the stages in order. Each stage is a module and
//! has a printable form.
//!
//! | stage | module | from → to |
//! |---|---|---|
//! | layers | `layers`, `ops` (a file per operator family) | graph nodes → steps of machine or host (`steps`, `work`) |
//! | emission | `emit`, `ops`, `code` | steps → instructions, host steps and weights |
//! | plan | `plan`, `memory` | values → words of L2, while steps are emitted |
//! | fence | `fence` | instructions → instructions without hazards |
//! | program | [`compile`] | everything → [`Executable`] |
//!
//! Operations that the machine does not support become host steps, computed by the reference
//! evaluator in `f32`.

mod code;
mod emit;
mod extent;
mod fence;
mod fold;
pub mod language;
mod layers;
mod limits;
mod macros;
mod memory;
mod ops;
mod options;
mod plan;
mod reason;
mod reference;
mod steps;
pub(crate) mod weight_bits;
mod work;

use npukit_base::counted;
use npukit_graph::language::DecoderError;
use npukit_graph::quantize::rows::RowsError;
use npukit_graph::{Graph, Node, NodeId};
use npukit_target::Phase;
use thiserror::Error;

pub use code::reads_cache;
pub use ops::Weights;
pub use options::{
    Activations, Gelu, Isa, Kv, Norms, OPTIONS, Options, Rotations, Scales, WeightBits, WeightPath,
};

use crate::config::Config;
use crate::lower::steps::{Layers, Step};
use crate::lower::work::{Bits, Product, Work};
use crate::machine::weights::WeightError;
use crate::program::Program;
use crate::program::host::{Host, Layer, PATCHES_HELP, SQUARES_HELP};
use emit::Lowering;
use layers::operator;
use plan::Plan;
pub use reference::{Constants, ReferenceError, reference};

/// Reason why a graph cannot be compiled.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LowerError {
    /// The values of a node do not fit into L2, even if the host computes all other nodes.
    #[error(
        "node `{node}` needs room for {values} values in L2; even with all other values at the host, the largest gap has \
         {largest} values (L2 has {l2_words} words of 8 values): process fewer tokens at once"
    )]
    L2Full {
        /// Name of the node.
        node: String,
        /// Number of values that do not fit.
        values: usize,
        /// Number of values that would fit.
        largest: usize,
        /// Size of L2 in words.
        l2_words: u32,
    },
    /// Weights cannot be quantized.
    #[error("constant `{name}`: {error}")]
    Rows {
        /// Name of the constant.
        name: String,
        /// Reason why the quantization fails.
        error: RowsError,
    },
    /// A weight matrix has an unsupported size.
    #[error("constant `{name}`: {error}")]
    Weights {
        /// Name of the constant.
        name: String,
        /// Reason why the size is unsupported.
        error: WeightError,
    },
    /// The text from which weights are chosen is invalid.
    #[error("text for calibration: {0}")]
    Calibration(#[from] DecoderError),
    /// A language model with several values of a token between layers.
    #[error(
        "a model with {0} streams of values, such as Gemma 3N, is not compiled: use a model with one, or leave out `--target` to compute in float"
    )]
    Streams(usize),
    /// Internal error of the compiler.
    #[error("the compiler made {0} that does not fit: an error in npukit")]
    Fault(&'static str),
    /// The compiler made a program that hardware would execute differently: an internal error.
    #[error("the compiler made a program in which instruction {instruction} {message}: an error in npukit")]
    Order {
        /// Index of the instruction, starting at 0.
        instruction: usize,
        /// Text of the finding, which continues "instruction N".
        message: String,
    },
}

/// A program together with its host's work.
#[derive(Clone, Debug, Default)]
pub struct Executable {
    /// Instructions, weights and windows for the machine.
    pub program: Program,
    /// Graph, layers and warnings for the host.
    pub host: Host,
}

/// Printable forms of the stages.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Nodes of each layer, its instructions, and whether the machine or the host computes it.
    pub layers: String,
    /// L2 addresses of the values of each layer.
    pub plan: String,
}

/// Compiles a graph with known shapes. `weights` caches quantized constants for further graphs with
/// the same constants.
///
/// # Errors
/// A node that does not fit into L2, or weights that are not finite.
pub fn compile(
    config: &Config,
    graph: &Graph,
    options: &Options,
    weights: &mut Weights,
) -> Result<Executable, LowerError> {
    lower(config, graph, options, weights).map(|(executable, _)| executable)
}

/// Product with constant weights, before its weight format is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductWeights {
    /// Number of the product's step.
    pub step: usize,
    /// Nodes of the step; the last one gives its results.
    pub nodes: Vec<NodeId>,
    /// Name of the layer.
    pub layer: String,
    /// Multiply-accumulates of the machine, including zeros between groups.
    pub macs: u64,
    /// Whether the weights have the requested property.
    pub are_wide: bool,
}

/// Property of weights that [`products`] tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// Weights change when quantized to rows of 4 bits with one scale each.
    LoseByFourBits,
    /// Weights are 8-bit integers times one scale per row.
    IntegersOfEightBits,
}

/// Returns the products with constant weights of a graph, in order.
pub fn products(config: &Config, graph: &Graph, options: &Options, asked: Wide) -> Vec<ProductWeights> {
    let layers = Layers::new(graph, options, config.l2_words);
    let products = layers.steps.iter().enumerate().filter_map(|(number, step)| {
        let product = step.work.product()?;
        let names: Vec<&str> = step.nodes.iter().map(|&id| layers.graph.node(id).name.as_str()).collect();
        let rows = ops::rows_of(&layers.graph, product);
        Some(ProductWeights {
            step: number,
            nodes: step.nodes.clone(),
            layer: layer_name(&names),
            macs: product.size.iter().map(|&size| size as u64).product(),
            are_wide: rows.is_some_and(|rows| match asked {
                Wide::LoseByFourBits => rows.lose_by_4_bits(),
                Wide::IntegersOfEightBits => rows.are_integers_of_8_bits(),
            }),
        })
    });
    products.collect()
}

/// Returns the printable forms of the stages, for debugging.
///
/// # Errors
/// The errors of [`compile`].
pub fn stages(config: &Config, graph: &Graph, options: &Options) -> Result<Stages, LowerError> {
    let (Executable { host, .. }, plan) = lower(config, graph, options, &mut Weights::default())?;
    Ok(Stages { layers: print_layers(&host.layers), plan: plan.print(&host.layers, host.words) })
}

/// Formats one line per layer: its instructions, and whether the machine or the host computes it.
fn print_layers(layers: &[Layer]) -> String {
    let mut start = 0;
    let line = |layer: &Layer| {
        let range = format!("{start}..{}", layer.end);
        start = layer.end;
        let who = match &layer.host {
            None => {
                let help = layer.help.as_ref().map_or_else(String::new, |help| format!(", {help}"));
                let bits = if layer.has_8_bit_weights { ", 8-bit weights in two passes" } else { "" };
                format!("machine{bits}{help}")
            }
            Some((op, reason)) => format!("host ({op}): {reason}"),
        };
        format!("{range:>13}  {}: {who}\n", layer.name)
    };
    layers.iter().map(line).collect()
}

/// Runs both stages together: addresses are allocated while instructions are emitted.
fn lower(
    config: &Config,
    graph: &Graph,
    options: &Options,
    weights: &mut Weights,
) -> Result<(Executable, Plan), LowerError> {
    let phase = Phase::begin("lower");
    let layers = Layers::new(graph, options, config.l2_words);
    drop(phase);
    let mut lowering = Lowering::new(config, &layers, options, &mut *weights);
    let mut host_nodes = Vec::new();
    let reports = emit_layers(&layers, &mut lowering, &mut host_nodes)?;
    graph.outputs.iter().for_each(|&id| lowering.bring_to_host(id));
    let words = lowering.words();
    let Lowering { code, graph: mut slots, plan, .. } = lowering;
    slots.nodes = host_nodes;
    forget_unused(&mut slots, &code);
    let on_host = reports.iter().filter(|layer| layer.host.is_some()).count();
    tracing::info!(layers = reports.len(), on_host, "layers emitted");
    let mut warnings = warnings(&layers, &reports);
    warnings.extend(weights.worst());
    let program = Program { reading: config.reading, ..code.finish(options.isa == Isa::Ext) };
    let (layers, choices) = (reports, options.choices());
    let host = Host { graph: slots, layers, choices, warnings, words, ..Host::default() };
    let executable = Executable { program, host };
    check_orders(config, &executable)?;
    Ok((executable, plan))
}

/// Emits all layers and records their reports.
fn emit_layers(
    layers: &Layers,
    lowering: &mut Lowering<'_>,
    host_nodes: &mut Vec<Node>,
) -> Result<Vec<Layer>, LowerError> {
    let macs: Vec<u64> = layers.graph.macs_by_node().collect();
    let phase = Phase::counting("emit", layers.steps.len());
    let mut reports = Vec::with_capacity(layers.steps.len());
    for (index, step) in layers.steps.iter().enumerate() {
        let names: Vec<&str> = step.nodes.iter().map(|&id| layers.graph.node(id).name.as_str()).collect();
        lowering.begin(index, step, &layers.graph.node(step.last()).name);
        let host = lowering.emit(layers, step, host_nodes)?;
        lowering.end(step);
        reports.push(Layer {
            name: layer_name(&names),
            end: lowering.code.position(),
            macs: step.nodes.iter().map(|id| macs[id.0 as usize]).sum(),
            results: results(layers, step),
            has_8_bit_weights: step.work.product().is_some_and(|product| product.bits == Bits::Eight),
            help: help(&step.work).filter(|_| host.is_none()).map(str::to_owned),
            host: host.map(|reason| (operator(&layers.graph, step).to_owned(), reason.to_string())),
        });
        phase.advance();
    }
    Ok(reports)
}

/// Returns the model's values that a step produces. If a norm's gains are folded into weights, the
/// norm produces no value of the model.
fn results(layers: &Layers, step: &Step) -> Vec<String> {
    if layers.folds.has(step.last()) {
        return Vec::new();
    }
    step.results.iter().map(|&id| layers.graph.value(id).name.clone()).collect()
}

/// Checks the finished program: no data is used before it is written or while an asynchronous
/// instruction still writes it, and hardware executes each instruction like the machine.
pub(crate) fn check_orders(config: &Config, executable: &Executable) -> Result<(), LowerError> {
    let _phase = Phase::begin("check program");
    let found = crate::check::findings(config, &executable.program, &executable.host);
    match found.into_iter().find(npukit_target::Finding::is_error) {
        None => Ok(()),
        Some(finding) => {
            // Default: a finding about the whole program has the position after the last
            // instruction.
            let instruction = finding.instruction.unwrap_or(executable.program.code.len());
            Err(LowerError::Order { instruction, message: finding.message })
        }
    }
}

/// Returns the host's contribution to a step of the machine.
const fn help(work: &Work) -> Option<&'static str> {
    match work {
        Work::Norm(norm) if norm.squares_by_host => Some(SQUARES_HELP),
        Work::Convolution(_) => Some(PATCHES_HELP),
        _ => None,
    }
}

/// Returns the graph with dequantized weights, as [`compile`] quantizes them. Weights after a norm
/// may include the norm's gains.
///
/// # Errors
/// The constant that cannot be quantized, and the reason.
pub fn dequantized(config: &Config, graph: &Graph, options: &Options) -> Result<Graph, LowerError> {
    let failed = |(name, error)| LowerError::Rows { name, error };
    let mut dequantized = npukit_graph::quantize::rows::dequantize_weights(graph).map_err(failed)?;
    for step in Layers::new(graph, options, config.l2_words).steps {
        let Work::Product(Product { weights, gain: Some(gain), by_rows, size, .. }) = step.work else {
            continue;
        };
        let [weights, gain] =
            [weights, gain].map(|id| graph.constant(id).ok_or(LowerError::Fault("weights")));
        let tensor = ops::dequantized_with(weights?, gain?, by_rows, size)?;
        let is_product = |id: &&NodeId| {
            matches!(graph.node(**id).op, npukit_graph::Op::MatMul(_) | npukit_graph::Op::Gemm(_))
        };
        let product = step.nodes.iter().find(is_product);
        let Some(node) = product.and_then(|id| dequantized.nodes.get_mut(id.0 as usize)) else { continue };
        let [_, weights, ..] = &mut node.inputs[..] else { continue };
        let id = npukit_graph::ValueId(dequantized.values.len() as u32);
        let info = npukit_graph::ValueInfo { shape: tensor.shape().to_vec(), element: tensor.element() };
        let name = format!("weights of {}", node.name);
        *weights = id;
        let constant = Some(std::sync::Arc::new(tensor));
        dequantized.values.push(npukit_graph::Value { name, info, constant });
    }
    Ok(dequantized)
}

/// Returns the name of a layer: one or two names of nodes, or the first and the last of more.
fn layer_name(names: &[&str]) -> String {
    match names {
        [first, _, .., last] => format!("{first} to {last}"),
        _ => names.join(" + "),
    }
}

/// Removes constants that became weights, and constants that are neither sent nor used by the host.
fn forget_unused(slots: &mut Graph, code: &code::Code) {
    use crate::program::host::HostStep;
    let mut used: Vec<bool> = vec![false; slots.values.len()];
    let sent = code.steps().filter_map(|step| match step {
        HostStep::Send { slot, .. }
        | HostStep::Keys { slot, .. }
        | HostStep::Values { slot, .. }
        | HostStep::Squares { slot, .. }
        | HostStep::Part { slot, .. }
        | HostStep::Patches { slot, .. }
        | HostStep::Scales { slot, .. } => Some(slot),
        _ => None,
    });
    let ids = sent.chain(slots.nodes.iter().flat_map(|node| &node.inputs)).chain(&slots.outputs);
    for id in ids {
        used[id.0 as usize] = true;
    }
    for (value, used) in slots.values.iter_mut().zip(used) {
        if !used {
            value.constant = None;
        }
    }
}

fn warnings(layers: &Layers, reports: &[Layer]) -> Vec<String> {
    let mut warnings = Vec::new();
    if layers.approximated > 0 {
        warnings.push(format!(
            "{} Gelu of the error function computed by the machine with tanh: up to 0.0005 apart; \
             `--option gelu=exact` leaves them to the host",
            layers.approximated
        ));
    }
    for (help, what) in [
        (SQUARES_HELP, "with `--option norms=host` the host computes the whole norm"),
        (PATCHES_HELP, "the cycle model does not include this time"),
    ] {
        let helped = reports.iter().filter(|layer| layer.help.as_deref() == Some(help)).count();
        if helped > 0 {
            warnings.push(format!("{} of the machine: {help}; {what}", counted(helped as u64, "layer")));
        }
    }
    let hosts = reports.iter().filter(|layer| layer.host.is_some()).count();
    if hosts > 0 {
        let verb = if hosts == 1 { "is" } else { "are" };
        let nodes = counted(hosts as u64, "node");
        warnings.push(format!("{nodes} {verb} computed by the host, in time that is not included"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::ValueInfo;
    use npukit_numeric::ElementType;

    use super::*;
    use crate::isa::op::{Cache, Cvo, Mac, Memset, Op, Shape};

    /// The compiler makes no faulty programs, so these are programs that it would not make.
    #[test]
    fn programs_with_errors_do_not_leave_the_compiler() {
        let config = Config::preset("reference").unwrap();
        let checked = |code: &[Op], host: Host| {
            let program = Program { code: code.to_vec(), ..Program::default() };
            check_orders(&config, &Executable { program, host })
        };
        let order =
            |instruction, message: &str| Err(LowerError::Order { instruction, message: message.to_owned() });
        let function = Op::Cvo(Cvo { src_addr: 5, length: 8, ..Cvo::default() });
        assert_eq!(checked(&[Op::Kick; 3], Host::default()), Ok(()));
        assert_eq!(
            checked(&[Op::Kick, function], Host::default()),
            order(1, "reads lane 0 of L2 word 0x5, which nothing before has written")
        );
        // A finding about the whole program has the position after the last instruction.
        let mut host = Host::default();
        let info = ValueInfo { shape: vec![2], element: ElementType::F32 };
        let result = npukit_graph::Value { name: "y".to_owned(), info, constant: None };
        host.graph.outputs = vec![host.graph.add_value(result)];
        let missing = "uses value `y` of the host, which no host operation before has written";
        assert_eq!(checked(&[Op::Kick; 3], host), order(3, missing));
    }

    /// Too many lanes are only a warning; an error after it is still found.
    #[test]
    fn warnings_hide_no_error() {
        let config = Config::preset("reference").unwrap();
        let set = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
        let mac = Op::Gemv(Mac { parallel_lane: 9, src_addr: 2, dest_reg: 4, ..Mac::default() });
        let code = vec![
            set(Cache::FmapShape, Shape::new(1, 1, 8)),
            set(Cache::WeightShape, Shape::new(0, 1, 8)),
            mac,
        ];
        let program = Program { code, ..Program::default() };
        let error = check_orders(&config, &Executable { program, host: Host::default() }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the compiler made a program in which instruction 2 reads lane 0 of L2 word 0x2, which nothing \
             before has written: an error in npukit"
        );
    }

    #[test]
    fn layers_of_several_nodes_are_named_by_the_outer_ones() {
        assert_eq!(layer_name(&["a"]), "a");
        assert_eq!(layer_name(&["a", "b"]), "a + b");
        assert_eq!(layer_name(&["a", "b", "c"]), "a to c");
        assert_eq!(layer_name(&["a", "b", "c", "d"]), "a to d");
    }
}
