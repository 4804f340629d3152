//! Frozen TensorFlow graphs (`GraphDef`, `.pb`) to graphs: [`read`].
//!
//! A file is decoded by [`proto`], its nodes are put in order, and each is translated by the
//! handler of its operator, one file in `ops/` per operator. TensorFlow's image operators are
//! NHWC with HWIO weights as the graph's are, so that no transpositions are needed. The graph
//! says nothing of its inputs and outputs: placeholders that the outputs need are inputs, nodes
//! that no other node consumes are outputs, unless the options name some.

mod attributes;
mod binding;
mod blocks;
mod context;
mod control;
mod frames;
mod image;
mod importer;
mod interface;
mod lists;
mod names;
mod ops;
pub mod proto;
mod tensor;

use npukit_graph::ValueId;
use prost::Message;

pub(crate) use blocks::Blocks;

use crate::builder::Builder;
use crate::error::{ImportError, Reason};
use crate::format::Format;
use crate::locate::{Kind, Schema, locate};
pub use crate::options::Options;
use crate::remark::Imported;
use crate::{error, order, protobuf_fields};
use context::Context;
use proto::{GraphDef, NodeDef};

/// The graph of a frozen TensorFlow graph. `name` is what the graph is called (the file's stem,
/// say).
///
/// Inputs are called as their placeholders, outputs as the options or else their nodes are
/// (`node:1` for a second result). Names in the options may end in `:0`.
///
/// Any bytes are safe to pass: time and memory stay in proportion to them.
///
/// # Errors
///
/// [`ImportError`]: bytes that are not a graph, options that name nothing (no size has a name here), open
/// sizes, and all problems of the nodes at once.
pub fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Imported, ImportError> {
    if let Some(name) = options.sizes.keys().next() {
        return Err(ImportError::UnknownName {
            kind: "dimension",
            name: name.clone(),
            available: Vec::new(),
        });
    }
    let proto = decode(bytes)?;
    importer::import(&proto, name, options, bytes.len())
}

/// The results of a node, whose operands are values already, for a format whose operators are TensorFlow's.
pub(crate) fn translate(
    builder: &mut Builder,
    node: &NodeDef,
    operands: Vec<Option<ValueId>>,
    blocks: &mut Blocks,
) -> Result<Vec<ValueId>, Reason> {
    let handler = ops::handler(node).ok_or_else(|| Reason::Operator { operator: node.op.clone() })?;
    let mut context = Context::new(builder, node, operands, (None, None), blocks);
    let results = handler(&mut context)?;
    context.finish()?;
    Ok(results)
}

/// Names of the operators that can be imported, in alphabetical order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    ops::names()
}

/// Where text is in a graph, by the numbers of `proto`.
static GRAPH: Schema = Schema { fields: &[(1, "node", Kind::Message(&NODE))], name: None };
static NODE: Schema = Schema {
    fields: &[
        (1, "the name", Kind::Text),
        (2, "the operator", Kind::Text),
        (3, "an operand's name", Kind::Text),
        (5, "attribute", Kind::Message(&ATTRIBUTE)),
    ],
    name: Some(1),
};
static ATTRIBUTE: Schema = Schema { fields: &[(1, "the name", Kind::Text)], name: Some(1) };

fn decode(bytes: &[u8]) -> Result<GraphDef, ImportError> {
    protobuf_fields::check(bytes, Format::TensorFlow)?;
    let versioned = protobuf_fields::fields(bytes)
        .map_while(Result::ok)
        .any(|f| f.number == 1 && f.wire != protobuf_fields::LENGTH);
    if versioned {
        let reason = "it begins with a version, as a SavedModel does; freeze its function";
        return Err(no_graph(0, reason.to_owned()));
    }
    let mut rest = bytes;
    let mut graph = GraphDef::default();
    match graph.merge(&mut rest) {
        Ok(()) if graph.node.is_empty() => Err(no_graph(0, "it holds no nodes".to_owned())),
        Ok(()) => Ok(graph),
        Err(error) => {
            let found = locate(bytes, &GRAPH);
            let (offset, reason) = found.unwrap_or_else(|| (bytes.len() - rest.len(), error.to_string()));
            Err(no_graph(offset, reason))
        }
    }
}

fn no_graph(offset: usize, reason: String) -> ImportError {
    ImportError::NotModel { format: Format::TensorFlow, offset, reason }
}
