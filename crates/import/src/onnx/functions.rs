//! [`Functions`] of a file.

use std::collections::HashMap;

use super::proto::{FunctionProto, NodeProto};

/// The functions of a file, by domain, name and overload.
pub(super) struct Functions(HashMap<[String; 3], FunctionProto>);

impl Functions {
    /// Those of the file's message; of two of one name the last.
    pub(super) fn new(functions: Vec<FunctionProto>) -> Self {
        let key = |function: &FunctionProto| {
            [&function.domain, &function.name, &function.overload].map(Clone::clone)
        };
        Self(functions.into_iter().map(|function| (key(&function), function)).collect())
    }

    /// The function that a node stands for.
    pub(super) fn of(&self, node: &NodeProto) -> Option<&FunctionProto> {
        self.0.get(&[&node.domain, &node.op_type, &node.overload].map(Clone::clone))
    }
}
