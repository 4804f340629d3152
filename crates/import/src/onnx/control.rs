//! Nodes that hold graphs. An If becomes the taken branch if its condition is constant; otherwise
//! it becomes both branches and a selection between their results. A Loop or a Scan is unrolled if
//! its number of iterations is known and small. Other Loops become an operator that repeats a
//! graph.

mod rounds;
mod scan;

use std::collections::{HashMap, HashSet};

use npukit_graph::op::{Concat, Reshape};
use npukit_graph::{NodeId, Op, ValueId};
use npukit_numeric::{Tensor, TensorData};

use super::attributes::{Attributes, unsupported};
use super::builder::first;
use super::context::described;
use super::error::{NodeProblem, Reason};
use super::importer::{Binding, Importer, name_of};
use super::proto::NodeProto;
use super::scope::{Bodies, Branch};
use crate::format::Format;
use crate::node::ELEMENTS_PER_RESULT;

/// Maximum number of nodes that unrolling one Loop or Scan adds: two layers of a recurrent network
/// over a thousand steps.
const MAX_NODES: usize = 1 << 16;

impl<'a> Importer<'a, '_> {
    /// Returns the results of the node at `index`, which holds graphs, or `None` if a value that
    /// they need failed. The failure is recorded.
    pub(super) fn control(
        &mut self,
        index: usize,
        bodies: &'a Result<Bodies, Reason>,
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let mark = self.builder.graph.values.len();
        let node = &self.proto.node[index];
        let results = match bodies.as_ref().map_err(Clone::clone)? {
            Bodies::Branches { then_branch, else_branch } => {
                self.choose(index, [then_branch, else_branch], operands)
            }
            Bodies::Repeated(body) if node.op_type == "Scan" => self.scan(node, body, operands),
            Bodies::Repeated(body) => self.repeat(node, body, operands),
        }?;
        if let Some(results) = &results {
            if let Some((index, name)) = node.output.iter().enumerate().nth(results.len()) {
                return Err(Reason::Output { index, name: name.clone() });
            }
            self.name_results(node, results, mark);
        }
        self.builder.has_leftovers = true;
        Ok(results)
    }

    /// Returns the results of an If: the results of the taken branch if the condition is constant,
    /// otherwise a selection between both branches.
    fn choose(
        &mut self,
        index: usize,
        [then_branch, else_branch]: [&'a Branch; 2],
        operands: &[Option<ValueId>],
    ) -> Result<Option<Vec<ValueId>>, Reason> {
        let node = &self.proto.node[index];
        let condition =
            operands.first().copied().flatten().ok_or(Reason::OperandMissing { operand: "cond" })?;
        if let Some(known) = self.builder.truth(condition, "cond")? {
            self.conditions.insert(index, known);
            return Ok(self.results_of(node, if known { then_branch } else { else_branch }, &[]));
        }
        let decides = self.decided_by(condition);
        let both = [("then_branch", then_branch), ("else_branch", else_branch)].map(|(name, branch)| {
            let first = self.problems.len();
            let results = self.results_of(node, branch, &[]);
            self.of_branch(first, name, node, &decides);
            results
        });
        let [Some(then_results), Some(else_results)] = both else { return Ok(None) };
        let condition = self.scalar(node, condition)?;
        let pairs = then_results.into_iter().zip(else_results);
        pairs
            .map(|(yes, no)| self.builder.either(name_of(node), condition, [yes, no]))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Names of the model's inputs on which a value depends.
    fn decided_by(&self, value: ValueId) -> Vec<String> {
        let graph = &self.builder.graph;
        let producers = graph.producers();
        let (mut open, mut seen) = (vec![value], HashSet::from([value]));
        while let Some(id) = open.pop() {
            let producer = producers.get(id.0 as usize).copied().flatten();
            let operands = producer.map_or(&[][..], |NodeId(node)| &graph.nodes[node as usize].inputs);
            open.extend(operands.iter().copied().filter(|&operand| seen.insert(operand)));
        }
        let inputs = graph.inputs.iter().filter(|id| seen.contains(id));
        let names = inputs.map(|&id| graph.value(id).name.as_str());
        names
            .filter(|name| self.file.inputs.iter().any(|input| input.name == *name))
            .map(str::to_owned)
            .collect()
    }

    /// Marks the problems starting at index `first` as belonging to a branch that other inputs may
    /// not take.
    fn of_branch(&mut self, first: usize, branch: &'static str, node: &NodeProto, decides: &[String]) {
        if decides.is_empty() {
            return;
        }
        for problem in &mut self.problems[first..] {
            // Problems that are independent of the branch, or already marked by an inner branch,
            // are kept as they are.
            if matches!(problem.reason, Reason::InBranch { .. }) {
                continue;
            }
            let (reason, inputs) = (Box::new(problem.reason.clone()), decides.to_vec());
            let reason = Reason::InBranch { reason, branch, node: name_of(node).to_owned(), inputs };
            let (name, op) = (problem.node.clone(), problem.op.clone());
            *problem = NodeProblem::new(Format::Onnx, name, op, reason);
        }
    }

    /// Stacks values of one shape along a new axis.
    fn stack(&mut self, node: &NodeProto, values: Vec<ValueId>, axis: usize) -> Result<ValueId, Reason> {
        let mut layers = Vec::with_capacity(values.len());
        for value in values {
            let mut shape = self.builder.graph.shape(value).to_vec();
            if axis > shape.len() {
                return Err(unsupported("scan_output_axes", axis, format!("0 to {}", shape.len())));
            }
            shape.insert(axis, 1);
            layers.push(self.add(node, Reshape { shape }, vec![value])?);
        }
        match layers.as_slice() {
            &[layer] => Ok(layer),
            _ => self.add(node, Concat { axis }, layers),
        }
    }

    /// Reserves budget for the nodes of an iteration, as nested loops multiply.
    fn reserve_round(&mut self, body: &Branch) -> Result<(), Reason> {
        self.builder.reserve(&[body.nodes(), ELEMENTS_PER_RESULT])
    }

    /// Checks the numbers of inputs and outputs of a repeated graph.
    fn check_body(&self, body: &Branch, inputs: usize, outputs: usize) -> Result<(), Reason> {
        let proto = &body.scope.proto;
        if proto.input.len() == inputs && proto.output.len() >= outputs {
            return Ok(());
        }
        let found = format!("a graph of {} inputs and {} outputs", proto.input.len(), proto.output.len());
        let legal = format!("{inputs} inputs and {outputs} outputs or more");
        Err(Reason::AttributeValue { name: "body", found, legal })
    }

    /// Returns the results of a graph that a node holds, with `values` as its inputs.
    fn results_of(
        &mut self,
        node: &'a NodeProto,
        branch: &'a Branch,
        inputs: &[ValueId],
    ) -> Option<Vec<ValueId>> {
        let user = (name_of(node), node.op_type.as_str());
        let mut bindings = HashMap::new();
        for name in &branch.captured {
            bindings.insert(name.as_str(), Binding::Value(self.lookup(name, user)?));
        }
        let declared = branch.scope.proto.input.iter().map(|input| input.name.as_str());
        bindings.extend(declared.zip(inputs.iter().map(|&id| Binding::Value(id))));
        self.branch(&branch.scope, bindings, user)
    }

    /// Returns an error if an attribute was not read.
    fn check_read(&self, attributes: &Attributes<'_>) -> Result<(), Reason> {
        let unread = attributes.unread();
        let unknown =
            |name: &str| Reason::AttributeUnknown { name: name.to_owned(), opset: Some(self.file.opset) };
        unread.map_or(Ok(()), |name| Err(unknown(name)))
    }

    /// Returns a number of iterations, or `None` if it is not constant. It must be one integer.
    fn integer(&self, value: ValueId) -> Result<Option<i64>, Reason> {
        let Some(constant) = self.builder.graph.constant(value) else { return Ok(None) };
        match constant.data() {
            TensorData::I64(values) if values.len() == 1 => Ok(values.first().copied()),
            _ => {
                let (found, legal) = (described(constant), "one integer".to_owned());
                Err(Reason::OperandValue { operand: "M", found, legal })
            }
        }
    }

    /// Returns a one-element value reshaped to a scalar.
    fn scalar(&mut self, node: &NodeProto, value: ValueId) -> Result<ValueId, Reason> {
        self.builder.scalar(&format!("{}/scalar", name_of(node)), value)
    }

    fn constant(&mut self, node: &NodeProto, shape: Vec<usize>, data: TensorData) -> Result<ValueId, Reason> {
        Ok(self.builder.constant(name_of(node), crate::shape::tensor(shape, data)?))
    }

    /// Adds a helper node for `node` and returns its result.
    fn add(
        &mut self,
        node: &NodeProto,
        op: impl Into<Op>,
        operands: Vec<ValueId>,
    ) -> Result<ValueId, Reason> {
        first(&self.builder.emit(name_of(node), op.into(), operands)?, name_of(node))
    }
}

/// Whether a constant is the truth value `true`.
fn is_true(constant: Option<&Tensor>) -> bool {
    constant.is_some_and(|constant| matches!(constant.data(), TensorData::Bool(values) if values == &[true]))
}
