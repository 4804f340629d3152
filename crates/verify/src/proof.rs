//! The comparison: [`prove`].

use npukit_graph::field::{FieldTensor, Gap, Images, Operand, Value, Walked, constant_elements, key, walk};
use npukit_graph::shape::indices;
use npukit_graph::{EvalError, Graph};
use npukit_numeric::Element;
use npukit_target::{Culprit, FieldProgram, Reference, TargetError};

use crate::values::{ValuePlace, Values};

/// What is known of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputProof {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub elements: usize,
    /// Elements that differ; none when nobody knows what they should be.
    pub different: Option<usize>,
}

impl OutputProof {
    /// Whether it was compared, and all of it is the same.
    pub fn is_proved(&self) -> bool {
        self.different == Some(0)
    }
}

/// An element of an output that is another polynomial in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The output, and the index of its first element that differs.
    pub output: ValuePlace,
    /// The value of the graph that the program has there instead, if it is one.
    pub instead: Option<ValuePlace>,
    /// Where it was made.
    pub culprit: Option<Culprit>,
    /// The value of the graph that is where it was made, if it is one.
    pub culprit_is: Option<ValuePlace>,
}

/// What came of a comparison.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The graph that it was compared with, where its passes round nothing.
    pub unrounded: Graph,
    /// Which of the graphs that the program may compute it was compared with.
    pub order: String,
    /// Its outputs, in the order of the graph.
    pub outputs: Vec<OutputProof>,
    /// Nodes that the field knows nothing of.
    pub gaps: Vec<Gap>,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Where the first output that differs goes wrong.
    pub counterexample: Option<Counterexample>,
}

impl Proof {
    /// Whether every output was compared, and is the same.
    pub fn is_proved(&self) -> bool {
        !self.outputs.is_empty() && self.outputs.iter().all(OutputProof::is_proved)
    }

    fn different(&self) -> usize {
        self.outputs.iter().map(|output| output.different.unwrap_or(output.elements)).sum() // Default: all count.
    }
}

/// Why a program cannot be compared with a graph.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The program has not the outputs of the graph.
    #[error("{0}")]
    Unfit(String),
    /// The program cannot run.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The model cannot be computed in floats.
    #[error(transparent)]
    Evaluate(#[from] EvalError),
}

/// Compares a program with a graph, once for each of `seeds`, and looks for where they part.
///
/// # Errors
///
/// Inputs and outputs of the one that the other does not have, and what the machine faults on.
pub fn prove(graph: &Graph, program: &dyn FieldProgram, seeds: &[u64]) -> Result<Proof, ProofError> {
    let judged = judged(graph, program, seeds)?;
    let Judged { proof, reference, last: Some(last) } = judged else { return Ok(judged.proof) };
    if proof.is_proved() {
        return Ok(proof);
    }
    Ok(Proof { counterexample: counterexample(&reference, program, &last)?, ..proof })
}

/// As [`prove`], without looking for where they part.
///
/// # Errors
///
/// Those of [`prove`].
pub fn judge(graph: &Graph, program: &dyn FieldProgram, seeds: &[u64]) -> Result<Proof, ProofError> {
    judged(graph, program, seeds).map(|judged| judged.proof)
}

/// A comparison with one of the graphs.
struct Judged {
    proof: Proof,
    reference: Reference,
    /// The last run: that in which they part, if they do.
    last: Option<Runs>,
}

/// The comparison with the graph that the program is nearest to.
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
    best.ok_or_else(|| ProofError::Unfit("it computes no graph".to_owned()))
}

/// Who gives out what is a constant: whoever it is, a program in segments has none.
const OF_CONSTANTS: usize = 0;

/// Inputs of a graph that look random.
fn inputs(graph: &Graph, seed: u64) -> Vec<FieldTensor> {
    let input = |&id| {
        let value = graph.value(id);
        let shape = value.info.shape.clone();
        let count = shape.iter().product();
        FieldTensor { shape, elements: Element::random(seed ^ key(&value.name)).take(count).collect() }
    };
    graph.inputs.iter().map(input).collect()
}

/// What the graph has, and what the program has.
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

    /// For each output of the graph its name, what it is, and what the program has.
    fn pairs<'a>(
        &'a self,
        graph: &'a Graph,
        images: &'a dyn Images,
    ) -> impl Iterator<Item = Result<(&'a str, Option<FieldTensor>, &'a FieldTensor), ProofError>> {
        graph.outputs.iter().zip(&self.walked.outputs).map(|(&id, value)| {
            let name = graph.value(id).name.as_str();
            let found = self.outputs.iter().find(|(other, _)| other == name);
            let (_, found) = found.ok_or_else(|| ProofError::Unfit(format!("it has no output `{name}`")))?;
            let shape = graph.shape(id);
            if found.elements.len() != shape.iter().product::<usize>() {
                let told =
                    format!("output `{name}` has shape {shape:?} in the model and {:?} in it", found.shape);
                return Err(ProofError::Unfit(told));
            }
            Ok((name, expected(value, images), found))
        })
    }
}

/// What an output is to be, where it is known: a constant is as the machine has it.
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

/// The first element that differs in a run, and where it comes from.
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
