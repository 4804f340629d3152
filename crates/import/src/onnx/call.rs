//! Calls of functions. A function call is replaced by the nodes of the function during the import.

use npukit_graph::ValueId;
use prost::Message;

use super::attributes::unsupported;
use super::context::File;
use super::error::Reason;
use super::importer::{Binding, Importer};
use super::proto::{AttributeProto, FunctionProto, GraphProto, NodeProto, ValueInfoProto};
use super::scope::Scope;

/// Maximum nesting of calls.
const MAX_DEPTH: usize = 16;

/// Cost of a function's node (its name and results), in elements of constants.
const ELEMENTS_PER_NODE: usize = 64;

impl Importer<'_, '_> {
    /// Returns the results of a function for these operands, or `None` if a part of it failed. The
    /// failure is recorded.
    pub(super) fn call(
        &mut self,
        function: &FunctionProto,
        node: &NodeProto,
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        if self.depth >= MAX_DEPTH {
            return Err(Reason::Nesting { limit: MAX_DEPTH });
        }
        let nodes = function.node.len().saturating_mul(ELEMENTS_PER_NODE);
        self.builder.reserve(&[nodes.max(function.encoded_len())])?;
        if let Some(index) = (function.input.len()..operands.len()).next() {
            // Default: an operand that is left out has the empty name.
            let name = node.input.get(index).cloned().unwrap_or_default();
            return Err(Reason::OperandUnknown { index, name, opset: None });
        }
        let scope = Scope::new(body(function, node, operands)?);
        let given = function.input.iter().zip(operands);
        let given = given.filter_map(|(name, operand)| Some((name.as_str(), Binding::Value((*operand)?))));
        let file = File { opset: self.opset_of(function)?, ..self.file };
        let (builder, problems, remarks) = (&mut *self.builder, &mut *self.problems, &mut *self.remarks);
        let mut called = Importer::new(&scope, file, builder, problems, remarks);
        (called.bindings, called.is_branch, called.depth) = (given.collect(), true, self.depth + 1);
        Ok(called.results((&node.name, &node.op_type)))
    }

    /// Opset of the standard operators that a function imports.
    fn opset_of(&self, function: &FunctionProto) -> Result<i64, Reason> {
        let standard =
            function.opset_import.iter().find(|opset| matches!(opset.domain.as_str(), "" | "ai.onnx"));
        let version = standard.map_or(self.file.opset, |opset| opset.version);
        let (oldest, newest) = super::OPSETS;
        if (oldest..=newest).contains(&version) {
            return Ok(version);
        }
        Err(unsupported("opset_import", version, format!("{oldest} to {newest}")))
    }
}

/// Returns the nodes of a function with the attributes of the calling node. Operands that the call
/// omits stay omitted.
fn body(
    function: &FunctionProto,
    call: &NodeProto,
    operands: &[Option<ValueId>],
) -> Result<GraphProto, Reason> {
    let given = |name: &String| {
        call.attribute.iter().chain(&function.attribute_proto).find(|attribute| attribute.name == *name)
    };
    let known = |name: &String| {
        function.attribute.contains(name)
            || function.attribute_proto.iter().any(|attribute| attribute.name == *name)
    };
    if let Some(unknown) = call.attribute.iter().find(|attribute| !known(&attribute.name)) {
        return Err(Reason::AttributeUnknown { name: unknown.name.clone(), opset: None });
    }
    let absent = function.input.iter().enumerate();
    let absent = absent.filter(|(index, _)| operands.get(*index).copied().flatten().is_none());
    let absent: Vec<&String> = absent.map(|(_, name)| name).collect();
    let mut node = function.node.clone();
    for node in &mut node {
        node.input.iter_mut().filter(|name| absent.contains(&&**name)).for_each(String::clear);
    }
    substitute(&mut node, &given, 0)?;
    let output =
        function.output.iter().map(|name| ValueInfoProto { name: name.clone(), ..Default::default() });
    Ok(GraphProto { node, output: output.collect(), ..GraphProto::default() })
}

/// Replaces references to attributes by the values in `given`, also in nested graphs.
fn substitute<'a>(
    nodes: &mut [NodeProto],
    given: &impl Fn(&String) -> Option<&'a AttributeProto>,
    depth: usize,
) -> Result<(), Reason> {
    if depth >= MAX_DEPTH {
        return Err(Reason::Nesting { limit: MAX_DEPTH });
    }
    for node in nodes {
        let attributes = std::mem::take(&mut node.attribute);
        for mut attribute in attributes {
            if !attribute.ref_attr_name.is_empty() {
                // An attribute without a value has the default of the operator.
                let Some(value) = given(&attribute.ref_attr_name) else { continue };
                attribute = AttributeProto { name: attribute.name, ..value.clone() };
            } else if let Some(bytes) = &attribute.g {
                let mut graph =
                    GraphProto::decode(&**bytes).map_err(|error| unsupported("graph", error, "a graph"))?;
                substitute(&mut graph.node, given, depth + 1)?;
                attribute.g = Some(graph.encode_to_vec());
            }
            node.attribute.push(attribute);
        }
    }
    Ok(())
}
