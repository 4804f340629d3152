//! Compiler from graphs to programs: [`compile`]. Sums and ReLUs become one instruction per
//! [`MOST`] numbers; products are in [`dense`], addresses in [`places`].

use npukit_graph::op::BinaryKind;
use npukit_graph::{Graph, Node, Op as Operator, Operator as _, ValueId};
use npukit_target::Problem;

use crate::config::Config;
use crate::isa::op::{MOST, Op};
use crate::program::{Layer, Program};

mod dense;
mod places;

use places::{ExactConstant, Places};

/// Reason why a node cannot be compiled.
struct Reject {
    reason: String,
    hint: &'static str,
}

/// Makes the instructions of a node.
type Lowered<'a> = Box<dyn Fn() -> Vec<Op> + 'a>;

/// Returns the nodes that prevent compiling `graph`; empty if it can be compiled.
pub fn check(graph: &Graph) -> Vec<Problem> {
    let places = Places::new(graph);
    let problem = |(index, node): (usize, &Node)| {
        let Reject { reason, hint } = lowered(&places, index).err()?;
        let (name, op) = (node.name.clone(), node.op.name().to_owned());
        Some(Problem { node: name, op, reason, hint: hint.to_owned() })
    };
    graph.nodes.iter().enumerate().filter_map(problem).collect()
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
    for (index, node) in graph.nodes.iter().enumerate() {
        let (Ok(lowered), Some(&result)) = (lowered(&places, index), node.outputs.first()) else { continue };
        let first = instructions.len();
        instructions.extend(lowered());
        let (name, result) = (node.name.clone(), graph.value(result).name.clone());
        layers.push(Layer { name, result, first, count: instructions.len() - first });
    }
    instructions.push(Op::End);
    let bindings = |ids: &[ValueId]| ids.iter().map(|&id| places.binding(id)).collect();
    let (inputs, outputs) = (bindings(&graph.inputs), bindings(&graph.outputs));
    let constants = places.constants().iter().map(ExactConstant::rounded).collect();
    let config = config.clone();
    Ok(Program { name, instance, config, instructions, constants, inputs, outputs, layers })
}

/// Returns the constants of a graph as the program of the graph expects them in memory, without
/// rounding.
pub fn constants(graph: &Graph) -> Vec<ExactConstant> {
    Places::new(graph).constants()
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

/// Prepares the instructions of a node of the graph.
fn lowered<'a>(places: &'a Places<'_>, index: usize) -> Result<Lowered<'a>, Reject> {
    let node = &places.graph.nodes[index];
    let is_no_float =
        |id: &&ValueId| places.graph.constant(**id).is_some_and(|tensor| tensor.as_f32().is_none());
    if let Some(&id) = node.inputs.iter().find(is_no_float) {
        let reason = format!("`{}` is not a float", places.graph.value(id).name);
        return Err(Reject { reason, hint: "convert it to float" });
    }
    let operands: Vec<u32> = (0..node.inputs.len()).map(|operand| places.operand(index, operand)).collect();
    let &[result] = &node.outputs[..] else { return Err(unsupported()) };
    let (dst, numbers) = (places.address(result), places.numbers(result));
    match (&node.op, &operands[..]) {
        (Operator::Binary(op), &[left, right]) if op.kind == BinaryKind::Add => {
            same_shapes(places.graph, node)?;
            Ok(Box::new(move || {
                pieces(numbers, |at, n| Op::Add { dst: dst + at, left: left + at, right: right + at, n })
            }))
        }
        (Operator::Relu(_), &[src]) => {
            Ok(Box::new(move || pieces(numbers, |at, n| Op::Relu { dst: dst + at, src: src + at, n })))
        }
        (Operator::Gemm(op), _) => {
            let dense = dense::Dense::new(places.graph, node, op)?;
            Ok(Box::new(move || dense.instructions(dst, &operands)))
        }
        _ => Err(unsupported()),
    }
}

fn unsupported() -> Reject {
    Reject {
        reason: "the accelerator only adds, clips and multiplies by constant matrices".to_owned(),
        hint: "leave it to the host",
    }
}

/// Divides `total` numbers into vectors of at most [`MOST`], with one instruction each. `op` gets
/// the offset and the length of a vector.
fn pieces(total: u32, op: impl Fn(u32, u32) -> Op) -> Vec<Op> {
    (0..total).step_by(MOST as usize).map(|at| op(at, MOST.min(total - at))).collect()
}

fn same_shapes(graph: &Graph, node: &Node) -> Result<(), Reject> {
    let shapes: Vec<&[usize]> = node.inputs.iter().map(|&id| graph.shape(id)).collect();
    if shapes.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(Reject { reason: format!("its operands have shapes {shapes:?}"), hint: "expand the smaller one" })
}
