//! [`FieldProgram`]: a program on its machine with elements of a prime field for numbers.

use npukit_graph::Graph;
use npukit_graph::field::{FieldTensor, Images};
use npukit_numeric::Element;

use crate::error::TargetError;

/// Tensors by name, in the model's shapes.
pub type FieldValues = [(String, FieldTensor)];

/// What a program is compared with.
pub struct Reference {
    /// What tells it from the others, in words; empty for the only one.
    pub order: String,
    /// The model as it is lowered: where its passes round constants, with those.
    pub graph: Graph,
    /// The same where passes round nothing: what is to be compared with the model in floats.
    pub unrounded: Graph,
    /// For each node of `graph` the part of the program that computes it; empty where all are of part 0.
    pub parts: Vec<usize>,
}

impl Reference {
    /// The part of the program that computes node `node` of the graph.
    pub fn part(&self, node: usize) -> usize {
        if self.parts.is_empty() { 0 } else { self.parts[node] }
    }
}

/// The values of the graph that a program is compared with, in one of its runs.
pub trait Expected {
    /// Whether an element is one of a value of the graph, or zero: then it is right wherever it is.
    fn is_known(&self, element: Element) -> bool;

    /// Shows every value with its name, in the order of the graph.
    fn each(&self, see: &mut dyn FnMut(&str, &FieldTensor));
}

/// Graphs that a program may compute, one after the other.
pub type References<'a> = Box<dyn Iterator<Item = Result<Reference, TargetError>> + 'a>;

/// Where a program wrote what it should not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Culprit {
    /// The segment, of a program in several: from 0, steps of the host between them not counted.
    pub segment: Option<usize>,
    /// Index of the instruction, in its segment.
    pub instruction: Option<usize>,
    /// Its layer, where that is known.
    pub layer: Option<String>,
    /// Where the wrong value lies.
    pub memory: String,
    /// Address there, in the memory's own unit.
    pub address: u64,
    /// Place in what lies at the address.
    pub lane: u64,
    /// What was wrong there.
    pub value: Element,
}

/// A program on its machine, over the field.
///
/// The machine neither rounds nor saturates there; everything else it does as it does with numbers. What nobody has
/// written holds elements that look random.
pub trait FieldProgram {
    /// What the constants of a model are where a part of the program computes with them. Most programs are one part, 0; one
    /// in segments has a part for each of them, and for what the host does between two.
    fn images(&self, part: usize) -> &dyn Images;

    /// The graphs that a program of this instance may compute for a model: for each order of its compiler one, the likeliest
    /// first. Each is made when it is asked for, and is an error where the instance does not take the model so.
    fn references<'a>(&'a self, graph: &'a Graph) -> References<'a>;

    /// What this machine's proofs of a model take for granted beyond what those of all machines do, in sentences.
    fn assumptions(&self, _graph: &Graph) -> Vec<String> {
        Vec::new()
    }

    /// Runs one sample; steps of the host are applied to the outputs.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit, and what the machine faults on.
    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError>;

    /// Where a wrong element (the name of its output, and its place there) comes from, in the run of the same inputs and
    /// seed.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run`].
    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        wrong: (&str, usize),
        expected: &dyn Expected,
    ) -> Result<Option<Culprit>, TargetError>;
}
