//! Import of frozen TensorFlow graphs (`GraphDef`, `.pb`): [`read`].
//!
//! A file is decoded by [`proto`]. Its nodes are sorted, and each is translated by the handler of
//! its operator; `ops/` has one file per operator. TensorFlow's image operators are NHWC with HWIO
//! weights, like the graph's, so transpositions are not needed. A GraphDef does not state inputs
//! and outputs. Placeholders that the outputs need become inputs. Nodes that no other node consumes
//! become outputs, unless the options name some.

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

/// Imports a frozen TensorFlow graph. `name` becomes the name of the graph, for example the stem of
/// the file.
///
/// Inputs have the names of their placeholders. Outputs have the names in the options, or the names
/// of their nodes (`node:1` for a second result). Names in the options may end in `:0`.
///
/// Any bytes are safe to pass: time and memory are proportional to their number.
///
/// # Errors
///
/// [`ImportError`] if the bytes are not a graph, a name in the options does not exist (dimensions
/// have no names here), sizes are open, or nodes cannot be imported. All problems of the nodes are
/// reported together.
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

/// Adds the results of a node whose operands are already values, for a format that uses
/// TensorFlow's operators.
pub(crate) fn translate(
    builder: &mut Builder,
    node: &NodeDef,
    operands: Vec<Option<ValueId>>,
    blocks: &mut Blocks,
) -> Result<Vec<ValueId>, Reason> {
    let handler = ops::handler(node).ok_or_else(|| Reason::Operator { operator: node.op.clone() })?;
    let mut context = Context::new(builder, node, operands, None, None, blocks);
    let results = handler(&mut context)?;
    context.finish()?;
    Ok(results)
}

/// Names of the supported operators, in alphabetical order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    ops::names()
}

/// Text fields of a graph, by the numbers of `proto`.
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
        Ok(()) if graph.node.is_empty() => Err(no_graph(0, "the graph has no nodes".to_owned())),
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
