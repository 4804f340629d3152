//! Graphs to programs: [`compile`]. Each value has numbers of its own, each node an instruction for every
//! [`MOST`] of them.

use npukit_graph::op::BinaryKind;
use npukit_graph::{Graph, Node, Op as Operator, Operator as _, ValueId};
use npukit_target::Problem;

use crate::config::Config;
use crate::isa::op::{MOST, Op};
use crate::program::{Binding, Layer, Program};

/// Why a node cannot be lowered.
struct Reject {
    reason: String,
    hint: &'static str,
}

/// What a node becomes: one instruction for numbers from an offset on.
type Lowered = Box<dyn Fn(u32, u32) -> Op>;

/// Where values lie, one after the other.
struct Places<'a> {
    graph: &'a Graph,
    addresses: Vec<u32>,
    /// The first number behind all of them; as large as it may get.
    end: u64,
}

/// The nodes that stand in the way of compiling `graph`; empty when none does.
pub fn check(graph: &Graph) -> Vec<Problem> {
    let places = Places::new(graph);
    let problem = |node: &Node| {
        let Reject { reason, hint } = places.lowered(node).err()?;
        let (name, op) = (node.name.clone(), node.op.name().to_owned());
        Some(Problem { node: name, op, reason, hint: hint.to_owned() })
    };
    graph.nodes.iter().filter_map(problem).collect()
}

/// Lowers a graph for an instance.
///
/// # Errors
///
/// Every node that cannot be lowered; values that are more than memory holds.
pub fn compile(
    graph: &Graph,
    config: &Config,
    name: String,
    instance: String,
) -> Result<Program, CompileError> {
    let problems = check(graph);
    if !problems.is_empty() {
        return Err(CompileError::Refused(problems));
    }
    let places = Places::new(graph);
    if places.end > config.memory_words.into() {
        return Err(CompileError::Memory { numbers: places.end, words: config.memory_words });
    }
    let (mut instructions, mut layers) = (Vec::new(), Vec::new());
    for node in &graph.nodes {
        let (Ok(lowered), Some(&result)) = (places.lowered(node), node.outputs.first()) else { continue };
        let first = instructions.len();
        let total = places.numbers(result);
        instructions.extend((0..total).step_by(MOST as usize).map(|at| lowered(at, MOST.min(total - at))));
        let (name, result) = (node.name.clone(), graph.value(result).name.clone());
        layers.push(Layer { name, result, first, count: instructions.len() - first });
    }
    instructions.push(Op::End);
    let bindings = |ids: &[ValueId]| ids.iter().map(|&id| places.binding(id)).collect();
    let (inputs, outputs) = (bindings(&graph.inputs), bindings(&graph.outputs));
    Ok(Program { name, instance, config: config.clone(), instructions, inputs, outputs, layers })
}

/// Why a graph has no program.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// Nodes cannot be lowered.
    #[error("{} nodes cannot be lowered", .0.len())]
    Refused(Vec<Problem>),
    /// Memory is too small.
    #[error("the values of the graph are {numbers} numbers, memory has {words}")]
    Memory {
        /// Of all values.
        numbers: u64,
        /// Of the instance.
        words: u32,
    },
}

impl<'a> Places<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut places = Self { graph, addresses: Vec::new(), end: 0 };
        for value in &graph.values {
            places.addresses.push(u32::try_from(places.end).unwrap_or(u32::MAX));
            if value.constant.is_none() {
                let numbers = value.info.shape.iter().fold(1, |all: u64, &n| all.saturating_mul(n as u64));
                places.end = places.end.saturating_add(numbers);
            }
        }
        places
    }

    fn address(&self, id: ValueId) -> u32 {
        self.addresses[id.0 as usize]
    }

    /// Numbers of a value of a graph that fits the memory.
    fn numbers(&self, id: ValueId) -> u32 {
        self.graph.shape(id).iter().product::<usize>() as u32
    }

    fn binding(&self, id: ValueId) -> Binding {
        let (name, shape) = (self.graph.value(id).name.clone(), self.graph.shape(id).to_vec());
        Binding { name, shape, address: self.address(id) }
    }

    /// What a node becomes.
    fn lowered(&self, node: &Node) -> Result<Lowered, Reject> {
        let operands: Vec<u32> = node.inputs.iter().map(|&id| self.address(id)).collect();
        let results: Vec<u32> = node.outputs.iter().map(|&id| self.address(id)).collect();
        let constant = node.inputs.iter().find(|&&id| self.graph.constant(id).is_some());
        match (&node.op, &operands[..], &results[..]) {
            (Operator::Binary(op), &[left, right], &[dst]) if op.kind == BinaryKind::Add => {
                if let Some(&id) = constant {
                    let reason = format!("`{}` is a constant", self.graph.value(id).name);
                    return Err(Reject { reason, hint: "make it an input" });
                }
                self.same_shapes(node)?;
                let add = move |at, n| Op::Add { dst: dst + at, left: left + at, right: right + at, n };
                Ok(Box::new(add))
            }
            (Operator::Relu(_), &[src], &[dst]) => {
                Ok(Box::new(move |at, n| Op::Relu { dst: dst + at, src: src + at, n }))
            }
            _ => Err(Reject {
                reason: "the machine adds and clips only".to_owned(),
                hint: "leave it to the host",
            }),
        }
    }

    fn same_shapes(&self, node: &Node) -> Result<(), Reject> {
        let shapes: Vec<&[usize]> = node.inputs.iter().map(|&id| self.graph.shape(id)).collect();
        if shapes.windows(2).all(|pair| pair[0] == pair[1]) {
            return Ok(());
        }
        Err(Reject { reason: format!("its operands have shapes {shapes:?}"), hint: "expand the smaller one" })
    }
}
