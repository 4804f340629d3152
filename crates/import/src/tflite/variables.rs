//! Variables: state that runs keep for the next run. An assigned variable becomes an input, with
//! its initial value, and an output, its value for the next run. A variable that is never assigned
//! is a constant.
//!
//! VAR_HANDLE names a variable, READ_VARIABLE and ASSIGN_VARIABLE use it as an operand, and
//! CALL_ONCE assigns its initial value. Some operators (SVDF) have a tensor with their own state,
//! which starts at zero.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use npukit_graph::ValueId;
use npukit_numeric::Tensor;

use super::control::{Control, of};
use super::model::{self, Graph, Model};
use crate::error::Reason;

/// All variables, by name.
#[derive(Default)]
pub(super) struct Variables {
    pub(super) all: BTreeMap<String, Variable>,
    /// Names of the assigned variables; `None` means that all may be assigned.
    pub(super) assigned: Option<HashSet<String>>,
    /// Whether assignments set initial values.
    pub(super) is_beginning: bool,
    /// Whether variables are not accessible, in a graph that is repeated an unknown number of
    /// times.
    pub(super) is_sealed: bool,
}

#[derive(Default)]
pub(super) struct Variable {
    pub(super) initial: Option<Arc<Tensor>>,
    pub(super) input: Option<ValueId>,
    pub(super) value: Option<ValueId>,
}

/// Values of the variables at one point of a run.
pub(super) type Snapshot = BTreeMap<String, ValueId>;

impl Variables {
    /// Creates the variables of a model. Only the set of assigned ones is known.
    pub(super) fn of(model: &Model<'_>) -> Self {
        let beginnings: HashSet<usize> = model.graphs.iter().flat_map(beginnings).collect();
        let runs = model.graphs.iter().enumerate().filter(|(number, _)| !beginnings.contains(number));
        let assigned: Option<Vec<HashSet<String>>> = runs.map(|(_, graph)| assigned(graph)).collect();
        let assigned = assigned.map(|graphs| graphs.into_iter().flatten().collect());
        Self { assigned, ..Self::default() }
    }

    /// Values of all variables assigned so far in the run.
    pub(super) fn snapshot(&self) -> Snapshot {
        let held = self.all.iter().filter_map(|(name, variable)| Some((name.clone(), variable.value?)));
        held.collect()
    }

    /// Restores earlier values.
    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        for (name, variable) in &mut self.all {
            variable.value = snapshot.get(name).copied();
        }
    }

    pub(super) fn changes(&self, name: &str) -> bool {
        self.assigned.as_ref().is_none_or(|assigned| assigned.contains(name))
    }
}

/// Numbers of the graphs that set initial values.
fn beginnings(graph: &Graph<'_>) -> Vec<usize> {
    let once = graph.operators.iter().filter(|operator| of(operator) == Some(Control::Once));
    let number = once.filter_map(|operator| operator.options?.i32(0, 0).ok());
    number.filter_map(|number| usize::try_from(number).ok()).collect()
}

/// Names of the variables that a graph assigns, or `None` if a variable is an input of the graph.
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

/// Name of the variable of a VAR_HANDLE.
pub(super) fn handle(operator: &model::Operator<'_>) -> Result<String, Reason> {
    let missing = || Reason::AttributeMissing { name: "shared_name" };
    let options = operator.options.ok_or_else(missing)?;
    let text = |field| options.text(field).map_err(|_| missing());
    let (container, name) = (text(0)?, text(1)?);
    Ok(if container.is_empty() { name } else { format!("{container}/{name}") })
}
