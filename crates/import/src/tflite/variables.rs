//! Variables: what runs of a file keep from one to the next. A variable that a run assigns is an input, with what it begins with,
//! and an output, what the next run begins with; one that no run assigns is a constant.
//!
//! VAR_HANDLE names a variable, READ_VARIABLE and ASSIGN_VARIABLE have it as an operand, and CALL_ONCE assigns what it begins
//! with. Some operators (SVDF) have a tensor of their own for it, which begins with zeros.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use npukit_graph::{ValueId, ValueInfo};
use npukit_numeric::{Tensor, TensorData};

use super::control::{Control, of};
use super::importer::Importer;
use super::model::{self, Graph, Model};
use crate::elements::{repeated, typed};
use crate::error::Reason;
use crate::remark::{Remark, State};
use crate::shape::shape;

/// All variables, by name.
#[derive(Default)]
pub(super) struct Variables {
    all: BTreeMap<String, Variable>,
    /// Those that runs assign; all, when it is not known which.
    assigned: Option<HashSet<String>>,
    /// Whether what is assigned is what the variable begins with.
    pub(super) is_beginning: bool,
    /// Whether none can be had: within a graph that is repeated as often as values say.
    pub(super) is_sealed: bool,
}

#[derive(Default)]
struct Variable {
    initial: Option<Arc<Tensor>>,
    input: Option<ValueId>,
    value: Option<ValueId>,
}

/// What variables hold at some place of a run.
pub(super) type Snapshot = BTreeMap<String, ValueId>;

impl Variables {
    /// Those of a model, of which only is known which are assigned.
    pub(super) fn of(model: &Model<'_>) -> Self {
        let beginnings: HashSet<usize> = model.graphs.iter().flat_map(beginnings).collect();
        let runs = model.graphs.iter().enumerate().filter(|(number, _)| !beginnings.contains(number));
        let assigned: Option<Vec<HashSet<String>>> = runs.map(|(_, graph)| assigned(graph)).collect();
        let assigned = assigned.map(|graphs| graphs.into_iter().flatten().collect());
        Self { assigned, ..Self::default() }
    }

    /// What all hold that the run has assigned so far.
    pub(super) fn snapshot(&self) -> Snapshot {
        let held = self.all.iter().filter_map(|(name, variable)| Some((name.clone(), variable.value?)));
        held.collect()
    }

    /// Puts back what they held.
    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        for (name, variable) in &mut self.all {
            variable.value = snapshot.get(name).copied();
        }
    }

    fn changes(&self, name: &str) -> bool {
        self.assigned.as_ref().is_none_or(|assigned| assigned.contains(name))
    }
}

/// Numbers of the graphs that say what variables begin with.
fn beginnings(graph: &Graph<'_>) -> Vec<usize> {
    let once = graph.operators.iter().filter(|operator| of(operator) == Some(Control::Once));
    let number = once.filter_map(|operator| operator.options?.i32(0, 0).ok());
    number.filter_map(|number| usize::try_from(number).ok()).collect()
}

/// Names of the variables that a graph assigns; none when one is an input of the graph.
fn assigned(graph: &Graph<'_>) -> Option<HashSet<String>> {
    let mut handles = HashMap::new();
    let mut assigned = HashSet::new();
    for operator in &graph.operators {
        match of(operator) {
            Some(Control::Handle) => {
                let tensor = operator.outputs.first()?;
                handles.insert(*tensor, handle(operator).ok()?);
            }
            Some(Control::Assign) => {
                assigned.insert(handles.get(operator.inputs.first()?)?.clone());
            }
            _ => {}
        }
    }
    Some(assigned)
}

/// The name of the variable that VAR_HANDLE stands for.
pub(super) fn handle(operator: &model::Operator<'_>) -> Result<String, Reason> {
    let missing = || Reason::AttributeMissing { name: "shared_name" };
    let options = operator.options.ok_or_else(missing)?;
    let text = |field| options.text(field).map_err(|_| missing());
    let (container, name) = (text(0)?, text(1)?);
    Ok(if container.is_empty() { name } else { format!("{container}/{name}") })
}

impl Importer<'_> {
    /// What a variable holds; `info` says what it is where nothing else does.
    pub(super) fn read_variable(&mut self, name: &str, info: ValueInfo) -> Result<ValueId, Reason> {
        self.check_sealed(name)?;
        let changes = self.variables.changes(name);
        let variable = self.variables.all.entry(name.to_owned()).or_default();
        if let Some(known) = variable.value.or(variable.input) {
            return Ok(known);
        }
        if let Some(initial) = variable.initial.clone().filter(|_| !changes || self.variables.is_beginning) {
            return Ok(self.builder.constant(name, initial));
        }
        let info = match &variable.initial {
            Some(initial) => ValueInfo { shape: initial.shape().to_vec(), element: initial.element() },
            None => info,
        };
        let id = self.builder.input(name, info);
        variable.input = Some(id);
        // It keeps its name where a tensor reads it.
        self.renamed.insert(id);
        Ok(id)
    }

    /// Makes a variable hold a value.
    pub(super) fn assign_variable(&mut self, name: &str, value: ValueId) -> Result<(), Reason> {
        self.check_sealed(name)?;
        let constant = self.builder.graph.constant(value).cloned();
        let variable = self.variables.all.entry(name.to_owned()).or_default();
        if !self.variables.is_beginning {
            variable.value = Some(value);
            return Ok(());
        }
        let initial = constant.ok_or(Reason::OperandNotConstant { operand: "value" })?;
        variable.initial = Some(initial);
        Ok(())
    }

    fn check_sealed(&self, name: &str) -> Result<(), Reason> {
        if !self.variables.is_sealed {
            return Ok(());
        }
        let found = format!("variable {name:?} within a loop whose number of rounds is computed at run time");
        let legal = "variables outside such loops".to_owned();
        Err(Reason::OperandValue { operand: "resource", found, legal })
    }

    /// What a tensor holds that an operator keeps from run to run.
    pub(super) fn state_of(&mut self, index: usize) -> Result<ValueId, Reason> {
        let name = self.state_name(index);
        let tensor = &self.frame.graph.tensors[index];
        let sizes: Vec<i64> = tensor.shape.iter().map(|&size| size.into()).collect();
        let info = ValueInfo { shape: shape(&sizes)?, element: model::element_type(tensor.kind)? };
        let zero = tensor.scales.as_ref().and_then(|scales| scales.zero_point.first().copied());
        if !self.variables.all.contains_key(&name) {
            let initial =
                filled(&info, zero.map_or(0, |zero| zero as i32), |shape| self.builder.reserve(shape))?;
            let variable = Variable { initial: Some(Arc::new(initial)), ..Variable::default() };
            self.variables.all.insert(name.clone(), variable);
            self.variables.assigned.get_or_insert_default().insert(name.clone());
        }
        self.read_variable(&name, info)
    }

    /// Keeps real numbers in such a tensor.
    pub(super) fn keep(&mut self, index: usize, value: ValueId) -> Result<(), Reason> {
        let name = self.state_name(index);
        let value = self.integers(index, value, &name, false)?;
        self.assign_variable(&name, value)
    }

    fn state_name(&self, index: usize) -> String {
        match self.depth {
            0 => self.frame.names[index].clone(),
            _ => format!("{}:{}", self.frame.number, self.frame.names[index]),
        }
    }

    /// The variables that are inputs; adds what the next run begins with as outputs, when they are wanted.
    pub(super) fn add_states(&mut self, wanted: bool) -> Vec<State> {
        let all = std::mem::take(&mut self.variables.all);
        let mut states = Vec::new();
        for variable in all.into_values() {
            let Some(input) = variable.input else { continue };
            let ValueInfo { shape, element } = self.builder.graph.value(input).info.clone();
            let name = self.builder.graph.value(input).name.clone();
            let info = ValueInfo { shape, element };
            let initial = match variable.initial {
                Some(initial) => Ok(initial.as_ref().clone()),
                None => filled(&info, 0, |shape| self.builder.reserve(shape)),
            };
            let next = format!("{name}/next");
            let output = match wanted {
                true => self.next(variable.value.unwrap_or(input), &next).map(Some),
                false => Ok(None),
            };
            match (initial, output) {
                (Ok(initial), Ok(output)) => {
                    self.builder.graph.outputs.extend(output);
                    states.push(State { input: name, output: output.map(|_| next), initial });
                }
                (Err(reason), _) | (_, Err(reason)) => self.problem(&name, "state", reason),
            }
        }
        if !states.is_empty() {
            let inputs = states.iter().map(|state| state.input.clone()).collect();
            self.remarks.push(Remark::States { inputs });
        }
        states
    }

    /// The value under that name, which no tensor has.
    fn next(&mut self, id: ValueId, name: &str) -> Result<ValueId, Reason> {
        let graph = &self.builder.graph;
        let is_free =
            graph.constant(id).is_none() && !graph.inputs.contains(&id) && !graph.outputs.contains(&id);
        if !is_free {
            return self.named(id, name);
        }
        self.builder.rename(id, name);
        Ok(id)
    }
}

/// One number repeated; `reserve` is asked for room first.
fn filled(
    info: &ValueInfo,
    number: i32,
    reserve: impl FnOnce(&[usize]) -> Result<(), Reason>,
) -> Result<Tensor, Reason> {
    reserve(&info.shape)?;
    let data = match TensorData::empty(info.element.storage()) {
        TensorData::F32(_) => TensorData::F32(vec![number as f32]),
        TensorData::I64(_) => TensorData::I64(vec![number.into()]),
        TensorData::I32(_) => TensorData::I32(vec![number]),
        TensorData::Bool(_) => TensorData::Bool(vec![number != 0]),
    };
    let one = typed(info.element, Vec::new(), data)?;
    repeated(&one, info.shape.clone())?.ok_or(Reason::NoShape)
}
