//! [`check`]: whether evaluating a model is in proportion to the model and its inputs.

use npukit_graph::{Graph, Work};

use crate::error::Error;

/// Operations of any evaluation: some seconds on one core.
const OPERATIONS: u64 = 1 << 36;
/// Operations for each element of the model and its inputs. Convolutions over large images, which
/// use each weight most often, take some thousands.
const OPERATIONS_PER_ELEMENT: u64 = 1 << 16;
/// Bytes that the results of any evaluation may take at a time.
const BYTES: u64 = 1 << 30;
/// Bytes for each element of the model and its inputs.
const BYTES_PER_ELEMENT: u64 = 1 << 10;

/// Refuses a graph, called `model`, whose evaluation is out of proportion.
///
/// # Errors
///
/// [`Error::Operations`] or [`Error::Memory`] with what it takes, the limit and the costliest node.
pub(crate) fn check(model: &str, graph: &Graph) -> Result<(), Error> {
    let (work, held) = (Work::of(graph), held(graph));
    let limit = |least: u64, each: u64| least.saturating_add(each.saturating_mul(held));
    let costliest = work.costliest.map_or_else(String::new, |id| graph.node(id).name.clone());
    let (model, most) = (model.to_owned(), limit(OPERATIONS, OPERATIONS_PER_ELEMENT));
    if work.operations > most {
        return Err(Error::Operations { model, operations: work.operations, limit: most, costliest });
    }
    let most = limit(BYTES, BYTES_PER_ELEMENT);
    if work.peak_bytes > most {
        return Err(Error::Memory { model, bytes: work.peak_bytes, limit: most });
    }
    Ok(())
}

/// Elements of the constants and inputs.
fn held(graph: &Graph) -> u64 {
    let constants = graph.values.iter().filter(|value| value.constant.is_some());
    let inputs = graph.inputs.iter().map(|&id| graph.value(id));
    let elements = |shape: &[usize]| shape.iter().fold(1u64, |all, &size| all.saturating_mul(size as u64));
    constants.chain(inputs).fold(0, |sum, value| sum.saturating_add(elements(&value.info.shape)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::op::{MatMul, Tile};
    use npukit_graph::{Op, ValueId, ValueInfo};
    use npukit_numeric::ElementType;

    use super::*;

    /// `[1, 1]` repeated to `[size, size]`, and its square.
    fn squared(size: usize) -> Graph {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: vec![1, 1], element: ElementType::F32 };
        let x = graph.add_input("x", info);
        let mut add =
            |name: &str, op: Op, inputs: Vec<ValueId>| graph.add_node(name, op, inputs, &[name]).unwrap()[0];
        let wide = add("wide", Tile { repeats: vec![size, size] }.into(), vec![x]);
        let square = add("square", MatMul.into(), vec![wide, wide]);
        graph.outputs.push(square);
        graph
    }

    #[test]
    fn work_out_of_proportion_is_refused() {
        assert!(check("m", &squared(1 << 11)).is_ok());
        let error = check("m", &squared(1 << 13)).unwrap_err();
        let Error::Operations { operations, costliest, .. } = error else { panic!("{error}") };
        // Each product, the operands and the result; the repetition with its operand and result.
        assert_eq!(operations, (1 << 39) + 3 * (1 << 26) + (1 << 26) + 1);
        assert_eq!(costliest, "square");
    }

    #[test]
    fn memory_out_of_proportion_is_refused() {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: vec![1], element: ElementType::F32 };
        let x = graph.add_input("x", info);
        for index in 0..6 {
            let name = format!("t{index}");
            let op = Tile { repeats: vec![1 << 28] }.into();
            let wide = graph.add_node(&name, op, vec![x], &[&name]).unwrap()[0];
            graph.outputs.push(wide);
        }
        assert!(matches!(check("m", &graph), Err(Error::Memory { bytes, .. }) if bytes == 6 << 30));
        graph.outputs.clear();
        assert!(check("m", &graph).is_ok(), "results that nobody uses go at once");
    }
}
