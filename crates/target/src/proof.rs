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
}

/// Graphs that a program may compute, one after the other.
pub type References<'a> = Box<dyn Iterator<Item = Result<Reference, TargetError>> + 'a>;

/// Where a program wrote what it should not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Culprit {
    /// Index of the instruction.
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
    /// What the constants of a model are on the machine.
    fn images(&self) -> &dyn Images;

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

    /// Where the wrong element `element` of output `output` comes from, in the run of the same inputs and seed.
    /// `is_known` says whether an element is a value of the graph, which is right wherever it is.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run`].
    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        wrong: (&str, usize),
        is_known: &dyn Fn(Element) -> bool,
    ) -> Result<Option<Culprit>, TargetError>;
}
