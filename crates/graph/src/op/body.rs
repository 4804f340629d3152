//! [`Body`]: the graph that an operator repeats.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ir::Graph;

/// A graph inside an operator. Two bodies are equal only if they are the same object.
#[derive(Clone)]
pub struct Body(pub Arc<Graph>);

/// Formats only the size: the nodes are printed separately.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} nodes", self.0.nodes.len())
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Only the evaluator computes a body: artifacts never contain one.
impl Serialize for Body {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("a graph inside an operator cannot be written to an artifact"))
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("a graph inside an operator cannot be read from an artifact"))
    }
}
