//! [`models`]: ONNX, TensorFlow and TensorFlow Lite graphs.

use std::ops::Range;

use npukit_graph::{Graph, Work, evaluate, integer_forms, pass};
use npukit_import::onnx::Part;
use npukit_import::{Format, Imported, Options, read};
use npukit_numeric::{Storage, Tensor, TensorData};

use crate::message;

/// Readers: `o`: ONNX, with a 4096-byte external data file under every name; `t`: TensorFlow; `l`:
/// TensorFlow Lite.
///
/// An imported graph must be valid. After simplification, it must have the same inputs and outputs,
/// and evaluate to results of its recorded shapes.
pub fn models(input: &[u8]) {
    let (format, bytes) = match input {
        [b'o', bytes @ ..] => (Format::Onnx, bytes),
        [b't', bytes @ ..] => (Format::TensorFlow, bytes),
        [b'l', bytes @ ..] => (Format::TensorFlowLite, bytes),
        _ => return,
    };
    match read(bytes, "m", format, &Options::default(), &beside) {
        Ok(Imported { graph, remarks, .. }) => {
            remarks.iter().for_each(|remark| assert!(!remark.to_string().is_empty()));
            imported(&graph);
        }
        Err(error) => drop(message(&error)),
    }
}

/// Size in bytes of the external data file.
const BESIDE: u64 = 4096;

fn beside(_path: &str, range: Range<u64>) -> Result<Part, String> {
    let bytes = (range.start.min(BESIDE)..range.end.min(BESIDE)).map(|place| ((place * 37) >> 3) as u8);
    Ok(Part { bytes: bytes.collect(), file_bytes: BESIDE })
}

fn imported(graph: &Graph) {
    valid(graph);
    evaluated(graph);
    let mut integers = graph.clone();
    integer_forms(&mut integers);
    valid(&integers);
    assert_eq!(ports(graph), ports(&integers), "on integers");
    evaluated(&integers);
    let mut simplified = graph.clone();
    match pass::simplify(&mut simplified) {
        Err(error) => drop(message(&error)),
        Ok(()) => {
            valid(&simplified);
            assert_eq!(ports(graph), ports(&simplified), "simplified");
            evaluated(&simplified);
        }
    }
}

fn valid(graph: &Graph) {
    graph.validate().unwrap_or_else(|error| panic!("imported as valid: {error}"));
}

/// Returns inputs and outputs with their shapes.
fn ports(graph: &Graph) -> Vec<(&str, &[usize])> {
    let values = graph.inputs.iter().chain(&graph.outputs);
    values.map(|&id| (graph.value(id).name.as_str(), graph.shape(id))).collect()
}

/// Maximum number of operations and of bytes of an evaluation.
const MAX: u64 = 1 << 20;

fn evaluated(graph: &Graph) {
    let work = Work::of(graph);
    if work.operations > MAX || work.peak_bytes > MAX {
        return;
    }
    let Some(inputs) = graph.inputs.iter().map(|&id| zeros(graph, id)).collect::<Option<Vec<_>>>() else {
        return;
    };
    match evaluate(graph, &inputs) {
        Err(error) => drop(message(&error)),
        Ok(results) => {
            for (result, &id) in results.iter().zip(&graph.outputs) {
                assert_eq!(result.shape(), graph.shape(id), "`{}`", graph.value(id).name);
                assert_eq!(result.element(), graph.value(id).info.element, "`{}`", graph.value(id).name);
            }
        }
    }
}

/// Returns a tensor for an input; `None` if it is too large.
fn zeros(graph: &Graph, id: npukit_graph::ValueId) -> Option<Tensor> {
    let info = &graph.value(id).info;
    let count = info.shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size))?;
    if count as u64 > MAX {
        return None;
    }
    let data = match info.element.storage() {
        Storage::F32 => TensorData::F32(vec![0.0; count]),
        Storage::I32 => TensorData::I32(vec![0; count]),
        Storage::I64 => TensorData::I64(vec![0; count]),
        Storage::Bool => TensorData::Bool(vec![false; count]),
    };
    Tensor::new(info.shape.clone(), data).ok()?.with_element(info.element).ok()
}
