//! [`Body`]: the graph that an operator repeats.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ir::Graph;

/// A graph within an operator. Two are equal when they are one.
#[derive(Clone)]
pub struct Body(pub Arc<Graph>);

/// How large it is: its nodes have a text of their own.
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

/// Only the evaluator computes a body: no artifact has one.
impl Serialize for Body {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("a graph within an operator is not written to artifacts"))
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("a graph within an operator is not read from artifacts"))
    }
}
