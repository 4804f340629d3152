//! Limits of evaluation: [`check`] refuses models whose evaluation is out of proportion to their
//! size. [`check_constants`] does the same for their constants.

use npukit_graph::{Graph, Work, bytes_of_constants};

use crate::error::Error;

/// Number of operations that any evaluation may take: a few seconds on one core.
const OPERATIONS: u64 = 1 << 36;
/// Number of operations per element of the model and its inputs. Convolutions over large images use
/// each weight most often; they need a few thousand.
const OPERATIONS_PER_ELEMENT: u64 = 1 << 16;
/// Peak size in bytes of the results that any evaluation may have.
const BYTES: u64 = 1 << 30;
/// Bytes per element of the model and its inputs.
const BYTES_PER_ELEMENT: u64 = 1 << 10;

/// Refuses a graph, called `model`, whose evaluation is out of proportion.
///
/// # Errors
///
/// Returns [`Error::Operations`] or [`Error::Memory`] with the cost, the limit and the most
/// expensive node.
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

/// Size in bytes that computed constants may always have: enough for masks and positions of a
/// network.
const CONSTANT_BYTES: u64 = 1 << 25;
/// Bytes of computed constants per byte of the file: half-byte weights that are unpacked, cast and
/// transposed.
const CONSTANT_BYTES_PER_BYTE: u64 = 1 << 6;

/// Refuses a graph, called `model`, whose computed constants are out of proportion to its files of
/// `file_bytes`. Checked before any constant is computed.
///
/// # Errors
///
/// Returns [`Error::Constants`] with the size, the limit and the node with the largest constant.
pub(crate) fn check_constants(model: &str, graph: &Graph, file_bytes: u64) -> Result<(), Error> {
    let (bytes, largest) = bytes_of_constants(graph);
    let limit = CONSTANT_BYTES.saturating_add(CONSTANT_BYTES_PER_BYTE.saturating_mul(file_bytes));
    tracing::debug!(bytes, limit, "computed constants");
    let Some(largest) = largest.filter(|_| bytes > limit) else { return Ok(()) };
    let largest = graph.node(largest).name.clone();
    Err(Error::Constants { model: model.to_owned(), bytes, limit, largest })
}

/// Returns the number of elements of constants and inputs.
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
    use npukit_numeric::{ElementType, Tensor};

    use super::*;

    /// Graph that repeats `[1, 1]` to `[size, size]` and squares it.
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
        // The MACs, plus operands and result; the repetition with its operand and result.
        assert_eq!(operations, (1 << 39) + 3 * (1 << 26) + (1 << 26) + 1);
        assert_eq!(costliest, "square");
    }

    #[test]
    fn constants_out_of_proportion_are_refused() {
        let made = |size: usize| {
            let mut graph = Graph::default();
            let one = graph.add_constant("one", Tensor::from_f32(vec![1, 1], vec![0.5]).unwrap());
            let op: Op = Tile { repeats: vec![size, size] }.into();
            let wide = graph.add_node("fill", op, vec![one], &["w"]).unwrap()[0];
            graph.outputs.push(wide);
            graph
        };
        assert!(check_constants("m", &made(2_800), 155).is_ok());
        assert!(check_constants("m", &made(10_000), 10_000_000).is_ok(), "a large file has large constants");
        let Err(Error::Constants { bytes, limit, largest, .. }) = check_constants("m", &made(10_000), 155)
        else {
            panic!("400 MB of one element");
        };
        assert_eq!((bytes, limit, largest.as_str()), (400_000_000, (1 << 25) + 155 * 64, "fill"));
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
        assert!(check("m", &graph).is_ok(), "unused results are freed at once");
    }
}
