//! [`import`]: translates the tables of a file to a graph, operator by operator, in the file's
//! order.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use npukit_graph::ValueId;

use super::Options;
use super::context::Context;
use super::frame::{Frame, Known};
use super::model::{self, Graph, Model};
use super::variables::Variables;
use super::{control, ops};
use crate::builder::{Builder, FOLDING_ROOM, Names};
use crate::error::{ImportError, NodeProblem, Reason};
use crate::format::Format;
use crate::node::NodeBuilder;
use crate::remark::{Imported, Remark};
use crate::tensorflow::Blocks;

/// State of the import of a model.
pub(super) struct Importer<'a> {
    pub(super) model: &'a Model<'a>,
    pub(super) builder: Builder,
    /// Graph being translated.
    pub(super) frame: Frame<'a>,
    /// Nesting depth of the current graph.
    pub(super) depth: usize,
    /// State shared by all translations of a graph, by its number.
    pub(super) known: HashMap<usize, Known>,
    /// State that runs keep for the next run.
    pub(super) variables: Variables,
    /// Values that have the name of a tensor.
    pub(super) renamed: HashSet<ValueId>,
    pub(super) blocks: Blocks,
    problems: Vec<NodeProblem>,
    pub(super) remarks: Vec<Remark>,
}

/// Imports the graph of `model`, read from a file of `size_bytes`.
pub(super) fn import(
    model: &Model<'_>,
    name: &str,
    options: &Options,
    size_bytes: usize,
) -> Result<Imported, ImportError> {
    let main = main_graph(model)?;
    model.graphs.iter().try_for_each(check_results)?;
    let names = names_of(main);
    let reserved = names.iter().cloned().collect();
    let mut importer = Importer {
        model,
        builder: Builder::new(name, reserved, size_bytes.saturating_add(FOLDING_ROOM)),
        frame: Frame::new(0, main, names),
        depth: 0,
        known: HashMap::new(),
        variables: Variables::of(model),
        renamed: HashSet::new(),
        blocks: Blocks::default(),
        problems: Vec::new(),
        remarks: Vec::new(),
    };
    importer.remark_signatures();
    importer.add_inputs(options)?;
    let wanted = importer.wanted(options)?;
    importer.run();
    importer.add_outputs(&wanted);
    let states = importer.add_states(options.outputs.is_empty());
    if !importer.problems.is_empty() {
        return Err(ImportError::Problems { problems: importer.problems });
    }
    importer.builder.graph.remove_dead();
    // Tensors in two graphs of a damaged file may have equal names.
    importer.builder.graph.validate().map_err(|error| damaged(error.to_string()))?;
    Ok(Imported { graph: importer.builder.graph, remarks: importer.remarks, defaults: Vec::new(), states })
}

/// Returns the graph that the interpreter runs.
fn main_graph<'a>(model: &'a Model<'a>) -> Result<&'a Graph<'a>, ImportError> {
    model.graphs.first().ok_or_else(|| damaged("it does not hold a graph".to_owned()))
}

/// Error for a file with inconsistent tables.
pub(super) fn damaged(reason: String) -> ImportError {
    ImportError::NotModel { format: Format::TensorFlowLite, offset: 0, reason }
}

/// Unique names of a graph's tensors.
pub(super) fn names_of(graph: &Graph<'_>) -> Rc<[String]> {
    let mut unique = Names::new(HashSet::new());
    let named = |(i, tensor): (usize, &model::Tensor<'_>)| match tensor.name.as_str() {
        "" => unique.unique(&format!("tensor_{i}")),
        name => unique.unique(name),
    };
    graph.tensors.iter().enumerate().map(named).collect()
}

/// Index of a tensor, or `None` if the number is out of range.
pub(super) fn index(number: i32, count: usize) -> Option<usize> {
    usize::try_from(number).ok().filter(|&index| index < count)
}

/// Returns an error if two operators compute one tensor, or if an input or a constant is computed.
fn check_results(graph: &Graph<'_>) -> Result<(), ImportError> {
    let count = graph.tensors.len();
    let mut made: HashSet<usize> = graph.inputs.iter().filter_map(|&number| index(number, count)).collect();
    let results = graph.operators.iter().flat_map(|operator| &operator.outputs);
    for tensor in results.filter_map(|&number| index(number, count)) {
        if !made.insert(tensor) || !graph.tensors[tensor].data.is_empty() {
            return Err(damaged(format!("tensor {tensor} is made twice, or made though it is given")));
        }
    }
    Ok(())
}

impl<'a> Importer<'a> {
    /// Records a problem of an operator.
    pub(super) fn problem(&mut self, node: &str, op: &str, reason: Reason) {
        self.problems.push(NodeProblem::new(Format::TensorFlowLite, node, op, reason));
    }

    /// Translates the operators of the graph.
    pub(super) fn run(&mut self) {
        let graph = self.frame.graph;
        for operator in &graph.operators {
            self.add_operator(operator);
        }
    }

    /// Translates one operator, unless a value that it needs failed.
    fn add_operator(&mut self, operator: &'a model::Operator<'a>) {
        let count = self.frame.names.len();
        let results: Vec<usize> =
            operator.outputs.iter().filter_map(|&number| index(number, count)).collect();
        let name = results
            .first()
            .map_or_else(|| "(without results)".to_owned(), |&index| self.frame.names[index].clone());
        let op = ops::name_of(operator);
        match self.translate(operator, &results, &name) {
            Ok(true) => {}
            Ok(false) => self.frame.failed.extend(results),
            Err(reason) => {
                self.frame.failed.extend(results);
                self.problem(&name, &op, reason);
            }
        }
    }

    /// Translates an operator; returns whether all its operands are known.
    fn translate(
        &mut self,
        operator: &'a model::Operator<'a>,
        results: &[usize],
        name: &str,
    ) -> Result<bool, Reason> {
        let Some(tensors) = self.operands(operator)? else { return Ok(false) };
        if let Some(control) = control::of(operator) {
            return self.control(control, operator, &tensors, results, name);
        }
        let unknown = || Reason::Operator { operator: ops::name_of(operator) };
        let (op, handler) = ops::handler(operator).ok_or_else(unknown)?;
        let operands = self.given(operator, &tensors)?;
        if ops::begins_anew(operator) {
            Remark::add_beginning(&mut self.remarks, name);
        }
        let result = match results.first() {
            Some(&first) => self.result_type(first)?,
            None => return Err(Reason::Output { index: 0, name: name.to_owned() }),
        };
        let mark = self.builder.graph.values.len();
        let complex = self.are_complex(&tensors);
        let is_complex = complex.first() == Some(&true);
        let mut apply = |importer: &mut Self, operands| {
            let Importer { builder, blocks, .. } = importer;
            let node = NodeBuilder::new(builder, name.to_owned(), operands);
            let mut context = Context::new(node, op, operator, result, is_complex, blocks);
            let values = handler(&mut context)?;
            context.finish()?;
            Ok::<_, Reason>((values, context.into_states()))
        };
        let (values, states) = match complex.contains(&true) && !ops::takes_complex(operator) {
            true => (self.by_parts(op, name, operands, &complex, &mut apply)?, Vec::new()),
            false => apply(self, operands)?,
        };
        for (place, &tensor) in results.iter().enumerate() {
            let missing = || Reason::Output { index: place, name: self.frame.names[tensor].clone() };
            let value = *values.get(place).ok_or_else(missing)?;
            self.bind(tensor, value, mark, ops::rounds_away(operator))?;
        }
        for (operand, value) in states {
            let tensor = tensors.get(operand).copied().flatten();
            self.keep(tensor.ok_or(Reason::OperandMissing { operand: "state" })?, value)?;
        }
        Ok(true)
    }

    /// Returns the values of operands; `None` for states that begin at zero.
    fn given(
        &mut self,
        operator: &model::Operator<'_>,
        tensors: &[Option<usize>],
    ) -> Result<Vec<Option<ValueId>>, Reason> {
        let begins_anew = ops::begins_anew(operator);
        let is_given = |tensor: &usize| !begins_anew || !self.frame.graph.tensors[*tensor].is_variable;
        let tensors: Vec<_> = tensors.iter().map(|tensor| tensor.filter(is_given)).collect();
        tensors.into_iter().map(|tensor| tensor.map(|tensor| self.real(tensor)).transpose()).collect()
    }

    /// Returns the tensors of an operator's operands, or `None` if one of them failed.
    fn operands(&self, operator: &model::Operator<'_>) -> Result<Option<Vec<Option<usize>>>, Reason> {
        let mut tensors = Vec::new();
        for &number in &operator.inputs {
            if number == -1 {
                tensors.push(None);
                continue;
            }
            let undefined = || Reason::Undefined { name: format!("tensor {number}") };
            let tensor = index(number, self.frame.names.len()).ok_or_else(undefined)?;
            if self.frame.failed.contains(&tensor) {
                return Ok(None);
            }
            tensors.push(Some(tensor));
        }
        Ok(Some(tensors))
    }

    /// Reports the ignored graphs of other signatures.
    fn remark_signatures(&mut self) {
        let mut others: Vec<String> = Vec::new();
        for (name, graph) in &self.model.signatures {
            if *graph != 0 && !others.contains(name) {
                others.push(name.clone());
            }
        }
        if !others.is_empty() {
            let first = self.model.signatures.iter().find(|(_, graph)| *graph == 0);
            let read = first.map(|(name, _)| name.clone());
            self.remarks.push(Remark::Signatures { read, others });
        }
    }
}
