//! [`Host`] as two sections of a container: its description in JSON, and the elements of its
//! constants.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::shape::elements;
use npukit_graph::{Graph, GraphError, Node, Op, OpError, Operator, Value, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Storage, Tensor, TensorData};
use npukit_target::ModelReading;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::program::Extra;
use crate::program::host::{Host, Layer};

/// Tag of the description.
pub const HOST: [u8; 4] = *b"HGRF";
/// Tag of the constants' elements, little-endian.
pub const TENSORS: [u8; 4] = *b"HTNS";
/// Error for a description that is not JSON.
const BEFORE_JSON: &str =
    "it is not in JSON, as this version writes it: compile the model again with this version";

/// Reason why sections are not a host's part.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum HostError {
    /// The description is invalid.
    #[error("section HGRF: {0}")]
    Description(String),
    /// A constant exceeds the section of constants.
    #[error("section HTNS: constant `{name}` needs {need} bytes at byte {offset}; the section has {have}")]
    Constant {
        /// Name of the constant.
        name: String,
        /// Offset of the constant in the section.
        offset: u64,
        /// Number of bytes that the constant needs.
        need: u64,
        /// Size of the section in bytes.
        have: usize,
    },
    /// The graph is invalid.
    #[error("section HGRF: {0}")]
    Graph(#[from] GraphError),
    /// A node does not accept its operands.
    #[error("section HGRF: node `{node}`: {error}")]
    Node {
        /// Name of the node.
        node: String,
        /// Reason why the node rejects its operands.
        error: OpError,
    },
    /// The results of a node differ from the description.
    #[error("section HGRF: node `{node}` gives {computed:?}, but the description has {said:?}")]
    Results {
        /// Name of the node.
        node: String,
        /// Shapes and types of the node's results.
        computed: Vec<ValueInfo>,
        /// Shapes and types of the slots.
        said: Vec<ValueInfo>,
    },
}

#[derive(Serialize, Deserialize)]
struct Description {
    name: String,
    slots: Vec<Slot>,
    nodes: Vec<HostNode>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    layers: Vec<Layer>,
    choices: BTreeMap<String, String>,
    warnings: Vec<String>,
    words: [u64; 2],
    #[serde(default, skip_serializing_if = "ModelReading::is_empty")]
    reading: ModelReading,
}

#[derive(Serialize, Deserialize)]
struct Slot {
    name: String,
    shape: Vec<usize>,
    element: ElementType,
    /// Offset of the elements, for a constant.
    constant: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct HostNode {
    name: String,
    op: Op,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl Host {
    /// Returns the two sections.
    pub fn sections(&self) -> [Extra; 2] {
        let numbers = |ids: &[ValueId]| ids.iter().map(|id| id.0).collect::<Vec<_>>();
        let mut tensors = Vec::new();
        let slots = self.graph.values.iter().map(|value| Slot {
            name: value.name.clone(),
            shape: value.info.shape.clone(),
            element: value.info.element,
            constant: value.constant.as_ref().map(|tensor| write(tensor.data(), &mut tensors)),
        });
        let node = |node: &Node| HostNode {
            name: node.name.clone(),
            op: node.op.clone(),
            inputs: numbers(&node.inputs),
            outputs: numbers(&node.outputs),
        };
        let description = Description {
            name: self.graph.name.clone(),
            slots: slots.collect(),
            nodes: self.graph.nodes.iter().map(node).collect(),
            inputs: numbers(&self.graph.inputs),
            outputs: numbers(&self.graph.outputs),
            layers: self.layers.clone(),
            choices: self.choices.clone(),
            warnings: self.warnings.clone(),
            words: self.words,
            reading: self.reading.clone(),
        };
        let bytes = serde_json::to_vec(&description).expect("keys are texts, and no float is a bare one");
        [Extra { tag: HOST, bytes }, Extra { tag: TENSORS, bytes: tensors }]
    }

    /// Reads the host's part from the sections of a container; `None` if the program has no host's
    /// part.
    ///
    /// # Errors
    /// [`HostError`] for invalid sections: a description that is not JSON or refers to missing
    /// items, constants outside their section, or an invalid graph.
    pub fn read(extras: &[Extra]) -> Result<Option<Self>, HostError> {
        let section = |tag| extras.iter().find(|extra| extra.tag == tag).map(|extra| &extra.bytes[..]);
        let Some(bytes) = section(HOST) else { return Ok(None) };
        // Default: without the section, constants are missing, and a slot with a constant is
        // refused.
        let tensors = section(TENSORS).unwrap_or_default();
        let description = description(bytes)?;
        let ids = |numbers: Vec<u32>| numbers.into_iter().map(ValueId).collect::<Vec<_>>();
        let mut total = 0;
        let value = |slot: Slot| {
            let constant = slot.constant.map(|offset| constant(&slot, offset, tensors)).transpose()?;
            let info = ValueInfo { shape: slot.shape, element: slot.element };
            // Constants that share bytes could otherwise make a small file fill memory.
            total += constant.as_ref().map_or(0, |tensor| bytes_of(tensor));
            if total > tensors.len() {
                let name = &slot.name;
                return Err(HostError::Description(format!("constant `{name}` begins inside another")));
            }
            Ok(Value { name: slot.name, info, constant })
        };
        let node = |node: HostNode| Node {
            name: node.name,
            op: node.op,
            inputs: ids(node.inputs),
            outputs: ids(node.outputs),
        };
        let graph = Graph {
            name: description.name,
            values: description.slots.into_iter().map(value).collect::<Result<_, HostError>>()?,
            nodes: description.nodes.into_iter().map(node).collect(),
            inputs: ids(description.inputs),
            outputs: ids(description.outputs),
            ..Graph::default()
        };
        check(&graph)?;
        let Description { layers, choices, warnings, words, reading, .. } = description;
        Ok(Some(Self { graph, layers, choices, warnings, words, reading }))
    }
}

/// Parses the description. It was CBOR in early versions, which begins with another byte.
fn description(bytes: &[u8]) -> Result<Description, HostError> {
    if !bytes.starts_with(b"{") {
        return Err(HostError::Description(BEFORE_JSON.to_owned()));
    }
    serde_json::from_slice(bytes).map_err(|error| HostError::Description(error.to_string()))
}

/// Checks the graph. Steps fill slots, too, so the order rules of a whole graph do not apply.
fn check(graph: &Graph) -> Result<(), HostError> {
    if let Some(value) = graph.values.iter().find(|value| elements(&value.info.shape).is_err()) {
        let (name, shape) = (&value.name, &value.info.shape);
        return Err(HostError::Description(format!("slot `{name}` of shape {shape:?} is too large")));
    }
    let ends = graph.inputs.iter().chain(&graph.outputs);
    let used = graph.nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
    if let Some(id) = ends.chain(used).find(|id| id.0 as usize >= graph.values.len()) {
        let (number, count) = (id.0, graph.values.len());
        return Err(HostError::Description(format!(
            "slot {number} is referenced, but there are only {count}"
        )));
    }
    for node in &graph.nodes {
        let operands: Vec<&Value> = node.inputs.iter().map(|&id| graph.value(id)).collect();
        let failed = |error| HostError::Node { node: node.name.clone(), error };
        let computed = node.op.infer(&operands).map_err(failed)?;
        let said: Vec<ValueInfo> = node.outputs.iter().map(|&id| graph.value(id).info.clone()).collect();
        if computed != said {
            return Err(HostError::Results { node: node.name.clone(), computed, said });
        }
    }
    Ok(())
}

/// Appends the elements; returns their offset.
fn write(data: &TensorData, bytes: &mut Vec<u8>) -> u64 {
    let start = bytes.len() as u64;
    match data {
        TensorData::F32(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        TensorData::I64(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        TensorData::I32(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        TensorData::Bool(values) => bytes.extend(values.iter().map(|&value| u8::from(value))),
    }
    start
}

/// Returns the bytes of a written element.
fn element_bytes(element: ElementType) -> usize {
    match element.storage() {
        Storage::F32 | Storage::I32 => 4,
        Storage::I64 => 8,
        Storage::Bool => 1,
    }
}

fn bytes_of(tensor: &Tensor) -> usize {
    tensor.data().len() * element_bytes(tensor.element())
}

fn constant(slot: &Slot, offset: u64, tensors: &[u8]) -> Result<Arc<Tensor>, HostError> {
    let size = element_bytes(slot.element) as u64;
    let count = slot.shape.iter().try_fold(1u64, |product, &axis| product.checked_mul(axis as u64));
    // If the size overflows, it is larger than any file.
    let need = count.and_then(|count| count.checked_mul(size)).unwrap_or(u64::MAX);
    let wrong = || HostError::Constant { name: slot.name.clone(), offset, need, have: tensors.len() };
    let range = usize::try_from(offset).ok().zip(usize::try_from(need).ok());
    let bytes = range.and_then(|(offset, need)| tensors.get(offset..)?.get(..need)).ok_or_else(wrong)?;
    let four = || bytes.as_chunks::<4>().0.iter();
    let data = match slot.element.storage() {
        Storage::F32 => TensorData::F32(four().map(|&bytes| f32::from_le_bytes(bytes)).collect()),
        Storage::I32 => TensorData::I32(four().map(|&bytes| i32::from_le_bytes(bytes)).collect()),
        Storage::I64 => {
            TensorData::I64(bytes.as_chunks::<8>().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect())
        }
        Storage::Bool => TensorData::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
    };
    let tensor = Tensor::new(slot.shape.clone(), data).ok();
    let tensor = tensor.and_then(|tensor| tensor.with_element(slot.element).ok());
    tensor.map(Arc::new).ok_or_else(wrong)
}
