//! Comparison of a program with a graph: [`prove`].

use npukit_graph::field::{FieldTensor, Gap, Images, Operand, Value, Walked, constant_elements, key, walk};
use npukit_graph::shape::indices;
use npukit_graph::{EvalError, Graph};
use npukit_numeric::Element;
use npukit_target::{Approximation, Culprit, FieldProgram, Reference, TargetError};

use crate::values::{ValuePlace, Values};

/// Result of the comparison for one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputProof {
    /// Name of the output.
    pub name: String,
    /// Number of elements.
    pub elements: usize,
    /// Number of elements that differ; `None` if the expected values are unknown.
    pub different: Option<usize>,
}

impl OutputProof {
    /// Whether it was compared and all elements match.
    pub fn is_proved(&self) -> bool {
        self.different == Some(0)
    }
}

/// An output element that is a different polynomial in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The output, and the index of its first element that differs.
    pub output: ValuePlace,
    /// Value of the graph that the program has there instead; `None` if it matches no value.
    pub instead: Option<ValuePlace>,
    /// Instruction that first produced a wrong element.
    pub culprit: Option<Culprit>,
    /// Value of the graph that matches the culprit's element; `None` if none does.
    pub culprit_is: Option<ValuePlace>,
}

/// Result of a comparison.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Graph that the program was compared with, without rounding in its passes.
    pub unrounded: Graph,
    /// Name of the summation order of that graph, among those the program may implement.
    pub order: String,
    /// Result for each output, in graph order.
    pub outputs: Vec<OutputProof>,
    /// Nodes that the field semantics does not cover.
    pub gaps: Vec<Gap>,
    /// Nodes that the program approximates; the comparison is with these approximations.
    pub approximated: Vec<Approximation>,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// First differing output element and its origin; `None` if all match.
    pub counterexample: Option<Counterexample>,
}

impl Proof {
    /// Whether every output was compared and matches, and nothing is approximated.
    pub fn is_proved(&self) -> bool {
        let is_exact = self.approximated.is_empty();
        is_exact && !self.outputs.is_empty() && self.outputs.iter().all(OutputProof::is_proved)
    }

    fn different(&self) -> usize {
        self.outputs.iter().map(|output| output.different.unwrap_or(output.elements)).sum() // Default: all elements.
    }
}

/// Reason why a program cannot be compared with a graph.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The inputs or outputs of the program and the graph differ.
    #[error("{0}")]
    Unfit(String),
    /// The program cannot run.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The model cannot be evaluated in floats.
    #[error(transparent)]
    Evaluate(#[from] EvalError),
}

/// Compares a program with a graph, once for each of `seeds`, and locates the first difference.
///
/// # Errors
///
/// Inputs or outputs that only one of them has, and faults of the machine.
pub fn prove(graph: &Graph, program: &dyn FieldProgram, seeds: &[u64]) -> Result<Proof, ProofError> {
    let judged = judged(graph, program, seeds)?;
    let Judged { proof, reference, last: Some(last) } = judged else { return Ok(judged.proof) };
    if proof.is_proved() {
        return Ok(proof);
    }
    Ok(Proof { counterexample: counterexample(&reference, program, &last)?, ..proof })
}

/// Like [`prove`], without locating the difference.
///
/// # Errors
///
/// See [`prove`].
pub fn judge(graph: &Graph, program: &dyn FieldProgram, seeds: &[u64]) -> Result<Proof, ProofError> {
    judged(graph, program, seeds).map(|judged| judged.proof)
}

/// Comparison with one of the graphs.
struct Judged {
    proof: Proof,
    reference: Reference,
    /// Last run; the run with the difference, if there is one.
    last: Option<Runs>,
}

/// Returns the comparison with the graph that matches the program best.
fn judged(graph: &Graph, program: &dyn FieldProgram, seeds: &[u64]) -> Result<Judged, ProofError> {
    let mut best: Option<Judged> = None;
    for reference in program.references(graph) {
        let judged = compared(reference?, program, seeds)?;
        if judged.proof.is_proved() {
            return Ok(judged);
        }
        if best.as_ref().is_none_or(|best| judged.proof.different() < best.proof.different()) {
            best = Some(judged);
        }
    }
    best.ok_or_else(|| ProofError::Unfit("the program does not compute a graph".to_owned()))
}

/// Node number that selects the images of outputs that are constants. Any number works: a program
/// in segments has no such outputs.
const OF_CONSTANTS: usize = 0;

/// Returns pseudorandom inputs of a graph.
fn inputs(graph: &Graph, seed: u64) -> Vec<FieldTensor> {
    let input = |&id| {
        let value = graph.value(id);
        let shape = value.info.shape.clone();
        let count = shape.iter().product();
        FieldTensor { shape, elements: Element::random(seed ^ key(&value.name)).take(count).collect() }
    };
    graph.inputs.iter().map(input).collect()
}

/// Values of the graph and of the program in one run.
struct Runs {
    seed: u64,
    inputs: Vec<(String, FieldTensor)>,
    walked: Walked,
    outputs: Vec<(String, FieldTensor)>,
}

impl Runs {
    fn of(reference: &Reference, program: &dyn FieldProgram, seed: u64) -> Result<Self, ProofError> {
        let graph = &reference.graph;
        let tensors = inputs(graph, seed);
        let named = graph.inputs.iter().map(|&id| graph.value(id).name.clone());
        let inputs: Vec<(String, FieldTensor)> = named.zip(tensors.clone()).collect();
        let walked = walk(graph, tensors, &|node| program.images(reference.part(node)), |_, _| ());
        let outputs = program.run(&inputs, seed)?;
        Ok(Self { seed, inputs, walked, outputs })
    }

    /// Returns, for each output of the graph, its name, its expected value and the program's value.
    fn pairs<'a>(
        &'a self,
        graph: &'a Graph,
        images: &'a dyn Images,
    ) -> impl Iterator<Item = Result<(&'a str, Option<FieldTensor>, &'a FieldTensor), ProofError>> {
        graph.outputs.iter().zip(&self.walked.outputs).map(|(&id, value)| {
            let name = graph.value(id).name.as_str();
            let found = self.outputs.iter().find(|(other, _)| other == name);
            let (_, found) =
                found.ok_or_else(|| ProofError::Unfit(format!("the program has no output `{name}`")))?;
            let shape = graph.shape(id);
            if found.elements.len() != shape.iter().product::<usize>() {
                let message = format!(
                    "output `{name}` has shape {shape:?} in the model and {:?} in the program",
                    found.shape
                );
                return Err(ProofError::Unfit(message));
            }
            Ok((name, expected(value, images), found))
        })
    }
}

/// Returns the expected value of an output, if it is known; constants are as the machine stores
/// them.
fn expected(value: &Value, images: &dyn Images) -> Option<FieldTensor> {
    match value {
        Value::Known(Operand::Field(tensor)) => Some(FieldTensor::clone(tensor)),
        Value::Known(Operand::Constant(tensor)) => {
            let elements = constant_elements(tensor, images);
            Some(FieldTensor { shape: tensor.shape().to_vec(), elements })
        }
        Value::Unknown(_) => None,
    }
}

fn compared(reference: Reference, program: &dyn FieldProgram, seeds: &[u64]) -> Result<Judged, ProofError> {
    let graph = &reference.graph;
    let mut proof = Proof {
        unrounded: reference.unrounded.clone(),
        order: reference.order.clone(),
        outputs: Vec::new(),
        gaps: Vec::new(),
        approximated: reference.approximated.clone(),
        seeds: Vec::new(),
        counterexample: None,
    };
    let mut last = None;
    for &seed in seeds {
        let runs = Runs::of(&reference, program, seed)?;
        let output = |pair: Result<(&str, Option<FieldTensor>, &FieldTensor), ProofError>| {
            let (name, expected, found) = pair?;
            let different = expected.map(|expected| differing(&expected, found).count());
            Ok(OutputProof { name: name.to_owned(), elements: found.elements.len(), different })
        };
        proof.outputs =
            runs.pairs(graph, program.images(OF_CONSTANTS)).map(output).collect::<Result<_, ProofError>>()?;
        proof.gaps.clone_from(&runs.walked.gaps);
        proof.seeds.push(seed);
        last = Some(runs);
        if !proof.outputs.iter().all(OutputProof::is_proved) {
            break;
        }
    }
    Ok(Judged { proof, reference, last })
}

fn differing<'a>(expected: &'a FieldTensor, found: &'a FieldTensor) -> impl Iterator<Item = usize> + 'a {
    let pairs = expected.elements.iter().zip(&found.elements).enumerate();
    pairs.filter(|(_, (expected, found))| expected != found).map(|(i, _)| i)
}

/// Returns the first element that differs in a run, and its origin.
fn counterexample(
    reference: &Reference,
    program: &dyn FieldProgram,
    runs: &Runs,
) -> Result<Option<Counterexample>, ProofError> {
    let graph = &reference.graph;
    for pair in runs.pairs(graph, program.images(OF_CONSTANTS)) {
        let (name, expected, found) = pair?;
        let Some(at) = expected.and_then(|expected| differing(&expected, found).next()) else { continue };
        let values = Values::of(reference, program, inputs(graph, runs.seed));
        let culprit = program.culprit(&runs.inputs, runs.seed, (name, at), &values)?;
        return Ok(Some(Counterexample {
            output: ValuePlace { value: name.to_owned(), index: indices(at, &found.shape).collect() },
            instead: values.place(found.elements[at]),
            culprit_is: culprit.as_ref().and_then(|culprit| values.place(culprit.value)),
            culprit,
        }));
    }
    Ok(None)
}
