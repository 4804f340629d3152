//! [`Remark`]: what a model's user should know of how it was read.

use npukit_graph::Graph;
use npukit_numeric::Tensor;

/// A graph and what its user should know of how it was read.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The graph of the model.
    pub graph: Graph,
    /// What was taken for granted, and options without effect.
    pub remarks: Vec<Remark>,
    /// Inputs that are constants, because the model has a default for them; [`Options::given`](crate::Options::given)
    /// makes them inputs.
    pub defaults: Vec<String>,
    /// What one run of the model keeps for the next.
    pub states: Vec<State>,
}

/// Something that one run of a model keeps for the next, which in the graph is an input and an output.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The input.
    pub input: String,
    /// The output that is the input of the next run; none when outputs were asked for by name.
    pub output: Option<String>,
    /// What the first run begins with.
    pub initial: Tensor,
}

/// What a model's user should know of how it was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Remark {
    /// The batch is open, and its size was not given: it is 1.
    #[error("the batch of {} is open and taken as 1", listing(inputs))]
    OpenBatch {
        /// Inputs that have it.
        inputs: Vec<String>,
    },
    /// The batch size in the options is of no use.
    #[error("the batch size {size} has no effect: no input leaves its batch open")]
    UnusedBatch {
        /// The size in the options.
        size: usize,
    },
    /// The size of a name in the options is of no use.
    #[error("the size of dimension `{name}` has no effect: shapes of inputs that are given say it already")]
    UnusedDimension {
        /// The name in the options.
        name: String,
    },
    /// The file keeps something from one run to the next.
    #[error(
        "the model keeps {} from one run to the next: they are inputs, which begin as the file says when they are not \
         given, and outputs",
        listing(inputs)
    )]
    States {
        /// The inputs.
        inputs: Vec<String>,
    },
    /// Layers whose states the interpreter leaves as they are until it is told to reset them.
    #[error(
        "the states of {} begin with zeros in every run, as those of the interpreter after a reset",
        listing(nodes)
    )]
    Beginnings {
        /// The layers.
        nodes: Vec<String>,
    },
    /// The file holds graphs of other signatures.
    #[error(
        "the file has more than one signature: {} is read, {} left out",
        read.as_ref().map_or_else(|| "the first graph".to_owned(), |name| format!("`{name}`")),
        listing(others)
    )]
    Signatures {
        /// The signature of the graph that is read, where it has a name.
        read: Option<String>,
        /// The others.
        others: Vec<String>,
    },
    /// Resampling whose coordinates the file does not state.
    #[error(
        "{op} {} does not say how coordinates are counted (opset {opset}) and is read as asymmetric, which the \
         exporter may not have meant",
        listing(nodes)
    )]
    Coordinates {
        /// The operator.
        op: &'static str,
        /// The nodes.
        nodes: Vec<String>,
        /// The model's opset.
        opset: i64,
    },
}

impl Remark {
    /// Whether nothing need be done about it.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Self::OpenBatch { .. } | Self::States { .. } | Self::Beginnings { .. } | Self::Signatures { .. }
        )
    }

    /// Adds a layer to those whose states begin anew.
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

    /// Adds a node to those whose coordinates are not stated.
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

/// The first names, and how many more there are.
fn listing(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let text = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{text} and {} more", names.len() - SHOWN) } else { text }
}
