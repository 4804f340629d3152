//! [`Scope`]: a decoded graph with its nested graphs, and the outer values that these use.

use std::collections::{BTreeSet, HashMap, HashSet};

use prost::Message;

use super::error::Reason;
use super::proto::{AttributeProto, GraphProto, NodeProto};

/// Maximum nesting of graphs; exporters use two or three levels.
const MAX_DEPTH: usize = 16;

/// A graph and its nested graphs.
pub(super) struct Scope {
    pub(super) proto: GraphProto,
    /// Nested graphs, by index of the node.
    pub(super) bodies: HashMap<usize, Result<Bodies, Reason>>,
}

/// Nested graphs of a node.
pub(super) enum Bodies {
    /// Both branches of an If.
    Branches {
        /// Graph for a true condition.
        then_branch: Box<Branch>,
        /// Graph for a false condition.
        else_branch: Box<Branch>,
    },
    /// Body of a Loop or a Scan.
    Repeated(Box<Branch>),
}

/// A nested graph that uses values of the graphs around it.
pub(super) struct Branch {
    pub(super) scope: Scope,
    /// Names of used values that outer graphs define, in alphabetical order.
    pub(super) captured: Vec<String>,
}

impl Bodies {
    /// Graphs that may be computed: only one branch if the condition is known.
    fn taken(&self, condition: Option<bool>) -> impl Iterator<Item = &Branch> {
        let both = match self {
            Self::Branches { then_branch, .. } if condition == Some(true) => [Some(then_branch), None],
            Self::Branches { else_branch, .. } if condition == Some(false) => [Some(else_branch), None],
            Self::Branches { then_branch, else_branch } => [Some(then_branch), Some(else_branch)],
            Self::Repeated(body) => [Some(body), None],
        };
        both.into_iter().flatten().map(Box::as_ref)
    }
}

impl Branch {
    /// Number of nodes, including nested graphs; at least 1.
    pub(super) fn nodes(&self) -> usize {
        let inner = self.scope.bodies.values().flatten().flat_map(|bodies| bodies.taken(None));
        let inner = inner.map(Self::nodes).fold(1usize, usize::saturating_add);
        inner.saturating_add(self.scope.proto.node.len())
    }
}

/// Whether the node holds graphs of a supported operator.
pub(super) fn holds_graphs(node: &NodeProto) -> bool {
    graph_attributes(node).is_some()
}

/// Names of the attributes that are graphs; `None` if the operator is not supported.
fn graph_attributes(node: &NodeProto) -> Option<&'static [&'static str]> {
    match (node.domain.as_str(), node.op_type.as_str()) {
        ("" | "ai.onnx", "If") => Some(&["then_branch", "else_branch"]),
        ("" | "ai.onnx", "Loop" | "Scan") => Some(&["body"]),
        _ => None,
    }
}

impl Scope {
    /// Creates the outermost scope. Removes the bytes of nested graphs from it, so that nothing is
    /// stored twice.
    pub(super) fn new(proto: GraphProto) -> Self {
        Self::at_depth(proto, 0)
    }

    fn at_depth(mut proto: GraphProto, depth: usize) -> Self {
        let nodes = proto.node.iter_mut().enumerate();
        let bodies = nodes.filter_map(|(index, node)| {
            let names = graph_attributes(node)?;
            let bodies = bodies(&mut node.attribute, names, depth);
            node.attribute.retain(|attribute| !names.contains(&attribute.name.as_str()));
            Some((index, bodies))
        });
        let bodies = bodies.collect();
        Self { proto, bodies }
    }

    /// Names that the graphs of the node at `index` use from this scope: in the taken branch if it
    /// is known, otherwise in both.
    pub(super) fn captured(&self, index: usize, condition: Option<bool>) -> impl Iterator<Item = &str> {
        let bodies = self.bodies.get(&index).and_then(|bodies| bodies.as_ref().ok());
        let taken = bodies.into_iter().flat_map(move |bodies| bodies.taken(condition));
        taken.flat_map(|branch| &branch.captured).map(String::as_str)
    }

    /// Names that the graph uses but does not define.
    fn free(&self) -> Vec<String> {
        let proto = &self.proto;
        let results = proto.node.iter().flat_map(|node| &node.output);
        let tensors = proto.initializer.iter().map(|tensor| &tensor.name);
        let inputs = proto.input.iter().map(|input| &input.name);
        let defined: HashSet<&str> = results.chain(tensors).chain(inputs).map(String::as_str).collect();
        let used = proto.node.iter().flat_map(|node| &node.input).map(String::as_str);
        let inner = (0..proto.node.len()).flat_map(|index| self.captured(index, None));
        let wanted = proto.output.iter().map(|output| output.name.as_str());
        let used: BTreeSet<&str> = used.chain(inner).chain(wanted).filter(|name| !name.is_empty()).collect();
        used.into_iter().filter(|name| !defined.contains(name)).map(str::to_owned).collect()
    }
}

/// Decodes the graphs of an If (which may not have other attributes), a Loop or a Scan.
fn bodies(attributes: &mut [AttributeProto], names: &[&'static str], depth: usize) -> Result<Bodies, Reason> {
    match *names {
        [then_branch, else_branch] => {
            let unknown = |attribute: &&AttributeProto| !names.contains(&attribute.name.as_str());
            if let Some(unknown) = attributes.iter().find(unknown) {
                return Err(Reason::AttributeUnknown { name: unknown.name.clone(), opset: None });
            }
            let mut read = |name| {
                let branch = branch(attributes, name, depth)?;
                if branch.scope.proto.input.is_empty() {
                    return Ok(Box::new(branch));
                }
                let found = format!("a graph of {} inputs", branch.scope.proto.input.len());
                Err(Reason::AttributeValue { name, found, legal: "a graph without inputs".to_owned() })
            };
            Ok(Bodies::Branches { then_branch: read(then_branch)?, else_branch: read(else_branch)? })
        }
        _ => Ok(Bodies::Repeated(Box::new(branch(attributes, "body", depth)?))),
    }
}

fn branch(attributes: &mut [AttributeProto], name: &'static str, depth: usize) -> Result<Branch, Reason> {
    if depth >= MAX_DEPTH {
        return Err(Reason::Nesting { limit: MAX_DEPTH });
    }
    let mut given = attributes.iter_mut().filter(|attribute| attribute.name == name);
    let bytes = given.next().and_then(|attribute| attribute.g.take());
    if given.next().is_some() {
        return Err(Reason::AttributeTwice { name: name.to_owned() });
    }
    let bytes = bytes.ok_or(Reason::AttributeMissing { name })?;
    let proto = GraphProto::decode(&*bytes).map_err(|error| {
        let legal = "a graph".to_owned();
        Reason::AttributeValue { name, found: error.to_string(), legal }
    })?;
    let scope = Scope::at_depth(proto, depth + 1);
    let captured = scope.free();
    Ok(Branch { scope, captured })
}
