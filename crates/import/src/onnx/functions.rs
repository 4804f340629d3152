//! Functions of a file by name: [`Functions`].

use std::collections::HashMap;

use super::proto::{FunctionProto, NodeProto};

/// Functions of a file, by domain, name and overload.
pub(super) struct Functions(HashMap<[String; 3], FunctionProto>);

impl Functions {
    /// Creates the table from the functions of a file. The last of several with the same name takes
    /// precedence.
    pub(super) fn new(functions: Vec<FunctionProto>) -> Self {
        let key = |function: &FunctionProto| {
            [&function.domain, &function.name, &function.overload].map(Clone::clone)
        };
        Self(functions.into_iter().map(|function| (key(&function), function)).collect())
    }

    /// Returns the function that a node calls.
    pub(super) fn of(&self, node: &NodeProto) -> Option<&FunctionProto> {
        self.0.get(&[&node.domain, &node.op_type, &node.overload].map(Clone::clone))
    }
}
