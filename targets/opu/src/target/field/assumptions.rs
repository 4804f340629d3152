//! Assumptions of a proof for this machine: [`of`].

use npukit_graph::{Graph, Op};

use crate::program::Program;

/// Returns the assumptions as sentences; assumptions about operators only if the model has them.
pub(super) fn of(graph: &Graph, program: &Program) -> Vec<String> {
    let mut stated = vec![
        "instructions take effect one after the other: words of this machine carry no marks of dependence, and what an engine \
         has to wait for is the hardware's to know from the order of the program"
            .to_owned(),
        "sums are added in any order: they are rounded after every tap, and saturate there".to_owned(),
    ];
    if program.config.types.itype.fixed().is_some() {
        stated.push(
            "the fraction lengths of the values are taken from the artifact: constants are rounded for them"
                .to_owned(),
        );
    }
    let has = |is: fn(&Op) -> bool| graph.nodes.iter().any(|node| is(&node.op));
    if has(|op| matches!(op, Op::MaxPool(_))) && has(|op| matches!(op, Op::Relu(_) | Op::LeakyRelu(_))) {
        stated.push(
            "an activation after a maximum has the same result before it, as it is monotone".to_owned(),
        );
    }
    if has(|op| matches!(op, Op::Clip(_))) {
        stated.push(
            "a clipping from 0 to `b` is `relu(b - relu(b - x))`; where `b` is beyond all numbers of the type it is \
             `relu(x)`, and saturation does the rest"
                .to_owned(),
        );
    }
    stated
}
