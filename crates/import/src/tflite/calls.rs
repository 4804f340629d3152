//! Operators that hold graphs or use variables: IF, WHILE, CALL_ONCE, VAR_HANDLE, READ_VARIABLE and
//! ASSIGN_VARIABLE.
//!
//! An IF becomes the taken branch if its condition is constant; otherwise it becomes both branches
//! and a selection between their results. A WHILE is unrolled if the file determines a small number
//! of iterations; otherwise it becomes an operator that repeats a graph.

use npukit_graph::op::{Body, Loop};
use npukit_graph::{ValueId, ValueInfo};
use npukit_numeric::TensorData;

use super::control::{Control, of};
use super::frame::Frame;
use super::importer::{Importer, index, names_of};
use super::model::{self, Operator};
use super::variables::handle;
use crate::error::Reason;
use crate::node::{ELEMENTS_PER_RESULT, unsupported};
use crate::shape::{shape, tensor};

/// Maximum nesting of graphs.
const MAX_DEPTH: usize = 16;

/// Maximum number of nodes that unrolling one WHILE adds.
const MAX_NODES: usize = 1 << 15;

/// Operand or result of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Passed {
    Value(ValueId),
    Variable(String),
}

/// Reads the field with a graph's number.
fn graph_at(operator: &Operator<'_>, field: usize) -> Result<i32, Reason> {
    let number = operator.options.map_or(Ok(0), |options| options.i32(field, 0));
    number.map_err(|damage| unsupported("builtin_options", damage.offset, damage.reason))
}

impl<'a> Importer<'a> {
    /// Translates such an operator. Returns whether all its operands are known.
    pub(super) fn control(
        &mut self,
        control: Control,
        operator: &Operator<'_>,
        tensors: &[Option<usize>],
        results: &[usize],
        name: &str,
    ) -> Result<bool, Reason> {
        let mark = self.builder.graph.values.len();
        let mut operands = Vec::new();
        for &tensor in tensors {
            operands.push(self.passed(tensor.ok_or(Reason::OperandMissing { operand: "input" })?)?);
        }
        let given = match control {
            Control::Handle => Some(vec![Passed::Variable(handle(operator)?)]),
            Control::Read => {
                let &result = results.first().ok_or(Reason::OperandMissing { operand: "value" })?;
                let value = self.read_variable(variable(&operands)?, self.stated(result)?)?;
                Some(vec![Passed::Value(value)])
            }
            Control::Assign => {
                let Some(&Passed::Value(value)) = operands.get(1) else {
                    return Err(Reason::OperandMissing { operand: "value" });
                };
                self.assign_variable(variable(&operands)?, value)?;
                Some(Vec::new())
            }
            Control::Once => self.once(graph_at(operator, 0)?, &operands)?,
            Control::If => self.choose(graph_at(operator, 0)?, graph_at(operator, 1)?, &operands, name)?,
            Control::While => self.repeat(graph_at(operator, 0)?, graph_at(operator, 1)?, operands, name)?,
        };
        let Some(given) = given else { return Ok(false) };
        for (place, &tensor) in results.iter().enumerate() {
            match given.get(place) {
                Some(&Passed::Value(id)) => self.hold(tensor, id, mark),
                Some(Passed::Variable(name)) => drop(self.frame.variables.insert(tensor, name.clone())),
                None => {
                    return Err(Reason::Output { index: place, name: self.frame.names[tensor].clone() });
                }
            }
        }
        self.builder.has_leftovers = true;
        Ok(true)
    }

    /// Calls the graph that sets the first values of variables.
    fn once(&mut self, graph: i32, operands: &[Passed]) -> Result<Option<Vec<Passed>>, Reason> {
        let before = std::mem::replace(&mut self.variables.is_beginning, true);
        let given = self.call(graph, operands);
        self.variables.is_beginning = before;
        Ok(given?.map(|_| Vec::new()))
    }

    /// Returns a tensor as operand of a graph.
    fn passed(&mut self, tensor: usize) -> Result<Passed, Reason> {
        match self.frame.variables.get(&tensor) {
            Some(name) => Ok(Passed::Variable(name.clone())),
            None => Ok(Passed::Value(self.value(tensor)?)),
        }
    }

    /// Shape and type that the file states for a tensor.
    fn stated(&self, tensor: usize) -> Result<ValueInfo, Reason> {
        let tensor = &self.frame.graph.tensors[tensor];
        let sizes: Vec<i64> = tensor.shape.iter().map(|&size| size.into()).collect();
        Ok(ValueInfo { shape: shape(&sizes)?, element: model::element_type(tensor.kind)? })
    }

    /// Returns the results of the graph with that number, or `None` if a part of it failed. The
    /// failure is recorded.
    fn call(&mut self, number: i32, operands: &[Passed]) -> Result<Option<Vec<Passed>>, Reason> {
        if self.depth >= MAX_DEPTH {
            return Err(Reason::Nesting { limit: MAX_DEPTH });
        }
        let graphs = &self.model.graphs;
        let legal = || format!("1 to {}", graphs.len() - 1);
        let place = index(number, graphs.len()).filter(|&place| place > 0);
        let place = place.ok_or_else(|| unsupported("subgraph_index", number, legal()))?;
        let graph = &graphs[place];
        self.builder.reserve(&[graph.operators.len() + 1, ELEMENTS_PER_RESULT])?;
        let mut frame = match self.known.get(&place) {
            Some(known) => Frame::again(place, graph, known),
            None => Frame::new(place, graph, names_of(graph)),
        };
        if graph.inputs.len() != operands.len() {
            let found = format!("a graph of {} inputs", graph.inputs.len());
            return Err(unsupported("subgraph_index", found, format!("one of {} inputs", operands.len())));
        }
        for (&input, operand) in graph.inputs.iter().zip(operands) {
            let undefined = || Reason::Undefined { name: format!("tensor {input}") };
            let input = index(input, graph.tensors.len()).ok_or_else(undefined)?;
            match operand {
                Passed::Variable(name) => drop(frame.variables.insert(input, name.clone())),
                &Passed::Value(id) => {
                    let found = self.builder.graph.value(id).info.element;
                    let expected = model::element_type(graph.tensors[input].kind)?;
                    if found != expected {
                        let (found, legal) = (found.name().to_owned(), expected.name().to_owned());
                        return Err(Reason::OperandValue { operand: "input", found, legal });
                    }
                    frame.values.insert(input, id);
                }
            }
        }
        let outer = std::mem::replace(&mut self.frame, frame);
        self.depth += 1;
        self.run();
        let results = self.results();
        self.depth -= 1;
        let frame = std::mem::replace(&mut self.frame, outer);
        self.known.insert(place, frame.known());
        results
    }

    /// Returns the results of the graph that was just translated.
    fn results(&mut self) -> Result<Option<Vec<Passed>>, Reason> {
        let graph = self.frame.graph;
        let mut results = Vec::new();
        for &output in &graph.outputs {
            let undefined = || Reason::Undefined { name: format!("tensor {output}") };
            let tensor = index(output, graph.tensors.len()).ok_or_else(undefined)?;
            if self.frame.failed.contains(&tensor) {
                return Ok(None);
            }
            results.push(self.passed(tensor)?);
        }
        // A failed operator without results may have assigned a variable.
        Ok(self.frame.failed.is_empty().then_some(results))
    }

    /// Translates an IF and returns its results.
    fn choose(
        &mut self,
        yes: i32,
        no: i32,
        operands: &[Passed],
        name: &str,
    ) -> Result<Option<Vec<Passed>>, Reason> {
        let Some((&Passed::Value(condition), operands)) = operands.split_first() else {
            return Err(Reason::OperandMissing { operand: "cond" });
        };
        if let Some(known) = self.builder.truth(condition, "cond")? {
            return self.call(if known { yes } else { no }, operands);
        }
        let before = self.variables.snapshot();
        let yes = self.call(yes, operands)?;
        let after_yes = self.variables.snapshot();
        self.variables.restore(&before);
        let no = self.call(no, operands)?;
        let after_no = self.variables.snapshot();
        let (Some(yes), Some(no)) = (yes, no) else { return Ok(None) };
        let condition = self.builder.scalar(name, condition)?;
        let names: Vec<&String> = after_yes.keys().chain(after_no.keys()).collect();
        for variable in names {
            let (yes, no) = (after_yes.get(variable).copied(), after_no.get(variable).copied());
            let Some(like) = yes.or(no).filter(|_| yes != no) else { continue };
            let info = self.builder.graph.value(like).info.clone();
            self.variables.restore(&before);
            let held = self.read_variable(variable, info)?;
            // Default: a variable that a branch does not assign keeps its value.
            let chosen = self.builder.either(name, condition, [yes.unwrap_or(held), no.unwrap_or(held)])?;
            self.variables.restore(&after_no);
            self.assign_variable(variable, chosen)?;
        }
        let pairs = yes.into_iter().zip(no);
        let one = |(yes, no)| match (yes, no) {
            (Passed::Value(yes), Passed::Value(no)) => {
                self.builder.either(name, condition, [yes, no]).map(Passed::Value)
            }
            (yes, no) if yes == no => Ok(yes),
            _ => Err(Reason::TensorKind { kind: "variable, chosen at run time," }),
        };
        pairs.map(one).collect::<Result<_, _>>().map(Some)
    }

    /// Translates a WHILE and returns its results.
    fn repeat(
        &mut self,
        condition: i32,
        body: i32,
        operands: Vec<Passed>,
        name: &str,
    ) -> Result<Option<Vec<Passed>>, Reason> {
        let before = self.variables.snapshot();
        let nodes = index(body, self.model.graphs.len()).map_or(1, |body| self.nodes(body));
        let most = MAX_NODES / nodes.max(1);
        let mut carried = operands.clone();
        for round in 0.. {
            let Some(goes_on) = self.call(condition, &carried)? else { return Ok(None) };
            let Some(&Passed::Value(goes_on)) = goes_on.first() else {
                return Err(Reason::OperandMissing { operand: "cond" });
            };
            match self.builder.truth(goes_on, "cond")? {
                Some(false) => return Ok(Some(carried)),
                Some(true) if round < most => {}
                _ => break,
            }
            let Some(next) = self.call(body, &carried)? else { return Ok(None) };
            if next.len() != carried.len() {
                let legal = format!("one of {} outputs", carried.len());
                return Err(unsupported("body_subgraph_index", format!("{} outputs", next.len()), legal));
            }
            carried = next;
        }
        self.variables.restore(&before);
        self.looped(condition, body, &operands, name)
    }

    /// Number of nodes of a graph and its nested graphs.
    fn nodes(&self, graph: usize) -> usize {
        let graphs = &self.model.graphs;
        let Some(graph) = graphs.get(graph) else { return 1 };
        let holders = graph.operators.iter().filter(|operator| of(operator).is_some());
        let inner = holders.filter_map(|operator| index(graph_at(operator, 1).ok()?, graphs.len()));
        let inner: usize = inner.map(|inner| graphs[inner].operators.len()).sum();
        inner.saturating_add(graph.operators.len())
    }

    /// Translates a WHILE that stays one operator.
    fn looped(
        &mut self,
        condition: i32,
        body: i32,
        operands: &[Passed],
        name: &str,
    ) -> Result<Option<Vec<Passed>>, Reason> {
        let values = |passed: &[Passed]| -> Result<Vec<ValueId>, Reason> {
            let value = |passed: &Passed| match passed {
                Passed::Value(id) => Ok(*id),
                Passed::Variable(_) => Err(Reason::TensorKind { kind: "variable, in a loop," }),
            };
            passed.iter().map(value).collect()
        };
        let carried = values(operands)?;
        let Some(first) = self.call(condition, operands)? else { return Ok(None) };
        let &first = values(&first)?.first().ok_or(Reason::OperandMissing { operand: "cond" })?;
        let first = self.builder.scalar(name, first)?;
        let rounds = self.builder.constant(name, tensor(Vec::new(), TensorData::I64(vec![i64::MAX]))?);
        let outer = [&[rounds, first], &carried[..]].concat();
        let mut inner = self.builder.inner(name);
        let inputs: Vec<ValueId> =
            outer.iter().map(|&id| inner.input(name, self.builder.graph.value(id).info.clone())).collect();
        let given: Vec<Passed> = inputs.iter().skip(2).map(|&id| Passed::Value(id)).collect();
        let aside = (
            std::mem::replace(&mut self.builder, inner),
            std::mem::take(&mut self.known),
            std::mem::take(&mut self.blocks),
            std::mem::replace(&mut self.variables.is_sealed, true),
        );
        let results = self.round(condition, body, &given, name);
        let mut inner = std::mem::replace(&mut self.builder, aside.0);
        (self.known, self.blocks, self.variables.is_sealed) = (aside.1, aside.2, aside.3);
        self.builder.take_back(&inner);
        let Some(results) = results? else { return Ok(None) };
        inner.graph.outputs = values(&results)?;
        inner.graph.remove_dead();
        self.builder.check_round(&inner, &inner.graph.outputs, &carried)?;
        let op = Loop { body: Body(inner.graph.into()), carried: carried.len(), stacked: None };
        let results = self.builder.emit(name, op.into(), outer)?;
        Ok(Some(results.into_iter().map(Passed::Value).collect()))
    }

    /// Returns the condition for another iteration after this one, and the results of this one.
    fn round(
        &mut self,
        condition: i32,
        body: i32,
        operands: &[Passed],
        name: &str,
    ) -> Result<Option<Vec<Passed>>, Reason> {
        let Some(results) = self.call(body, operands)? else { return Ok(None) };
        let Some(goes_on) = self.call(condition, &results)? else { return Ok(None) };
        let Some(&Passed::Value(goes_on)) = goes_on.first() else {
            return Err(Reason::OperandMissing { operand: "cond" });
        };
        self.builder.truth(goes_on, "cond")?;
        let goes_on = Passed::Value(self.builder.scalar(name, goes_on)?);
        Ok(Some([vec![goes_on], results].concat()))
    }
}

/// Name of the first operand, which must be a variable.
fn variable(operands: &[Passed]) -> Result<&str, Reason> {
    match operands.first() {
        Some(Passed::Variable(name)) => Ok(name),
        _ => Err(Reason::OperandMissing { operand: "resource" }),
    }
}
