//! [`Remark`]: notes and warnings about an imported model.

use std::collections::HashSet;

use npukit_graph::Graph;
use npukit_numeric::Tensor;

/// An imported graph, with notes about the import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The imported graph.
    pub graph: Graph,
    /// Assumptions of the import, and options without effect.
    pub remarks: Vec<Remark>,
    /// Inputs that became constants because the model has a default for them.
    /// [`Options::given`](crate::Options::given) keeps them as inputs.
    pub defaults: Vec<String>,
    /// State that one run of the model keeps for the next.
    pub states: Vec<State>,
}

/// State that one run of a model keeps for the next. In the graph it is an input and an output.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Name of the input.
    pub input: String,
    /// Name of the output that is the input of the next run. `None` if the caller chose the outputs
    /// by name.
    pub output: Option<String>,
    /// Initial value, for the first run.
    pub initial: Tensor,
}

/// A note or warning about an imported model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Remark {
    /// The batch is open and was not given, so it is 1.
    #[error("the batch of {} is open and taken as 1", listing(inputs))]
    OpenBatch {
        /// Inputs with the open batch.
        inputs: Vec<String>,
    },
    /// The batch size in the options has no effect.
    #[error("the batch size {size} has no effect: no input leaves its batch open")]
    UnusedBatch {
        /// Batch size in the options.
        size: usize,
    },
    /// The size of a named dimension in the options has no effect.
    #[error("the size of dimension `{name}` has no effect: the given shapes of the inputs determine it")]
    UnusedDimension {
        /// Name in the options.
        name: String,
    },
    /// The model keeps state from one run to the next.
    #[error(
        "the model keeps {} from one run to the next: they are inputs, with the file's initial values when not \
         given, and outputs",
        listing(inputs)
    )]
    States {
        /// Names of the inputs.
        inputs: Vec<String>,
    },
    /// Layers whose states the interpreter keeps until they are reset.
    #[error(
        "the states of {} start at zero in every run, as in the interpreter after a reset",
        listing(nodes)
    )]
    Beginnings {
        /// Names of the layers.
        nodes: Vec<String>,
    },
    /// The file holds graphs of other signatures.
    #[error(
        "the file has more than one signature: {} is imported, {} ignored",
        read.as_ref().map_or_else(|| "the first graph".to_owned(), |name| format!("`{name}`")),
        listing(others)
    )]
    Signatures {
        /// Signature of the imported graph, if it is named.
        read: Option<String>,
        /// Signatures of the other graphs.
        others: Vec<String>,
    },
    /// Resampling whose coordinate mode the file does not state.
    #[error(
        "{op} {} does not state its coordinate mode (opset {opset}) and is read as asymmetric, which the \
         exporter may not have meant",
        listing(nodes)
    )]
    Coordinates {
        /// Operator name.
        op: &'static str,
        /// Names of the nodes.
        nodes: Vec<String>,
        /// Opset of the model.
        opset: i64,
    },
    /// Outputs that the model names several times. Values are identified by name.
    #[error("the outputs name {} more than once; each output is given once", listing(names))]
    RepeatedOutputs {
        /// Names of the outputs.
        names: Vec<String>,
    },
}

impl Imported {
    /// Merges repeated outputs of the model.
    pub(crate) fn with_outputs_once(mut self) -> Self {
        let (mut seen, mut names) = (HashSet::new(), Vec::new());
        let Graph { outputs, values, .. } = &mut self.graph;
        outputs.retain(|id| {
            let is_new = seen.insert(*id);
            let name = &values[id.0 as usize].name;
            if !is_new && !names.contains(name) {
                names.push(name.clone());
            }
            is_new
        });
        if !names.is_empty() {
            self.remarks.push(Remark::RepeatedOutputs { names });
        }
        self
    }
}

impl Remark {
    /// Whether the user need not do anything about it.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Self::OpenBatch { .. }
                | Self::RepeatedOutputs { .. }
                | Self::States { .. }
                | Self::Beginnings { .. }
                | Self::Signatures { .. }
        )
    }

    /// Adds a layer to the layers whose states start at zero.
    pub(crate) fn add_beginning(remarks: &mut Vec<Self>, node: &str) {
        let known = remarks.iter_mut().find_map(|remark| match remark {
            Self::Beginnings { nodes } => Some(nodes),
            _ => None,
        });
        match known {
            Some(nodes) => nodes.push(node.to_owned()),
            None => remarks.push(Self::Beginnings { nodes: vec![node.to_owned()] }),
        }
    }

    /// Adds a node to the nodes without a stated coordinate mode.
    pub(crate) fn add_coordinates(remarks: &mut Vec<Self>, op: &'static str, node: &str, opset: i64) {
        let known = remarks.iter_mut().find_map(|remark| match remark {
            Self::Coordinates { op: other, nodes, .. } if *other == op => Some(nodes),
            _ => None,
        });
        match known {
            Some(nodes) => nodes.push(node.to_owned()),
            None => remarks.push(Self::Coordinates { op, nodes: vec![node.to_owned()], opset }),
        }
    }
}

/// Lists the first names and the number of the others.
fn listing(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let text = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{text} and {} more", names.len() - SHOWN) } else { text }
}
