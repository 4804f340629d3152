//! Variables: what runs of a file keep from one to the next. A variable that a run assigns is an input, with what it begins with,
//! and an output, what the next run begins with; one that no run assigns is a constant.
//!
//! VAR_HANDLE names a variable, READ_VARIABLE and ASSIGN_VARIABLE have it as an operand, and CALL_ONCE assigns what it begins
//! with. Some operators (SVDF) have a tensor of their own for it, which begins with zeros.

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
    /// Those that runs assign; all, when it is not known which.
    pub(super) assigned: Option<HashSet<String>>,
    /// Whether what is assigned is what the variable begins with.
    pub(super) is_beginning: bool,
    /// Whether none can be had: within a graph that is repeated as often as values say.
    pub(super) is_sealed: bool,
}

#[derive(Default)]
pub(super) struct Variable {
    pub(super) initial: Option<Arc<Tensor>>,
    pub(super) input: Option<ValueId>,
    pub(super) value: Option<ValueId>,
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

    pub(super) fn changes(&self, name: &str) -> bool {
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
