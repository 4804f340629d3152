//! Example shared by several tests.

#![allow(clippy::unwrap_used, reason = "tests")]

use npukit_graph::op::{Binary, BinaryKind, MatMul, Softmax};
use npukit_graph::{Graph, ValueInfo};
use npukit_numeric::ElementType;

use super::{lower, prepare};
use crate::config::preset;
use crate::program::executable::Executable;

/// Compiles a product, a sum and a softmax of 20 x 20 elements for a built-in fabric with
/// extensions.
pub(crate) fn executable(fabric: &str) -> Executable {
    let mut graph = Graph::default();
    let inputs = ["x", "w", "b"]
        .map(|name| graph.add_input(name, ValueInfo { shape: vec![20, 20], element: ElementType::F32 }));
    let product = graph.add_node("product", MatMul.into(), inputs[..2].to_vec(), &["p"]).unwrap()[0];
    let add = Binary { kind: BinaryKind::Add };
    let sum = graph.add_node("sum", add.into(), vec![product, inputs[2]], &["y"]).unwrap();
    graph.outputs = graph.add_node("soft", Softmax { axis: 1, axis_end: 2 }.into(), sum, &["z"]).unwrap();
    let mut fabric = preset(fabric).unwrap();
    fabric.options.extensions = true;
    Executable::new(&fabric, lower(&fabric, &prepare(&graph).unwrap(), None).unwrap()).unwrap()
}

/// Returns the executable once for each instruction of a kernel, without that instruction.
pub(crate) fn without_one_instruction(whole: &Executable, kernel: usize) -> impl Iterator<Item = Executable> {
    let cells = whole.kernels[kernel].compiled.program.cells.iter();
    let instructions = cells.flat_map(|(&place, words)| (0..words.len()).map(move |at| (place, at)));
    instructions.map(move |(place, at)| {
        let mut executable = whole.clone();
        executable.kernels[kernel].compiled.program.cells.get_mut(&place).unwrap().remove(at);
        executable
    })
}
