//! [`Scope`]: a graph of a file with the branches of its Ifs, decoded, and what they take from outside.

use std::collections::{BTreeSet, HashMap, HashSet};

use prost::Message;

use super::error::Reason;
use super::proto::{AttributeProto, GraphProto, NodeProto};

/// Deepest nesting of branches read: exporters write two or three.
const MAX_DEPTH: usize = 16;

/// A graph and the branches of its Ifs.
pub(super) struct Scope {
    pub(super) proto: GraphProto,
    /// By index of the node.
    pub(super) branches: HashMap<usize, Result<Branches, Reason>>,
}

/// The two branches of an If.
pub(super) struct Branches {
    then_branch: Branch,
    else_branch: Branch,
}

/// A graph that takes values from those around it.
pub(super) struct Branch {
    pub(super) scope: Scope,
    /// Names of values that others around it define, in the order of the alphabet.
    pub(super) captured: Vec<String>,
}

impl Branches {
    /// The branch that the condition chooses.
    pub(super) fn taken(&self, condition: bool) -> &Branch {
        if condition { &self.then_branch } else { &self.else_branch }
    }

    /// Both.
    fn all(&self) -> [&Branch; 2] {
        [&self.then_branch, &self.else_branch]
    }
}

/// Whether the node chooses between two graphs.
pub(super) fn is_if(node: &NodeProto) -> bool {
    node.op_type == "If" && matches!(node.domain.as_str(), "" | "ai.onnx")
}

impl Scope {
    /// The outermost graph. The bytes of its branches are taken out of it, so that nothing is held twice.
    pub(super) fn new(proto: GraphProto) -> Self {
        Self::at_depth(proto, 0)
    }

    fn at_depth(mut proto: GraphProto, depth: usize) -> Self {
        let nodes = proto.node.iter_mut().enumerate().filter(|(_, node)| is_if(node));
        let branches = nodes.map(|(index, node)| (index, branches(&mut node.attribute, depth))).collect();
        Self { proto, branches }
    }

    /// The names that the node at `index` takes from this scope in its branches: in the one that is taken, where that
    /// is known, else in both.
    pub(super) fn captured(&self, index: usize, condition: Option<bool>) -> impl Iterator<Item = &str> {
        let branches = self.branches.get(&index).and_then(|branches| branches.as_ref().ok());
        let branches = branches.map(|branches| match condition {
            Some(condition) => vec![branches.taken(condition)],
            None => branches.all().to_vec(),
        });
        branches.into_iter().flatten().flat_map(|branch| &branch.captured).map(String::as_str)
    }

    /// The names that it uses and does not define.
    fn free(&self) -> Vec<String> {
        let proto = &self.proto;
        let results = proto.node.iter().flat_map(|node| &node.output);
        let tensors = proto.initializer.iter().map(|tensor| &tensor.name);
        let defined: HashSet<&str> = results.chain(tensors).map(String::as_str).collect();
        let used = proto.node.iter().flat_map(|node| &node.input).map(String::as_str);
        let inner = (0..proto.node.len()).flat_map(|index| self.captured(index, None));
        let wanted = proto.output.iter().map(|output| output.name.as_str());
        let used: BTreeSet<&str> = used.chain(inner).chain(wanted).filter(|name| !name.is_empty()).collect();
        used.into_iter().filter(|name| !defined.contains(name)).map(str::to_owned).collect()
    }
}

fn branches(attributes: &mut [AttributeProto], depth: usize) -> Result<Branches, Reason> {
    let known =
        |attribute: &&AttributeProto| !matches!(attribute.name.as_str(), "then_branch" | "else_branch");
    if let Some(unknown) = attributes.iter().find(known) {
        return Err(Reason::AttributeUnknown { name: unknown.name.clone(), opset: None });
    }
    Ok(Branches {
        then_branch: branch(attributes, "then_branch", depth)?,
        else_branch: branch(attributes, "else_branch", depth)?,
    })
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
    if !proto.input.is_empty() {
        let found = format!("a graph of {} inputs", proto.input.len());
        return Err(Reason::AttributeValue { name, found, legal: "a graph without inputs".to_owned() });
    }
    let scope = Scope::at_depth(proto, depth + 1);
    let captured = scope.free();
    Ok(Branch { scope, captured })
}
