//! Lowering of graphs to programs. [`compile`] runs the stages in order; each has a module and a
//! printable form.
//!
//! | stage | module | from → to |
//! |---|---|---|
//! | layers | [`mod@layers`], [`builder`], `ops` (a file per operator family) | graph nodes → sums of products, stores |
//! | constants | [`constants`] | weights and biases → machine numbers, shifts |
//! | plan | [`memory`], [`tile`] | feature maps → addresses; layers → tiles that fit the buffers |
//! | program | [`schedule`], [`emit`], [`backend`] | all of the above, in the tiles that the clock rates best → instructions, [`Program`](crate::program::Program) |

pub mod backend;
pub mod builder;
pub mod constants;
pub mod emit;
pub mod error;
pub mod host;
pub mod layer;
pub mod layers;
pub mod limits;
pub mod map;
pub mod memory;
mod ops;
pub mod print;
pub mod product;
pub mod schedule;
pub mod tile;
pub mod windows;

use npukit_graph::Graph;
use npukit_graph::quantize::Quantization;
pub use npukit_lower::Problem;
use npukit_target::Phase;

pub use error::LowerError;

use crate::config::{Config, StoreReads, Timing};
use crate::isa::op::Op;
use crate::lower::builder::Builder;
use constants::{BlockPlan, Constants};
use layers::Model;
use memory::Plan;
use schedule::Schedule;
use tile::{Costs, Tiling};

/// Options that the caller chooses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Fraction lengths of the graph's values; required for integer features.
    pub quantization: Option<&'a Quantization>,
    /// Whether to approximate leaky ReLU of any slope by slope 1/8.
    pub approximate: bool,
    /// Whether to keep the model's exact value of each constant next to the rounded one.
    pub keeps_exact: bool,
}

/// Range of instructions of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index of the first instruction.
    pub first: usize,
    /// Number of instructions.
    pub count: usize,
}

/// Program with all intermediate results of the lowering.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Layers, feature maps, inputs and outputs.
    pub model: Model,
    /// Weights and biases.
    pub constants: Constants,
    /// Blocks of each layer.
    pub blocks: Vec<Vec<BlockPlan>>,
    /// Tiles of each layer.
    pub tilings: Vec<Tiling>,
    /// Memory plan: addresses of maps and constants.
    pub plan: Plan,
    /// Instructions in order.
    pub ops: Vec<Op>,
    /// Instruction range of each layer.
    pub spans: Vec<Span>,
}

/// Lowers a simplified graph (see `npukit_graph::pass`) for an instance.
///
/// # Errors
///
/// Every node that cannot be lowered; integer features without fraction lengths; a layer or program
/// that does not fit.
pub fn compile(graph: &Graph, config: &Config, options: Options<'_>) -> Result<Lowered, LowerError> {
    let types = &config.types;
    if types.itype.fixed().is_some() && options.quantization.is_none() {
        return Err(LowerError::NotQuantized { types: types.itype.to_string() });
    }
    let phase = Phase::begin("lower");
    let model = Builder::new(graph, options, types.itype).build()?;
    drop(phase);
    let phase = Phase::counting("make constants", model.layers.len());
    let mut constants = Constants::new(options.keeps_exact);
    let blocks = model.layers.iter().map(|layer| {
        let blocks = constants.blocks(layer, &model.planes, types);
        phase.advance();
        blocks
    });
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let plan = memory::plan(&model, &constants, types.itype.size_bytes().into())?;
    drop(phase);
    let phase = Phase::counting("schedule", model.layers.len());
    let costs = costs(&config.timing);
    let mut schedule = Schedule::new(&model.planes, &plan, config, costs);
    for (layer, blocks) in model.layers.iter().zip(&blocks) {
        schedule.add(layer, blocks)?;
        phase.advance();
    }
    let (mut ops, tilings, spans) = schedule.finish();
    ops.push(Op::End);
    Ok(Lowered { model, constants, blocks, tilings, plan, ops, spans })
}

/// Returns the nodes that prevent compiling `graph`; empty if nothing prevents it.
///
/// A graph without problems here can still fail in [`compile`] for lack of memory.
pub fn check(graph: &Graph, config: &Config, options: Options<'_>) -> Vec<Problem> {
    match layers(graph, config, options) {
        Err(LowerError::Unsupported { problems }) => problems,
        _ => Vec::new(),
    }
}

/// Lowers a graph to layers, before constants are computed.
///
/// # Errors
///
/// Every node that cannot be lowered; integer features without fraction lengths.
pub fn layers(graph: &Graph, config: &Config, options: Options<'_>) -> Result<Model, LowerError> {
    Builder::new(graph, options, config.types.itype).build()
}

fn costs(timing: &Timing) -> Costs {
    Costs {
        burst: timing.burst_words as usize,
        row_latency: timing.ifm_row_latency as usize,
        ker_latency: timing.ker_latency as usize,
        conv_pipe: timing.conv_pipe as usize,
        store_latency: timing.store_latency as usize,
        store_windows: timing.store_reads == StoreReads::Windows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_judged_by_the_costs_of_the_instance() {
        for (store_reads, store_windows) in [(StoreReads::Windows, true), (StoreReads::Results, false)] {
            let timing = Timing { burst_words: 8, store_latency: 3, store_reads, ..Timing::default() };
            let costs = costs(&timing);
            assert_eq!((costs.burst, costs.store_latency, costs.store_windows), (8, 3, store_windows));
        }
    }
}
