//! Compiler from graphs to programs: [`compile`]. Each value has its own addresses; each node
//! becomes one instruction per [`MOST`] numbers.

use npukit_graph::op::BinaryKind;
use npukit_graph::{Graph, Node, Op as Operator, Operator as _, ValueId};
use npukit_target::Problem;

use crate::config::Config;
use crate::isa::op::{MOST, Op};
use crate::program::{Binding, Layer, Program};

/// Reason why a node cannot be compiled.
struct Reject {
    reason: String,
    hint: &'static str,
}

/// Makes the instruction of a node for `n` numbers, starting at an offset.
type Lowered = Box<dyn Fn(u32, u32) -> Op>;

/// Addresses of values, which are stored one after the other.
struct Places<'a> {
    graph: &'a Graph,
    addresses: Vec<u32>,
    /// First address after all values, up to `u64::MAX`.
    end: u64,
}

/// Returns the nodes that prevent compiling `graph`; empty if it can be compiled.
pub fn check(graph: &Graph) -> Vec<Problem> {
    let places = Places::new(graph);
    let problem = |node: &Node| {
        let Reject { reason, hint } = places.lowered(node).err()?;
        let (name, op) = (node.name.clone(), node.op.name().to_owned());
        Some(Problem { node: name, op, reason, hint: hint.to_owned() })
    };
    graph.nodes.iter().filter_map(problem).collect()
}

/// Compiles a graph for an instance.
///
/// # Errors
///
/// All nodes that cannot be compiled, or values that exceed the memory.
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

/// Reason why a graph cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// Nodes that cannot be compiled.
    #[error("{} nodes cannot be compiled", .0.len())]
    Refused(Vec<Problem>),
    /// The memory is too small.
    #[error("the values of the graph have {numbers} numbers; the memory has {words}")]
    Memory {
        /// Total size of all values, in numbers.
        numbers: u64,
        /// Size of the instance's memory, in numbers.
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

    /// Size of a value in numbers. The graph must fit the memory.
    fn numbers(&self, id: ValueId) -> u32 {
        self.graph.shape(id).iter().product::<usize>() as u32
    }

    fn binding(&self, id: ValueId) -> Binding {
        let (name, shape) = (self.graph.value(id).name.clone(), self.graph.shape(id).to_vec());
        Binding { name, shape, address: self.address(id) }
    }

    /// Makes the instructions of a node.
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
                reason: "the accelerator only adds and clips".to_owned(),
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
