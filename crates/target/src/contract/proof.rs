//! [`FieldProgram`]: a program on its machine, computed with elements of a prime field.

use npukit_graph::Graph;
use npukit_graph::field::{FieldTensor, Images};
use npukit_numeric::Element;

use crate::error::TargetError;

/// Tensors by name, in the model's shapes.
pub type FieldValues = [(String, FieldTensor)];

/// A graph that a program is compared with.
pub struct Reference {
    /// Description that distinguishes it from other references; empty if it is the only one.
    pub order: String,
    /// The model as it is lowered, including constants that passes have rounded.
    pub graph: Graph,
    /// The model lowered without rounding any constants, for comparison with the float model. All
    /// its functions are exact.
    pub unrounded: Graph,
    /// Nodes of the model for which `graph` has approximations.
    pub approximated: Vec<Approximation>,
    /// For each node of `graph`, the part of the program that computes it; empty if all are
    /// computed by part 0.
    pub parts: Vec<usize>,
}

/// Node of the model that the compiler approximates by other operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approximation {
    /// Name of the node.
    pub node: String,
    /// Operator of the node.
    pub op: String,
    /// Method and error of the approximation, as the end of a sentence about the node.
    pub method: String,
}

impl Reference {
    /// Returns the part of the program that computes node `node` of the graph.
    pub fn part(&self, node: usize) -> usize {
        if self.parts.is_empty() { 0 } else { self.parts[node] }
    }
}

/// Values of the reference graph in one run of a program.
pub trait Expected {
    /// Returns whether an element is zero or occurs in a value of the graph. Such an element is
    /// considered correct at any place.
    fn is_known(&self, element: Element) -> bool;

    /// Calls `see` with the name and tensor of every value, in graph order.
    fn each(&self, see: &mut dyn FnMut(&str, &FieldTensor));
}

/// Graphs that a program may compute, created one after the other.
pub type References<'a> = Box<dyn Iterator<Item = Result<Reference, TargetError>> + 'a>;

/// Where a program first wrote a wrong element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Culprit {
    /// Index of the segment in a segmented program, starting at 0; host steps are not counted.
    pub segment: Option<usize>,
    /// Index of the instruction in its segment.
    pub instruction: Option<usize>,
    /// Layer of the instruction, if known.
    pub layer: Option<String>,
    /// Memory that holds the wrong element.
    pub memory: String,
    /// Address in the memory, in its own unit.
    pub address: u64,
    /// Index of the element at the address.
    pub lane: u64,
    /// The wrong element.
    pub value: Element,
}

/// A program on its machine over a prime field.
///
/// The machine neither rounds nor saturates over the field; otherwise it behaves as with numbers.
/// Unwritten memory holds pseudorandom elements.
pub trait FieldProgram {
    /// Returns the field images of model constants in a part of the program. Most programs have one
    /// part, 0. A segmented program has one part per segment, and one per group of host steps in
    /// between.
    fn images(&self, part: usize) -> &dyn Images;

    /// Returns the graphs that a program of this instance may compute for a model: one per
    /// evaluation order of its compiler, the most likely first. Each is created on demand; it is an
    /// error if the instance does not accept the model in that order.
    fn references<'a>(&'a self, graph: &'a Graph) -> References<'a>;

    /// Returns the assumptions of this machine's proofs of a model, beyond those common to all
    /// machines, as sentences.
    fn assumptions(&self, _graph: &Graph) -> Vec<String> {
        Vec::new()
    }

    /// Runs one sample; host steps are applied to the outputs.
    ///
    /// # Errors
    ///
    /// Inputs that do not fit; a fault of the machine.
    fn run(&self, inputs: &FieldValues, seed: u64) -> Result<Vec<(String, FieldTensor)>, TargetError>;

    /// Finds the origin of a wrong output element, given by output name and index, in a run with
    /// the same inputs and seed.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::run`].
    fn culprit(
        &self,
        inputs: &FieldValues,
        seed: u64,
        wrong: (&str, usize),
        expected: &dyn Expected,
    ) -> Result<Option<Culprit>, TargetError>;
}
